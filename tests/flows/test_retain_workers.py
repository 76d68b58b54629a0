"""Decay and retain on real worker processes: the same rows and ledger, and no row goes between processes."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import pytest

from flows.decay import run_decay
from flows.job import Job, exclusive
from flows.retain import run_retain
from flows.setup import job_of
from tests.flows.test_retain_units import LATER, copied, expected, made, state_of

pytestmark = pytest.mark.server
__all__ = ["expected", "made"]  # the lake, and what a run in this process makes of it


def job_of_workers(folder: Path) -> Job:
    (folder / "slowwave.toml").write_text("[engine]\nleast_rows = 0\n")
    given = {"lake": str(folder / "lake"), "config": str(folder / "slowwave.toml"), "json": True}
    told = {"as_of": LATER.isoformat(), "progress": "none", "engine": "local", "workers": 2}
    return job_of(argparse.Namespace(**given, **told, scheduler=None))


def test_two_workers_come_to_the_same(made: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "lake")
    job = job_of_workers(tmp_path)
    assert job.recipe is not None
    with exclusive(job):
        scored = run_decay(job)
        assert all(one.plan is None for one in job.judged.values())
        removed = run_retain(job)
    alone = copied(made, tmp_path / "alone")
    assert scored.detail == run_decay(alone).detail
    assert removed.detail == run_retain(alone).detail
    assert state_of(job) == expected
