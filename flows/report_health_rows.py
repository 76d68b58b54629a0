"""Checks of the rows of a lake: growth, contradictions, poisoning, refusals and failed runs."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from flows.report_health_read import FLOAT32, Sources
from lake import revisions, tables
from transforms.health import checks_rows
from transforms.health.checks_answers import contradictions_served
from transforms.health.checks_rows import Came
from transforms.health.thresholds import Measure
from transforms.injection import INSTRUCTION_REASON
from transforms.owners import owner_expr
from transforms.retention import instant
from transforms.schemas import (
    COSTS,
    EPISODES,
    FACTS,
    METRICS,
    REMOVALS,
    REQUESTS,
    RUNS,
)

LEDGERS = (RUNS, METRICS, COSTS, REMOVALS, REQUESTS)
"""Tables that grow with every run and that nothing expires."""


def growth(sources: Sources) -> list[Measure]:
    """Rows past their time, and what grows faster than it is taken out."""
    job, health = sources.job, sources.job.policy.health
    overdue, sizes, counts = sources.overdue, sources.sizes, sources.counts
    size = int(sizes["size_bytes"].sum())
    since = instant(sources.window.since)
    taken = tables.scan(job.lake, REMOVALS).filter(
        pl.col("as_of_at") > since, pl.col("as_of_at") <= instant(job.as_of), pl.col("table") == EPISODES.name
    )
    removed = int(taken.select(pl.col("rows_removed").sum()).collect().item() or 0)
    landed = int(sources.runs.filter(pl.col("step") == "ingest")["rows_out"].sum())
    ledgers = sizes.filter(pl.col("table").is_in([table.name for table in LEDGERS]))
    middle = job.as_of - timedelta(days=sources.days / 2)  # a lake of a few nights is still taking shape
    earlier = sources.measured.filter(pl.col("as_of_at") > since, pl.col("as_of_at") <= instant(middle))
    rows = counts["rows"]
    return [
        Measure("overdue_rows", int(overdue["overdue"].sum()), _where(overdue)),
        checks_rows.net_growth(landed, removed, rows, counts["first_at"], sources.window.since, job.as_of),
        checks_rows.bytes_per_row(size, rows, earlier, health.min_rows),
        Measure("ledger_bytes", int(ledgers["size_bytes"].sum()), ", ".join(table.name for table in LEDGERS)),
        checks_rows.fullest(_owned(sources), job.policy.capacity.episodes),
        Measure("lake_bytes", size),
        Measure("lake_rows", rows),
    ]


def _where(overdue: pl.DataFrame) -> str:
    return ", ".join(f"{table} {rows:,}" for table, rows in overdue.iter_rows())


def _owned(sources: Sources) -> list[int]:
    """Episodes of each owner, injected context apart: as the budget counts them."""
    mine = sources.episodes.filter(~pl.col("is_injected")).with_columns(owner_expr())
    counted = mine.filter(pl.col("owner").is_not_null()).group_by("tenant_id", "owner").len()
    return sorted(counted.collect(engine="streaming")["len"].to_list())


def contradiction(sources: Sources) -> list[Measure]:
    """Slots that hold two facts, and answers that did."""
    slots = sources.contested
    told = ", ".join(f"{name} {count}" for name, count in _by_predicate(slots).iter_rows())
    return [
        Measure("contradicting_slots", slots["slot"].n_unique(), told),
        contradictions_served(sources.served, slots, sources.job.policy.health.min_rows),
    ]


def _by_predicate(slots: pl.DataFrame) -> pl.DataFrame:
    """``predicate`` and ``slots``."""
    return slots.group_by("predicate").agg(slots=pl.col("slot").n_unique()).sort("predicate")


def poisoning(sources: Sources) -> list[Measure]:
    """Untrusted rows, refused instructions, one writer, one text, and tools that are trusted too much."""
    health, counts = sources.job.policy.health, sources.counts
    came = Came(counts["rows"] - counts["new"], counts["new"])
    low = Came(counts["low"] - counts["low_new"], counts["low_new"])
    refused = sources.refused.filter(pl.col("reason") == INSTRUCTION_REASON)
    texts, sessions = _texts(sources)
    return [
        checks_rows.low_trust_rise(came, low, health.min_rows),
        checks_rows.injection(int(refused["rows"].sum()), came.new, health.min_rows),
        checks_rows.writer_rise(sources.writers),
        Measure("tool_trust_rows", _trusted_tools(sources)),
        checks_rows.flood(texts, sessions, health.min_rows),
    ]


def _trusted_tools(sources: Sources) -> int:
    """Facts of tools that stand and are trusted more than a tool is."""
    names = ["fact_id", "source", "trust", "revision", "is_removed"]
    rows = tables.scan(sources.job.lake, FACTS).select(names).collect()
    stood = revisions.alive(revisions.newest(FACTS, rows))
    is_over = pl.col("trust") > sources.job.policy.trust.tool + FLOAT32
    return stood.filter(is_over, pl.col("source") == "tool_result").height


def _texts(sources: Sources) -> tuple[pl.DataFrame, pl.DataFrame]:
    """In how many sessions of the window each text came, and how many sessions each tenant had.

    Texts and sessions are told apart by numbers made of their names, in half the time.
    """
    rows = sources.episodes.filter(
        pl.col("ingested_at") > instant(sources.window.since),
        ~pl.col("is_injected"),
        pl.col("session_id").is_not_null(),
    )
    long = pl.col("content_chars") >= sources.job.policy.health.flood_chars
    own = pl.col("role").is_in(checks_rows.OWN_ROLES).fill_null(False)
    came = pl.col("session_id").hash(0).n_unique().cast(pl.Int64)
    texts = (
        rows.filter(long, ~own)
        .group_by("tenant_id", pl.col("content_hash").hash(0).alias("text"))
        .agg(sessions=came)
    )
    sessions = rows.group_by("tenant_id").agg(all_sessions=came)
    many, all_of = pl.collect_all([texts.filter(pl.col("sessions") > 1), sessions], engine="streaming")
    return many.select("tenant_id", "sessions"), all_of


def quarantine(sources: Sources) -> list[Measure]:
    """Refused rows against those that came, and against the time before."""
    found, counts = sources.refused, sources.counts
    refused = Came(int(found["rows_before"].sum()), int(found["rows"].sum()))
    landed = Came(counts["rows"] - counts["new"], counts["new"])
    health = sources.job.policy.health
    return checks_rows.quarantine(refused, landed, health.min_rows, health.usual_refused_ratio)


def runs(sources: Sources) -> list[Measure]:
    """Steps that failed."""
    return checks_rows.failed_runs(sources.runs)
