"""Retain killed before each of its writes and run again: the same rows, the same ledger, one audit event."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from flows.job import Job
from flows.retain import run_retain
from flows.retain_state import JOURNAL
from lake.rights import audit
from lake.rights.subjects import salt
from tests.flows.lakes import AS_OF, REPOSITORY, content, environment, job_on
from tests.flows.sleepers import history, night
from transforms.schemas import RUNS, STORED

WHEN = AS_OF + timedelta(days=300)
"""Episodes, and the older of the facts, conversations and summaries, are due."""
ENDLESS = 1_000_000
STRIDE = int(os.environ.get("SLOWWAVE_CRASH_STRIDE", "7"))
"""Every seventh write, so that all kinds of writes come up; 1 tries each (about a minute)."""


def state_of(job: Job) -> dict[str, list[Any]]:
    """All that a run of retain leaves, but for its random id."""
    held: dict[str, list[Any]] = {}
    for table in STORED:
        if table is not RUNS:
            rows = content(job, table)
            held[table.name] = sorted(map(str, rows.drop("run_id", strict=False).rows()))
    events = [(e.kind, e.at, dict(e.counts)) for e in audit.entries(job.lake)]
    return {**held, "audit": events, "journal": [job.lake.storage.read(JOURNAL)]}


def test_killed_before_any_write_and_run_again_it_ends_in_the_same_state(tmp_path: Path) -> None:
    made = job_on(tmp_path / "made", buckets=1)
    night(made, tmp_path, "all", history())
    salt(made.lake)  # each copy names tenants by the same hash
    clean = shutil.copytree(tmp_path / "made", tmp_path / "clean")
    alone = job_on(clean, as_of=WHEN, buckets=1)
    run_retain(alone)
    expected = state_of(alone)
    assert expected["episodes"] == []
    assert len(expected["audit"]) == 1
    assert expected["journal"] == [None]
    command = [sys.executable, "-m", "tests.flows.retain_worker", WHEN.isoformat()]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=REPOSITORY, env=environment(), text=True, **pipes) as worker:  # type: ignore[call-overload]

        def killed(lake: Path, number: int) -> str:
            shutil.copytree(tmp_path / "made", lake)
            worker.stdin.write(f"{lake} {number}\n")
            worker.stdin.flush()
            return str(worker.stdout.readline().strip())

        writes = int(killed(tmp_path / "whole", ENDLESS))
        assert writes > 30
        for number in range(1, writes + 1, STRIDE):
            lake = tmp_path / f"killed-{number}"
            assert killed(lake, number) == "killed"
            job = job_on(lake, as_of=WHEN, buckets=1)
            run_retain(job)
            assert state_of(job) == expected, f"killed before write {number} of {writes}"
        worker.stdin.close()
