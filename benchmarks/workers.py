"""The embedding stage on one worker and on two: the command line, a thread a process, one lake."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.data import write_jsonl
from benchmarks.night import job_in
from flows.cli import parse
from flows.embed import run_embed
from flows.engine.processes import THREAD_VARIABLES
from flows.engine.run import run_units
from flows.engine.units import Unit
from flows.ingest import run_ingest
from flows.job import exclusive
from flows.setup import job_of
from lake.sources import open_sources
from transforms.validate import Defaults

Emit = Callable[[dict[str, Any]], None]
CASES: dict[str, tuple[str, ...]] = {
    "one": ("--engine", "local", "--workers", "1"),
    "local": ("--engine", "local", "--workers", "2"),
    "dask": ("--engine", "dask", "--workers", "2"),
}
"""``one`` does the units in its own process, by the same code; with a thread, as the workers have."""


def measure_setup(folder: Path, rows: int, emit: Emit) -> None:
    """Make and ingest the input; measured elsewhere."""
    write_jsonl(folder / "traces.jsonl", rows)
    (folder / "slowwave.toml").write_text("[engine]\nthreads = 1\n")
    pairs = ((source, Defaults()) for source in open_sources(str(folder / "traces.jsonl")))
    emit({"landed": run_ingest(job_in(folder), pairs)[0].rows_out})


def measure_embed(folder: Path, rows: int, emit: Emit) -> None:
    """Embed all of it, each way, on workers that have started; the start is told apart."""
    del rows
    seconds = {}
    for name, flags in CASES.items():
        told = _run(folder, flags)
        seconds[name] = told["seconds"]
        cold = round(seconds["one"] / (told["seconds"] + told["start_seconds"]), 2)
        speed_up = round(seconds["one"] / told["seconds"], 2)
        emit({"name": f"workers.embed, {name}", **told, "speed_up": speed_up, "cold": cold})


def _run(folder: Path, flags: tuple[str, ...]) -> dict[str, Any]:
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / "lake", copy)
    words = ("--lake", copy, "--config", folder / "slowwave.toml", "embed", *flags)
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    command = [sys.executable, "-m", "benchmarks.workers", *map(str, words)]
    before = _cpu_seconds()
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return {**json.loads(done.stdout), "cpu_seconds": round(_cpu_seconds() - before, 2)}


def _cpu_seconds() -> float:
    """Of all processes that were started and have ended, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def embed(words: list[str]) -> dict[str, Any]:
    """Start the workers by units of nothing, which load the code, then embed."""
    job = job_of(parse(words))
    nothing = [Unit("embed", "nothing", (n,), {**NOTHING, "part": 0}) for n in range(job.engine.workers)]
    with exclusive(job):
        began = time.perf_counter()
        list(run_units(job, nothing, "start"))
        job.embedder.embed(["a"])
        started = time.perf_counter()
        result = run_embed(job)
        ended = time.perf_counter()
    figures = {"start_seconds": started - began, "seconds": ended - started}
    return {**{name: round(value, 2) for name, value in figures.items()}, "vectors": result.rows_out}


NOTHING: dict[str, Any] = {"side": 0, "files": {}, "parts": 1}
STEPS = {"setup": measure_setup, "embed": measure_embed}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(embed(sys.argv[1:])))
