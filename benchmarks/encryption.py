"""What encryption at rest costs: ingest, scans, a night and bytes on disk, each on a plain and a sealed lake.

In ``python -m benchmarks encryption``, or alone: ``python -m benchmarks.encryption [--rows N] [--no-night]``;
one JSON line a measurement.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.data import AS_OF
from benchmarks.facts import cpu_seconds
from benchmarks.sleep_data import write_base
from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.publish import run_publish
from lake import landing, tables
from lake.crypto.access import Keys
from lake.crypto.frames import open_rows, seal
from lake.crypto.master import LocalMasterKey
from lake.crypto.setup import encrypt
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.lake import init_lake
from lake.sources import open_sources
from transforms.policy import Policy
from transforms.schemas import EPISODES
from transforms.validate import Defaults

APPENDS = 60
SCANS = 5
"""Repetitions of a scan; the fastest counts, since other work on the machine only slows it."""

Emit = Callable[[dict[str, Any]], None]


def main() -> int:
    """Measure both lakes in turn."""
    parser = argparse.ArgumentParser(prog="benchmarks.encryption", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--folder", default=None, help="where data goes; default a temporary folder")
    parser.add_argument("--no-night", action="store_true", help="leave embedding and consolidation out")
    options = parser.parse_args()

    def emit(found: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"group": "encryption", "rows": options.rows, **found}) + "\n")
        sys.stdout.flush()

    with tempfile.TemporaryDirectory(prefix="slowwave-encryption-") as temporary:
        run(emit, Path(options.folder or temporary), options.rows, has_night=not options.no_night)
    return 0


def run(emit: Emit, folder: Path, rows: int, *, has_night: bool = True) -> None:
    """Measure a plain and a sealed lake side by side."""
    write_base(folder / "traces.jsonl", rows)
    jobs = {"plain": job_in(folder, is_sealed=False), "sealed": job_in(folder, is_sealed=True)}
    for measure in (ingest, scans, values, appends, *((night,) if has_night else ()), on_disk):
        for name, job in jobs.items():
            emit({"name": f"encryption.{measure.__name__}.{name}", **measure(job, folder)})


def job_in(folder: Path, *, is_sealed: bool) -> Job:
    """The job of one of the two lakes."""
    lake = init_lake(str(folder / ("sealed" if is_sealed else "plain")))
    if is_sealed:
        lake = encrypt(lake, Keys(str(folder / "keys"), LocalMasterKey(b"m" * 32)))
    return Job(lake, Policy(), AS_OF, lambda: make_embedder(EmbedderConfig()))


def timed(name: str, action: Callable[[], Any], times: int = 1) -> dict[str, float]:
    """Wall and CPU seconds of the fastest of some calls."""
    found = []
    for _ in range(times):
        wall, cpu = time.perf_counter(), cpu_seconds()
        action()
        found.append((time.perf_counter() - wall, cpu_seconds() - cpu))
    wall, cpu = min(found)
    return {f"{name}_s": round(wall, 3), f"{name}_cpu_s": round(cpu, 3)}


def ingest(job: Job, folder: Path) -> dict[str, Any]:
    """All rows, of a fresh lake: every subject's key is made."""
    sources = [(source, Defaults()) for source in open_sources(str(folder / "traces.jsonl"), "auto")]
    told = timed("ingest", lambda: run_ingest(job, iter(sources)))
    return {**told, "subjects": _users(job).height}


def scans(job: Job, folder: Path) -> dict[str, Any]:
    """Text of one user, of everybody, and no text at all."""
    del folder
    tenant, user = _users(job).sort(pl.all()).row(0)
    mine = (pl.col("tenant_id") == tenant) & (pl.col("user_id") == user)

    def frame() -> pl.LazyFrame:
        return tables.scan(job.lake, EPISODES)

    bucket = [job.lake.bucket(tenant)]
    one = tables.scan(job.lake, EPISODES, buckets=bucket).filter(mine)
    return {
        **timed("one_user", one.collect, SCANS),
        **timed("all_contents", lambda: frame().select("episode_id", "content").collect(), SCANS),
        **timed("all_columns", lambda: frame().collect(), SCANS),
        **timed("no_text", lambda: frame().select("episode_id", "event_at").collect(), SCANS),
    }


def _users(job: Job) -> pl.DataFrame:
    return tables.scan(job.lake, EPISODES).select("tenant_id", "user_id").unique().collect()


def values(job: Job, folder: Path) -> dict[str, Any]:
    """Sealing and opening alone, of rows in memory."""
    del folder
    rows = tables.scan(job.lake, EPISODES).collect()
    told = timed("seal", lambda: seal(job.lake, EPISODES, rows), 2)
    if job.lake.keys is None:
        return told
    stored = seal(job.lake, EPISODES, rows)
    count = sum(stored[n].drop_nulls().len() for n in EPISODES.free_text if n != "tags")
    return {**told, **timed("open", lambda: open_rows(job.lake, EPISODES, stored), 2), "values": count}


def appends(job: Job, folder: Path) -> dict[str, Any]:
    """Landing one row at a time; median milliseconds."""
    del folder
    took = []
    for number in range(APPENDS):
        row = {"content": f"turn {number} " + "word " * 40, "tenant_id": "t", "user_id": f"u{number % 3}"}
        began = time.perf_counter()
        landing.append(job.lake, [row], now=AS_OF)
        took.append(time.perf_counter() - began)
    return {"append_p50_ms": round(1000 * sorted(took)[len(took) // 2], 2)}


def night(job: Job, folder: Path) -> dict[str, Any]:
    """Embed, consolidate and publish."""
    del folder
    return {
        **timed("embed", lambda: run_embed(job)),
        **timed("consolidate", lambda: run_consolidate(job)),
        **timed("publish", lambda: run_publish(job)),
    }


def on_disk(job: Job, folder: Path) -> dict[str, Any]:
    """Bytes of the tables, and of the keyring."""
    root = Path(job.lake.storage.uri)
    told = {
        "episodes_bytes": tables.size_bytes(job.lake, EPISODES),
        "tables_bytes": sum(p.stat().st_size for p in (root / "tables").rglob("*.parquet")),
    }
    if job.lake.keys is not None:
        entries = [p for p in (folder / "keys").rglob("*") if p.is_file()]
        told |= {"keyring_files": len(entries), "keyring_bytes": sum(p.stat().st_size for p in entries)}
    return told


if __name__ == "__main__":
    raise SystemExit(main())
