"""Tables and lines of decay, retain and cold storage for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flows.job import StepResult
from flows.present import one_line, short_id, table

_BARS = " .:-=+*#%@"
"""Ten heights of a bar, from none to all of the largest."""
IDS_PRINTED = 3
"""Ids of a line that a person is shown; ``--json`` has more."""


def decay_text(result: StepResult) -> str:
    """Scores by kind, with what would be forgotten."""
    kinds = result.detail.get("kinds", [])
    if not kinds:
        return "no memories in this scope"
    heads = ("kind", "rows", "p10", "median", "p90", "0 scores 1", "would go", "waiting", "held", "pinned")
    rows = [
        (
            one["kind"],
            one["rows"],
            one["p10"],
            one["p50"],
            one["p90"],
            _bars(one["histogram"]),
            _reasons(one["forgotten"]),
            one["waiting"],
            one["held"],
            one["pinned"],
        )
        for one in kinds
    ]
    told = [f"written to {result.detail['out']}"] if "out" in result.detail else []
    return "\n".join([table("", heads, rows, wraps=("would go",), drops=("pinned", "held", "p10")), *told])


def _bars(counts: Sequence[int]) -> str:
    most = max(counts)
    tall = len(_BARS) - 1
    return f"|{''.join(_BARS[-(-count * tall // most) if most else 0] for count in counts)}|"


def _reasons(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.items()) or "-"


def retain_text(result: StepResult, is_dry: bool) -> str:
    """What went, is held and waits; of a dry run each line with some ids."""
    detail = result.detail
    if not detail or (result.state == "unchanged" and not is_dry):
        return "retain: nothing is due"
    if is_dry:
        return _dry_text(detail["lines"])
    rows = [
        (name, reason, count)
        for name, reasons in detail["removed"].items()
        for reason, count in reasons.items()
    ]
    told = [table("", ("table", "removed because", "rows"), rows)] if rows else ["nothing was removed"]
    for state, meaning in (("held", "kept under legal hold"), ("waiting", "wait for a summary")):
        count = sum(detail[state].values())
        if count:
            told.append(f"{count:,} rows {meaning}")
    if detail["late"]:
        told.append(f"{detail['late']:,} rows went later than the grace period after they were due")
    return "\n".join(told)


_STATES = {"goes": "would go", "held": "legal hold", "waiting": "waits for a summary"}


def _dry_text(lines: Sequence[dict[str, Any]]) -> str:
    if not lines:
        return "retain, dry run: nothing is due"
    rows = [
        (
            line["tenant"] or "-",
            line["table"],
            line["tier"] or "-",
            line["reason"],
            _STATES[line["state"]],
            line["rows"],
            line["first_due_at"][:10],
            " ".join(short_id(name) for name in line["ids"][:IDS_PRINTED]),
        )
        for line in lines
    ]
    heads = ("tenant", "table", "tier", "why", "what", "rows", "due since", "such as")
    shown = table("", heads, rows, wraps=("tenant",), drops=("such as", "tier"))
    return f"{shown}\ndry run: nothing was written"


def cold_text(rows: Sequence[dict[str, Any]]) -> str:
    """Cold episodes, a line each."""
    if not rows:
        return "nothing in cold storage in this scope"
    shown = [
        (row["event_at"][:10], row["cooled_at"][:10], row["user_id"] or "-", row["kind"],
         short_id(row["episode_id"]), one_line(row["content"]))
        for row in rows
    ]  # fmt: skip
    return table(
        "", ("date", "cold since", "user", "kind", "id", "text"), shown, wraps=("text",), drops=("kind",)
    )
