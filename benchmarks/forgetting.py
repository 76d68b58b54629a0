"""Forgetting at a size: scores in memory and streamed beside one numpy pass, and retain with 1 % due."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.data import WORDS
from benchmarks.facts import peak_mb
from benchmarks.night import job_in, timed
from flows.job import Job
from flows.retain import run_retain
from lake import tables
from transforms import ids
from transforms.forgetting.score import is_forgotten, score_expr
from transforms.policy import Policy
from transforms.policy_retention import DecayPolicy
from transforms.schemas import EPISODES, INSTANT

Emit = Callable[[dict[str, Any]], None]
AS_OF = datetime(2026, 6, 30, tzinfo=UTC)
NOW_US = int(AS_OF.timestamp() * 1e6)
DAY_US = 86_400_000_000
KINDS = ("conversation", "action", "observation", "outcome", "summary", "preference", "fact", "procedure")
IN_MEMORY = 10
"""The streamed measurement has so many times the rows of the one in memory."""
FILE_ROWS = 5_000_000
TENANTS, USERS = 200, 20_000
DUE_SHARE = 0.01


def memories(rows: int, seed: int) -> pl.DataFrame:
    """What decay reads of that many memories, with accesses folded in."""
    rng = np.random.default_rng(seed)
    event = NOW_US - rng.integers(0, 400 * DAY_US, rows)
    count = rng.integers(0, 60, rows).astype(np.int32)
    seen = np.where(count > 0, event + (rng.random(rows) * (NOW_US - event)).astype(np.int64), event)
    return pl.DataFrame(
        {
            "kind": pl.Series(np.array(KINDS)[rng.integers(0, len(KINDS), rows)]),
            "importance": rng.random(rows, np.float32),
            "event_at": event,
            "access_count": count,
            "last_accessed_at": seen,
        }
    ).with_columns(pl.col("event_at", "last_accessed_at").cast(INSTANT))


def numpy_pass(columns: dict[str, NDArray[Any]], decay: DecayPolicy) -> int:
    """The floor: one pass over arrays, kinds as numbers already. Returns how many are forgotten."""
    lives = [decay.half_life_days.get(kind) for kind in KINDS]
    rates = np.array([-math.log(2) / life if life else 0.0 for life in lives])
    days = np.maximum((NOW_US - columns["seen"]) / DAY_US, 0.0)
    recency = np.exp(days * rates[columns["kind"]])
    frequency = np.minimum(np.log1p(columns["count"]) / math.log(decay.frequency_scale), 1.0)
    score = (
        decay.importance_weight * columns["importance"]
        + decay.recency_weight * recency
        + decay.frequency_weight * frequency
    )
    return int((score < decay.forget_below).sum())


def _columns(frame: pl.DataFrame) -> dict[str, NDArray[Any]]:
    kinds = frame["kind"].cast(pl.Enum(KINDS)).to_physical().to_numpy()
    return {
        "kind": kinds.astype(np.int64),
        "importance": frame["importance"].to_numpy(),
        "count": frame["access_count"].to_numpy(),
        "seen": frame["last_accessed_at"].to_physical().to_numpy(),
    }


def measure_memory(folder: Path, rows: int, emit: Emit) -> None:
    """Score that many rows in memory, and the same by numpy."""
    del folder
    decay, frame = DecayPolicy(), memories(rows, 1)
    columns = _columns(frame)
    floor, floor_wall, floor_cpu = timed(lambda: numpy_pass(columns, decay))
    scored = frame.lazy().select(score_expr(decay, AS_OF))
    found, wall, cpu = timed(lambda: scored.select(is_forgotten(decay).sum()).collect().item())
    emit({**_rates(rows, wall, cpu, floor_wall, floor_cpu), "forgotten": found, "agrees": found == floor})


def measure_streamed(folder: Path, rows: int, emit: Emit) -> None:
    """Score ten times as many rows from Parquet, streamed; the numpy pass reads the same, file by file."""
    decay, total = DecayPolicy(), rows * IN_MEMORY
    place = folder / "memories"
    place.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, total, FILE_ROWS)):
        memories(min(FILE_ROWS, total - start), number).write_parquet(place / f"{number:04d}.parquet")

    def by_numpy() -> int:
        return sum(numpy_pass(_columns(pl.read_parquet(file)), decay) for file in sorted(place.iterdir()))

    floor, floor_wall, floor_cpu = timed(by_numpy)

    def by_polars() -> int:
        """File by file, as the job goes bucket by bucket: over all files at once the engine holds 7 GB."""
        scans = (pl.scan_parquet(file).select(score_expr(decay, AS_OF)) for file in sorted(place.iterdir()))
        counts = (scan.select(is_forgotten(decay).sum()) for scan in scans)
        return sum(int(count.collect(engine="streaming").item()) for count in counts)

    found, wall, cpu = timed(by_polars)
    figures = _rates(total, wall, cpu, floor_wall, floor_cpu)
    emit(
        {
            "streamed_rows": total,
            **figures,
            "peak_mb": peak_mb(),
            "forgotten": found,
            "agrees": found == floor,
        }
    )


def _rates(rows: int, wall: float, cpu: float, floor_wall: float, floor_cpu: float) -> dict[str, Any]:
    return {
        "rows_per_second": round(rows / wall),
        "rows_per_cpu_second": round(rows / cpu),
        "numpy_rows_per_second": round(rows / floor_wall),
        "numpy_rows_per_cpu_second": round(rows / floor_cpu),
    }


def measure_setup(folder: Path, rows: int, emit: Emit) -> None:
    """A lake of that many episodes over 89 days, of which one in a hundred asked to expire by now."""
    job = _job(folder)
    for number, start in enumerate(range(0, rows, 500_000)):
        tables.append(job.lake, EPISODES, _episodes(job, min(500_000, rows - start), number))
    emit(
        {"files": len(tables.data_files(job.lake, EPISODES)), "bytes": tables.size_bytes(job.lake, EPISODES)}
    )


def measure_retain(folder: Path, rows: int, emit: Emit) -> None:
    """Take out the 1 % that is due."""
    _measure(_job(folder), rows, emit)


def measure_unchanged(folder: Path, rows: int, emit: Emit) -> None:
    """Run again with nothing due."""
    _measure(_job(folder), rows, emit)


def measure_month(folder: Path, rows: int, emit: Emit) -> None:
    """A month later: whole months are due."""
    job = _job(folder)
    _measure(replace(job, as_of=AS_OF + timedelta(days=33)), rows, emit)


def _measure(job: Job, rows: int, emit: Emit) -> None:
    result, wall, cpu = timed(lambda: run_retain(job))
    figures = {"seconds": round(wall, 2), "cpu_seconds": round(cpu, 2), "peak_mb": peak_mb()}
    emit({**figures, "judged": result.rows_in, "removed": result.rows_out, "of_rows": rows})


def _job(folder: Path) -> Job:
    """Ample budgets: what goes here goes for its time."""
    whole = Policy().model_dump()
    ample = {"facts": 10**9, "indexed_rows": 10**9, "episodes": 10**9}
    return replace(job_in(folder), as_of=AS_OF, policy=Policy.model_validate({**whole, "capacity": ample}))


def _episodes(job: Job, rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(1_000 + seed)
    tenants = pl.Series([f"tenant-{n:03d}" for n in range(TENANTS)])
    users = pl.Series([f"user-{n:05d}" for n in range(USERS)])
    user = rng.integers(0, USERS, rows)
    words = pl.Series(WORDS)
    picks = [words.gather(rng.integers(0, len(WORDS), rows)) for _ in range(12)]
    event = pl.Series(NOW_US - rng.integers(DAY_US, 89 * DAY_US, rows)).cast(INSTANT)
    frame = pl.DataFrame(
        {
            "tenant_id": tenants.gather(user % TENANTS),
            "user_id": users.gather(user),
            "content": pl.select(pl.concat_str(picks, separator=" ")).to_series(),
            "event_at": event,
            "importance": rng.uniform(0.4, 1.0, rows).astype(np.float32),
            "expires_at": pl.select(
                pl.when(pl.lit(pl.Series(rng.random(rows) < DUE_SHARE))).then(AS_OF)
            ).to_series(),
        }
    )
    names = pl.int_range(rows).cast(pl.String)
    frame = frame.with_columns(
        episode_id=ids.row_ids(frame, pl.lit(str(seed)), names),
        content_hash=ids.row_ids(frame, "tenant_id", "content"),
        tenant_bucket=ids.tenant_buckets(frame["tenant_id"], job.lake.buckets),
        month=pl.col("event_at").dt.strftime("%Y-%m"),
        content_chars=pl.col("content").str.len_chars().cast(pl.Int64),
    )
    constants = {
        "kind": "conversation", "role": "user", "sensitivity": "normal", "source": "bench",
        "retention_tier": "medium_term", "is_injected": False, "trust": 1.0, "session_id": "s",
    }  # fmt: skip
    given = {name: pl.lit(value) for name, value in constants.items()}
    empty = {name: pl.lit([], EPISODES.polars[name]) for name in ("tags", "redactions")}
    missing = set(EPISODES.names) - set(frame.columns) - set(given) - set(empty) - {"ingested_at"}
    nothing = {name: pl.lit(None, EPISODES.polars[name]) for name in missing}
    return frame.with_columns(**given, **empty, **nothing, ingested_at=pl.lit(AS_OF).cast(INSTANT))


STEPS = {
    "memory": measure_memory,
    "streamed": measure_streamed,
    "setup": measure_setup,
    "retain": measure_retain,
    "unchanged": measure_unchanged,
    "month": measure_month,
}
