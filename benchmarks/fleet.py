"""Whole nights at three sizes: the first, one with one percent more, one with nothing new; and how they grow.

``python -m benchmarks fleet --sizes 100000 1000000 10000000``; ``SLOWWAVE_BENCH_WORKERS=2`` runs the units of
each step in so many processes. Sessions of ``benchmarks.sleep_data``: topics, facts that contradict each
other, tool runs. A night is what ``slowwave nightly`` does, health included, in a process of its own.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.facts import peak_mb
from benchmarks.night import timed
from benchmarks.sleep_data import DAYS, START, write_base, write_more
from flows.cli import parse
from flows.job import Job
from flows.nightly import Night, run_nightly
from flows.setup import job_of
from lake import tables
from lake.lake import init_lake
from lake.sources import open_sources
from transforms.policy import Policy
from transforms.schemas import EPISODES
from transforms.validate import Defaults

Emit = Callable[[dict[str, Any]], None]
WORKERS = "SLOWWAVE_BENCH_WORKERS"
FILES = 8
"""Input files of a size, so that no single one is larger than a real export."""


def _job(folder: Path, days: float) -> Job:
    lake = init_lake(str(folder / "lake"))
    workers = os.environ.get(WORKERS, "1")
    at = (START + timedelta(days=days)).isoformat()
    return job_of(parse(["--lake", lake.uri, "--as-of", at, "nightly", "--workers", workers]))


def _night(folder: Path, days: float, *files: Path) -> tuple[Night, float, float]:
    job = _job(folder, days)
    pairs = ((source, Defaults()) for file in files for source in open_sources(str(file)))
    return timed(lambda: run_nightly(job, pairs))


def _told(folder: Path, night: Night, wall: float, cpu: float) -> dict[str, Any]:
    """Figures of a night; memory and CPU of worker processes beside those of the leading one."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    steps = {f"{step.name}_seconds": round(step.seconds, 1) for step in night.steps}
    found = [file.stat() for file in (folder / "lake").rglob("*") if file.is_file()]
    held = {one.st_ino: one.st_size for one in found}  # generations share files by hard links
    return {
        "seconds": round(wall, 1),
        "cpu_seconds": round(cpu + children.ru_utime + children.ru_stime, 1),
        "workers": int(os.environ.get(WORKERS, "1")),
        "peak_mb": peak_mb(),
        "worker_peak_mb": round(children.ru_maxrss / 1000),
        **steps,
        "published": night.steps[-1].rows_out,
        "lake_bytes": sum(held.values()),
        "files": len(held),
    }


def measure_data(folder: Path, rows: int, emit: Emit) -> None:
    """Write the input: the base in some files, and one percent more of the day after."""
    for part in range(FILES):
        write_base(folder / f"base-{part}.jsonl", rows // FILES, seed=11 + part, part=part, parts=FILES)
    write_more(folder / "more.jsonl", rows // 100, rows)
    emit({"bytes": sum(file.stat().st_size for file in _base(folder))})


def _base(folder: Path) -> list[Path]:
    return sorted(folder.glob("base-*.jsonl"))


def measure_ingest_floor(folder: Path, rows: int, emit: Emit) -> None:
    """A bare Polars read of the same files and one Parquet write each: no check, no lake."""

    def floor() -> None:
        for file in _base(folder):
            pl.read_ndjson(file, infer_schema_length=None).write_parquet(
                folder / "floor.parquet", compression="zstd"
            )

    _, wall, cpu = timed(floor)
    (folder / "floor.parquet").unlink()
    emit({"seconds": round(wall, 2), "cpu_seconds": round(cpu, 2), "peak_mb": peak_mb(), "of_rows": rows})


def measure_night(folder: Path, rows: int, emit: Emit) -> None:
    """The first night over all of it."""
    night, wall, cpu = _night(folder, DAYS, *_base(folder))
    emit({**_told(folder, night, wall, cpu), "of_rows": rows})


def measure_one_percent(folder: Path, rows: int, emit: Emit) -> None:
    """The night after, with one percent more."""
    night, wall, cpu = _night(folder, DAYS + 1, folder / "more.jsonl")
    emit({**_told(folder, night, wall, cpu), "of_rows": rows})


def measure_unchanged(folder: Path, rows: int, emit: Emit) -> None:
    """The same night again."""
    night, wall, cpu = _night(folder, DAYS + 1, folder / "more.jsonl")
    emit({**_told(folder, night, wall, cpu), "is_unchanged": night.is_unchanged, "of_rows": rows})


def measure_decay_floor(folder: Path, rows: int, emit: Emit) -> None:
    """The step decay over every memory, beside one numpy pass over the same episodes read from the lake."""
    from flows.decay import run_decay

    job = replace(_job(folder, DAYS + 1), policy=Policy())
    result, wall, cpu = timed(lambda: run_decay(job, is_complete=True))
    peak = peak_mb()
    columns = ["event_at", "importance"]

    def floor() -> int:
        seen = 0
        for bucket in range(job.lake.buckets):
            held = tables.scan(job.lake, EPISODES, buckets=[bucket]).select(columns).collect()
            days = (np.datetime64(job.as_of.replace(tzinfo=None)) - held["event_at"].to_numpy()) / (
                np.timedelta64(1, "D")
            )
            score = 0.4 * 0.5 ** (days / 7.0) + 0.3 * held["importance"].to_numpy()
            seen += int((score < 0.1).sum())
        return seen

    _, floor_wall, floor_cpu = timed(floor)
    emit(
        {
            "memories": result.rows_in,
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "peak_mb": peak,
            "floor_seconds": round(floor_wall, 2),
            "floor_cpu_seconds": round(floor_cpu, 2),
            "of_rows": rows,
        }
    )


STEPS = {
    "data": measure_data,
    "ingest_floor": measure_ingest_floor,
    "night": measure_night,
    "one_percent": measure_one_percent,
    "unchanged": measure_unchanged,
    "decay": measure_decay_floor,
}


def growth(records: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Exponents of time, memory and bytes between the sizes of one measurement, smallest to largest.

    Args:
        records: Its figures by size.
    """
    sizes = sorted(records)
    found = []
    for low, high in pairwise(sizes):
        ratio = log(high / low)
        one, other = records[low], records[high]
        found.append(
            {
                "from": low,
                "to": high,
                **{
                    f"{name}_exponent": round(log(other[name] / one[name]) / ratio, 3)
                    for name in ("seconds", "cpu_seconds", "peak_mb", "lake_bytes")
                    if one.get(name) and other.get(name)
                },
            }
        )
    return found
