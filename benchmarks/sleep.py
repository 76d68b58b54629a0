"""Consolidation at a size: all of it, a night with one percent more, and a night with nothing new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.facts import peak_mb
from benchmarks.night import job_in, timed
from benchmarks.sleep_data import DAYS, START, write_base, write_more
from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from lake.sources import open_sources
from transforms.validate import Defaults

Emit = Callable[[dict[str, Any]], None]


def _job(folder: Path, days: float) -> Job:
    return replace(job_in(folder), as_of=START + timedelta(days=days))


def _land(job: Job, file: Path) -> int:
    pairs = ((source, Defaults()) for source in open_sources(str(file)))
    landed = run_ingest(job, pairs)[0].rows_out
    run_embed(job)
    return landed


def measure_setup(folder: Path, rows: int, emit: Emit) -> None:
    """Make, ingest and embed the input; measured elsewhere."""
    write_base(folder / "base.jsonl", rows)
    write_more(folder / "more.jsonl", rows // 100, rows)
    emit({"landed": _land(_job(folder, DAYS), folder / "base.jsonl")})


def measure_complete(folder: Path, rows: int, emit: Emit) -> None:
    """Consolidate all of it for the first time."""
    _measure(_job(folder, DAYS), rows, emit)


def measure_one_percent(folder: Path, rows: int, emit: Emit) -> None:
    """Land one percent more of the next day, and consolidate (only this is timed)."""
    job = _job(folder, DAYS + 1)
    _land(job, folder / "more.jsonl")
    _measure(job, rows, emit)


def measure_unchanged(folder: Path, rows: int, emit: Emit) -> None:
    """Consolidate once more at the same instant."""
    _measure(_job(folder, DAYS + 1), rows, emit)


def _measure(job: Job, rows: int, emit: Emit) -> None:
    result, wall, cpu = timed(lambda: run_consolidate(job))
    figures = {"seconds": round(wall, 2), "cpu_seconds": round(cpu, 2), "peak_mb": peak_mb()}
    counts = {
        name: result.detail.get(name) for name in ("claims", "facts", "summaries", "conversations", "skills")
    }
    emit({**figures, "looked_at": result.rows_in, "written": result.rows_out, **counts, "of_rows": rows})


STEPS = {
    "setup": measure_setup,
    "complete": measure_complete,
    "one_percent": measure_one_percent,
    "unchanged": measure_unchanged,
}
