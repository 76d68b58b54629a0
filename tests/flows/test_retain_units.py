"""Retain by buckets: units killed and run again elsewhere, in any order, each twice; each judged once."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import retain_judged, retain_state
from flows.decay import run_decay
from flows.embed import run_embed
from flows.engine.units import UnitsError
from flows.job import Job
from flows.retain import run_retain
from flows.retain_journal import left
from flows.retain_judged import judge
from flows.retain_parts import Part
from flows.retain_plan import Instructions, plan_bucket, plan_buckets
from flows.retain_units import retain_unit
from lake import tables, upkeep
from lake.rights import audit, standing
from lake.rights.subjects import salt
from tests.flows.dying import living
from tests.flows.lakes import AS_OF, REPOSITORY, content, environment, ingest, job_on, row, write
from tests.flows.retain_worker import RUN_ID
from tests.flows.sleepers import history, night
from tests.flows.test_retain_crash import EFFECTS, is_counted
from transforms.policy import Policy
from transforms.schemas import EPISODES, FORGOTTEN, REMOVALS, VECTORS
from transforms.standing import Standing
from transforms.subjects import Subject

BUCKETS = 4
LATER = AS_OF + timedelta(hours=2)
EXPIRES = (AS_OF + timedelta(hours=1)).isoformat()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of several tenants in all buckets; of four rows one expires."""
    folder = tmp_path_factory.mktemp("made")
    job = job_on(folder / "lake", buckets=BUCKETS)
    rows = [
        row(n, tenant_id=f"tenant-{n % 9}", expires_at=EXPIRES if n % 4 == 0 else None) for n in range(72)
    ]
    ingest(job, write(folder / "rows.jsonl", rows))
    run_embed(job)
    salt(job.lake)  # each copy names tenants by the same hash
    return folder / "lake"


def copied(made: Path, folder: Path) -> Job:
    return job_on(shutil.copytree(made, folder), as_of=LATER, buckets=BUCKETS)


def state_of(job: Job) -> dict[str, Any]:
    """What stands, and what the ledger and the audit tell, but for ids of runs."""
    told = content(job, REMOVALS).drop("run_id").sort("tenant_hash", "table", "reason")
    events = [(one.kind, one.at, dict(one.counts)) for one in audit.entries(job.lake)]
    held = {t.name: content(job, t).drop("ingested_at", strict=False).rows() for t in (EPISODES, VECTORS)}
    return {**held, "ledger": told.rows(), "audit": events, "journals": left(job)}


