"""What the health of a night costs: ``python -m benchmarks.health [calls]``, 50 rows a call."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory_metrics import AS_OF, EPISODES_HELD, episodes, recalls
from flows.health_night import night_health
from flows.job import Job
from flows.publish import run_publish
from flows.report_health import CHECKS
from flows.report_health_read import Sources
from lake import tables
from lake.embedders.local import LocalEmbedder
from lake.lake import init_lake
from transforms.policy import Policy, PublishPolicy
from transforms.schemas import EPISODES, RECALLS

BUCKETS = 8


def measured(folder: Path, calls: int) -> dict[str, Any]:
    """Seconds of each check, of a changed night's health and of an unchanged one's."""
    rng, model = np.random.default_rng(7), LocalEmbedder()
    policy = Policy(publish=PublishPolicy(min_vector_ratio=0.0))  # its rows have no vectors
    job = Job(init_lake(str(folder / "lake"), BUCKETS), policy, AS_OF, lambda: model)
    held = episodes(BUCKETS, rng)
    tables.append(job.lake, EPISODES, held)
    tables.append(job.lake, RECALLS, recalls(held, calls, policy, rng))
    run_publish(job)
    told: dict[str, Any] = {"episodes": EPISODES_HELD, "calls": calls, "load_1min": os.getloadavg()[0]}
    for turn in ("first", "second"):  # the first one pays for imports
        seconds, sources = {}, Sources(job, policy.health.window_days)
        for name, take in CHECKS.items():
            began = time.perf_counter()
            take(sources)
            seconds[name] = round(time.perf_counter() - began, 3)
        told[turn] = {"all": round(sum(seconds.values()), 3), **seconds}
    for name, is_changed in (("changed", True), ("unchanged", False), ("unchanged_again", False)):
        began = time.perf_counter()
        night_health(job, is_changed=is_changed)
        told[name] = round(time.perf_counter() - began, 3)
    return told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="slowwave-health-") as scratch:
        count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
        sys.stdout.write(json.dumps(measured(Path(scratch), count)) + "\n")
