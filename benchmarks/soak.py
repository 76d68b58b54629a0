"""Many small nights in a row on one lake, each in a process of its own: does anything grow that should not?

Every day agents land rows, most of which expire a week later, ask for memories and say what they used; then
comes the night. The clock of the machine does not move with the days, so the policy keeps nothing for an age
told by that clock: superseded files and old log entries may go at once. Everything else is as shipped.

What is measured is the night's process alone: wall and CPU seconds, peak memory; then what lies on the disk.
Events of the audit chain are counted apart: each night that takes rows out adds one, for good.
The verdict is by least squares over the nights after the first ``WARM_UP``: what a line through them would
add over the span, relative to its middle.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import AS_OF, WORDS
from lake import landing, tables
from lake.lake import init_lake
from lake.recall import Recall
from transforms.policy import Policy
from transforms.schemas import STORED

Emit = Callable[[dict[str, Any]], None]
NIGHTS = 100
WARM_UP = 10
"""Nights before the first rows expire: until then everything grows, as it should."""
ROWS = 200
KEPT_EVERY = 5
"""One row of so many lives for a year; the others for a week."""
CALLS = 20
ASKED = 10
BUCKETS = 4
TENANTS = 10
TOLERANCE = {"cpu_seconds": 0.15, "peak_mb": 0.05, "other_files": 0.05, "bytes_per_row": 0.10}
"""Most that a figure may grow by over the span."""
CONFIG = "[ingest]\nvacuum_after_hours = 0\n[upkeep]\nlog_after_hours = 0\n"


def run(emit: Emit, folder: Path, nights: int = NIGHTS) -> None:
    """Make a lake in a folder, let nights pass, and hand over one mapping; each night's own is left there."""
    folder.mkdir(parents=True, exist_ok=True)
    init_lake(str(folder / "lake"), BUCKETS)
    (folder / "slowwave.toml").write_text(CONFIG)
    found = []
    with (folder / "nights.jsonl").open("a") as file:
        for night in range(nights):
            _spawn(folder, "day", night)
            found.append({"night": night, **_night(folder, night), **on_disk(folder)})
            file.write(json.dumps(found[-1]) + "\n")
            file.flush()
    emit({"nights": nights, "rows_a_night": ROWS, **verdict(found)})


def at(night: int) -> datetime:
    """The instant of a night: a day after the one before."""
    return AS_OF - timedelta(days=400) + timedelta(days=night)


def day(folder: Path, night: int) -> None:
    """What agents do before a night: land rows in small calls, ask, and say what they used."""
    lake, rng, now = init_lake(str(folder / "lake")), random.Random(night), at(night)
    for call in range(CALLS):
        rows = [_row(rng, night, call, n, now) for n in range(ROWS // CALLS)]
        landing.append(lake, rows, policy=Policy(), now=now)
    reader = Recall(lake)
    for n in range(ASKED if night else 0):
        scope = {"tenant": f"tenant-{n % TENANTS}", "user": f"user-{n % TENANTS}-{n % 3}"}
        told = reader.search(" ".join(rng.sample(WORDS, 4)), **scope)
        reader.used([memory.id for memory in told][:2], call_id=told.call_id, tenant=scope["tenant"])
    reader.close()


def _row(rng: random.Random, night: int, call: int, number: int, now: datetime) -> dict[str, Any]:
    tenant = rng.randrange(TENANTS)
    return {
        "content": " ".join(rng.choices(WORDS, k=rng.randrange(8, 30))),
        "role": "user" if number % 2 else "assistant",
        "tenant_id": f"tenant-{tenant}",
        "user_id": f"user-{tenant}-{rng.randrange(3)}",
        "agent_id": "desk",
        "session_id": f"s{night}-{tenant}",
        "event_at": (now - timedelta(seconds=60 * call + number)).isoformat(),
        "retention_tier": "long_term" if number % KEPT_EVERY == 0 else "short_term",
    }


def _spawn(folder: Path, what: str, night: int) -> None:
    command = [sys.executable, "-m", "benchmarks.soak", str(folder), what, str(night)]
    subprocess.run(command, check=True)


def _night(folder: Path, night: int) -> dict[str, Any]:
    """One night by the command line; what it took, and what its steps say."""
    command = [
        sys.executable, "-m", "flows", "--lake", str(folder / "lake"),
        "--config", str(folder / "slowwave.toml"), "--json", "--as-of", at(night).isoformat(), "nightly",
    ]  # fmt: skip
    began = time.perf_counter()
    with (folder / "out.json").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    told = json.loads((folder / "out.json").read_text())
    if process.returncode:
        raise RuntimeError(f"night {night} ended with {process.returncode}: {told}")
    return {
        "seconds": round(wall, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss / 1000),
        "steps": {step["name"]: round(step["seconds"], 2) for step in told["steps"]},
    }


def on_disk(folder: Path) -> dict[str, Any]:
    """Files and bytes of the lake by what they are, and rows of its tables."""
    lake = init_lake(str(folder / "lake"))
    root = folder / "lake"
    held = {p.relative_to(root).as_posix(): p.stat().st_size for p in root.rglob("*") if p.is_file()}
    kinds: dict[str, int] = {}
    for name in held:
        kind = "log" if "/_delta_log/" in name else name.split("/")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    data, partitions = 0, 0
    for table in STORED:
        names = tables.data_files(lake, table)
        data += len(names)
        partitions += len({name.rpartition("/")[0] for name in names})
    rows = sum(tables.scan(lake, t).select(t.names[0]).collect().height for t in STORED)
    return {
        "files": len(held),
        "data_files": data,
        "other_files": len(held) - data - kinds.get("audit", 0),
        "audit_events": kinds.get("audit", 0),
        "partitions": partitions,
        "bytes": sum(held.values()),
        "table_bytes": sum(size for name, size in held.items() if name.startswith("tables/")),
        "rows": rows,
        "kinds": kinds,
    }


def verdict(nights: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How much each figure grows over the nights after the first ones, and whether that is too much."""
    late = nights[WARM_UP:]
    told: dict[str, Any] = {
        "rows": late[-1]["rows"],
        "files": late[-1]["files"],
        "bytes": late[-1]["bytes"],
        "seconds": round(float(np.mean([one["seconds"] for one in late])), 2),
        "files_a_partition": round(max(one["data_files"] / one["partitions"] for one in late), 2),
    }
    is_bounded = told["files_a_partition"] <= Policy().upkeep.partition_files
    for name, most in TOLERANCE.items():
        values = [one["bytes"] / one["rows"] if name == "bytes_per_row" else one[name] for one in late]
        slope, start = np.polyfit(range(len(values)), values, 1)
        grown = float(slope * (len(values) - 1) / (start + slope * (len(values) - 1) / 2))
        told[name] = round(float(np.mean(values)), 2)
        told[f"{name}_growth_ratio"] = round(grown, 3)
        is_bounded = is_bounded and grown <= most
    return {**told, "is_bounded": is_bounded}


if __name__ == "__main__":  # python -m benchmarks.soak FOLDER [NIGHTS]
    place = Path(sys.argv[1])
    if sys.argv[2:3] == ["day"]:
        day(place, int(sys.argv[3]))
    else:
        run(lambda told: print(json.dumps(told)), place, int(sys.argv[2]) if len(sys.argv) > 2 else NIGHTS)
