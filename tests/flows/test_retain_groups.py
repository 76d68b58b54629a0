"""Buckets that are judged and emptied together come to what each comes to by itself, however they are cut."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import retain_groups, retain_remove, retain_state
from flows.decay import run_decay
from flows.engine.config import EngineConfig
from flows.engine.recipe import Recipe
from flows.job import Job
from flows.retain import run_retain
from flows.retain_groups import grouped
from flows.retain_judged import Judged, judge
from flows.retain_plan import Instructions, plan_bucket, plan_buckets
from lake import tables
from lake.rights import standing
from lake.rights.subjects import salt
from tests.flows.lakes import AS_OF, content, job_on, row
from tests.flows.sleepers import history, night
from tests.flows.test_retain_units import BUCKETS, copied, expected, made, state_of, unit
from transforms.policy import Policy
from transforms.schemas import DECISIONS, EPISODES, FORGOTTEN, LINEAGE, QUARANTINE, TOPICS, VECTORS
from transforms.standing import Standing
from transforms.subjects import Subject

__all__ = ["expected", "made"]  # the lake of test_retain_units, and what one run makes of it
TENANTS = ("acme", "umbrella", "initech", "hooli")


def slept(tmp_path: Path) -> Job:
    """A lake that consolidation has been through, with small budgets and a hold, forty days later."""
    job = job_on(tmp_path / "lake", buckets=BUCKETS)
    people = [(tenant, user) for tenant in TENANTS for user in ("ana", "ben", "cyd")]
    rows = [{**one, "tenant_id": tenant, "user_id": user} for tenant, user in people for one in history()]
    night(job, tmp_path, "all", rows)
    salt(job.lake)
    standing.save(job.lake, Standing(Subject("acme", user="cyd"), is_held=True))
    whole = Policy().model_dump()
    small = {"episodes": 9, "facts": 2, "indexed_rows": 12}
    policy = Policy.model_validate({**whole, "capacity": {**whole["capacity"], **small}})
    return replace(job, policy=policy, as_of=AS_OF + timedelta(days=40))


def told_by(judged: Judged) -> dict[str, Any]:
    """All of a verdict on a bucket, in an order."""
    assert judged.plan is not None
    found = {name: rows for name, rows in judged.plan.verdicts.items() if rows.height}
    lines = {name: dict(sorted(getattr(judged.lines, name).items())) for name in ("held", "waiting", "going")}
    going = {n: sorted(map(repr, r.select(sorted(r.columns)).rows())) for n, r in found.items()}
    return {
        "going": going,
        "lines": lines,
        "at": judged.next_at,
        "rows": judged.rows,
        "clear": judged.is_clear,
    }


@pytest.mark.parametrize("part_rows", [200_000, 40, 8])
def test_buckets_judged_together_are_judged_as_one_by_one(
    part_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = slept(tmp_path)
    told = Instructions(retain_state.instructions_of(job))
    alone = {bucket: told_by(judge(job, told, [bucket])[bucket]) for bucket in range(BUCKETS)}
    monkeypatch.setattr(retain_groups, "PART_ROWS", part_rows)
    together = judge(job, told, range(BUCKETS))
    assert {bucket: told_by(one) for bucket, one in together.items()} == alone
    going = {name for one in alone.values() for name in one["going"]}
    assert {EPISODES.name, DECISIONS.name, LINEAGE.name} <= going
    assert any(one["lines"]["held"] for one in alone.values())
    assert sum(one["clear"] for one in alone.values()) < BUCKETS


def test_verdicts_of_buckets_together_are_those_of_each(tmp_path: Path) -> None:
    job = slept(tmp_path)
    told = Instructions(retain_state.instructions_of(job))
    together = plan_buckets(job, told, range(BUCKETS))
    alone = [plan_bucket(job, told, bucket) for bucket in range(BUCKETS)]
    assert together.rows == sum(one.rows for one in alone)
    for name, rows in together.verdicts.items():
        each = pl.concat([one.verdicts[name] for one in alone]).select(rows.columns)
        assert sorted(map(repr, rows.rows())) == sorted(map(repr, each.rows())), name


def test_the_cut_into_groups_parts_and_commits_tells_in_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, found = slept(tmp_path), list[dict[str, Any]]()
    for number, (part_rows, commit_rows) in enumerate([(200_000, 1_000_000), (10, 1), (30, 20)]):
        monkeypatch.setattr(retain_groups, "PART_ROWS", part_rows)
        monkeypatch.setattr(retain_remove, "COMMIT_ROWS", commit_rows)
        monkeypatch.setattr(retain_remove, "REWRITE_ROWS", commit_rows)
        folder = shutil.copytree(tmp_path / "lake", tmp_path / f"lake-{number}")
        here = replace(job_on(folder, buckets=BUCKETS), policy=job.policy, as_of=job.as_of)
        scored, removed = run_decay(here), run_retain(here)
        told = {"scored": scored.detail, "retained": removed.detail, **state_of(here)}
        more = {t.name: content(here, t).sort(t.key).rows() for t in (FORGOTTEN, TOPICS, DECISIONS, LINEAGE)}
        found.append({**told, **more})
        assert run_retain(replace(here, judged={})).state == "unchanged"
    assert found[1] == found[0]
    assert found[2] == found[0]
    assert set(found[0]["retained"]["removed"]) >= {"episodes", "facts", "claims", "decisions", "lineage"}


def test_units_of_several_buckets_come_to_the_same(
    made: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    for number, groups in enumerate([[(0, 1, 2, 3)], [(2, 3), (0, 1)], [(1,), (0, 2, 3)]]):
        job = copied(made, tmp_path / str(number))
        for buckets in groups:
            assert set(unit(job, *buckets)["next_at"]) == set(map(str, buckets))
        run_retain(job)
        assert state_of(job) == expected


def test_groups_take_buckets_in_order_until_they_are_full(made: Path, tmp_path: Path) -> None:
    job = copied(made, tmp_path / "lake")
    rows = content(job).group_by("tenant_bucket").len().sort("tenant_bucket")["len"].to_list()
    assert [len(one.buckets) for one in grouped(job, range(BUCKETS))] == [BUCKETS]
    assert grouped(job, range(BUCKETS))[0].rows == sum(rows) == 72
    assert [one.buckets for one in grouped(job, [3, 1], is_apart=True)] == [[3], [1]]
    assert grouped(job, []) == []


@pytest.mark.parametrize("part_rows", [1, 7, 20, 40])
def test_a_group_is_small_or_a_bucket_alone(
    part_rows: int, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retain_groups, "PART_ROWS", part_rows)
    job = copied(made, tmp_path / "lake")
    rows = dict(content(job).group_by("tenant_bucket").len().iter_rows())
    groups = grouped(job, range(BUCKETS))
    assert [bucket for one in groups for bucket in one.buckets] == list(range(BUCKETS))
    for one in groups:
        assert one.rows == sum(rows.get(bucket, 0) for bucket in one.buckets)
        assert one.rows <= part_rows * one.parts
        assert one.parts == 1 or len(one.buckets) == 1


def test_units_are_shared_out_among_workers(made: Path, tmp_path: Path) -> None:
    job = copied(made, tmp_path / "lake")
    at_work = replace(
        job, engine=EngineConfig(workers=2), recipe=Recipe(job.lake.storage.uri, "", "", {}, {})
    )
    assert len(grouped(job, range(BUCKETS), is_shared_out=True)) == 1
    assert len(grouped(at_work, range(BUCKETS), is_shared_out=True)) == BUCKETS
    assert len(grouped(at_work, range(BUCKETS))) == 1  # in a unit, which is one worker's


def refused(job: Job, tenant: str, at: Any) -> pl.DataFrame:
    """A refused row of one and the same id in whichever tenant's bucket."""
    return pl.DataFrame(
        [{"quarantine_id": "q", "tenant_id": tenant, "tenant_bucket": job.lake.bucket(tenant),
          "reason": "bad_row", "raw": "x", "retry_count": 0, "quarantined_at": at}],
        schema_overrides=QUARANTINE.polars,
    ).match_to_schema(QUARANTINE.polars, missing_columns="insert")  # fmt: skip


