"""How consolidation is cut into units: all of it, each part once, within limits, and nobody's name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import consolidate_plan
from flows.consolidate_plan import planned
from flows.consolidate_state import Seen, State
from flows.engine.units import Unit
from flows.job import Job
from lake import tables
from tests.flows.lakes import AS_OF, ingest, job_on, write
from tests.flows.sleepers import said
from transforms.schemas import EPISODES

BUCKETS = 4
TENANTS = ("acme", "umbrella", "north", "south", "east", "west")


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A lake of six customers' episodes in four buckets, in two landings."""
    folder = tmp_path_factory.mktemp("landed")
    job = job_on(folder / "lake", buckets=BUCKETS)
    for night in range(2):
        rows: list[dict[str, Any]] = [
            said(
                100 * night + 10 * place + n, f"note {n}", "06-02", tenant_id=tenant, user_id=f"user-{n % 2}"
            )
            for place, tenant in enumerate(TENANTS)
            for n in range(4)
        ]
        ingest(job, write(folder / f"{night}.jsonl", rows))
    return job


def test_every_row_is_of_one_unit_and_a_unit_names_nobody(job: Job) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidate_plan, "UNIT_ROWS", 5)
        units = planned(job, State())
        news = planned(job, State(Seen(tables.version(job.lake, EPISODES) - 1, AS_OF)))
    for some in (units, news):
        parts = [(unit.payload["buckets"], unit.payload["part"]) for unit in some]
        for bucket in {b for unit in some for b in unit.buckets}:
            mine = sorted(part for buckets, part in parts if bucket in buckets)
            assert mine == [[n, len(mine)] for n in range(len(mine))]
        told = json.dumps([[unit.name, unit.payload] for unit in some])
        assert not any(name in told for name in (*TENANTS, "user-0", "user-1"))
    there = tables.scan(job.lake, EPISODES).select("tenant_bucket").unique().collect()
    assert {bucket for unit in units for bucket in unit.buckets} == set(there["tenant_bucket"])
    named = [name for unit in news if unit.payload["part"][0] == 0 for name in unit.payload["files"]]
    since = tables.version(job.lake, EPISODES) - 1
    assert sorted(named) == sorted(tables.added_files(job.lake, EPISODES, since))
    assert all(unit.payload["files"] is None for unit in units)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 3_000)), min_size=1, max_size=40))
def test_small_buckets_go_together_within_the_limits(sizes: list[tuple[int, int]]) -> None:
    loads = {bucket: consolidate_plan._Load(fresh, fresh + old) for bucket, (fresh, old) in enumerate(sizes)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidate_plan, "UNIT_ROWS", 100)
        patch.setattr(consolidate_plan, "HELD_ROWS", 1_000)
        groups = list(consolidate_plan._together(loads))
    assert sorted(bucket for group in groups for bucket in group) == sorted(loads)
    for group in groups:
        assert len(group) == 1 or sum(loads[bucket].fresh for bucket in group) <= 100
        assert len(group) == 1 or sum(loads[bucket].held for bucket in group) <= 1_000


def test_units_are_the_engines(job: Job) -> None:
    units = planned(job, State())
    assert all(isinstance(unit, Unit) and unit.task == "consolidate" and unit.rows > 0 for unit in units)
