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
from flows.engine.processes import THREAD_VARIABLES
from flows.ingest import run_ingest
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
    """Embed all of it, each way from a cold start; the start of the workers is part of it."""
    del rows
    seconds = {}
    for name, flags in CASES.items():
        told = _run(folder, flags)
        seconds[name] = told["seconds"]
        emit({"case": name, **told, "speed_up": round(seconds["one"] / told["seconds"], 2)})


def _run(folder: Path, flags: tuple[str, ...]) -> dict[str, Any]:
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / "lake", copy)
    words = ("--lake", copy, "--config", folder / "slowwave.toml", "--json", "embed", *flags)
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    wall, cpu = time.perf_counter(), _cpu_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "flows", *map(str, words)], env=environment, check=True, stdout=subprocess.PIPE
    )
    told = json.loads(done.stdout)
    return {
        "seconds": round(told["seconds"], 2),
        "process_seconds": round(time.perf_counter() - wall, 2),
        "cpu_seconds": round(_cpu_seconds() - cpu, 2),
        "vectors": told["rows_out"],
    }


def _cpu_seconds() -> float:
    """Of all processes that were started and have ended, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


STEPS = {"setup": measure_setup, "embed": measure_embed}
