"""The night at a size: ingest, embed and publish, each in a process of its own, beside its floor."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.data import AS_OF, write_jsonl
from benchmarks.facts import cpu_seconds, peak_mb
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.nightly import run_nightly
from flows.publish import run_publish
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.lake import init_lake
from lake.sources import open_sources
from lake.tables import scan
from transforms.embedding import with_text_hash
from transforms.policy import Policy
from transforms.schemas import EPISODES
from transforms.validate import Defaults

Emit = Callable[[dict[str, Any]], None]


def job_in(folder: Path) -> Job:
    """The job of the benchmark's lake."""
    return Job(init_lake(str(folder / "lake")), Policy(), AS_OF, lambda: make_embedder(EmbedderConfig()))


def timed(action: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, wall seconds and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = action()
    return result, time.perf_counter() - wall, cpu_seconds() - cpu


def measure_data(folder: Path, rows: int, emit: Emit) -> None:
    """Write the input file."""
    write_jsonl(folder / "traces.jsonl", rows)
    emit({"bytes": (folder / "traces.jsonl").stat().st_size})


def measure_ingest_floor(folder: Path, rows: int, emit: Emit) -> None:
    """A bare Polars read of the same file and one Parquet write: no check, no redaction, no lake."""

    def floor() -> None:
        pl.read_ndjson(folder / "traces.jsonl").write_parquet(folder / "floor.parquet", compression="zstd")

    _, wall, cpu = timed(floor)
    emit(
        {
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "rows_per_s": round(rows / wall),
            "peak_mb": peak_mb(),
        }
    )


def measure_ingest(folder: Path, rows: int, emit: Emit) -> None:
    """Ingest the file into a new lake."""
    job = job_in(folder)
    pairs = ((source, Defaults()) for source in open_sources(str(folder / "traces.jsonl")))
    (result, _), wall, cpu = timed(lambda: run_ingest(job, pairs))
    emit(
        {
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "rows_per_s": round(rows / wall),
            "peak_mb": peak_mb(),
            "landed": result.rows_out,
        }
    )


def measure_embed_floor(folder: Path, rows: int, emit: Emit) -> None:
    """The bare embedder over 20,000 of the same texts, nothing read or written."""
    job = job_in(folder)
    sample = scan(job.lake, EPISODES).head(20_000).collect()
    texts = with_text_hash(sample, 8_000)["embedding_text"].to_list()
    job.embedder.embed(texts[:100])
    _, wall, cpu = timed(lambda: job.embedder.embed(texts))
    emit({"texts_per_s": round(len(texts) / wall), "cpu_seconds": round(cpu, 2), "of_rows": rows})


def measure_embed(folder: Path, rows: int, emit: Emit) -> None:
    """Embed every text of the lake."""
    job = job_in(folder)
    result, wall, cpu = timed(lambda: run_embed(job))
    emit(
        {
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "texts_per_s": round(result.rows_out / wall),
            "peak_mb": peak_mb(),
            "vectors": result.rows_out,
            "of_rows": rows,
        }
    )


def measure_publish(folder: Path, rows: int, emit: Emit) -> None:
    """Build, check and switch to a generation of the whole lake."""
    job = job_in(folder)
    result, wall, cpu = timed(lambda: run_publish(job))
    size = sum(f.stat().st_size for f in (folder / "lake" / "index").rglob("*") if f.is_file())
    emit(
        {
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "rows_per_s": round(result.rows_out / wall),
            "peak_mb": peak_mb(),
            "published": result.rows_out,
            "of_rows": rows,
            "index_mb": round(size / 1e6),
            "checks": result.detail["checks"],
        }
    )


def measure_unchanged(folder: Path, rows: int, emit: Emit) -> None:
    """A second night over the same file."""
    job = job_in(folder)
    pairs = ((source, Defaults()) for source in open_sources(str(folder / "traces.jsonl")))
    night, wall, cpu = timed(lambda: run_nightly(job, pairs))
    emit(
        {
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "is_unchanged": night.is_unchanged,
            "of_rows": rows,
            "peak_mb": peak_mb(),
        }
    )


STEPS = {
    "data": measure_data,
    "ingest_floor": measure_ingest_floor,
    "ingest": measure_ingest,
    "embed_floor": measure_embed_floor,
    "embed": measure_embed,
    "publish": measure_publish,
    "nightly_unchanged": measure_unchanged,
}
