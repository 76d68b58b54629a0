"""Answers as of the past are those of that day, though retention has deleted since; else they are refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from flows.erase import run_erase
from flows.job import Job
from flows.publish import run_publish
from flows.retain import run_retain
from flows.rights import ask
from lake import history, tables, upkeep
from lake.recall import Recall
from tests.flows.lakes import job_on
from tests.flows.sleepers import history as said
from tests.flows.sleepers import night
from transforms.errors import HistoryError, LakeError
from transforms.policy import Policy
from transforms.replay.changes import changed
from transforms.schemas import CLAIMS, EPISODES, FACTS, QUARANTINE, RUNS
from transforms.subjects import Subject

THEN = datetime(2026, 6, 20, tzinfo=UTC)
LATER = datetime(2026, 8, 30, tzinfo=UTC)
LAST = datetime(2027, 8, 30, tzinfo=UTC)
ANA = {"tenant": "acme", "user": "ana"}


def lake_of(folder: Path, policy: Policy | None = None) -> Job:
    job = job_on(folder / "lake", policy=policy)
    night(job, folder, "all", said())
    run_publish(replace(job, as_of=LATER))  # so that an answer as of THEN is made from the tables
    return job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return lake_of(tmp_path)


def texts(job: Job, query: str = "where does she live", **how: object) -> list[str]:
    reader = Recall(job.lake, policy=job.policy, embedder=job.embedder)
    found = reader.search(query, **ANA, as_of=THEN, k=20, **how)  # type: ignore[arg-type]
    return [memory.text for memory in found]


def facts(job: Job, **how: object) -> list[tuple[str, str]]:
    reader = Recall(job.lake, policy=job.policy, embedder=job.embedder)
    return [(fact.id, fact.fact) for fact in reader.facts(**ANA, as_of=THEN, **how)]  # type: ignore[arg-type]


def test_what_retention_deleted_since_is_read_from_the_version_that_holds_it(job: Job) -> None:
    before = texts(job), facts(job)
    assert "I live in Lisbon." in before[0]
    run_retain(replace(job, as_of=LATER))  # episodes of March, past their 90 days
    run_retain(replace(job, as_of=LAST))  # and all that is left, facts among it
    assert tables.scan(job.lake, EPISODES).collect().is_empty()
    assert tables.scan(job.lake, FACTS).filter(pl.col("user_id") == "ana").collect().is_empty()
    assert (texts(job), facts(job)) == before


def test_an_instant_after_the_last_deletion_needs_no_version(job: Job) -> None:
    run_retain(replace(job, as_of=LATER))
    assert history.reaching(job.lake, LATER, history.MEMORIES, "acme") is None
    assert history.reaching(job.lake, THEN, history.MEMORIES, "acme") is not None
    assert history.reaching(job.lake, THEN, history.MEMORIES, "nobody") is None
    assert history.reaching(job.lake, THEN, [QUARANTINE], "acme") is None


def gone(job: Job, *names: str) -> None:
    """Take away what no version of the last moment needs."""
    for table in (EPISODES, CLAIMS, FACTS):
        if not names or table.name in names:
            upkeep.vacuum(job.lake, table, 0)


def test_beyond_what_is_kept_the_answer_is_refused_and_says_from_when_on(job: Job) -> None:
    run_retain(replace(job, as_of=LATER))
    run_retain(replace(job, as_of=LAST))
    gone(job)
    with pytest.raises(
        HistoryError, match=r"since then retention took out 9 of claims, .* 7 of facts"
    ) as met:
        facts(job)
    assert "Ask as of 2027-08-30 23:00 UTC" not in met.value.remedy
    assert "Ask as of 2027-08-30 00:00 UTC or later" in met.value.remedy
    with pytest.raises(HistoryError, match="of episodes"):
        texts(job)
    assert facts(job, partial=True) == []
    assert "I live in Lisbon." not in texts(job, partial=True)


def test_facts_need_no_episodes(job: Job) -> None:
    before = facts(job)
    run_retain(replace(job, as_of=LATER))
    gone(job, EPISODES.name)
    assert facts(job) == before


def test_the_policy_says_how_long_versions_are_kept(tmp_path: Path) -> None:
    job = lake_of(tmp_path, changed(Policy(), {"ingest.vacuum_after_hours": 0}))
    run_retain(replace(job, as_of=LATER))
    run_retain(replace(job, as_of=LAST))  # whose vacuum takes the files that the run before left
    with pytest.raises(HistoryError):
        texts(job)


def test_what_was_erased_comes_back_from_no_version(job: Job) -> None:
    run_retain(replace(job, as_of=LATER))
    before = texts(job)
    assert "I live in Graz." in before or "I moved to Lisbon last week." in before
    run_erase(job, Subject("acme", "ana"), basis="gdpr-art-17", requested_by="subject")
    with pytest.raises(HistoryError) as met:
        texts(job)
    assert "Lisbon" not in str(met.value)
    assert texts(job, partial=True) == []
    assert facts(job, partial=True) == []


def test_what_is_forbidden_since_comes_back_from_no_version(job: Job) -> None:
    asked = {"basis": "gdpr-art-17", "requested_by": "subject", "details": {"topic": "lisbon"}}
    ask(job, "forbid_topic", Subject("acme", user="ana"), **asked)  # type: ignore[arg-type]
    run_retain(replace(job, as_of=LATER))
    told = [*texts(job), *(fact for _, fact in facts(job)), *texts(job, partial=True)]
    assert "I no longer like rye bread." in told
    assert not [text for text in told if "Lisbon" in text]


def test_a_run_that_names_no_version_is_not_passed_over(job: Job) -> None:
    run_retain(replace(job, as_of=LATER))
    lines = tables.scan(job.lake, RUNS).collect()
    old = lines.with_columns(versions_read=pl.lit("{}"))  # as an earlier program wrote them
    tables.rewrite(job.lake, RUNS, tables.data_files(job.lake, RUNS), old)
    run_retain(replace(job, as_of=LAST))  # whose version lacks what the first one took
    with pytest.raises(HistoryError, match="of episodes"):
        texts(job)


def test_a_lake_as_of_the_past_is_read_only(job: Job) -> None:
    run_retain(replace(job, as_of=LATER))
    then = history.reaching(job.lake, THEN, history.MEMORIES)
    assert then is not None
    stood = tables.scan(then, EPISODES).collect()
    assert stood.height > tables.scan(job.lake, EPISODES).collect().height
    with tables.held_open():  # both in one block
        assert tables.scan(then, EPISODES).collect().height == stood.height
        assert tables.scan(job.lake, EPISODES).collect().height < stood.height
    with pytest.raises(LakeError, match="read only"):
        tables.append(then, EPISODES, stood)
