"""A lake of a billion episodes, simulated: one real data file, linked under every bucket and month.

``python -m benchmarks billion``. What is real: the log of 3,840 data files, their rows as Parquet, every
scan. What is not: the rows repeat, so all tenants are the same ones in each bucket, and disk caches help more
than they would. Nothing is derived, embedded or published of it.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from deltalake import DeltaTable
from deltalake.transaction import AddAction

from benchmarks.data import WORDS
from benchmarks.facts import peak_mb
from benchmarks.night import job_in, timed
from flows.job import Job
from lake import tables
from lake.lake import Lake, init_lake
from lake.parts import encoded
from transforms import ids
from transforms.schemas import EPISODES, INSTANT

Emit = Callable[[dict[str, Any]], None]
AS_OF = datetime(2026, 12, 31, tzinfo=UTC)
BUCKETS, MONTHS, FILES = 64, 12, 5
"""Buckets that suit a billion rows, months of a year, and files of one partition."""
ROWS = 260_417
"""Of a file: 3,840 of them make a billion."""
TENANTS, USERS = 20, 1_000
TENANT = "tenant-07"


def episodes(rows: int, seed: int) -> pl.DataFrame:
    """Made rows of one partition, in the order a commit writes them."""
    rng = np.random.default_rng(seed)
    number = np.sort(rng.integers(0, USERS, rows))
    began = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1e6)
    at = began + rng.integers(0, 28 * 86_400_000_000, rows)
    words = pl.Series(WORDS)
    texts = [words.gather(rng.integers(0, len(WORDS), rows)) for _ in range(12)]
    frame = pl.DataFrame(
        {
            "episode_id": [f"{n:032x}" for n in rng.integers(0, 2**63, rows)],
            "tenant_id": [f"tenant-{n % TENANTS:02d}" for n in number],
            "user_id": [f"user-{n:05d}" for n in number],
            "session_id": [f"s-{n}-{m}" for n, m in zip(number, rng.integers(0, 50, rows), strict=True)],
            "event_at": at,
            "importance": rng.random(rows).astype(np.float32),
            "content": pl.select(pl.concat_str(texts, separator=" ")).to_series(),
        }
    ).with_columns(pl.col("event_at").cast(INSTANT))
    fixed = {
        "agent_id": "desk", "role": "user", "speaker": "user", "kind": "conversation", "source": "made",
        "source_file": "made", "retention_tier": "permanent",
    }  # fmt: skip
    frame = frame.with_columns(
        **{name: pl.lit(value) for name, value in fixed.items() if name in EPISODES.names},
        content_hash="episode_id",
        ingested_at="event_at",
        month=pl.lit("2026-01"),
        tenant_bucket=pl.lit(0, EPISODES.polars["tenant_bucket"]),
        content_chars=pl.col("content").str.len_chars().cast(EPISODES.polars["content_chars"]),
    )
    missing = [name for name in EPISODES.names if name not in frame.columns]
    filled = [_nothing(name) for name in missing]
    return EPISODES.conform(frame.with_columns(filled).select(EPISODES.names)).sort(EPISODES.sort_by)


def _nothing(name: str) -> pl.Expr:
    """A neutral value of a column that the made rows do not set."""
    dtype = EPISODES.polars[name]
    column = next(column for column in EPISODES.columns if column.name == name)
    if column.is_nullable:
        value: Any = None
    elif column.allowed:
        value = column.allowed[0]
    elif isinstance(dtype, pl.List):
        value = []
    else:
        value = False if dtype == pl.Boolean else 0 if dtype.is_numeric() else ""
    return pl.lit(value, dtype).alias(name)


def measure_make(folder: Path, rows: int, emit: Emit) -> None:
    """Write the file, link it everywhere, and commit the log."""
    del rows
    lake = init_lake(str(folder / "lake"), BUCKETS)
    tables.create_table(lake, EPISODES)
    data = encoded(EPISODES, episodes(ROWS, 5).drop(EPISODES.partition_by))
    root = Path(lake.table_uri(EPISODES))
    first: Path | None = None
    actions = []
    for bucket in range(BUCKETS):
        for month in range(1, MONTHS + 1):
            values = {"tenant_bucket": str(bucket), "month": f"2026-{month:02d}"}
            place = "/".join(f"{name}={value}" for name, value in values.items())
            (root / place).mkdir(parents=True)
            for number in range(FILES):
                name = f"{place}/part-{number}.zstd.parquet"
                if first is None:
                    first = root / name
                    first.write_bytes(data)
                else:
                    os.link(first, root / name)
                stats = json.dumps({"numRecords": ROWS})
                actions.append(AddAction(name, len(data), values, int(time.time() * 1000), True, stats))
    DeltaTable(str(root)).create_write_transaction(
        actions, "append", EPISODES.arrow(), list(EPISODES.partition_by)
    )
    emit(
        {"files": len(actions), "rows_in_log": len(actions) * ROWS, "bytes_in_log": len(actions) * len(data)}
    )


def _job(folder: Path) -> Job:
    return replace(job_in(folder), as_of=AS_OF)


def measure_log(folder: Path, rows: int, emit: Emit) -> None:
    """Open the table, list what it is made of, and append a night's rows to every bucket."""
    del rows
    lake = _job(folder).lake
    _, opened, _ = timed(lambda: tables.open_table(lake, EPISODES))
    names, listed, _ = timed(lambda: tables.data_files(lake, EPISODES))
    _, again, _ = timed(lambda: tables.added_files(lake, EPISODES, tables.version(lake, EPISODES)))
    peak = peak_mb()
    news = episodes(64_000, 6).with_columns(
        tenant_bucket=pl.int_range(pl.len(), dtype=EPISODES.polars["tenant_bucket"]) % BUCKETS,
        month=pl.lit("2026-12"),
    )
    _, appended, _ = timed(lambda: tables.append(lake, EPISODES, news))
    emit(
        {
            "files": len(names),
            "open_seconds": round(opened, 3),
            "list_seconds": round(listed, 3),
            "diff_seconds": round(again, 3),
            "peak_mb": peak,
            "append_64000_rows_to_64_buckets_seconds": round(appended, 2),
        }
    )


