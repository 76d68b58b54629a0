"""Jobs whose units run on real workers: processes of this machine, or a Dask scheduler and its workers."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flows.engine.units import Unit
from flows.job import Job
from flows.setup import job_of
from lake.lake import init_lake
from tests.flows.lakes import REPOSITORY

SITE = Path(__file__).parent / "site"
KINDS = ("local", "dask")


def engine_job(folder: Path, kind: str, *, workers: int = 2, text: str = "", **keys: Any) -> Job:
    """A job on the lake ``lake`` of a folder, with the engine's keys in its configuration."""
    init_lake(str(folder / "lake"), 2)
    told = {"least_rows": 0, "retries": 1, **keys}
    shown = {name: f'"{value}"' if isinstance(value, str) else value for name, value in told.items()}
    lines = "".join(f"{name} = {value}\n" for name, value in shown.items())
    config = folder / "slowwave.toml"
    config.write_text(f"[embed]\nbatch_rows = 100\n[engine]\n{lines}{text}")
    return job_of(
        argparse.Namespace(
            lake=str(folder / "lake"), config=str(config), as_of="2026-06-30T23:00:00Z", json=True,
            progress="none", engine=kind, workers=workers, scheduler=None,
        )
    )  # fmt: skip


def worker_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers that start from now on know the planted tasks."""
    monkeypatch.setenv("PYTHONPATH", f"{SITE}{os.pathsep}{REPOSITORY}")


def unit(folder: Path, name: str, kind: str) -> Unit:
    """A planted unit."""
    told = {"log": str(folder / "begun"), "name": name, "kind": kind, "once": str(folder / f"once-{name}")}
    return Unit("planted", name, (0,), told)


def begun(folder: Path) -> list[str]:
    """Names of units as often as they were begun."""
    return (folder / "begun").read_text().split()


def workers_below(pid: int) -> list[int]:
    """Worker processes that a process has started."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                parent = int(place.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                words = place.joinpath("cmdline").read_text()
            except (OSError, IndexError):
                continue
            if parent == pid and "spawn_main" in words:
                found.append(int(place.name))
    return found


@contextmanager
def scheduler() -> Iterator[Any]:
    """A Dask cluster that is there already, with one worker."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0", memory_limit=0, silence_logs=50,
    ) as cluster:  # fmt: skip
        yield cluster
