"""The list of requests, and the counts of what stands that status shows."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal

import polars as pl

from flows.job import Job, exclusive
from flows.present import table
from flows.rights import resume_open
from flows.setup import Output
from lake.lake import Lake
from lake.rights import requests, standing, tombstones
from lake.rights.subjects import salt, subject_hash
from transforms.errors import BusyError, CheckError
from transforms.standing import Standing
from transforms.subjects import Subject

Force = Literal["yes", "no", "unknown"]
_SHOWN = 200
_COLUMNS = ("request", "kind", "about", "state", "requested", "due", "closed", "basis", "by")


def listed(job: Job, subject: Subject | None = None) -> Output:
    """Open requests first, each group by its due date; the exit code says whether one is overdue at as-of.

    What can be completed meanwhile, such as a correction that consolidation has taken up, is closed
    first, unless another run holds the lake. Of a subject: only its requests, and what stands for it.
    """
    if requests.open_requests(job.lake):
        with suppress(BusyError), exclusive(job):
            resume_open(job)
    rows = requests.standing_requests(job.lake)
    forces = _in_force(job.lake, rows)
    rows = rows if subject is None else _about(job.lake, rows, subject)
    is_open = pl.col("state") != "done"
    marked = rows.with_columns(
        is_overdue=is_open & (pl.col("due_at") < pl.lit(job.as_of)),
        was_late=(pl.col("closed_at") > pl.col("due_at")).fill_null(False),
    )
    ordered = marked.sort(~is_open, "due_at", "request_id")
    told = [_as_dict(row, forces) for row in ordered.iter_rows(named=True)]
    overdue = sum(one["is_overdue"] for one in told)
    data = {"requests": told, "open": int(marked.select(is_open.sum()).item()), "overdue": overdue}
    text = _text(told, data)
    if subject is not None and subject.kind != "tenant":
        found = standing.load(job.lake, subject)
        data["standing"] = _standing(found)
        text = "\n".join([text, *_standing_lines(found)])
    return Output(data, text, CheckError.exit_code if overdue else 0)


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


def _about(lake: Lake, rows: pl.DataFrame, subject: Subject) -> pl.DataFrame:
    """Requests about a subject: of a tenant all, of a person or agent also those about its memories."""
    key = salt(lake)
    if subject.kind == "tenant":
        return rows.filter(pl.col("tenant_hash") == subject_hash(key, subject))
    if subject.user or subject.agent:
        from flows.export_rows import HeldRows

        pinned = [Subject(subject.tenant, memory=one) for one in standing.load(lake, subject).pinned]
        hashes = [subject_hash(key, one) for one in pinned]
        own = HeldRows(lake, subject).requests["request_id"].implode()
        return rows.filter(pl.col("request_id").is_in(own) | pl.col("subject_hash").is_in(hashes))
    return rows.filter(pl.col("subject_hash") == subject_hash(key, subject))


def _in_force(lake: Lake, rows: pl.DataFrame) -> dict[str, Force]:
    """Requests, by id, whose instruction stands.

    The log has no words: where a topic was forbidden and allowed again, ``unknown`` says some stand.
    """
    key, topics, stands = salt(lake), dict[str, int](), set[tuple[str, str]]()
    for one in standing.load_all(lake):
        own = subject_hash(key, one.subject)
        topics[own] = len(one.forbidden_topics)
        kinds = {"hold": one.is_held, "opt_out": one.is_opted_out, "period": one.period_seconds is not None}
        stands |= {(kind, own) for kind, is_there in kinds.items() if is_there}
        memories = (Subject(one.subject.tenant, memory=memory) for memory in one.pinned)
        stands |= {("pin", subject_hash(key, memory)) for memory in memories}
    done = rows.filter(pl.col("state") == "done").sort("requested_at", descending=True)
    found, asked = dict[str, Force](), dict[str, list[str]]()
    for request_id, kind, about in done.select("request_id", "kind", "subject_hash").iter_rows():
        if (kind, about) in stands:  # the newest one is what stands
            stands.remove((kind, about))
            found[request_id] = "yes"
        elif kind == "forbid_topic":
            asked.setdefault(about, []).append(request_id)
    for about, ids in asked.items():
        count = topics.get(about, 0)
        force: Force = "no" if not count else "yes" if count == len(ids) else "unknown"
        found |= dict.fromkeys(ids, force)
    return found


def _standing(found: Standing) -> dict[str, Any]:
    """What stands for a subject, in its own words: who asks has named it."""
    return {
        "is_held": found.is_held,
        "is_opted_out": found.is_opted_out,
        "period_seconds": found.period_seconds,
        "forbidden_topics": list(found.forbidden_topics),
        "pinned": list(found.pinned),
    }


def _standing_lines(found: Standing) -> list[str]:
    days = (found.period_seconds or 0) // 86_400
    told = [
        "under legal hold" if found.is_held else "",
        "opted out" if found.is_opted_out else "",
        f"kept for at most {days:,} days" if days else "",
        f"forbidden topics: {', '.join(found.forbidden_topics)}" if found.forbidden_topics else "",
        f"pinned: {', '.join(found.pinned)}" if found.pinned else "",
    ]
    lines = [f"  {one}" for one in told if one]
    return ["in force:", *lines] if lines else ["nothing stands for this subject"]


def _as_dict(row: dict[str, Any], forces: dict[str, Force]) -> dict[str, Any]:
    instants = {n: v.isoformat() if v is not None else None for n, v in row.items() if n.endswith("_at")}
    told = {n: v for n, v in row.items() if n not in ("is_removed", "revision")}
    force = forces.get(row["request_id"], "no")
    return {**told, **instants, "evidence": json.loads(row["evidence"]), "in_force": force}


def _text(told: list[dict[str, Any]], data: dict[str, Any]) -> str:
    shown = [
        (
            one["request_id"][:8],
            one["kind"],
            f"{one['subject_kind']} {one['subject_hash'][:8]}",
            _state(one),
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


def _state(one: dict[str, Any]) -> str:
    if one["is_overdue"]:
        return "OVERDUE"
    state = "in force" if one["in_force"] == "yes" else str(one["state"])
    return f"{state}, late" if one["was_late"] else state


def _day(instant: str | None) -> str:
    return "" if instant is None else instant[:10]