def _bucket(lake: Lake) -> int:
    return ids.tenant_bucket(TENANT, lake.buckets)


def measure_scans(folder: Path, rows: int, emit: Emit) -> None:
    """One tenant, one person, and every row by month."""
    del rows
    lake = _job(folder).lake
    mine = tables.scan(lake, EPISODES, buckets=[_bucket(lake)]).filter(pl.col("tenant_id") == TENANT)
    tenant, tenant_wall, _ = timed(lambda: mine.select(pl.len()).collect(engine="streaming").item())
    person = mine.filter(pl.col("user_id") == "user-00507").select("episode_id")
    found, person_wall, _ = timed(lambda: person.collect(engine="streaming").height)
    by_month = tables.scan(lake, EPISODES).group_by("month").agg(pl.len(), pl.col("importance").mean())
    counted, all_wall, all_cpu = timed(lambda: by_month.collect(engine="streaming"))
    emit(
        {
            "tenant_rows": tenant,
            "tenant_seconds": round(tenant_wall, 2),
            "person_rows": found,
            "person_seconds": round(person_wall, 2),
            "all_rows": int(counted["len"].sum()),
            "all_seconds": round(all_wall, 1),
            "all_cpu_seconds": round(all_cpu, 1),
            "peak_mb": peak_mb(),
        }
    )


def measure_decay(folder: Path, rows: int, emit: Emit) -> None:
    """The step decay on one bucket of 64, which is a work unit's share of a billion."""
    del rows
    from flows.engine.tasks import task_named

    job = _job(folder)
    bucket = _bucket(job.lake)
    payload = {"bucket": bucket, "looked_at": None, "basis": None, "subject": None}
    done, wall, cpu = timed(lambda: task_named("decay")(job, payload))
    emit(
        {
            "bucket_rows": FILES * MONTHS * ROWS,
            "seconds": round(wall, 1),
            "cpu_seconds": round(cpu, 1),
            "peak_mb": peak_mb(),
            "kinds": len(done.get("kinds", {})),
            "days_since_first": (AS_OF - datetime(2026, 1, 1, tzinfo=UTC)) // timedelta(days=1),
            "major_faults": resource.getrusage(resource.RUSAGE_SELF).ru_majflt,
        }
    )


STEPS = {"make": measure_make, "log": measure_log, "scans": measure_scans, "decay": measure_decay}
