"""The readable page of an export: what is known, in sentences, then the conversations by day.

Rendered as it is written, month by month, so that a long history needs no more memory than its fullest
month.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from flows.export_rows import HeldRows
from flows.html_pages import template
from flows.job import Job
from transforms.schemas import CONVERSATIONS, EPISODES, FACTS, PROCEDURES, REQUESTS, SUMMARIES

MOST_ON_ONE_PAGE = 20_000
"""Turns; a browser still searches such a page at once. A longer history gets a page a month."""
PLACES = ("episodes", "cold", "landed")
_TURN = (
    "event_at", "episode_id", "session_id", "role", "speaker", "kind", "content", "tool_name",
    "tool_arguments", "outcome", "failure_reason", "feedback",
)  # fmt: skip


def page(job: Job, held: HeldRows, counts: Mapping[str, int], request_id: str) -> Iterator[str]:
    """``index.html``: facts, summaries, habits and wishes, and the conversations where they are few.

    Args:
        job: Lake, policy and instant.
        held: Whose rows.
        counts: Rows by file of ``data/``.
        request_id: The request that it answers.
    """
    facts = held.derived(FACTS)
    is_current = pl.col("retired_at").is_null() & (
        pl.col("valid_until").is_null() | (pl.col("valid_until") > job.as_of)
    )
    values = {
        "who": held.subject.user or held.subject.agent,
        "subject": held.subject.as_dict(),
        "as_of": job.as_of,
        "lake_id": job.lake.lake_id,
        "counts": counts,
        "is_empty": is_empty(counts),
        "request_id": request_id,
        "turns": _turns(counts),
        "facts": facts.filter(is_current).sort("valid_from", descending=True).to_dicts(),
        "past_facts": facts.filter(~is_current).sort("valid_from", descending=True).to_dicts(),
        "summaries": held.derived(SUMMARIES).sort("last_event_at", descending=True).to_dicts(),
        "procedures": held.derived(PROCEDURES).sort("kind", "trigger").to_dicts(),
        "standing": held.standing,
        "requests": held.requests.to_dicts(),
        "months": _months(held),
        "days": _days(held, _months(held)) if _is_short(counts) else iter(()),
        "is_short": _is_short(counts),
        "ttl": job.policy.retention.ttl_seconds(),
    }
    yield from template("export.html").generate(values)


def month_pages(job: Job, held: HeldRows, counts: Mapping[str, int]) -> Iterator[tuple[str, Iterator[str]]]:
    """A page a month, by name; none where ``index.html`` holds all conversations."""
    for month in () if _is_short(counts) else _months(held):
        values = {"month": month, "days": _days(held, [month]), "as_of": job.as_of}
        yield f"conversations/{month}.html", template("export_month.html").generate(values)


def is_empty(counts: Mapping[str, int]) -> bool:
    """Whether nothing is held but requests, of which the export itself is one."""
    return not any(rows for name, rows in counts.items() if name != REQUESTS.name)


def _turns(counts: Mapping[str, int]) -> int:
    return sum(counts[place] for place in PLACES)


def _is_short(counts: Mapping[str, int]) -> bool:
    return _turns(counts) <= MOST_ON_ONE_PAGE


def _months(held: HeldRows) -> list[str]:
    """Months with turns, newest first."""
    found = {month for place in PLACES for month in held.months_of(place)}
    return sorted(found, reverse=True)


def _days(held: HeldRows, months: list[str]) -> Iterator[dict[str, Any]]:
    """Days, newest first: each with its conversations, and their turns in the order of time."""
    names = held.derived(CONVERSATIONS).select("session_id", "title").drop_nulls()
    titles = dict(names.iter_rows())
    for month in months:
        rows = _month(held, month)
        by_day = rows.with_columns(day=pl.col("event_at").dt.strftime("%Y-%m-%d"))
        for (name,), day in sorted(by_day.group_by("day", maintain_order=True), reverse=True, key=_key):
            sessions = day.group_by("session_id", maintain_order=True)
            yield {
                "day": name,
                "conversations": [
                    {"title": titles.get(session), "session": session, "turns": _told(turns)}
                    for (session,), turns in sessions
                ],
            }


def _key(group: tuple[tuple[object, ...], pl.DataFrame]) -> str:
    return str(group[0][0])


def _month(held: HeldRows, month: str) -> pl.DataFrame:
    """Turns of a month, wherever they lie; a row that landed twice is shown once."""
    found = [
        held.turns(place, month).select(*_TURN, place=pl.lit(place))
        for place in PLACES
        if month in held.months_of(place)
    ]
    empty = EPISODES.empty().select(*_TURN, place=pl.lit(""))
    rows = pl.concat([empty, *found]).unique("episode_id", keep="first", maintain_order=True)
    return rows.sort("event_at", "episode_id")


def _told(turns: pl.DataFrame) -> list[dict[str, Any]]:
    return [{**row, "arguments": _arguments(row["tool_arguments"])} for row in turns.iter_rows(named=True)]


def _arguments(raw: str | None) -> str | None:
    """Arguments of a tool as ``name: value`` pairs; as they stand where they are no JSON object."""
    try:
        found = json.loads(raw) if raw else None
    except (ValueError, RecursionError):
        return raw
    if not isinstance(found, dict):
        return raw or None
    return ", ".join(
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in found.items()
    )
