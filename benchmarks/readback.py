"""Proof of an erasure, and the purge of the index: seconds, GB/s, and shares of a whole rebuild.

Floors in the same run: reading the files and looking at nothing (raw), decoding them with Polars and
looking at nothing (decoded), and building the whole index anew (purge).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.recall_data import AS_OF, World, frames, scopes
from lake import tables
from lake.erasure.index_purge import purge_index
from lake.index import Manifest, Pointer, load_manifest, scope_hash, write_pointer
from lake.index_build import Builder
from lake.lake import Lake, init_lake, open_lake
from lake.readback.read_back import Needles, read_back
from transforms.policy import PublishPolicy
from transforms.schemas import EPISODES

Emit = Callable[[dict[str, Any]], None]
GENERATION = "gen-000001"
LARGE_SCOPE_ROWS = 20_000
ERASED_ROWS = 200


def build(folder: Path, rows: int, emit: Emit) -> None:
    """A lake of as many episodes, and a live generation of as many memories."""
    lake = init_lake(str(folder / "lake"), 16)
    made = scopes(rows)
    large = [scope_hash(scope.tenant, scope.user) for scope in made if scope.rows > LARGE_SCOPE_ROWS]
    world = World()
    parts = list(_episodes(lake, frames(world, made)))
    began = time.perf_counter()
    builder = Builder(lake, GENERATION, int(world.centres.shape[1]), large)
    entries = builder.write(iter(parts))
    seconds = time.perf_counter() - began
    manifest = Manifest(
        GENERATION,
        "bench",
        int(world.centres.shape[1]),
        builder.rows,
        "2026-01-01T00:00:00+00:00",
        tuple(entries),
        {"episodes": 0},
    )
    lake.storage.write(f"index/{GENERATION}/manifest.json", manifest.dumps())
    write_pointer(lake, Pointer(GENERATION, (GENERATION,)))
    emit({"seconds": round(seconds, 2), "bytes": _bytes(lake, "index"), "tables": len(entries)})


def _episodes(lake: Lake, parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Memories, each frame landed as episodes on the way."""
    defaults: dict[str, Any] = {
        "content": pl.col("text"),
        "content_chars": pl.col("text").str.len_chars().cast(pl.Int64),
        "episode_id": pl.col("memory_id"),
        "month": pl.col("event_at").dt.strftime("%Y-%m"),
        "tags": pl.lit([], pl.List(pl.String)),
        "redactions": pl.lit([], pl.List(pl.String)),
        "is_injected": pl.lit(value=False),
        "source": pl.lit("bench"),
        "retention_tier": pl.lit("permanent"),
        "ingested_at": pl.lit(AS_OF),
    }
    for part in parts:
        buckets = [lake.bucket(tenant) for tenant in part["tenant_id"]]
        rows = part.with_columns(**defaults).with_columns(tenant_bucket=pl.Series(buckets, dtype=pl.Int32))
        missing = [pl.lit(None, EPISODES.polars[n]).alias(n) for n in EPISODES.names if n not in rows.columns]
        tables.append(lake, EPISODES, rows.with_columns(missing).select(EPISODES.names))
        yield part


def _bytes(lake: Lake, prefix: str) -> int:
    return sum(entry.size_bytes for entry in lake.storage.entries(prefix))


def purge(folder: Path, rows: int, emit: Emit) -> None:
    """One person of about 200 memories out of the index, on a linked copy of the generation."""
    lake = open_lake(str(folder / "lake"))
    copied = folder / "purged"
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(folder / "lake", copied, ignore=shutil.ignore_patterns("tables"))
    ids = _erased(lake, rows)
    done = purge_index(open_lake(str(copied)), ids, policy=PublishPolicy())
    shutil.rmtree(copied)
    emit({"erased": len(ids), **{k: v for k, v in done.as_dict().items() if k != "checks"}})


def _erased(lake: Lake, rows: int) -> list[str]:
    """Ids of somebody's memories: of the scope nearest to 200 rows."""
    scope = min(scopes(rows), key=lambda made: (abs(made.rows - ERASED_ROWS), made.user))
    held = tables.scan(lake, EPISODES, buckets=[lake.bucket(scope.tenant)])
    mine = held.filter((pl.col("tenant_id") == scope.tenant) & (pl.col("user_id") == scope.user))
    return mine.select("episode_id").collect()["episode_id"].to_list()


def verify(folder: Path, rows: int, emit: Emit) -> None:
    """The lake read back for somebody's 200 ids and texts; none of them counts as a leak here."""
    lake = open_lake(str(folder / "lake"))
    ids = _erased(lake, rows)
    texts = tables.scan(lake, EPISODES).filter(pl.col("episode_id").is_in(ids)).collect()["content"]
    needles = Needles(frozenset(ids), ("user-of-nobody", "nobody@example.org"), tuple(texts))
    for threads in (1, 2):
        result = read_back(
            lake,
            needles,
            lambda _, found: pl.repeat(value=True, n=found.height, eager=True),
            threads=threads,
        )
        shown = {
            key: getattr(result, key) for key in ("files", "bytes_raw", "bytes_decoded", "mention_count")
        }
        emit(
            {
                "threads": threads,
                "seconds": round(result.seconds, 2),
                **shown,
                "leaks": result.leak_count,
                "gb_per_second_raw": round(result.bytes_raw / 1e9 / result.seconds, 3),
                "gb_per_second_decoded": round(result.bytes_decoded / 1e9 / result.seconds, 3),
            }
        )


def floors(folder: Path, rows: int, emit: Emit) -> None:
    """What cannot be had for less: the bytes read once, and the Parquet files decoded once."""
    del rows
    lake = open_lake(str(folder / "lake"))
    began, size = time.perf_counter(), 0
    for entry in lake.storage.entries(""):
        size += len(lake.storage.read(entry.key) or b"")
    raw = time.perf_counter() - began
    began = time.perf_counter()
    decoded = tables.scan(lake, EPISODES).collect(engine="streaming").estimated_size()
    seconds = time.perf_counter() - began
    manifest = load_manifest(lake, GENERATION)
    emit(
        {
            "gb_per_second_read": round(size / 1e9 / raw, 3),
            "gb_per_second_polars_decoded": round(decoded / 1e9 / seconds, 3),
            "index_rows": manifest.rows,
        }
    )


STEPS = {"build": build, "purge": purge, "verify": verify, "floors": floors}
