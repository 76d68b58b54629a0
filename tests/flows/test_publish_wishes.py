"""What publishing takes from recalls and from people's wishes, and when it builds anew for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.job import Job
from flows.publish import run_publish
from flows.published import frames
from lake import landing, tables
from lake.recall import Recall
from lake.rights import standing
from tests.flows.lakes import AS_OF, content, ingest, job_on, row, write
from tests.transforms.forgetting.plain import recall
from transforms.policy import Policy
from transforms.policy_retention import DecayPolicy
from transforms.schemas import RECALLS
from transforms.standing import Standing
from transforms.subjects import Subject

DAY = timedelta(days=1)
ANA = Subject("acme", user="ana")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    made = job_on(tmp_path / "lake", buckets=1)
    ingest(made, write(tmp_path / "a.jsonl", [row(1), row(2), row(3, "I live in Graz.", user_id="ben")]))
    run_embed(made)
    run_consolidate(made)
    return made


def published(job: Job) -> pl.DataFrame:
    return pl.concat(list(frames(job))).sort("memory_id")


def hear(job: Job, *rows: dict[str, Any]) -> None:
    tables.append(job.lake, RECALLS, pl.DataFrame(rows, schema=RECALLS.polars, orient="row"))


def test_recalls_are_folded_into_what_is_published(job: Job) -> None:
    first = content(job)["episode_id"][0]
    fact = published(job).filter(pl.col("kind") == "fact")["memory_id"][0]
    hear(
        job,
        recall(1, first, AS_OF - 3 * DAY),
        recall(2, first, AS_OF - 2 * DAY, session_id="s2"),
        recall(3, first, AS_OF + DAY, session_id="s3"),
        recall(4, fact, AS_OF - DAY),
        recall(5, fact, AS_OF - DAY, tenant_id="umbrella", session_id="s2"),
    )
    rows = {row["memory_id"]: row for row in published(job).iter_rows(named=True)}
    assert (rows[first]["access_count"], rows[first]["last_accessed_at"]) == (2, AS_OF - 2 * DAY)
    assert (rows[fact]["access_count"], rows[fact]["last_accessed_at"]) == (1, AS_OF - DAY)
    others = [r for name, r in rows.items() if name not in (first, fact)]
    assert all((r["access_count"], r["last_accessed_at"]) == (0, r["event_at"]) for r in others)
    used = replace(job, policy=Policy(decay=DecayPolicy(refresh="used")))
    assert published(used)["access_count"].sum() == 0


def test_it_builds_anew_for_recalls_and_wishes_and_for_nothing_else(job: Job) -> None:
    assert run_publish(job).generation == "gen-000001"
    assert run_publish(job).state == "unchanged"
    hear(job, recall(1, content(job)["episode_id"][0], AS_OF - DAY))
    assert run_publish(job).generation == "gen-000002"
    standing.save(job.lake, Standing(ANA, period_seconds=31 * 86_400))
    assert run_publish(job).generation == "gen-000003"
    standing.save(job.lake, Standing(ANA, period_seconds=31 * 86_400, is_held=True))
    assert run_publish(job).state == "unchanged"  # a hold changes nothing that is served
    standing.save(job.lake, Standing(ANA))
    assert run_publish(job).generation == "gen-000004"


def test_a_period_and_a_pin_change_when_a_row_is_served_last(job: Job) -> None:
    mine = content(job).filter(pl.col("user_id") == "ana").sort("event_at")
    first, second = mine["episode_id"]
    standing.save(job.lake, Standing(ANA, period_seconds=30 * 86_400, pinned=(second,)))
    rows = {r["memory_id"]: r for r in published(job).iter_rows(named=True)}
    assert rows[first]["expires_at"] == mine["event_at"][0] + 30 * DAY
    assert rows[second]["expires_at"] == mine["event_at"][1] + 30 * DAY
    standing.save(job.lake, Standing(ANA, pinned=(second,)))
    rows = {r["memory_id"]: r for r in published(job).iter_rows(named=True)}
    assert rows[first]["expires_at"] == mine["event_at"][0] + 90 * DAY
    assert rows[second]["expires_at"] == mine["event_at"][1] + 1_095 * DAY


def test_a_fact_that_nobody_confirms_is_archived_and_kept(job: Job) -> None:
    def kinds(days: float, **decay: Any) -> set[str]:
        late = replace(job, as_of=AS_OF + days * DAY, policy=Policy(decay=DecayPolicy(**decay)))
        return set(published(late)["kind"])

    unsure = {"unconfirmed_after_days": 60.0, "unconfirmed_factor": 0.3, "archive_below_confidence": 0.3}
    assert "fact" in kinds(20, **unsure) - kinds(50, **unsure)
    assert "fact" in kinds(50)
    assert "fact" not in kinds(0, archive_below_confidence=0.95)


def test_the_fresh_tail_heeds_a_period_at_once(tmp_path: Path) -> None:
    lake = job_on(tmp_path / "lake").lake
    now = datetime.now(UTC)
    old = (now - 40 * DAY).isoformat()
    landing.append(lake, [row(1, "the harbour key is under the mat", event_at=old)])
    landing.append(lake, [row(2, "Jonas keeps another harbour key in his boat", event_at=old, user_id="ben")])
    reader = Recall(lake, embedder=job_on(tmp_path / "lake").embedder)
    search = {"tenant": "acme", "tenant_wide": True}
    assert len(reader.search("harbour key", **search)) == 2  # type: ignore[arg-type]
    standing.save(lake, Standing(ANA, period_seconds=30 * 86_400))
    assert [found.text for found in reader.search("harbour key", **search)] == [  # type: ignore[arg-type]
        "Jonas keeps another harbour key in his boat"
    ]
    assert reader.search("harbour key", tenant="acme", user="ana") == []
    standing.save(lake, Standing(ANA))
    assert len(reader.search("harbour key", tenant="acme", user="ana")) == 1
