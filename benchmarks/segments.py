"""Landed rows in many segments of one row each, as an object store holds them, taken up by one ingest."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from benchmarks.data import AS_OF
from benchmarks.facts import peak_mb
from benchmarks.night import job_in, timed
from flows.ingest import run_ingest
from lake import landing, landing_rows, segments, tables
from transforms.policy import Policy
from transforms.schemas import EPISODES
from transforms.validate import Defaults

Emit = Callable[[dict[str, Any]], None]


def run(emit: Emit, folder: Path, rows: int) -> None:
    """Lay one-row segments down, then ingest them: seconds, and bytes of the lake's tables after it."""
    job = job_in(folder)
    at = AS_OF - timedelta(days=1)
    for start in range(0, rows, 1_000):
        some = [
            {
                "content": f"note {n}: the flight to Lisbon leaves at nine " + "word " * (n % 40),
                "role": "user",
                "tenant_id": f"t{n % 50}",
                "user_id": f"u{n % 400}",
                "session_id": f"s{n // 20}",
                "event_at": (at + timedelta(seconds=n)).isoformat(),
            }
            for n in range(start, min(start + 1_000, rows))
        ]
        made, _ = landing_rows.normalised(job.lake, some, Policy(), AS_OF, "landing", Defaults())
        for n, row in enumerate(made, start):
            key = f"{landing.PREFIX}/{row['tenant_bucket']:03d}/{segments.SEALED}{n:09d}.jsonl"
            path = folder / "lake" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(orjson.dumps({EPISODES.name: row}, option=orjson.OPT_APPEND_NEWLINE))
    (_, tally), wall, cpu = timed(lambda: run_ingest(job, []))
    emit(
        {
            "segments": rows,
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "rows_per_s": round(rows / wall),
            "peak_mb": peak_mb(),
            "landed": tally.landed,
            "files": len(tables.data_files(job.lake, EPISODES)),
        }
    )


if __name__ == "__main__":  # python -m benchmarks.segments FOLDER ROWS
    import sys

    run(lambda told: print(json.dumps(told)), Path(sys.argv[1]), int(sys.argv[2]))
