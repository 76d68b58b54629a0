"""Cold storage: out of the table and back, whole, once, and not sent away again the next night."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from flows.job import Job
from flows.retain import run_retain
from lake import cold, tables
from tests.flows.lakes import AS_OF, content, ingest, job_on, row, write
from transforms.policy import Policy
from transforms.policy_retention import ColdPolicy
from transforms.schemas import COLD, EPISODES, FORGOTTEN, RECALLS
from transforms.subjects import Subject

POLICY = Policy(cold=ColdPolicy(after_days=20.0))
ANA = Subject("acme", user="ana")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    made = job_on(tmp_path / "lake", policy=POLICY, buckets=1)
    rows = [row(n, event_at=f"2026-06-{1 + n:02d}T10:00:00Z") for n in range(5)]
    rows += [
        row(9, user_id="anabel", event_at="2026-06-01T10:00:00Z"),
        row(28, event_at="2026-06-29T10:00:00Z"),
    ]
    ingest(made, write(tmp_path / "a.jsonl", rows))
    return made


def test_what_nobody_asked_for_goes_there_and_is_read_back_whole(job: Job) -> None:
    before = content(job)
    result = run_retain(job)
    assert result.detail["removed"]["episodes"] == {"cold": 6}
    assert content(job)["event_at"].dt.day().to_list() == [29]
    mine = cold.cold_rows(job.lake, ANA)
    assert mine.height == 5
    assert mine["cooled_at"].unique().to_list() == [AS_OF]
    whole = pl.concat([content(job), content(job, COLD).drop("cooled_at")]).sort("episode_id")
    assert whole.equals(before)
    assert set(content(job, FORGOTTEN)["reason"]) == {"cold"}
    assert cold.cold_rows(job.lake, Subject("umbrella")).is_empty()
    assert run_retain(job).state == "unchanged"


def test_it_comes_back_once_and_stays(job: Job) -> None:
    before = content(job)
    run_retain(job)
    assert cold.restore(job.lake, ANA, AS_OF) == 5
    assert cold.restore(job.lake, ANA, AS_OF) == 0
    back = content(job)
    assert back.equals(before.filter(pl.col("user_id") == "ana"))
    assert content(job, COLD)["user_id"].to_list() == ["anabel"]
    assert content(job, FORGOTTEN)["user_id"].to_list() == ["anabel"]
    run_retain(job)
    run_retain(replace(job, as_of=AS_OF + timedelta(days=15)))
    assert content(job).equals(back)
    run_retain(replace(job, as_of=AS_OF + timedelta(days=21)))
    assert content(job).is_empty()


STOPS = [("append", RECALLS), ("append", EPISODES), ("rewrite", FORGOTTEN), ("rewrite", COLD)]


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: f"{stop[0]} {stop[1].name}")
def test_a_restore_that_breaks_off_is_finished_by_the_next(
    job: Job, stop: tuple[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(job)
    run_retain(job)
    verb, table = stop
    real = getattr(tables, verb)

    def broken(lake: object, which: object, *more: object) -> None:
        if which is table:
            raise KeyboardInterrupt
        real(lake, which, *more)

    with monkeypatch.context() as patch:
        patch.setattr(tables, verb, broken)
        with pytest.raises(KeyboardInterrupt):
            cold.restore(job.lake, ANA, AS_OF)
    cold.restore(job.lake, ANA, AS_OF)
    assert content(job).equals(before.filter(pl.col("user_id") == "ana"))
    assert content(job, COLD).height == content(job, FORGOTTEN).height == 1
    assert content(job, RECALLS).height == 5


def test_cold_rows_expire_as_the_others_do(job: Job) -> None:
    run_retain(job)
    late = replace(job, as_of=AS_OF + timedelta(days=100))
    assert run_retain(late).detail["removed"]["cold"] == {"expired": 6}
    assert content(job, COLD).is_empty()
    assert content(job, FORGOTTEN).is_empty()


def test_it_is_compressed_strongly(job: Job) -> None:
    run_retain(job)
    root = Path(job.lake.table_uri(COLD))
    files = [pq.ParquetFile(root / name) for name in tables.data_files(job.lake, COLD)]
    assert {f.metadata.row_group(0).column(0).compression for f in files} == {"ZSTD"}
