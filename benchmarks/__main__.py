"""``python -m benchmarks [GROUP ...] [--sizes N ...]``: JSON lines on stdout and in results.jsonl."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.facts import facts
from flows.engine.processes import BLAS_THREADS, BLAS_VARIABLE

RESULTS = Path(__file__).parent / "results.jsonl"
SIZES = (100_000, 1_000_000)
GROUPS = (
    "fleet",
    "night",
    "recall",
    "recall_beside",
    "landing",
    "working",
    "sleep",
    "topics",
    "reconcile",
    "forgetting",
    "erase",
    "readback",
    "encryption",
    "concurrency",
    "replay",
    "survival",
    "capacity",
    "publish",
    "workers",
    "segments",
    "peers",
    "soak",
    "billion",
    "formats",
)
ONE_ROW_SEGMENTS = 10_000
Steps = dict[str, Callable[[Path, int, Callable[[dict[str, Any]], None]], None]]


def main() -> int:
    """Run the named groups, all where none is named."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help="default: all")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--folder", default=None, help="where data goes; default a temporary folder")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        _child(options)
        return 0
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as temporary:
        folder = Path(options.folder or temporary)
        for group in options.groups or GROUPS:
            _group(group, options.sizes, folder)
    return 0


def _steps(group: str) -> Steps:
    """Measurements of a group, in order; each runs in a process of its own: its peak memory is its own."""
    if group == "fleet":
        from benchmarks.fleet import STEPS
    elif group == "night":
        from benchmarks.night import STEPS
    elif group == "sleep":
        from benchmarks.sleep import STEPS
    elif group == "erase":
        from benchmarks.erase import STEPS
    elif group == "readback":
        from benchmarks.readback import STEPS
    elif group == "topics":
        from benchmarks.topics import STEPS
    elif group == "forgetting":
        from benchmarks.forgetting import STEPS
    elif group == "capacity":
        from benchmarks.capacity import STEPS
    elif group == "billion":
        from benchmarks.billion import STEPS
    elif group == "publish":
        from benchmarks.publish import STEPS
    elif group == "workers":
        from benchmarks.workers import STEPS
    else:
        from benchmarks.facts_reconcile import STEPS
    return STEPS


def _group(group: str, sizes: list[int], folder: Path) -> None:
    if group in ("fleet", "night", "sleep", "erase", "forgetting", "readback", "publish", "workers"):
        for size in sizes:
            for step in _steps(group):
                _spawn(f"{group}:{step}", size, folder / f"{group}-{size}")
        if group == "fleet":
            _growth(sizes)
    elif group == "capacity":
        for kind in ("traces", "sessions"):
            for size in sorted(sizes):
                _spawn(f"capacity:{kind}", size, folder / f"{kind}-{size}")
            _spawn("capacity:compare", max(sizes), folder / f"{kind}-{max(sizes)}")
    elif group == "billion":
        for step in _steps(group):
            _spawn(f"{group}:{step}", 1_000_000_000, folder / group)
    elif group in ("topics", "reconcile"):
        for step in _steps(group):
            size = max(sizes) if group == "reconcile" and step != "near" else min(sizes)
            _spawn(f"{group}:{step}", size, folder / f"{group}-{size}")
    else:
        for size in sizes if group == "recall" else sizes[:1]:
            _spawn(group, size, folder / f"{group}-{size}")


def _growth(sizes: list[int]) -> None:
    """How the figures of whole nights grow with their size, from the lines just written."""
    from benchmarks.fleet import growth
    from benchmarks.report import newest

    records = newest()
    for name in ("night", "one_percent", "unchanged"):
        held = {size: records[f"fleet.{name}", size] for size in sizes}
        for found in growth(held):
            _write({"name": f"fleet.growth of {name}", "rows": found["to"], **found, **facts()})
    for size in sizes:
        whole, more = records["fleet.night", size], records["fleet.one_percent", size]
        shares = {f"{unit}_ratio": round(more[unit] / whole[unit], 4) for unit in ("seconds", "cpu_seconds")}
        _write({"name": "fleet.one_percent of night", "rows": size, **shares, **facts()})


def _write(record: dict[str, Any]) -> None:
    line = json.dumps(record)
    print(line, flush=True)
    with RESULTS.open("a") as file:
        file.write(f"{line}\n")


def _spawn(step: str, size: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "--step",
        step,
        "--sizes",
        str(size),
        "--folder",
        str(folder),
    ]
    subprocess.run(command, check=True, env={BLAS_VARIABLE: BLAS_THREADS, **os.environ})


class _Without:
    """A finder of modules to which one is not installed, as None in ``sys.modules`` does not say it.

    Args:
        hidden: Its name.
        finder: Finds the others.
    """

    def __init__(self, hidden: str, finder: Any) -> None:
        self._hidden, self._finder = hidden, finder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """See ``importlib.abc.MetaPathFinder``."""
        return None if name == self._hidden else self._finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)  # as find_distributions


def hide(name: str) -> None:
    """Let this process run as where a package is not installed."""
    sys.meta_path[:] = [_Without(name, finder) for finder in sys.meta_path]


def _child(options: argparse.Namespace) -> None:
    folder, size = Path(options.folder), int(options.sizes[0])
    if options.step.startswith("fleet"):
        # Only what tests are made of needs it, and pyarrow loads it wherever it is: half a second of a night.
        hide("pandas")
    group, _, step = options.step.partition(":")

    def emit(measured: dict[str, Any]) -> None:
        name = f"{group}.{step}" if step else group
        _write({"name": name, "rows": size, **measured, **facts()})

    if step:
        _steps(group)[step](folder, size, emit)
    elif group == "recall":
        from benchmarks.recall import run as run_recall

        run_recall(emit, [size])
    elif group == "encryption":
        from benchmarks.encryption import run as run_encryption

        run_encryption(emit, folder, size)
    elif group == "recall_beside":
        from benchmarks.recall_beside import run as run_beside

        run_beside(emit, folder, size)
    elif group == "working":
        from benchmarks.working import run as run_working

        run_working(emit)
    elif group == "replay":
        from benchmarks.replay import run as run_replay

        run_replay(emit, size)
    elif group == "survival":
        from benchmarks.survival import run as run_survival

        run_survival(emit, size)
    elif group == "concurrency":
        from benchmarks.concurrency import run as run_concurrency

        run_concurrency(emit)
    elif group == "segments":
        from benchmarks.segments import run as run_segments

        run_segments(emit, folder, ONE_ROW_SEGMENTS)
    elif group == "formats":
        from benchmarks.formats import run as run_formats

        run_formats(emit, folder, size)
    elif group == "peers":
        from benchmarks.peers import run as run_peers

        run_peers(emit, folder, size)
    elif group == "soak":
        from benchmarks.soak import run as run_soak

        run_soak(emit, folder)
    else:
        from benchmarks.landing import run as run_landing

        run_landing(emit)


if __name__ == "__main__":
    sys.exit(main())