def test_a_row_of_another_bucket_does_not_go_by_the_same_id(made: Path, tmp_path: Path) -> None:
    job = copied(made, tmp_path / "lake")
    old, new = next(
        (one, other) for one in TENANTS for other in TENANTS if job.lake.bucket(one) != job.lake.bucket(other)
    )
    tables.append(job.lake, QUARANTINE, refused(job, old, job.as_of - timedelta(days=400)))
    tables.append(job.lake, QUARANTINE, refused(job, new, job.as_of))
    assert run_retain(job).detail["removed"]["quarantine"] == {"expired": 1}
    assert content(job, QUARANTINE)["tenant_id"].to_list() == [new]


def vectors_after(tmp_path: Path, rows: Sequence[dict[str, Any]], most: int) -> int:
    whole = Policy().model_dump()
    policy = Policy.model_validate({**whole, "embed": {**whole["embed"], "max_text_chars": most}})
    job = replace(job_on(tmp_path / "lake", buckets=1), policy=policy)
    night(job, tmp_path, "all", list(rows))
    run_retain(replace(job, as_of=AS_OF + timedelta(hours=2)))
    assert content(job).height == 1
    return content(job, VECTORS).height


@pytest.mark.parametrize(("second", "most", "left"), [
    ("The same words.", 8_000, 1),
    ("The same words, and more.", 8, 1),
    ("The same words, and more.", 8_000, 1),
    ("Other words.", 8_000, 1),
])  # fmt: skip
def test_a_vector_stays_for_whoever_else_says_it(second: str, most: int, left: int, tmp_path: Path) -> None:
    """Also where a longer text begins with the same characters, of which the vector is made."""
    until = (AS_OF + timedelta(hours=1)).isoformat()
    rows = [row(1, "The same words.", expires_at=until), row(2, second)]
    assert vectors_after(tmp_path, rows, most) == left


def test_topics_of_nobody_go_with_their_decisions(tmp_path: Path) -> None:
    job = slept(tmp_path)
    assert content(job, TOPICS).height
    late = replace(job, as_of=AS_OF + timedelta(days=4_000), judged={})
    standing.save(job.lake, Standing(Subject("acme", user="cyd")))
    removed = run_retain(late).detail["removed"]
    assert content(job).is_empty()
    assert removed["topics"]["orphaned"] > 0
    assert content(job, TOPICS).is_empty()
    left = set(content(job, DECISIONS).filter(pl.col("item_kind") == "topic")["item_id"])
    assert not left
