"""Consolidation under deletion, damage, other agents and models that fail: what a breaker found once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.job import SCRATCH, Job, exclusive
from flows.publish import run_publish
from lake import locks, revisions, tables
from lake.recall import Recall
from tests.flows.lakes import AS_OF, CountingEmbedder, ingest, job_on, write
from tests.flows.sleepers import claims, derived, facts, history, night, said, summaries
from transforms.derived_memories import live_rows
from transforms.errors import StorageError, UsageError
from transforms.policy import Policy
from transforms.schemas import (
    CLAIMS,
    DECISIONS,
    DERIVED,
    EPISODES,
    LINEAGE,
    PROCEDURES,
    SUMMARIES,
    TOPICS,
)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


def forget(job: Job, where: str) -> None:
    """Take episodes out of the lake."""
    DeltaTable(job.lake.table_uri(EPISODES)).delete(where)


def test_an_agent_never_gets_a_revision_that_stands_no_more(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "one", [said(1, "I live in Graz.", "06-01", agent_id="a1")])
    reader = Recall(job.lake, embedder=job.embedder)
    assert [f.values["object"] for f in reader.facts(tenant="acme", agent="a1")] == ["Graz"]
    night(job, tmp_path, "two", [said(2, "I live in Graz.", "06-02", agent_id="a2")])
    night(job, tmp_path, "three", [said(3, "I moved to Lisbon.", "06-03", agent_id="a2")])
    assert reader.facts(tenant="acme", agent="a1", history=True) == []
    assert [f.values["object"] for f in reader.facts(tenant="acme", user="ana")] == ["Lisbon"]
    [graz] = [
        f for f in reader.facts(tenant="acme", user="ana", history=True) if f.values["object"] == "Graz"
    ]
    with pytest.raises(UsageError, match="no row"):
        reader.explain(graz.id, tenant="acme", agent="a1")


def test_what_is_deleted_comes_back_on_no_path(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    reader = Recall(job.lake, embedder=job.embedder)
    [cork] = reader.facts(tenant="acme", user="ben")
    [claim] = claims(job).filter(pl.col("owner") == "user:ben")["claim_id"]
    forget(job, "user_id = 'ben'")
    assert reader.facts(tenant="acme", user="ben", as_of=AS_OF) == []
    run_consolidate(job, complete=True)
    run_publish(job)
    for asked in ({}, {"as_of": AS_OF}, {"history": True}, {"as_of": AS_OF, "recorded_by": AS_OF}):
        assert reader.facts(tenant="acme", user="ben", **asked) == []  # type: ignore[arg-type]
    for name in (cork.id, claim):
        with pytest.raises(UsageError, match="no row"):
            reader.explain(name, tenant="acme", user="ben")
    assert "user:ben" not in claims(job)["owner"].to_list()
    assert reader.search("Cork", tenant="acme", user="ben", as_of=AS_OF) == []
    living = set(tables.scan(job.lake, EPISODES).collect()["episode_id"])
    assert set(tables.scan(job.lake, LINEAGE).collect()["source_id"]) <= living


def test_no_decision_on_a_topic_outlives_its_owner(job: Job, tmp_path: Path) -> None:
    rows = [said(n, f"The harbour office asks for crane number {n}.", "06-02") for n in range(9)]
    night(job, tmp_path, "all", [*rows, said(20, "I live in Cork.", "06-03", user_id="ben", session_id="b")])
    assert "user:ana" in revisions.standing(job.lake, DECISIONS)["owner"].to_list()
    forget(job, "user_id = 'ana'")
    run_consolidate(job, complete=True)
    assert set(revisions.standing(job.lake, DECISIONS)["owner"]) == {"user:ben"}
    assert revisions.standing(job.lake, TOPICS).height == 0


def test_killed_before_any_commit_of_a_table_everything_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = job_on(tmp_path / "whole")
    night(whole, tmp_path, "all", history())
    expected = derived(whole)
    real: Callable[..., None] = tables.append
    for fatal in ("claims", "decisions", "attempts", "procedures", "conversations"):
        job = job_on(tmp_path / fatal)

        def dying(*arguments: Any, fatal: str = fatal) -> None:
            if arguments[1].name == fatal:
                raise StorageError("killed", "Run again.")
            real(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(tables, "append", dying)
            with pytest.raises(StorageError):
                night(job, tmp_path, "all", history())
        run_consolidate(job)
        found = derived(job)
        for name, rows in expected.items():
            assert found[name].equals(rows), (fatal, name)


@pytest.mark.parametrize("lost", [t.name for t in DERIVED if t.name != "model_results"])
def test_a_derived_table_that_is_lost_is_derived_anew(job: Job, tmp_path: Path, lost: str) -> None:
    night(job, tmp_path, "all", history())
    table = next(t for t in DERIVED if t.name == lost)

    def height() -> int:
        rows = tables.scan(job.lake, table).collect()
        # Why a topic was made is history; a topic that stands is not made again.
        return rows.height if lost != "decisions" else rows.filter(pl.col("item_kind") == "claim").height

    before = height()
    pairs = set(tables.scan(job.lake, LINEAGE).collect().select("derived_id", "source_id").iter_rows())
    expected = derived(job)
    shutil.rmtree(job.lake.table_uri(table), ignore_errors=True)
    run_consolidate(job)
    assert height() == before
    found = derived(job)
    assert all(found[name].equals(rows) for name, rows in expected.items())
    held = tables.scan(job.lake, LINEAGE).collect().select("derived_id", "source_id")
    assert set(held.iter_rows()) == pairs


def test_a_changed_number_of_skills_has_its_effect(job: Job, tmp_path: Path) -> None:
    rows = [
        said(n, "ok", f"06-{n:02d}", role="tool", kind="action", tool_name="deploy", outcome="success")
        for n in range(1, 6)
    ]
    night(job, tmp_path, "all", rows)
    assert (
        revisions.standing(job.lake, PROCEDURES).filter(pl.col("kind") == "procedure")["is_suggested"].all()
    )
    policy = Policy()
    strict = policy.model_copy(update={"skills": policy.skills.model_copy(update={"min_attempts": 50})})
    run_consolidate(replace(job, policy=strict))
    stood = revisions.standing(job.lake, PROCEDURES).filter(pl.col("kind") == "procedure")
    assert stood.height
    assert not stood["is_suggested"].any()


def test_topics_do_not_depend_on_who_embeds_first(tmp_path: Path) -> None:
    rows = [said(n, f"The harbour office asks for crane number {n}.", "06-02") for n in range(9)]
    usual, hasty = job_on(tmp_path / "usual"), job_on(tmp_path / "hasty")
    night(usual, tmp_path, "all", rows)
    ingest(hasty, write(tmp_path / "again.jsonl", rows))
    run_consolidate(hasty)
    run_embed(hasty)
    run_consolidate(hasty)
    assert revisions.standing(usual.lake, TOPICS).height > 0
    assert revisions.standing(hasty.lake, TOPICS).equals(revisions.standing(usual.lake, TOPICS))
    other = CountingEmbedder("other")
    moved = replace(hasty, make_embedder=lambda: other)
    run_consolidate(moved)  # before any embed by the new model
    assert revisions.standing(hasty.lake, TOPICS)["space"].unique().to_list() == [moved.space]
    assert summaries(hasty).height == summaries(usual).height


def test_an_episode_is_dropped_only_for_a_summary_that_is_served(job: Job, tmp_path: Path) -> None:
    rows = [
        said(n, f"We decided to ship the harbour report on Friday, draft {n}.", "06-02", session_id=f"s{n}")
        for n in range(6)
    ]
    rows[0]["expires_at"] = "2026-06-20T00:00:00Z"
    policy = Policy()
    dropping = policy.model_copy(
        update={"summaries": policy.summaries.model_copy(update={"detail": "drop_after_summary"})}
    )
    job = replace(job, policy=dropping)
    night(job, tmp_path, "all", rows)
    assert summaries(job).height > 0
    served = live_rows(summaries(job), SUMMARIES, dropping, AS_OF)
    covered = {name for refs in served["source_refs"] for name in refs}
    living = tables.scan(job.lake, EPISODES).filter(pl.col("expires_at").is_null()).collect()
    done = run_publish(job)
    assert done.detail.get("dropped", 0) == len(covered & set(living["episode_id"]))
    # The summary that quotes the row with an expiry of its own is past it, and stands for nothing.
    assert served.height < summaries(job).height


def test_what_a_killed_dry_night_left_goes_with_the_next_run(job: Job, tmp_path: Path) -> None:
    left = tmp_path / "lake" / SCRATCH / "copy"
    left.mkdir(parents=True)
    (left / "text").write_text("of somebody")
    with locks.hold(job.lake, SCRATCH, 0), exclusive(job):
        assert left.exists()  # one that runs keeps its copy
    with exclusive(job):
        assert not left.exists()


def test_old_claims_of_another_extractor_take_no_part(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(job, tmp_path, "all", history())
    now = {f.fact for f in Recall(job.lake, embedder=job.embedder).facts(tenant="acme", user="ana")}
    strange = claims(job).filter(pl.col("owner") == "user:ana").head(1)
    planted = strange.with_columns(
        claim_id=pl.lit("f" * 32),
        extractor=pl.lit("rules@0"),
        object_key=pl.lit("oslo"),
        object=pl.lit("Oslo"),
    )
    tables.append(job.lake, CLAIMS, planted)
    found = Recall(job.lake, embedder=job.embedder).facts(tenant="acme", user="ana", as_of=AS_OF)
    assert {f.fact for f in found} == now
    assert facts(job, owner="user:ana", tenant_id="acme")
