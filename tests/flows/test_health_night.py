"""Health at the end of a night: measured when something changed, remembered when not, never in the way."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import health_night
from flows.health_night import STATE, night_health
from flows.job import Job
from flows.nightly import run_nightly
from flows.present_night import night_table
from flows.scratch import scratch
from lake import tables
from tests.flows.ailing import TROUBLES, at
from tests.flows.lakes import AS_OF, Command, content, files_below, ingest, job_on, row, write
from transforms.health.remedies import TITLES
from transforms.policy import Policy
from transforms.policy_health import HealthPolicy
from transforms.policy_upkeep import UpkeepPolicy
from transforms.schemas import METRICS, RUNS


def health_rows(job: Job) -> pl.DataFrame:
    """Measures of health that are kept."""
    return content(job, METRICS).filter(pl.col("name").str.starts_with("health."))


def nightly(job: Job, folder: Path, *numbers: int) -> dict[str, object]:
    """A night with some new rows; its health."""
    if numbers:
        ingest(job, write(folder / f"{numbers[0]}.jsonl", [row(n, event_at=at(2)) for n in numbers]))
    told = run_nightly(job, []).health
    assert told is not None
    return told


def test_a_night_that_changed_something_keeps_its_measures(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    told = nightly(job, tmp_path, 1, 2)
    assert told["failing"] == told["warnings"] == []
    rows = health_rows(job)
    assert rows["metric_id"].is_unique().all()
    assert set(rows["tenant_hash"]) == {""}
    states = rows.filter(pl.col("name") == "health.state")
    assert set(states["part"]) == set(TITLES) - set(told["unknown"])  # type: ignore[arg-type]
    assert set(states["value"]) == {0.0}
    (files,) = rows.filter(pl.col("part") == "lake_rows").to_dicts()
    assert (files["name"], files["value"], files["unit"], files["window_days"]) == (
        "health.growth", 2.0, "rows", None
    )  # fmt: skip
    rate = rows.filter(pl.col("part") == "failed_run_ratio")
    assert rate["window_days"].to_list() == [30.0]
    assert rows["as_of_at"].unique().to_list() == [AS_OF]


def test_the_same_night_again_keeps_no_measure_twice(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    nightly(job, tmp_path, 1)
    nightly(job, tmp_path, 2)
    rows = content(job, METRICS)
    assert rows["metric_id"].is_unique().all()
    later = replace(job, as_of=AS_OF + timedelta(days=1))
    nightly(later, tmp_path, 3)
    counted = health_rows(job).filter(pl.col("part") == "lake_rows").sort("as_of_at")
    assert counted["as_of_at"].to_list() == [AS_OF, later.as_of]


def test_an_unchanged_night_judges_what_was_measured_last(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    nightly(job, tmp_path, 1)
    before = files_below(tmp_path / "lake")
    stricter = replace(job, policy=Policy(health=HealthPolicy(ledger_bytes_warn=1.0)))
    told = night_health(stricter, is_changed=False)
    assert told is not None
    assert told["warnings"] == ["growth"]
    TROUBLES["overdue_erasures"][2](job)  # what gets worse by itself is looked at anew
    told = night_health(stricter, is_changed=False)
    assert told is not None
    assert (told["failing"], told["warnings"]) == (["erasure"], ["growth"])
    TROUBLES["broken_links"][2](job)  # and this is not, until something changes
    assert night_health(stricter, is_changed=False) == told
    assert {n: v for n, v in files_below(tmp_path / "lake").items() if n in before} == before


def test_without_a_memory_an_unchanged_night_measures_and_writes_nothing(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    nightly(job, tmp_path, 1)
    for damage in (b"", b"{", b"[]", b'{"checks": 7}'):
        job.lake.storage.write(STATE, damage)
        before = files_below(tmp_path / "lake")
        told = night_health(job, is_changed=False)
        assert told is not None
        assert told["state"] == "ok"
        assert files_below(tmp_path / "lake") == before
    seen = health_night._seen(job)
    checks: dict[str, Any] = {**{name: {} for name in TITLES}, "growth": {"overdue_rows": "x", "odd": 9}}
    record = {"checks": checks, "seen": seen}
    job.lake.storage.write(STATE, json.dumps(record).encode())
    told = night_health(job, is_changed=False)
    assert told is not None
    assert set(told["unknown"]) == set(TITLES) - {"backlog", "erasure"}
    del checks["audit"]  # the last night could not tell: now it can
    job.lake.storage.write(STATE, json.dumps(record).encode())
    told = night_health(job, is_changed=False)
    assert told is not None
    assert "audit" not in told["unknown"]


def test_a_memory_of_other_rows_is_none(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    nightly(job, tmp_path, 1)
    ingest(job, write(tmp_path / "more.jsonl", [row(2, event_at=at(2))]))
    TROUBLES["broken_links"][2](job)  # what only a whole look finds
    told = night_health(job, is_changed=False)
    assert told is not None
    assert told["failing"] == ["audit"]


def test_what_breaks_off_is_told_and_fails_no_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_on(tmp_path / "lake")

    def broken(_: object) -> pl.DataFrame:
        raise ValueError("my locker code is 4711")

    monkeypatch.setattr(health_night, "_memory_metrics", broken)
    told = nightly(job, tmp_path, 1)
    assert told["reason"] == "memory metrics: unexpected ValueError"
    assert told["state"] == "ok"
    monkeypatch.setattr(health_night, "_measured", broken)
    told = nightly(job, tmp_path, 2)
    assert told == {
        "state": "unknown", "failing": [], "warnings": [], "unknown": [], "reason": "unexpected ValueError"
    }  # fmt: skip


def test_a_trial_night_has_no_health(tmp_path: Path, command: Command) -> None:
    job = job_on(tmp_path / "lake")
    path = write(tmp_path / "a.jsonl", [row(1)])
    with scratch(job) as trial:
        assert run_nightly(trial, [], publish=False).health is None
    words = ("--lake", tmp_path / "lake", "--as-of", AS_OF.isoformat(), "--json", "nightly")
    assert "health" not in command(*words, "--dry-run", path).json
    assert command(*words, path).json["health"]["state"] == "ok"
    assert content(job, METRICS).height > 0


def test_a_night_tells_what_fails_and_ends_well(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(1)]))
    TROUBLES["bad_certificates"][2](job)
    night = run_nightly(job, [])
    assert night.health is not None
    assert night.health["failing"] == ["erasure"]
    assert "health: fail; FAILING erasure" in night_table(night)
    assert night.as_dict()["health"] == night.health


def test_files_of_ledgers_are_merged(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", policy=Policy(upkeep=UpkeepPolicy(partition_files=3)))
    for n in range(3):
        nightly(replace(job, as_of=AS_OF + timedelta(days=n)), tmp_path, n)
    assert len(tables.data_files(job.lake, RUNS)) <= 3
    assert len(tables.data_files(job.lake, METRICS)) <= 3
    assert health_rows(job)["as_of_at"].n_unique() == 3
