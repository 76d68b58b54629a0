"""The pieces of a whole build: together what one alone would write; a killed one leaves nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows import publish_counts, publish_units
from flows.embed import run_embed
from flows.engine.units import Done, Failure, Unit, UnitsError
from flows.job import Job
from flows.publish import run_publish
from flows.publish_counts import bucket_groups, served_of, summed
from flows.publish_units import publish_unit
from lake.index import Generation
from lake.index_build import Part, finish, generations
from lake.upkeep import compact
from tests.flows.lakes import ingest, job_on, row, write
from tests.flows.test_publish_update import ALWAYS, live, rows_of
from transforms.schemas import EPISODES


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Sixty episodes of nine tenants in four buckets, not published."""
    made = job_on(tmp_path / "lake", policy=ALWAYS, buckets=4)
    rows = [row(n, tenant_id=f"t{n % 9}", user_id=f"u{n % 11}") for n in range(60)]
    gone = {"expires_at": "2026-06-20T00:00:00Z"}
    ingest(made, write(tmp_path / "a.jsonl", [*rows, row(70, is_injected=True), row(71, **gone)]))
    run_embed(made)
    return made


def payload(job: Job, *buckets: int) -> dict[str, Any]:
    return {
        "generation": "gen-000007",
        "space": job.space,
        "dimensions": job.embedder.dimensions,
        "buckets": list(buckets),
    }


def test_buckets_go_together_while_they_are_small(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(buckets, rows) for buckets, rows in bucket_groups(job)] == [((0, 1, 2, 3), 62)]
    monkeypatch.setattr(publish_counts, "GROUP_ROWS", 1)
    alone = list(bucket_groups(job))
    assert [buckets for buckets, _ in alone] == [(0,), (1,), (2,), (3,)]
    assert sum(rows for _, rows in alone) == 62


def test_counts_by_bucket_add_up(job: Job) -> None:
    whole = served_of(job, range(4))
    parts = summed(served_of(job, [bucket]) for bucket in range(4))
    assert parts == whole
    assert whole.counts == {
        "live": 60, "expired": 1, "injected": 1, "dropped": 0, "facts": 0, "summaries": 0, "procedures": 0,
    }  # fmt: skip
    assert whole.rows == 60


def test_pieces_give_the_rows_and_the_order_that_one_gives(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    run_publish(job)
    one = live(job)
    order = Generation(job.lake, one).dataset("main").to_table(columns=["memory_id"])["memory_id"].to_pylist()
    monkeypatch.setattr(publish_counts, "GROUP_ROWS", 1)
    run_publish(job, force=True)
    pieces = live(job)
    dataset = Generation(job.lake, pieces).dataset("main")
    assert len(dataset.get_fragments()) > 1
    assert dataset.to_table(columns=["memory_id"])["memory_id"].to_pylist() == order
    assert rows_of(job, pieces).equals(rows_of(job, one))


def test_a_piece_tells_json_without_rows_and_run_again_leaves_no_file_behind(job: Job) -> None:
    job.lake.storage.write("index/gen-000007/main.lance/data/killed.lance", b"half a file of a killed worker")
    publish_unit(job, payload(job, 0, 1, 2, 3))
    again = publish_unit(job, payload(job, 0, 1, 2, 3))
    told = json.dumps(again)
    assert json.loads(told) == again
    assert "harbour" not in told
    assert "u1" not in told
    part = Part.read(again["part"])
    assert (part.rows, part.bare_rows) == (60, 0)
    [entry] = finish(job.lake, "gen-000007", job.embedder.dimensions, [part])
    assert entry.rows == 60
    files = job.lake.storage.entries("index/gen-000007/main.lance/data/")
    assert len(files) == len(part.fragments) == 1


def test_tables_of_large_scopes_are_written_by_their_piece(job: Job, tmp_path: Path) -> None:
    publish = ALWAYS.publish.model_copy(update={"large_scope_rows": 3})
    few = job_on(tmp_path / "lake", policy=ALWAYS.model_copy(update={"publish": publish}), buckets=4)
    ingest(few, write(tmp_path / "b.jsonl", [row(100 + n, tenant_id="t0", user_id="big") for n in range(5)]))
    publish_unit(few, payload(few, *range(4)))  # as a worker that was killed after it
    part = Part.read(publish_unit(few, payload(few, *range(4)))["part"])
    assert [entry.rows for entry in part.tables] == [5]
    entries = finish(few.lake, "gen-000007", few.embedder.dimensions, [part])
    assert sum(entry.rows for entry in entries) == 65
    own = entries[1].name
    assert len(few.lake.storage.entries(f"index/gen-000007/{own}.lance/data/")) == 1


def test_a_piece_that_fails_is_named_and_nothing_is_published(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Job, units: list[Unit], __: str) -> list[Done]:
        return [Done(unit, failure=Failure("lake", "a data file is missing")) for unit in units]

    monkeypatch.setattr(publish_units, "run_units", fails)
    with pytest.raises(UnitsError, match="buckets 0 to 3: a data file is missing"):
        run_publish(job)
    assert generations(job.lake) == []


def test_a_compaction_brings_no_row(job: Job, tmp_path: Path) -> None:
    ingest(job, write(tmp_path / "b.jsonl", [row(200, tenant_id="t0"), row(201, tenant_id="t1")]))
    run_publish(job)
    assert compact(job.lake, EPISODES) > 0
    assert run_publish(job).state == "unchanged"
    ingest(job, write(tmp_path / "c.jsonl", [row(202, tenant_id="t0")]))
    told = run_publish(job).detail
    assert (told["built"], told["appended"], told["removed"]) == ("updated", 1, 0)
