"""Landing one row at a time: one process, then four at once, beside what the disk's own sync costs."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lake import landed_lines, landing
from lake.lake import init_lake

APPENDS = 500
WARM_UP = 20
PROCESSES = 4

Emit = Callable[[dict[str, Any]], None]


def run(emit: Emit) -> None:
    """Measure and hand over one mapping: p50 and p99 in milliseconds of ``APPENDS`` appends each."""
    with tempfile.TemporaryDirectory(prefix="slowwave-landing-") as folder:
        uri = init_lake(f"{folder}/lake").uri
        floor = _sync_times(Path(folder) / "floor")
        alone = append_times(uri, "p0")
        with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
            together = pool.starmap(append_times, [(uri, f"p{i}") for i in range(PROCESSES)])
        held = sum(len(_lines(uri, entry.key)) for entry in init_lake(uri).storage.entries(landing.PREFIX))
    merged = [t for times in together for t in times]
    emit(
        {
            "appends": APPENDS,
            **_shown("sync_only", floor),
            **_shown("append", alone),
            **_shown(f"append_{PROCESSES}_processes", merged),
            "processes": PROCESSES,
            "rows_held": held,
            "rows_expected": (APPENDS + WARM_UP) * (1 + PROCESSES),
        }
    )


def append_times(uri: str, name: str) -> list[float]:
    """Seconds of each append of one row, after a warm-up."""
    times = []
    for i in range(APPENDS + WARM_UP):
        text = (
            f"{name} turn {i}: the flight to Lisbon leaves at nine, write to ann@example.com "
            + "word " * (i % 60)
        )
        row = {"content": text, "role": "user", "tenant_id": f"t{i % 3}", "user_id": "u", "session_id": name}
        began = time.perf_counter()
        landing.append(uri, [row])
        times.append(time.perf_counter() - began)
    return times[WARM_UP:]


def _sync_times(path: Path) -> list[float]:
    """Seconds of writing and syncing a row's bytes, with nothing else done: the floor."""
    times = []
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        for _ in range(APPENDS):
            began = time.perf_counter()
            os.write(file, b"x" * 1200)
            os.fdatasync(file)
            times.append(time.perf_counter() - began)
    finally:
        os.close(file)
    return times


def _lines(uri: str, key: str) -> list[bytes]:
    return landed_lines.lines_of(init_lake(uri).storage.read(key) or b"", is_sealed=True)


def _shown(name: str, times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    points = {"p50": 0.5, "p99": 0.99}
    return {
        f"{name}_{point}_ms": round(ordered[int(share * (len(ordered) - 1))] * 1000, 2)
        for point, share in points.items()
    }
