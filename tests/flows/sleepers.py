"""What the tests of consolidation share: a small history of two people, and what a lake derived of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.job import Job, StepResult
from lake import revisions, tables
from tests.flows.lakes import ingest, row, write
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    FACTS,
    PROCEDURES,
    SUMMARIES,
    Table,
)

PURE: tuple[Table, ...] = (FACTS, DECISIONS, CONVERSATIONS, ATTEMPTS, PROCEDURES)
"""Derived tables that do not depend on how episodes are split over nights."""


def said(number: int, content: str, day: str, **fields: Any) -> dict[str, Any]:
    """What ana said on a day of 2026, such as ``03-05``."""
    fields = {"session_id": f"s-{day}", **fields}
    return row(number, content, event_at=f"2026-{day}T10:{number % 60:02d}:00Z", **fields)


def history() -> list[dict[str, Any]]:
    """Moves, a change of seat, an allergy, a retraction, tools that fail and are mended, two more people."""
    return [
        said(1, "I live in Graz.", "03-05"),
        said(2, "I always take an aisle seat on flights.", "03-05"),
        said(3, "I'm allergic to peanuts.", "03-06"),
        said(4, "I really like rye bread.", "03-06"),
        said(5, "Do you think I live in Rome?", "03-06"),
        said(6, "You live in Rome.", "03-06", role="assistant"),
        said(7, "I moved to Lisbon last week.", "05-12"),
        said(8, "I prefer a window seat on flights now.", "05-12"),
        said(9, "I live in Lisbon.", "06-01"),
        said(10, "I no longer like rye bread.", "06-02"),
        said(11, "Import the Bluewater file.", "06-03"),
        said(
            12,
            "Error: could not parse amount '1.204,50'",
            "06-03",
            role="tool",
            kind="action",
            tool_name="import_invoices",
            outcome="failure",
            failure_reason="decimal comma",
        ),
        said(
            13,
            "12 invoices imported.",
            "06-03",
            role="tool",
            kind="action",
            tool_name="import_invoices",
            outcome="success",
        ),
        said(14, "The import works with decimal set to a comma.", "06-03", role="assistant", tags=["fix"]),
        said(15, "I live in Cork.", "06-03", user_id="ben", session_id="b1"),
        said(16, "I live in Turku.", "06-03", tenant_id="umbrella", session_id="u1"),
        said(17, "I live in Oslo.", "06-04", is_injected=True),
    ]


def night(job: Job, folder: Path, name: str, rows: list[dict[str, Any]]) -> StepResult:
    """Ingest, embed and consolidate some rows."""
    if rows:
        ingest(job, write(folder / f"{name}.jsonl", rows))
    run_embed(job)
    return run_consolidate(job)


def derived(job: Job, *wanted: Table) -> dict[str, pl.DataFrame]:
    """What stands of each table, in the order of its key."""
    found = {t.name: revisions.standing(job.lake, t).sort(t.key) for t in wanted or PURE}
    if DECISIONS.name in found:  # those on topics depend on the nights
        found[DECISIONS.name] = found[DECISIONS.name].filter(pl.col("item_kind") == "claim")
    return found


def claims(job: Job) -> pl.DataFrame:
    return tables.scan(job.lake, CLAIMS).collect().sort("claim_id")


def facts(job: Job, **equal: str) -> list[tuple[Any, ...]]:
    """Predicate, object, polarity and why it was retired, of standing facts by validity."""
    rows = revisions.standing(job.lake, FACTS).filter(
        pl.lit(True), *(pl.col(n) == v for n, v in equal.items())
    )
    shown = rows.sort("predicate", "valid_from", "object_key")
    return list(shown.select("predicate", "object_key", "polarity", "retired_reason").iter_rows())


def summaries(job: Job) -> pl.DataFrame:
    return revisions.standing(job.lake, SUMMARIES)
