"""Retain on a lake: what goes and what with it, what stays and why, and how it is counted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.job import Job
from flows.nightly import run_nightly
from flows.publish import run_publish
from flows.retain import run_retain
from flows.retain_state import STATE
from lake import queries, revisions, tables
from lake.rights import audit, standing
from tests.flows.lakes import AS_OF, CountingEmbedder, content, files_below, ingest, job_on, row, write
from tests.flows.sleepers import claims, facts, history, night, said
from tests.transforms.forgetting.plain import recall
from transforms.policy import Policy
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    LINEAGE,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    REMOVALS,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    VECTORS,
    Table,
)
from transforms.standing import Standing
from transforms.subjects import Subject

DAY = timedelta(days=1)
ANA = Subject("acme", user="ana")


Slept = Callable[..., Job]


@pytest.fixture(scope="module")
def slept(tmp_path_factory: pytest.TempPathFactory) -> Slept:
    """Gives a job on a copy of a lake on which the history of ``sleepers`` was slept over."""
    made = tmp_path_factory.mktemp("slept")
    night(job_on(made / "lake", buckets=1), made, "all", history())

    def copied(folder: Path, name: str = "lake") -> Job:
        shutil.copytree(made / "lake", folder / name)
        return job_on(folder / name, buckets=1)

    return copied


def after(job: Job, days: float, **fields: Any) -> Job:
    return replace(job, as_of=AS_OF + days * DAY, **fields)


def policy(**sections: Any) -> Policy:
    whole = Policy().model_dump()
    return Policy.model_validate({**whole, **{n: {**whole[n], **given} for n, given in sections.items()}})


def ids(job: Job, table: Table = EPISODES) -> set[str]:
    return set(content(job, table)[table.key[0]])


def texts(job: Job) -> set[str]:
    return set(content(job)["content"])


def landed(job: Job, folder: Path, *rows: dict[str, Any]) -> Job:
    ingest(job, write(folder / "rows.jsonl", rows))
    run_embed(job)
    return job


def ledger(job: Job, *names: str) -> list[tuple[Any, ...]]:
    rows = content(job, REMOVALS).filter(pl.col("table") == "episodes")
    return list(rows.sort("reason", "tier").select("reason", "tier", *names).iter_rows())


def recalled(job: Job, memory: str, at: datetime) -> None:
    """One trace of a recall, of a call of its own."""
    call = {"call_id": f"c{at:%Y}-{memory}", "tenant_bucket": job.lake.bucket("acme"), "query": "q"}
    given = recall(1, memory, at, session_id=None, **call)
    tables.append(job.lake, RECALLS, pl.DataFrame([given], schema=RECALLS.polars))


def test_an_expired_episode_goes_with_its_vector_at_its_very_instant(tmp_path: Path) -> None:
    due = AS_OF + timedelta(hours=1)
    job = landed(
        job_on(tmp_path / "lake"), tmp_path, row(1, expires_at=due.isoformat()), row(2), row(3, user_id="ben")
    )
    before = replace(job, as_of=due - timedelta(microseconds=1))
    assert run_retain(before).state == "unchanged"
    assert content(job).height == content(job, VECTORS).height == 3
    result = run_retain(replace(job, as_of=due))
    assert (result.state, result.rows_out) == ("done", 2)
    assert result.detail["removed"] == {
        "episodes": {"expired": 1},
        "vectors": {"orphaned": 1},
    }
    assert content(job).height == content(job, VECTORS).height == 2
    assert ledger(job, "rows_due", "rows_removed", "rows_late", "oldest_due_at") == [
        ("expired", "medium_term", 1, 1, 0, due)
    ]


def test_what_somebody_else_says_word_for_word_keeps_its_vector(tmp_path: Path) -> None:
    twin = {"content": "the very same words", "event_at": "2026-06-01T10:00:00Z"}
    job = landed(
        job_on(tmp_path / "lake", buckets=1),
        tmp_path,
        row(1, **twin, expires_at="2026-06-02T00:00:00Z"),
        row(2, **twin, user_id="ben"),
        row(3, **twin, tenant_id="umbrella", expires_at="2026-06-02T00:00:00Z"),
    )
    assert content(job, VECTORS).height == 2  # one a tenant
    run_retain(job)
    assert content(job)["user_id"].to_list() == ["ben"]
    assert content(job, VECTORS)["tenant_id"].to_list() == ["acme"]


def test_a_month_that_is_due_as_a_whole_is_dropped_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [row(n, event_at=f"2026-02-{n:02d}T10:00:00Z") for n in range(1, 9)]
    job = landed(job_on(tmp_path / "lake", buckets=1), tmp_path, *old, row(20), row(21))
    seen = []
    real = tables.rewrite

    def noted(lake: Any, table: Table, files: Any, frames: Iterable[pl.DataFrame]) -> None:
        held = list(frames)
        seen.append((table.name, len(files), sum(frame.height for frame in held)))
        real(lake, table, files, held)

    monkeypatch.setattr(tables, "rewrite", noted)
    run_retain(job)
    assert ("episodes", 1, 0) in seen  # the file of February, and nothing in its place
    assert content(job).height == 2
    assert all("month=2026-02" not in name for name in tables.data_files(job.lake, EPISODES))


def test_what_decays_waits_for_its_summary_and_then_goes(tmp_path: Path) -> None:
    slight = [{**one, "importance": 0.2, "retention_tier": "long_term"} for one in history()]
    job = landed(job_on(tmp_path / "lake", buckets=1), tmp_path, *slight)
    every = ids(job)
    waits = run_retain(job)
    assert waits.detail["waiting"] == {"episodes": len(every)}
    assert ids(job) == every
    assert sum(n for _, _, n in ledger(job, "rows_waiting")) == len(every)
    run_consolidate(job)
    covered = set(revisions.standing(job.lake, SUMMARIES)["source_refs"].explode())
    assert 3 <= len(covered) < len(every)
    gone = run_retain(job)
    assert sum(gone.detail["removed"]["episodes"].values()) == len(covered)
    assert ids(job) == every - covered
    assert covered <= ids(job, FORGOTTEN) | ids(job)  # the summary rests on them still
    assert run_consolidate(job, complete=True).state == "done"
    assert set(revisions.standing(job.lake, SUMMARIES)["source_refs"].explode()) == covered


def test_what_waits_no_more_is_not_told_as_waiting(tmp_path: Path) -> None:
    """It waited for its summary; then it was asked for, and is not stale any more."""
    job = after(landed(job_on(tmp_path / "lake"), tmp_path, row(1), row(2)), 40)
    (mine, other) = content(job)["episode_id"]
    stale = replace(job, policy=policy(staleness={"below_importance": 1.0}, decay={"forget_below": 0.0}))
    assert run_retain(stale).detail["waiting"] == {"episodes": 2}
    recalled(job, mine, AS_OF + 39 * DAY)
    assert run_retain(stale).detail["waiting"] == {"episodes": 1}
    recalled(job, other, AS_OF + 39 * DAY)
    assert run_retain(stale).detail["waiting"] == {}
    lines = queries.query(job.lake, "removals_by_tier", {"as_of": stale.as_of})
    assert lines["waiting"].to_list() == [0]
    assert run_retain(stale).state == "unchanged"


def test_derived_rows_live_their_own_time_and_then_leave_nothing(slept: Slept, tmp_path: Path) -> None:
    job = slept(tmp_path)
    known = facts(job)
    run_retain(after(job, 120))
    assert content(job).is_empty()
    assert facts(job) == known  # episodes live 90 days, facts a year
    run_retain(after(job, 3_000))
    for table in (CLAIMS, FACTS, DECISIONS, SUMMARIES, CONVERSATIONS, ATTEMPTS, PROCEDURES, LINEAGE, TOPICS,
                  TOPIC_MEMBERS, FORGOTTEN, VECTORS):  # fmt: skip
        assert content(job, table).is_empty(), table.name


def test_a_fact_goes_with_its_claims_and_does_not_come_back(slept: Slept, tmp_path: Path) -> None:
    job = slept(tmp_path)
    later = after(job, 320)  # a year after May 12th
    run_retain(later)
    kept = facts(job)
    assert 0 < len(kept) < 8
    cited = set(revisions.standing(job.lake, FACTS)["claim_ids"].explode())
    assert cited <= set(claims(job)["claim_id"])
    assert set(content(job, DECISIONS).filter(pl.col("item_kind") == "claim")["item_id"]) == set(
        claims(job)["claim_id"]
    )
    night(later, tmp_path, "more", [said(30, "I like walnuts.", "06-29")])
    run_consolidate(later, complete=True)
    assert [fact for fact in facts(job) if fact[1] != "walnuts"] == kept


def test_the_lowest_scored_facts_go_with_what_they_had_replaced(slept: Slept, tmp_path: Path) -> None:
    job = replace(slept(tmp_path), policy=policy(capacity={"facts": 2}))
    before = [fact for fact in facts(job, tenant_id="acme", owner="user:ana") if fact[3] is None]
    assert len(before) > 2
    run_retain(job)
    left = facts(job, tenant_id="acme", owner="user:ana")
    assert len([fact for fact in left if fact[3] is None]) == 2
    run_consolidate(job, complete=False)
    assert facts(job, tenant_id="acme", owner="user:ana") == left
    assert len(facts(job, owner="user:ben")) == 1
    holding = {(fact[0],) for fact in left if fact[3] is None}
    assert {(fact[0],) for fact in left if fact[3] is not None} <= holding | {("likes",)}


def test_a_budget_takes_the_lowest_scored_episodes_at_once(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", policy=policy(capacity={"episodes": 3}))
    rows = [row(n, importance=n / 10, event_at="2026-06-30T10:00:00Z") for n in range(1, 7)]
    landed(job, tmp_path, *rows, row(8, user_id="ben"))
    run_retain(job)
    assert sorted(round(x, 1) for x in content(job)["importance"] if x != content(job)["importance"].max())[
        :3
    ]
    assert texts(job) == {row(n)["content"] for n in (4, 5, 6, 8)}
    again = run_retain(job)
    assert again.state == "unchanged"


def test_nothing_under_legal_hold_goes_and_the_ledger_says_so(slept: Slept, tmp_path: Path) -> None:
    job = slept(tmp_path)
    standing.save(job.lake, Standing(ANA, is_held=True))
    standing.save(job.lake, Standing(Subject("acme", session="b1"), is_held=True))
    mine = content(job).filter(pl.col("tenant_id") == "acme")
    late = after(job, 3_000)
    result = run_retain(late)
    assert content(job).equals(mine)
    assert result.detail["held"]["episodes"] == mine.height
    assert [n for _, _, n in ledger(job, "rows_held") if n] == [mine.height]
    assert "Turku" not in str(facts(job))
    owners = set(revisions.standing(job.lake, FACTS)["owner"])
    assert owners == {"user:ana", "user:ben"}  # ben's fact rests on an episode of a held session
    standing.save(job.lake, Standing(ANA))
    standing.save(job.lake, Standing(Subject("acme", session="b1")))
    run_retain(late)
    assert content(job).is_empty()
    assert content(job, FACTS).is_empty()


def test_a_forbidden_topic_leaves_with_all_that_was_made_of_it(slept: Slept, tmp_path: Path) -> None:
    job = slept(tmp_path)
    assert "peanuts" in str(facts(job))
    standing.save(job.lake, Standing(ANA, forbidden_topics=("peanut",)))
    result = run_retain(job)
    assert result.detail["removed"]["episodes"]["forbidden_topic"] == 1
    for table in (EPISODES, CLAIMS, FACTS, SUMMARIES, CONVERSATIONS, TOPICS):
        assert "peanut" not in str(content(job, table).rows()).lower(), table.name
    assert "lives_in" in str(facts(job, owner="user:ana")) or facts(job, owner="user:ana")
    assert run_retain(job).rows_in == 0
    assert not content(job, FORGOTTEN).filter(pl.col("reason") == "forbidden_topic").height


def test_a_persons_own_period_takes_their_rows_and_nobody_elses(tmp_path: Path) -> None:
    job = landed(
        job_on(tmp_path / "lake", buckets=1),
        tmp_path,
        row(1, event_at="2026-05-01T00:00:00Z"),
        row(2, event_at="2026-05-01T00:00:00Z", user_id="anabel"),
        row(3, event_at="2026-06-29T00:00:00Z"),
    )
    standing.save(job.lake, Standing(ANA, period_seconds=30 * 86_400))
    run_retain(job)
    assert texts(job) == {row(2)["content"], row(3)["content"]}


def test_traces_refused_rows_and_answers_go_at_their_own_time(tmp_path: Path) -> None:
    job = landed(job_on(tmp_path / "lake", buckets=1), tmp_path, row(1), row(2, event_at="nonsense"))
    (name,) = ids(job)
    old = AS_OF - 366 * DAY
    for at in (old, AS_OF):
        recalled(job, name, at)
    answers = [
        {"result_id": f"r{n}", "tenant_id": "acme", "tenant_bucket": 0, "task": "claims", "model_key": "m",
         "prompt_version": "1", "source_refs": refs, "answer": "", "input_tokens": 1, "output_tokens": 1,
         "answered_at": at}
        for n, (refs, at) in enumerate((([name], AS_OF), ([name], old), ([name, "gone"], AS_OF)))
    ]  # fmt: skip
    tables.append(job.lake, MODEL_RESULTS, pl.DataFrame(answers, schema=MODEL_RESULTS.polars))
    result = run_retain(job)
    assert result.detail["removed"] == {
        "model_results": {"expired": 1, "orphaned": 1},
        "recalls": {"expired": 1},
    }
    assert content(job, RECALLS)["recalled_at"].to_list() == [AS_OF]
    assert content(job, MODEL_RESULTS)["result_id"].to_list() == ["r0"]
    assert content(job, QUARANTINE).height == 1
    run_retain(after(job, 91))
    assert content(job, QUARANTINE).is_empty()


def test_a_dry_run_says_what_would_go_and_writes_nothing(slept: Slept, tmp_path: Path) -> None:
    job = slept(tmp_path)
    late = after(job, 120)
    before = files_below(tmp_path / "lake")
    dry = run_retain(replace(late, is_dry=True))
    assert files_below(tmp_path / "lake").keys() - before.keys() <= {"state/salt"}
    lines = {(line["tenant"], line["table"], line["reason"]): line for line in dry.detail["lines"]}
    mine = lines["acme", "episodes", "expired"]
    assert set(mine["ids"]) <= ids(job)
    assert mine["rows"] == len(mine["ids"]) == 16
    done = run_retain(late)
    for table, reasons in dry.detail["removed"].items():
        assert done.detail["removed"][table].items() >= reasons.items()


def test_a_night_without_news_reads_no_row_and_writes_no_file(
    slept: Slept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = slept(tmp_path)
    run_retain(job)
    before = files_below(tmp_path / "lake")
    monkeypatch.setattr(tables, "scan", lambda *_, **__: pytest.fail("a row was read"))
    assert run_retain(job).state == "unchanged"
    assert run_retain(after(job, 5)).state == "unchanged"  # nothing is due before August
    assert files_below(tmp_path / "lake") == before


def test_it_looks_again_when_rows_policy_wishes_or_time_change(tmp_path: Path) -> None:
    job = landed(job_on(tmp_path / "lake"), tmp_path, row(1), row(2, user_id="ben"))
    run_retain(job)
    assert run_retain(job).rows_in == 0
    assert run_retain(replace(job, policy=policy(staleness={"is_enabled": False}))).rows_in == 2
    run_retain(job)
    standing.save(job.lake, Standing(ANA, period_seconds=40 * 86_400))
    assert run_retain(job).rows_in == 2
    ingest(job, write(tmp_path / "more.jsonl", [row(3)]))
    assert run_retain(job).rows_in == 3
    assert run_retain(after(job, 80)).rows_in == 3
    ingest(job, write(tmp_path / "other.jsonl", [row(4)]))
    run_retain(job)
    job.lake.storage.write(STATE, b"{")
    assert run_retain(job).rows_in == 1


def test_hourly_daily_or_weekly_it_ends_in_the_same_rows(slept: Slept, tmp_path: Path) -> None:
    ends = {}
    for name, days in (("daily", 1), ("fortnightly", 15), ("once", 60)):
        job = slept(tmp_path, name)
        for day in range(30, 61):
            if day % days == 0:
                run_retain(after(job, day))
        ends[name] = {t.name: sorted(ids(job, t)) for t in (EPISODES, FACTS, SUMMARIES, FORGOTTEN, VECTORS)}
    assert ends["daily"] == ends["fortnightly"] == ends["once"]


def test_retain_makes_nothing_new_to_consolidation(slept: Slept, tmp_path: Path) -> None:
    job = slept(tmp_path)
    run_retain(after(job, 45))
    assert 0 < content(job).height < 17
    late = after(job, 45)
    assert run_consolidate(late).rows_in == 0


def test_what_retention_took_out_does_not_land_again(slept: Slept, tmp_path: Path) -> None:
    job = slept(tmp_path)
    late = after(job, 120)
    run_retain(late)
    rested = ids(job, FORGOTTEN)
    tally = ingest(late, write(tmp_path / "again.jsonl", [*history(), row(90)]))
    assert tally["duplicates"] >= len(rested)
    assert not rested & ids(job)


def test_the_audit_has_one_event_a_run_that_did_something(slept: Slept, tmp_path: Path) -> None:
    job = slept(tmp_path)
    for days in (0, 0, 120):
        run_retain(after(job, days))
    events = audit.entries(job.lake)
    assert [event.kind for event in events] == ["retain", "retain"]
    assert {event.request_id for event in events} == set(content(job, REMOVALS)["run_id"])
    assert audit.verify(job.lake).broken is None
    for event in events:
        rows = content(job, REMOVALS).filter(pl.col("run_id") == event.request_id)
        assert event.counts["removed"] == rows["rows_removed"].sum()
    assert "acme" not in str(content(job, REMOVALS).rows())


def test_late_is_what_went_more_than_the_grace_period_after_it_was_due(tmp_path: Path) -> None:
    job = landed(
        job_on(tmp_path / "lake"),
        tmp_path,
        row(1, expires_at=(AS_OF + timedelta(hours=2)).isoformat()),
        row(2, expires_at=(AS_OF + timedelta(hours=1)).isoformat()),
    )
    assert run_retain(after(job, 1 + 1.5 / 24)).detail["late"] == 1
    assert ledger(job, "rows_removed", "rows_late") == [("expired", "medium_term", 2, 1)]


def test_what_was_past_its_time_when_it_came_is_not_late_before_the_grace_period_is_over(
    tmp_path: Path,
) -> None:
    due = AS_OF - 50 * DAY
    job = landed(job_on(tmp_path / "lake"), tmp_path, row(1, expires_at=due.isoformat()))
    assert run_retain(after(job, 1, is_dry=True)).detail["late"] == 0
    assert run_retain(after(job, 1.1, is_dry=True)).detail["late"] == 1
    assert run_retain(after(job, 1)).detail["late"] == 0
    assert ledger(job, "rows_removed", "rows_late", "oldest_due_at") == [
        ("expired", "medium_term", 1, 0, due)
    ]


def test_history_that_came_late_makes_nothing_late_that_was_derived_of_it(
    slept: Slept, tmp_path: Path
) -> None:
    """The same rows come in one night, their lifetimes over: neither they nor their facts are late."""
    given = policy(
        retention=dict.fromkeys(("long_term_seconds", "permanent_seconds", "medium_term_seconds"), 60)
    )
    job = after(slept(tmp_path), 0.5, policy=given)
    result = run_retain(job)
    assert {"episodes", "facts", "claims", "lineage", "summaries"} <= set(result.detail["removed"])
    late = content(job, REMOVALS).filter(pl.col("rows_late") > 0).select("table", "reason")
    assert late.rows() == []


def test_what_a_wish_makes_due_is_late_only_once_a_night_has_passed_it_by(tmp_path: Path) -> None:
    """Looked at two days ago, a period asked for since; without that look, nobody had done it in time."""
    job = landed(job_on(tmp_path / "lake"), tmp_path, row(1), row(2))
    shutil.copytree(tmp_path / "lake", tmp_path / "unseen")
    found = []
    for one in (job, job_on(tmp_path / "unseen")):
        if one is job:
            run_retain(after(one, 38))
        standing.save(one.lake, Standing(ANA, period_seconds=30 * 86_400))
        result = run_retain(after(one, 39, policy=policy(staleness={"is_enabled": False})))
        found.append((result.detail["removed"]["episodes"], result.detail["late"]))
    assert found == [({"expired": 2}, 0), ({"expired": 2}, 2)]


def test_only_a_lifetime_can_be_overrun(tmp_path: Path) -> None:
    """Cold for ten days past the span, with nobody to look: no lifetime was broken."""
    job = landed(job_on(tmp_path / "lake"), tmp_path, row(1))
    cold = after(job, 40, policy=policy(cold={"after_days": 30}, staleness={"is_enabled": False}))
    result = run_retain(cold)
    assert result.detail["removed"]["episodes"] == {"cold": 1}
    assert result.detail["late"] == 0


def test_an_expired_row_is_not_published_before_and_not_counted_after(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", embedder=CountingEmbedder())
    landed(job, tmp_path, row(1, expires_at="2026-06-15T00:00:00Z"), row(2))
    run_consolidate(job)
    first = run_publish(job)
    run_retain(job)
    second = run_publish(job)
    assert (first.detail["expired"], second.detail["expired"]) == (1, 0)
    assert first.rows_out == second.rows_out


def test_the_night_retains_before_it_publishes(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(1, expires_at="2026-06-15T00:00:00Z"), row(2)]))
    steps = {step.name: step for step in run_nightly(job, []).steps}
    assert steps["decay"].rows_out == 1
    assert steps["retain"].detail["removed"]["episodes"] == {"expired": 1}
    assert steps["publish"].detail["expired"] == 0
