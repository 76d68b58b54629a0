"""Erasure of one user spread over twelve months in a lake of many episodes: seconds, bytes, proof.

The lake is made straight through ``tables.append``, without a night: what is measured is finding a
person's rows, writing their files anew, clearing history, and reading every file back.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.facts import peak_mb
from benchmarks.night import job_in, timed
from flows.erase import run_erase
from flows.job import Job
from lake import tables
from lake.erasure.removal import files_of
from transforms import ids
from transforms.schemas import EPISODES
from transforms.subjects import Subject

Emit = Callable[[dict[str, Any]], None]
ROWS = 10_000_000
"""Episodes of the full measurement."""
TENANTS = 40
PER_USER = 600
"""Episodes of a user, fifty a month."""
MONTHS = 12
PORTION = 1_000_000
FILES = 12
"""Files of one commit of the full rewrite, as many as the erasure's own."""
START = datetime(2025, 7, 1, tzinfo=UTC)
WORDS = np.asarray(
    "harbour cellar barrel ladder window garden winter summer ticket office letter bridge paint river"  # noqa: SIM905
    " market lamp kettle roof engine valley corner candle basket feather copper marble orchard".split()
)
SUBJECT = Subject("tenant-7", user="user-7-3")


def measure_setup(folder: Path, rows: int, emit: Emit) -> None:
    """Make the lake."""
    job = job_in(folder)
    _, wall, _ = timed(lambda: _make(job, rows))
    emit({"seconds": round(wall, 1), "bytes": tables.size_bytes(job.lake, EPISODES)})


def _make(job: Job, rows: int) -> None:
    chance = np.random.default_rng(11)
    for start in range(0, rows, PORTION):
        tables.append(job.lake, EPISODES, _episodes(job, start, min(PORTION, rows - start), rows, chance))


def _episodes(job: Job, start: int, count: int, rows: int, chance: np.random.Generator) -> pl.DataFrame:
    """Rows ``start`` to ``start + count`` of so many; users in turn, each spread over all months."""
    users = max(rows // PER_USER, TENANTS * 4)
    number = np.arange(start, start + count)
    tenant, user = number % TENANTS, number // TENANTS % (users // TENANTS)
    seconds = (number / max(rows, 1) * MONTHS * 30 * 86_400).astype(np.int64)
    words = WORDS[chance.integers(len(WORDS), size=(count, 14))]
    content = pl.DataFrame(words).select(pl.concat_str(pl.all(), separator=" ")).to_series()
    frame = pl.DataFrame({"n": number, "tenant": tenant, "user": user, "s": seconds, "content": content})
    said = frame.with_columns(
        tenant_id=pl.format("tenant-{}", "tenant"),
        user_id=pl.format("user-{}-{}", "tenant", "user"),
        event_at=pl.lit(START).dt.cast_time_unit("us") + pl.duration(seconds="s"),
        content=pl.format("note {}: {}.", "n", "content"),
    )
    named = ids.row_ids(said, "tenant_id", "n")
    filled = said.with_columns(
        episode_id=named,
        content_hash=named,
        tenant_bucket=ids.tenant_buckets(said["tenant_id"], job.lake.buckets),
        session_id=pl.format("session-{}", pl.col("n") // 20),
        month=pl.col("event_at").dt.strftime("%Y-%m"),
        content_chars=pl.col("content").str.len_chars().cast(pl.Int64),
        ingested_at="event_at",
    )
    return filled.select(_filled(column.name, filled) for column in EPISODES.columns)


_PLAIN: dict[str, Any] = {
    "kind": "conversation",
    "role": "user",
    "sensitivity": "normal",
    "source": "benchmark",
    "retention_tier": "permanent",
    "importance": 0.5,
    "trust": 1.0,
    "is_injected": False,
    "tags": [],
    "redactions": [],
}


def _filled(name: str, rows: pl.DataFrame) -> pl.Expr:
    if name in rows.columns:
        return pl.col(name).cast(EPISODES.polars[name])
    return pl.lit(_PLAIN.get(name), EPISODES.polars[name]).alias(name)


def measure_user(folder: Path, rows: int, emit: Emit) -> None:
    """Erase one user, and prove it."""
    job = job_in(folder)
    before = tables.size_bytes(job.lake, EPISODES)
    certificate, wall, cpu = timed(
        lambda: run_erase(job, SUBJECT, basis="policy", requested_by="operator").data
    )
    (episodes,) = [store for store in certificate["stores"] if store["store"] == EPISODES.name]
    proof = certificate["verification"]
    emit(
        {
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "peak_mb": peak_mb(),
            "erased": episodes["before"],
            "files_rewritten": episodes["files_rewritten"],
            "bytes_rewritten": episodes["bytes_rewritten"],
            "share_of_full_rewrite": round(episodes["bytes_rewritten"] / before, 4),
            "verified_gb_per_second": proof["gb_per_second"],
            "verified_bytes": proof["bytes"],
            "steps": {step["name"]: step["seconds"] for step in certificate["steps"]},
            "of_rows": rows,
        }
    )


def measure_full_rewrite(folder: Path, rows: int, emit: Emit) -> None:
    """Write every file of the table anew, for comparison."""
    job = job_in(folder)

    def rewrite() -> None:
        names = list(files_of(job.lake, EPISODES, None))
        for start in range(0, len(names), FILES):
            some = names[start : start + FILES]
            tables.rewrite(job.lake, EPISODES, some, tables.scan(job.lake, EPISODES, files=some).collect())

    _, wall, cpu = timed(rewrite)
    emit({"seconds": round(wall, 2), "cpu_seconds": round(cpu, 2), "of_rows": rows})


STEPS = {"setup": measure_setup, "user": measure_user, "full_rewrite": measure_full_rewrite}
