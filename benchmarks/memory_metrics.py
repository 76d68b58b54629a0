"""What the measures of a night cost: ``python -m benchmarks.memory_metrics [calls]``, 50 rows a call."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from flows.job import Job
from flows.metrics import measure_night
from flows.report_quality import quality
from lake import tables
from lake.embedders.local import LocalEmbedder
from lake.lake import init_lake
from transforms import ids
from transforms.policy import Policy
from transforms.schemas import EPISODES, INSTANT, RECALLS, Table
from transforms.subjects import Subject

AS_OF = datetime(2026, 6, 30, 23, tzinfo=UTC)
NOW_US = int(AS_OF.timestamp() * 1e6)
DAY_US = 86_400_000_000
EPISODES_HELD, TENANTS, USERS = 200_000, 40, 200
CANDIDATES, RETURNED, PARTS = 50, 10, 5
WORDS = " and then some words of a turn of usual length, such as people say to an agent in passing"


def conforming(table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of a table; what is left out is the plainest value of its type."""
    plain: dict[str, pl.Expr] = {}
    for column in table.columns:
        if column.name not in rows.columns:
            nothing = None if column.is_nullable else {pl.String: "", pl.Boolean: False}.get(column.dtype, 0)
            value = pl.lit([]) if column.dtype.is_nested() else pl.lit(nothing)
            plain[column.name] = value.cast(column.dtype)
    return rows.with_columns(**plain).select(table.names)


def episodes(buckets: int, rng: np.random.Generator) -> pl.DataFrame:
    """Turns of the last ninety days."""
    event = NOW_US - rng.integers(0, 90 * DAY_US, EPISODES_HELD)
    rows = pl.DataFrame(
        {
            "episode_id": ids.digest_series(str(n) for n in range(EPISODES_HELD)),
            "tenant_id": [f"t{n}" for n in rng.integers(0, TENANTS, EPISODES_HELD)],
            "user_id": [f"u{n}" for n in rng.integers(0, USERS, EPISODES_HELD)],
            "event_at": pl.Series(event).cast(INSTANT),
        }
    )
    filled = rows.with_columns(
        tenant_bucket=ids.tenant_buckets(rows["tenant_id"], buckets),
        month=pl.col("event_at").dt.strftime("%Y-%m"),
        ingested_at="event_at",
        kind=pl.lit("conversation"),
        content=pl.col("episode_id") + WORDS,
        content_hash="episode_id",
        content_chars=pl.lit(32 + len(WORDS)),
        importance=pl.lit(0.5),
        sensitivity=pl.lit("normal"),
        retention_tier=pl.lit("medium_term"),
    )
    return conforming(EPISODES, filled)


def recalls(held: pl.DataFrame, calls: int, policy: Policy, rng: np.random.Generator) -> pl.DataFrame:
    """Searches of the last thirty days, each inside one tenant."""
    found = []
    for (tenant,), mine in sorted(held.group_by(["tenant_id"]), key=lambda part: str(part[0])):
        count = calls // TENANTS
        places = np.repeat(np.arange(count), CANDIDATES)
        at = (NOW_US - rng.integers(0, 30 * DAY_US, count))[places]
        rows = mine.select("tenant_id", "tenant_bucket", "user_id", "event_at", memory_id="episode_id")
        found.append(
            rows[rng.integers(0, mine.height, count * CANDIDATES).tolist()].with_columns(
                call_id=pl.Series([ids.row_id(str(tenant), str(at[0]), str(n)) for n in range(count)])[
                    places.tolist()
                ],
                rank=pl.Series(np.tile(np.arange(1, CANDIDATES + 1, dtype=np.int32), count)),
                seconds=pl.Series((rng.random(count) / 10)[places]),
                recalled_at=pl.Series(at).cast(INSTANT),
            )
        )
    every = pl.concat(found).unique(["call_id", "memory_id"], keep="first", maintain_order=True)
    filled = every.with_columns(
        month=pl.col("recalled_at").dt.strftime("%Y-%m"),
        agent_id=pl.lit("agent"),
        kind=pl.lit("conversation"),
        verb=pl.lit("search"),
        policy_hash=pl.lit(policy.hash()),
        last_accessed_at="event_at",
        is_returned=pl.col("rank") <= RETURNED,
        is_used=pl.when(pl.col("rank") == 1).then(pl.lit(True)),
    )
    return conforming(RECALLS, filled)


def run(calls: int) -> None:
    """Make the lake, then time a night's measures, the report and an audit; a JSON line each."""
    with tempfile.TemporaryDirectory() as folder:
        job = Job(init_lake(str(Path(folder) / "lake"), 8), Policy(), AS_OF, LocalEmbedder)
        rng = np.random.default_rng(0)
        held = episodes(job.lake.buckets, rng)
        tables.append(job.lake, EPISODES, held)
        rows = 0
        for _ in range(PARTS):
            part = recalls(held, calls // PARTS, job.policy, rng)
            tables.append(job.lake, RECALLS, part)
            rows += part.height
        del held, part
        steps = {
            "night": lambda: measure_night(job),
            "report": lambda: quality(job, None),
            "audit": lambda: quality(job, Subject("t0", user="u3")),
        }
        for name, step in steps.items():
            began = time.perf_counter()
            step()
            told = {"measure": name, "calls": calls, "rows": rows, "episodes": EPISODES_HELD,
                    "seconds": round(time.perf_counter() - began, 2)}  # fmt: skip
            print(json.dumps(told))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"measure": "peak, making the lake included", "megabytes": peak // 1024}))


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
