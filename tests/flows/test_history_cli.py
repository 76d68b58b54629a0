"""Reports as of the past: of what stood then, or refused with a code of their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows.job import Job
from flows.retain import run_retain
from lake import upkeep
from tests.flows.lakes import Command, job_on
from tests.flows.sleepers import history, night
from transforms.schemas import EPISODES

THEN = datetime(2026, 6, 20, tzinfo=UTC)
LATER = datetime(2026, 8, 30, tzinfo=UTC)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    made = job_on(tmp_path / "lake")
    night(made, tmp_path, "all", history())
    return made


def test_the_command_refuses_with_a_code_of_its_own(job: Job, command: Command) -> None:
    run_retain(replace(job, as_of=LATER))
    upkeep.vacuum(job.lake, EPISODES, 0)
    words = ("--json", "--lake", job.lake.uri, "--as-of", THEN.isoformat(), "report", "compliance")
    out = Path(job.lake.uri).parent / "report"
    refused = command(*words, "--out", out)
    assert (refused.code, refused.error["code"]) == (11, "history")
    assert "of episodes" in refused.error["message"]
    assert not out.exists()
    told = command(*words, "--out", out, "--partial")
    assert told.json["as_of"] == THEN.isoformat()


def test_a_report_as_of_the_past_counts_what_stood_then(job: Job, command: Command) -> None:
    words = ("--json", "--lake", job.lake.uri, "--as-of", THEN.isoformat(), "report", "compliance")
    out = Path(job.lake.uri).parent / "report"
    before = command(*words, "--out", out).json
    run_retain(replace(job, as_of=LATER))
    after = command(*words, "--out", out).json
    assert after["tables"]["retention"] == before["tables"]["retention"]
    assert after["tables"]["redactions"] == before["tables"]["redactions"]
