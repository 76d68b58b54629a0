"""A request killed before any of its writes and resumed ends where one that was not killed ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from flows.job import Job
from flows.rights import ask, resume_open
from lake.rights import audit, requests, standing, tombstones
from tests.flows.lakes import environment, job_on
from tests.flows.rights_crashes import ANA, ASKED
from tests.flows.test_rights import logged

LEAST_WRITES = 8


def ends_in(job: Job) -> dict[str, Any]:
    found = tombstones.load(job.lake).of(ANA)
    return {
        "standing": [
            (one.is_opted_out, one.forbidden_topics, one.pinned) for one in standing.load_all(job.lake)
        ],
        "tombstone": sorted(found.until) if found else None,
        "events": [one.kind for one in audit.entries(job.lake)],
        "broken": audit.verify(job.lake).broken,
        "log": [row[:5] for row in logged(job)],
        "open": requests.open_requests(job.lake),
        "left": job.lake.storage.entries("state/requests"),
    }


def test_killed_anywhere_and_resumed_it_ends_the_same(tmp_path: Path) -> None:
    kind = "opt_out"
    subject, details = ASKED[kind]
    asked = {"basis": "consent", "requested_by": "subject", "details": details}
    whole = job_on(tmp_path / "whole")
    ask(whole, kind, subject, **asked)
    expected = ends_in(whole)
    script = Path(__file__).with_name("rights_crashes.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), kind],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    writes = int(done.stdout)
    assert writes >= LEAST_WRITES
    unrecorded = 0
    for place in range(1, writes + 1):
        job = job_on(tmp_path / str(place))
        if not requests.open_requests(job.lake) and not logged(job):
            unrecorded += 1  # killed before the request was recorded: it is made again
            ask(job, kind, subject, **asked)
        resume_open(job)
        assert ends_in(job) == expected, f"killed before write {place}"
    assert unrecorded < writes / 2
