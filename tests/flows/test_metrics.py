"""Measures of a night: right on a planted lake and on a real one, once an as-of, of nobody else's rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import metrics
from flows.job import Job
from flows.metrics import measure_night, record_night
from flows.metrics_read import Window, window_of
from lake import tables
from lake.rights import standing
from lake.rights.subjects import salt, tenant_hash
from tests.flows.lakes import AS_OF, content, files_below, job_on
from tests.flows.measured import add_calls, add_episodes, add_facts, ago, scope
from tests.lake.crypto.sealed import sealed_job
from tests.lake.made import frame
from tests.lake.online.recalls import ME, job_now, logging, notes, publish_now, published
from transforms.policy import Policy
from transforms.policy_metrics import MetricsPolicy
from transforms.schemas import METRICS, REMOVALS, REQUESTS, RUNS
from transforms.standing import Standing
from transforms.subjects import Subject


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


def told(job: Job, *names: str, tenant: str | None = None) -> dict[Any, float]:
    """Measures of a night by name, or by name and part where there is one."""
    who = "" if tenant is None else tenant_hash(salt(job.lake), tenant)
    rows = measure_night(job).filter(pl.col("tenant_hash") == who)
    found = {(n if not p else (n, p)): v for n, p, v in rows.select("name", "part", "value").iter_rows()}
    return {n: found[n] for n in names} if names else found


def test_a_planted_night(job: Job) -> None:
    add_episodes(job, [{"episode_id": name} for name in ("e1", "e2", "e3")])
    add_calls(
        job,
        [
            {"gave": ["e1", "e2"], "used": ["e1"], "seconds": 0.1},
            {"gave": ["e1"], "seconds": 0.3, "recalled_at": ago(29.9)},
            {"seconds": 0.2},
            {"gave": ["e3"], "recalled_at": ago(30)},
            {"gave": ["e3"], "recalled_at": ago(-0.001)},
        ],
    )
    line = {"as_of_at": ago(3), "tenant_hash": tenant_hash(salt(job.lake), "acme"), "table": "episodes"}
    gone = [("r1", "expired", 20), ("r2", "stale", 10), ("r3", "cold", 6)]
    rows = [{**line, "run_id": run, "reason": why, "rows_removed": count} for run, why, count in gone]
    tables.append(job.lake, REMOVALS, frame(REMOVALS, rows))
    ran = {"run_id": "r", "step": "ingest", "state": "done", "as_of_at": ago(3), "rows_out": 60}
    tables.append(job.lake, RUNS, frame(RUNS, [ran]))
    found = told(job)
    assert (found["calls"], found["misses"], found["returned_rows"]) == (3, 1, 3)
    assert found["hit_ratio"] == pytest.approx(1 / 3)
    assert found["used_ratio"] == pytest.approx(1 / 3)
    assert (found["seconds_p50"], found["seconds_p99"], found["seconds_p95", "search"]) == (0.2, 0.3, 0.3)
    assert found["served_ratio", "conversation"] == 1.0
    assert found["age_days_p50"] == found["age_days_p50", "conversation"] == 9.0
    assert (found["judged_rows"], found["expired_rows"]) == (3, 0)
    assert (found["answers"], found["crowded_ratio"]) == (1, 0)
    assert (found["removed_rows_a_day"], found["landed_rows_a_day"]) == (1.0, 2.0)
    assert (found["removed_rows_a_day", "expired"], found["removed_per_landed"]) == (
        pytest.approx(2 / 3),
        0.5,
    )
    assert found["scored_rows"] == found["scored_rows", "conversation"] == 3
    mine = told(job, tenant="acme")
    assert (mine["calls"], mine["removed_rows_a_day", "stale"]) == (3, pytest.approx(1 / 3))
    assert "landed_rows_a_day" not in mine


def test_a_night_is_recorded_once_an_as_of(job: Job) -> None:
    add_calls(job, [{"gave": ["e1"]}])
    first = record_night(job)
    assert first == content(job, METRICS).height > 10
    add_calls(job, [{"gave": ["e1"], "call_id": "later"}])
    assert record_night(job) == 0
    later = replace(job, as_of=AS_OF + timedelta(days=1))
    assert record_night(later) > 0
    held = content(job, METRICS)
    assert held["metric_id"].n_unique() == held.height
    assert held.filter(pl.col("name") == "calls", pl.col("tenant_hash") == "")["value"].sort().to_list() == [
        1,
        2,
    ]


def test_measuring_writes_nothing(job: Job) -> None:
    add_calls(job, [{"gave": ["e1"]}])
    salt(job.lake)
    root = Path(job.lake.uri)
    before = files_below(root)
    measure_night(job)
    assert files_below(root) == before


def test_an_empty_lake_has_no_measure_of_recall(job: Job) -> None:
    assert told(job) == {"removed_rows_a_day": 0.0, "landed_rows_a_day": 0.0}


def test_no_id_and_no_word_of_anybody_is_in_the_table(job: Job) -> None:
    add_episodes(job, [{"episode_id": "e1", "content": "a secret word"}])
    add_calls(job, [{"gave": ["e1"], "used": ["e1"], "query": "a secret question"}])
    text = measure_night(job).drop("metric_id", "as_of_at", "measured_at").write_csv()
    assert not [word for word in ("acme", "ana", "aide", "secret", "e1", "call-0") if word in text.split(",")]
    assert "secret" not in text


def test_only_the_busiest_tenants_are_measured_one_by_one(job: Job) -> None:
    for tenant, count in (("acme", 1), ("bolt", 3), ("coda", 2)):
        calls = [{**scope(job, tenant), "call_id": f"{tenant}{n}"} for n in range(count)]
        add_calls(job, calls)
    few = replace(job, policy=Policy(metrics=MetricsPolicy(tenants=2)))
    rows = measure_night(few).filter(pl.col("name") == "calls").select("tenant_hash", "value").rows()
    key = salt(job.lake)
    assert sorted(rows) == sorted(
        [("", 6.0), (tenant_hash(key, "bolt"), 3.0), (tenant_hash(key, "coda"), 2.0)]
    )


def test_a_row_served_past_its_expiry_is_found(job: Job) -> None:
    add_episodes(
        job,
        [
            {"episode_id": "short", "retention_tier": "session"},
            {"episode_id": "own", "expires_at": ago(2)},
            {"episode_id": "fine"},
        ],
    )
    add_calls(job, [{"gave": ["short", "own", "fine", "gone"]}])
    assert told(job, "judged_rows", "expired_rows") == {"judged_rows": 3, "expired_rows": 2}


def test_a_wish_of_today_does_not_make_yesterday_wrong(job: Job) -> None:
    add_episodes(job, [{"episode_id": "short", "retention_tier": "session"}, {"episode_id": "fine"}])
    add_calls(job, [{"gave": ["short", "fine"]}])
    standing.save(job.lake, Standing(Subject("acme", user="ana"), period_seconds=86_400 * 5))
    assert told(job, "judged_rows", "expired_rows") == {"judged_rows": 2, "expired_rows": 2}
    asked = {
        "request_id": "r",
        "kind": "period",
        "requested_at": ago(0.5),
        "closed_at": ago(0.5),
        "revision": 1,
    }
    tables.append(job.lake, REQUESTS, frame(REQUESTS, [asked]))
    assert "judged_rows" not in told(job)


def test_facts_that_had_been_replaced_are_told_by_their_newest_revision(job: Job) -> None:
    ended = {"valid_until": ago(5), "retired_at": ago(5), "revision": 2}
    gone = {"fact_id": "f3", "revision": 2, "is_removed": True}
    rows = [{"fact_id": "f1"}, {"fact_id": "f1", **ended}, {"fact_id": "f2"}, {"fact_id": "f3"}, gone]
    add_facts(job, rows)
    early = {"gave": ["f1"], "kind": "fact", "recalled_at": ago(6)}
    add_calls(job, [{"gave": ["f1", "f2", "f3"], "kind": "fact"}, early])
    names = ("fact_rows", "superseded_ratio", "outdated_ratio")
    assert told(job, *names) == {"fact_rows": 3, "superseded_ratio": pytest.approx(1 / 3),
                                 "outdated_ratio": pytest.approx(1 / 3)}  # fmt: skip


def test_a_row_of_another_tenant_answers_to_no_id(job: Job) -> None:
    add_facts(job, [{**scope(job, "bolt"), "fact_id": "f1", "retired_at": ago(9), "valid_until": ago(9)}])
    add_episodes(job, [{**scope(job, "bolt"), "episode_id": "e1", "retention_tier": "session"}])
    add_calls(job, [{"gave": ["f1"], "kind": "fact"}, {"gave": ["e1"]}])
    found = told(job, tenant="acme")
    assert not {"fact_rows", "judged_rows", "answers"} & set(found)


def test_texts_that_repeat_in_an_answer_crowd_it(job: Job) -> None:
    same = [{"episode_id": name, "content": "the same words"} for name in ("e1", "e2")]
    add_episodes(job, [*same, {"episode_id": "e3"}])
    add_calls(job, [{"gave": ["e1", "e2", "e3"]}, {"gave": ["e1", "e3"]}, {"gave": ["e2"]}])
    found = told(job, "answers", "crowded_ratio", "repeated_ratio")
    assert found == {"answers": 2, "crowded_ratio": 0.5, "repeated_ratio": pytest.approx(1 / 5)}


def test_an_encrypted_lake_is_measured_like_a_plain_one(job: Job, tmp_path: Path) -> None:
    sealed = sealed_job(tmp_path / "sealed")
    found = []
    for one in (job, sealed):
        add_episodes(one, [{"episode_id": n, "content": "the same words"} for n in ("e1", "e2")])
        add_facts(one, [{"fact_id": "f1", "retired_at": ago(5), "valid_until": ago(5)}])
        add_calls(one, [{"gave": ["e1", "e2"], "used": ["e1"]}, {"gave": ["f1"], "kind": "fact"}])
        found.append(told(one))
    assert found[0] == found[1]
    assert found[0]["crowded_ratio"] == found[0]["superseded_ratio"] == 1.0


def test_a_real_lake_before_and_after_the_night_folds_its_log(tmp_path: Path) -> None:
    lake = published(tmp_path, notes(6))
    reader = logging(lake)
    answer = reader.search("violin", **ME, k=3)
    reader.used([answer[0].id], tenant="t", call_id=answer.call_id)
    context = reader.context("harbour", **ME, budget=300)
    reader.search("violin", tenant="t", user="nobody")
    reader.flush()
    now = job_now(lake)
    waiting = metrics.looked_at(now, window_of(now), has_waiting=True)
    assert metrics.looked_at(now, window_of(now)).calls.is_empty()
    publish_now(lake)
    later = job_now(lake)
    folded = metrics.looked_at(later, window_of(later), has_waiting=True)
    assert folded.calls.equals(waiting.calls)
    assert folded.served.equals(waiting.served)
    found = told(later)
    assert (found["calls"], found["misses"], found["contexts"], found["timed_calls"]) == (3, 1, 1, 3)
    assert found["hit_ratio"] == pytest.approx(1 / 3)
    tokens = sum(context.tokens_of.values())
    assert found["filled_ratio"] == pytest.approx(tokens / 300)
    assert 0 < found["seconds_p50"] < 60


def test_months_of_a_window() -> None:
    assert Window(ago(40), AS_OF).months == ["2026-05", "2026-06"]
    assert Window(ago(190), AS_OF).months == [f"2025-{12}", *(f"2026-{n:02d}" for n in range(1, 7))]
