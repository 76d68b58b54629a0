"""What was believed at a past instant, beside a lake that never saw anything later."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from flows.job import Job
from flows.published import memories_of, wishes_of
from flows.retain import run_retain
from lake import revisions, tables
from lake.cold import cool
from lake.online.believed import believed
from lake.scope import Scope
from tests.flows.lakes import job_on
from tests.flows.sleepers import history, night
from tests.lake.made import frame
from transforms.derived_memories import PUBLISHED
from transforms.errors import UsageError
from transforms.forgetting.access import ACCESS_SCHEMA
from transforms.policy import Policy
from transforms.schemas import EPISODES, RECALLS

ANA = Scope("acme", "ana")
INSTANTS = [datetime(2026, month, day, 23, tzinfo=UTC) for month, day in ((3, 5), (3, 6), (5, 12), (6, 2))]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The small history of two people, consolidated in one night; tests only read it."""
    folder = tmp_path_factory.mktemp("believed")
    made = job_on(folder / "lake")
    night(made, folder, "all", history())
    return made


def at_once(job: Job, at: datetime) -> pl.DataFrame:
    """What publishing at an instant would serve of a lake that holds nothing later."""
    bucket = job.lake.bucket("acme")
    derived = {t.name: revisions.standing(job.lake, t, buckets=[bucket]) for t in PUBLISHED}
    episodes = tables.scan(job.lake, EPISODES, buckets=[bucket]).collect()
    rows = memories_of(
        replace(job, as_of=at),
        [bucket],
        episodes,
        derived,
        pl.DataFrame(schema=ACCESS_SCHEMA),
        wishes_of(job),
    )
    return rows.filter(tenant_id="acme", user_id="ana")


def compared(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows without what hangs on the cut of nights: summaries."""
    kept = rows.filter(pl.col("kind") != "summary").sort("memory_id")
    return kept.select("memory_id", "kind", "tier", "text", "importance", "event_at", "expires_at", "vector")


@pytest.mark.parametrize("at", INSTANTS)
def test_the_past_is_what_a_lake_of_that_day_would_serve(job: Job, tmp_path: Path, at: datetime) -> None:
    young = job_on(tmp_path / "lake", as_of=at)
    seen = [row for row in history() if datetime.fromisoformat(row["event_at"]) <= at]
    night(young, tmp_path, "some", seen)
    expected = at_once(young, at)
    found = believed(job.lake, ANA, job.policy, at, job.space)
    assert expected.height
    assert compared(found).equals(compared(expected))


def test_a_change_of_mind_is_told_as_it_was(job: Job) -> None:
    def cities(at: datetime) -> set[str]:
        rows = believed(job.lake, ANA, job.policy, at, job.space)
        texts = rows.filter(pl.col("tier") == "semantic")["text"]
        return {city for city in ("Graz", "Lisbon") if texts.str.contains(city).any()}

    assert cities(datetime(2026, 3, 10, tzinfo=UTC)) == {"Graz"}
    assert cities(datetime(2026, 6, 1, 23, tzinfo=UTC)) == {"Lisbon"}


def test_only_the_scope_is_read(job: Job) -> None:
    at = datetime(2026, 6, 29, tzinfo=UTC)
    for scope in (ANA, Scope("acme", "ben"), Scope("umbrella", "ana"), Scope("acme", session="b1")):
        rows = believed(job.lake, scope, job.policy, at, job.space)
        assert rows.height
        for name, value in scope.columns().items():
            assert rows[name].unique().to_list() == [value]
    assert believed(job.lake, Scope("acme", "zoe"), job.policy, at, job.space).is_empty()


def test_accesses_count_until_then(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    night(job, tmp_path, "all", history())
    first = tables.scan(job.lake, EPISODES).filter(pl.col("content") == "I live in Graz.").collect()
    days = [INSTANTS[0] + timedelta(days=n) for n in (1, 2, 3)]
    recalls = [
        {
            "call_id": f"c{n}",
            "tenant_id": "acme",
            "tenant_bucket": job.lake.bucket("acme"),
            "user_id": "ana",
            "memory_id": first["episode_id"][0],
            "session_id": f"call-{n}",
            "recalled_at": day,
            "is_returned": True,
            "is_packed": True,
            "is_used": True,
        }
        for n, day in enumerate(days)
    ]
    tables.append(job.lake, RECALLS, frame(RECALLS, recalls))
    seen = believed(job.lake, ANA, job.policy, days[1], job.space).filter(
        pl.col("memory_id") == first["episode_id"][0]
    )
    assert seen["access_count"].item() == 2
    assert seen["last_accessed_at"].item() == days[1]


def test_what_is_cold_since_is_told_and_what_was_cold_then_is_not(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    night(job, tmp_path, "all", history())
    bucket = job.lake.bucket("acme")
    rows = tables.scan(job.lake, EPISODES, buckets=[bucket]).filter(pl.col("user_id") == "ana").collect()
    at = datetime(2026, 6, 20, tzinfo=UTC)
    warm = believed(job.lake, ANA, job.policy, at - timedelta(days=1), job.space)
    cool(job.lake, bucket, rows, at)
    tables.rewrite(job.lake, EPISODES, sorted(tables.data_files(job.lake, EPISODES)), rows.clear())
    before = believed(job.lake, ANA, job.policy, at - timedelta(days=1), job.space)
    after = believed(job.lake, ANA, job.policy, at + timedelta(days=1), job.space)
    kinds = pl.col("kind").is_in(["conversation", "action"])
    assert before.filter(kinds).height > 5
    assert before.filter(kinds).equals(warm.filter(kinds))
    assert after.filter(kinds).is_empty()


def test_a_fact_outlives_the_episode_that_retention_took(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    night(job, tmp_path, "all", history())
    before = believed(job.lake, ANA, job.policy, INSTANTS[1], job.space)
    run_retain(replace(job, as_of=datetime(2026, 8, 30, tzinfo=UTC)))
    assert "I live in Graz." not in tables.scan(job.lake, EPISODES).collect()["content"].to_list()
    after = believed(job.lake, ANA, job.policy, INSTANTS[1], job.space)
    semantic = pl.col("tier") == "semantic"
    assert before.filter(semantic).height
    assert after.filter(semantic).drop("vector").equals(before.filter(semantic).drop("vector"))


def test_a_scope_too_large_to_be_read_whole_is_refused(job: Job) -> None:
    policy = Policy()
    recall = policy.recall.model_copy(update={"as_of_rows": 3})
    with pytest.raises(UsageError, match=r"more than 3 episodes at 2026-06-02"):
        believed(job.lake, ANA, policy.model_copy(update={"recall": recall}), INSTANTS[-1], job.space)