@pytest.fixture(scope="module")
def expected(made: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    job = copied(made, tmp_path_factory.mktemp("clean") / "lake")
    result = run_retain(job)
    assert result.detail["removed"]["episodes"] == {"expired": 18}
    state = state_of(job)
    assert state["journals"] == []
    return state


def unit(job: Job, *buckets: int) -> dict[str, Any]:
    payload = {"buckets": list(buckets), "run_id": RUN_ID, "looked_at": None, "bases": {}}
    return retain_unit(job, payload)


def test_units_in_any_order_and_each_twice_come_to_the_same(
    made: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    for seed in range(3):
        job = copied(made, tmp_path / str(seed))
        order = [*range(BUCKETS), *range(BUCKETS)]
        random.Random(seed).shuffle(order)
        for bucket in order:
            unit(job, bucket)
        assert len(left(job)) == BUCKETS
        run_retain(job)
        assert state_of(job) == expected
        assert run_retain(job).state == "unchanged"


def test_a_unit_killed_at_any_write_is_done_by_another_worker(
    made: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    with living(effects=EFFECTS, is_counted=is_counted) as life:
        unit(copied(made, tmp_path / "counted"), 1)
    assert life.count >= 5
    for number in range(life.count):
        job = copied(made, tmp_path / f"died-{number}")
        with living(number, EFFECTS, is_counted):
            unit(job, 1)
        unit(job, 2)  # its commits come between those of the killed one and of its heir
        unit(job, 1)
        run_retain(job)
        assert state_of(job) == expected, f"killed before write {number + 1} of {life.count}"


def test_a_worker_process_is_killed(made: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    job = copied(made, tmp_path / "lake")
    done = subprocess.run(
        [sys.executable, "-m", "tests.flows.retain_worker", LATER.isoformat(), "1"],
        input=f"{tmp_path / 'lake'} 4\n",
        cwd=REPOSITORY,
        env=environment(),
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.strip() == "killed", done.stderr
    assert len(left(job)) == 1
    for bucket in (0, 3, 1, 2):
        unit(job, bucket)
    run_retain(job)
    assert state_of(job) == expected


def test_a_run_killed_while_it_ends_counts_what_comes_later_too(
    made: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    with living(effects=EFFECTS, is_counted=is_counted) as life:
        run_retain(copied(made, tmp_path / "counted"))
    for number in range(life.count - 12, life.count):
        job = copied(made, tmp_path / f"died-{number}")
        with living(number, EFFECTS, is_counted):
            run_retain(job)
        late = [row(100, tenant_id="tenant-0", expires_at=EXPIRES)]
        ingest(replace(job, as_of=AS_OF), write(tmp_path / f"late-{number}.jsonl", late))
        run_retain(job)
        assert content(job).height == len(expected["episodes"])
        told = content(job, REMOVALS).filter(pl.col("table") == "episodes")
        assert told["rows_removed"].sum() == 19, f"killed before write {number + 1} of {life.count}"
        events = [one for one in audit.entries(job.lake) if one.kind == "retain"]
        assert sum(int(one.counts["episodes"]) for one in events) == 19
        assert left(job) == []


def test_a_failed_bucket_is_told_and_looked_at_again(
    made: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    job = copied(made, tmp_path / "lake")
    (bucket,) = {job.lake.bucket("tenant-1")}
    lost = sorted((tmp_path / "lake" / "tables" / "episodes" / f"tenant_bucket={bucket}").rglob("*.parquet"))
    kept = lost[0].read_bytes()
    lost[0].write_bytes(kept[:-1])
    with pytest.raises(UnitsError, match=f"1 of {BUCKETS} units failed .bucket {bucket}: table episodes"):
        run_retain(job)
    removed = content(job, REMOVALS).filter(pl.col("table") == "episodes")["rows_removed"].sum()
    assert 0 < removed < 18
    seen = retain_state.load(job, retain_state.method_of(job, []))
    assert sorted(seen.buckets) == [number for number in range(BUCKETS) if number != bucket]
    lost[0].write_bytes(kept)
    run_retain(job)
    state = state_of(job)
    assert [state["episodes"], state["vectors"]] == [expected["episodes"], expected["vectors"]]
    assert content(job, REMOVALS).filter(pl.col("table") == "episodes")["rows_removed"].sum() == 18


def test_decay_names_a_failed_bucket_and_has_scored_those_it_was_grouped_with(
    made: Path, tmp_path: Path
) -> None:
    job = copied(made, tmp_path / "lake")
    bucket = job.lake.bucket("tenant-1")
    lost = sorted((tmp_path / "lake" / "tables" / "episodes" / f"tenant_bucket={bucket}").rglob("*.parquet"))
    kept = lost[0].read_bytes()
    lost[0].write_bytes(kept[:-1])
    with pytest.raises(UnitsError, match=f"1 of {BUCKETS} units failed .bucket {bucket}: table episodes"):
        run_decay(job)
    lost[0].write_bytes(kept)
    again = run_decay(job)
    assert (again.rows_in, again.rows_out) == (72, 18)


def test_parts_of_a_bucket_come_to_the_verdicts_of_the_whole(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", buckets=1)
    others = [{**one, "user_id": name} for name in ("ben", "cyd") for one in history()]
    night(job, tmp_path, "all", [*history(), *others])
    standing.save(job.lake, Standing(Subject("acme", user="cyd"), is_held=True))
    small = {"episodes": 7, "facts": 2, "indexed_rows": 9}
    whole_policy = Policy().model_dump()
    policy = Policy.model_validate({**whole_policy, "capacity": {**whole_policy["capacity"], **small}})
    job = replace(job, policy=policy, as_of=AS_OF + timedelta(days=40))
    told = Instructions(retain_state.instructions_of(job))
    whole = plan_bucket(job, told, 0)
    parts = [plan_buckets(job, told, [0], Part(number, 3)) for number in range(3)]
    assert sum(part.rows for part in parts) == whole.rows
    assert sum(part.rows > 0 for part in parts) > 1
    for name, rows in whole.verdicts.items():
        split = pl.concat([part.verdicts[name] for part in parts])
        assert sorted(map(repr, split.rows())) == sorted(map(repr, rows.select(split.columns).rows())), name
    states = pl.concat([rows.select("state", "reason") for rows in whole.verdicts.values()])
    assert {"held", "goes", "stays"} <= set(states["state"])
    assert "over_capacity" in set(states["reason"])


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Buckets that are judged, as they are."""
    found: list[int] = []
    real = retain_judged.plan_buckets

    def counted(job: Job, told: Instructions, buckets: list[int], *rest: Any) -> Any:
        found.extend(buckets)
        return real(job, told, buckets, *rest)

    monkeypatch.setattr(retain_judged, "plan_buckets", counted)
    return found


def test_a_night_judges_each_bucket_once(
    made: Path, expected: dict[str, Any], tmp_path: Path, plans: list[int]
) -> None:
    job = copied(made, tmp_path / "lake")
    run_decay(job)
    assert sorted(plans) == list(range(BUCKETS))
    result = run_retain(job)
    assert len(plans) == BUCKETS
    assert result.rows_in == 72
    assert state_of(job) == expected


def test_what_decay_found_clear_is_settled_for_retain(made: Path, tmp_path: Path, plans: list[int]) -> None:
    job = replace(copied(made, tmp_path / "lake"), as_of=AS_OF)
    assert run_decay(job).state == "unchanged"
    for one in job.judged.values():  # as if it had come from another process, as JSON
        one.plan = None
    assert run_retain(job).state == "unchanged"
    assert len(plans) == BUCKETS
    assert run_retain(replace(job, judged={})).state == "unchanged"
    assert len(plans) == BUCKETS
    assert run_retain(replace(job, judged={}, as_of=LATER)).detail["removed"]["episodes"] == {"expired": 18}


def test_a_bucket_that_keeps_what_nothing_needs_is_not_clear(
    made: Path, tmp_path: Path, plans: list[int]
) -> None:
    job = replace(copied(made, tmp_path / "lake"), as_of=AS_OF)
    left_over = (
        content(job)
        .head(1)
        .with_columns(
            episode_id=pl.lit("gone"), removed_at="event_at", reason=pl.lit("expired"), due_at="event_at"
        )
    )
    tables.append(job.lake, FORGOTTEN, left_over.select(FORGOTTEN.names))
    run_decay(job)
    assert run_retain(job).detail["removed"] == {"forgotten": {"orphaned": 1}}
    assert content(job, FORGOTTEN).is_empty()
    assert len(plans) == BUCKETS


def test_what_lands_after_decay_is_judged_by_retain(made: Path, tmp_path: Path, plans: list[int]) -> None:
    job = copied(made, tmp_path / "lake")
    run_decay(job)
    late = [row(100, tenant_id="tenant-0", expires_at=EXPIRES)]
    ingest(replace(job, as_of=AS_OF), write(tmp_path / "late.jsonl", late))
    assert run_retain(job).detail["removed"]["episodes"] == {"expired": 19}
    assert plans[BUCKETS:] == [job.lake.bucket("tenant-0")]


def test_a_bucket_whose_files_are_merged_is_not_judged_again(
    made: Path, tmp_path: Path, plans: list[int]
) -> None:
    job = copied(made, tmp_path / "lake")
    for number in range(3):
        ingest(job, write(tmp_path / f"{number}.jsonl", [row(200 + number, tenant_id="tenant-0")]))
    run_retain(job)
    judged = len(plans)
    assert upkeep.compact(job.lake, EPISODES) > 0
    assert run_decay(replace(job, judged={})).state == run_retain(job).state == "unchanged"
    assert len(plans) == judged
    ingest(job, write(tmp_path / "new.jsonl", [row(300, tenant_id="tenant-0")]))
    run_retain(job)
    assert len(plans) == judged + 1


def test_what_waited_and_waits_no_more_is_told(tmp_path: Path) -> None:
    """The bucket is clear when it is looked at again, and yet its line of the ledger has to say so."""
    job = job_on(tmp_path / "lake", buckets=1)
    ingest(job, write(tmp_path / "rows.jsonl", [row(n, importance=0.1) for n in range(4)]))
    stale = replace(job, as_of=AS_OF + timedelta(days=31))
    assert run_retain(stale).detail["waiting"] == {"episodes": 4}
    whole = Policy().model_dump()
    calm = Policy.model_validate({**whole, "staleness": {**whole["staleness"], "is_enabled": False}})
    night = replace(stale, policy=calm, judged={})
    run_decay(night)
    run_retain(night)
    last = content(job, REMOVALS).sort("run_id")["rows_waiting"].to_list()
    assert last[-1] == 0


def test_the_memory_for_what_goes_is_bounded(
    made: Path, expected: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plans: list[int]
) -> None:
    monkeypatch.setattr(retain_judged, "KEPT_ROWS", 10)
    job = copied(made, tmp_path / "lake")
    run_decay(job)
    kept = set(job.judged)
    assert len(kept) < BUCKETS
    run_retain(job)
    assert sorted(plans[BUCKETS:]) == sorted(set(range(BUCKETS)) - kept)
    assert state_of(job) == expected


def test_decay_writes_what_it_counts(made: Path, tmp_path: Path) -> None:
    job = copied(made, tmp_path / "lake")
    out = tmp_path / "scores.parquet"
    told = run_decay(job, out=str(out))
    plain = run_decay(job, is_complete=True)
    assert {**told.detail, "out": None} == {**plain.detail, "out": None}
    rows = pl.read_parquet(out)
    assert (rows.height, rows["id"].n_unique()) == (72, 72)
    assert told.rows_out == rows["reason"].is_not_null().sum() == 18
    assert [path.name for path in tmp_path.iterdir()] == ["lake", "scores.parquet"]


def test_a_broken_scoring_leaves_no_file(made: Path, tmp_path: Path) -> None:
    job = copied(made, tmp_path / "lake")
    (next((tmp_path / "lake/tables/episodes/tenant_bucket=3").rglob("*.parquet"))).write_bytes(b"x")
    with pytest.raises(Exception, match="is damaged"):
        run_decay(job, out=str(tmp_path / "scores.parquet"))
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]


def test_a_bucket_keeps_only_what_goes(made: Path, tmp_path: Path) -> None:
    job = copied(made, tmp_path / "lake")
    judged = judge(job, Instructions(retain_state.instructions_of(job)), [2])[2]
    assert judged.plan is not None
    assert judged.plan.verdicts["episodes"]["reason"].unique().to_list() == ["expired"]
    assert judged.rows > judged.plan.verdicts["episodes"].height
    assert content(job, FORGOTTEN).is_empty()
