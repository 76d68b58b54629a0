"""The list of requests, and the counts of what stands that status shows."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import polars as pl

from flows.job import Job, exclusive
from flows.present import table
from flows.rights import resume_open
from flows.setup import Output
from lake.lake import Lake
from lake.rights import requests, standing, tombstones
from transforms.errors import BusyError, CheckError

_SHOWN = 200
_COLUMNS = ("request", "kind", "about", "state", "requested", "due", "closed", "basis", "by")


def listed(job: Job) -> Output:
    """Open requests first, each group by its due date; the exit code says whether one is overdue.

    What can be completed meanwhile, such as a correction that consolidation has taken up, is closed
    first, unless another run holds the lake.
    """
    if requests.open_requests(job.lake):
        with suppress(BusyError), exclusive(job):
            resume_open(job)
    now = datetime.now(UTC)
    rows = requests.standing_requests(job.lake)
    is_open = pl.col("state") != "done"
    marked = rows.with_columns(
        is_overdue=is_open & (pl.col("due_at") < pl.lit(now)),
        was_late=(pl.col("closed_at") > pl.col("due_at")).fill_null(False),
    )
    ordered = marked.sort(~is_open, "due_at", "request_id")
    told = [_as_dict(row) for row in ordered.iter_rows(named=True)]
    overdue = sum(one["is_overdue"] for one in told)
    data = {"requests": told, "open": int(marked.select(is_open.sum()).item()), "overdue": overdue}
    return Output(data, _text(told, data), CheckError.exit_code if overdue else 0)


def rights_counts(lake: Lake, now: datetime) -> dict[str, int]:
    """Open and overdue requests, legal holds, tombstones, and what else stands."""
    rows, held = requests.standing_requests(lake), standing.load_all(lake)
    return {
        "open_requests": rows.filter(pl.col("state") != "done").height,
        "overdue_requests": requests.overdue(rows, now).height,
        "holds": sum(one.is_held for one in held),
        "opted_out": sum(one.is_opted_out for one in held),
        "pins": sum(len(one.pinned) for one in held),
        "tombstones": len(tombstones.load(lake)),
    }


def counts_line(counts: dict[str, int]) -> str:
    """The counts in a line."""
    late = f", {counts['overdue_requests']:,} OVERDUE" if counts["overdue_requests"] else ""
    return (
        f"requests open: {counts['open_requests']:,}{late}; legal holds: {counts['holds']:,}, "
        f"opted out: {counts['opted_out']:,}, pins: {counts['pins']:,}, tombstones: {counts['tombstones']:,}"
    )


def _as_dict(row: dict[str, Any]) -> dict[str, Any]:
    instants = {n: v.isoformat() if v is not None else None for n, v in row.items() if n.endswith("_at")}
    told = {n: v for n, v in row.items() if n not in ("is_removed", "revision")}
    return {**told, **instants, "evidence": json.loads(row["evidence"])}


def _text(told: list[dict[str, Any]], data: dict[str, Any]) -> str:
    shown = [
        (
            one["request_id"][:8],
            one["kind"],
            f"{one['subject_kind']} {one['subject_hash'][:8]}",
            "OVERDUE" if one["is_overdue"] else f"{one['state']}, late" if one["was_late"] else one["state"],
            *(_day(one[name]) for name in ("requested_at", "due_at", "closed_at")),
            one["basis"],
            one["requested_by"],
        )
        for one in told[:_SHOWN]
    ]
    if not shown:
        return "no requests"
    more = len(told) - len(shown)
    parts = [table("", _COLUMNS, shown, drops=("by", "basis", "requested"))]
    parts += [f"and {more:,} more (--json lists all)"] if more else []
    return "\n".join([*parts, f"{data['open']:,} open, {data['overdue']:,} overdue"])


def _day(instant: str | None) -> str:
    return "" if instant is None else instant[:10]
