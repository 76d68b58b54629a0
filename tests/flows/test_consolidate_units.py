"""Consolidation in units: however it is cut, ordered, repeated or broken off, the tables are the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows import consolidate, consolidate_plan, consolidate_state, portions
from flows.consolidate import run_consolidate
from flows.consolidate_plan import planned
from flows.consolidate_state import Seen, State
from flows.consolidate_units import Done, consolidate_unit
from flows.embed import run_embed
from flows.engine.units import UnitsError
from flows.job import Job
from lake import lineage, revisions, tables
from tests.flows.lakes import AS_OF, ingest, job_on, write
from tests.flows.sleepers import PURE, history, said
from transforms.errors import StorageError
from transforms.schemas import DECISIONS, DERIVED, EPISODES, LINEAGE, RUNS, TOPIC_MEMBERS, VECTORS, Table

BUCKETS = 4
TENANTS = ("acme", "umbrella", "north", "south", "east", "west")


def episodes() -> list[dict[str, Any]]:
    """Two people's history, and small talk about a harbour at six customers, two people each."""
    rows = history()
    for place, tenant in enumerate(TENANTS):
        for n in range(8):
            who = {"tenant_id": tenant, "user_id": f"user-{n % 2}", "session_id": f"h{n % 3}"}
            number = 100 + 20 * place + n
            rows.append(said(number, f"The harbour office asks for crane number {n % 5}.", "06-02", **who))
        rows.append(said(119 + 20 * place, "I live in Graz.", "06-03", tenant_id=tenant, user_id="user-0"))
    return rows


def landed(folder: Path, *nights: list[dict[str, Any]]) -> Job:
    """A lake with embedded episodes, one landing a list."""
    job = job_on(folder / "lake", buckets=BUCKETS)
    for number, rows in enumerate(nights):
        ingest(job, write(folder / f"{number}.jsonl", rows))
    run_embed(job)
    return job


@contextmanager
def cut(unit_rows: int, whole_rows: int = portions.WHOLE_ROWS) -> Iterator[None]:
    """Units of at most so many new episodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidate_plan, "UNIT_ROWS", unit_rows)
        patch.setattr(portions, "WHOLE_ROWS", whole_rows)
        yield


def held(job: Job) -> dict[str, pl.DataFrame]:
    """All rows of the derived tables, removed and older revisions among them, and the vectors."""

    def rows(table: Table) -> pl.DataFrame:
        order = [*table.key, *(["revision"] if "revision" in table.names else [])]
        return tables.scan(job.lake, table).collect().sort(order)

    return {table.name: rows(table) for table in (*DERIVED, VECTORS)}


STANDING = (*PURE, TOPIC_MEMBERS)


def table_named(name: str) -> Table:
    return next(table for table in DERIVED if table.name == name)


def is_pure(name: str) -> pl.Expr:
    """Decisions on topics depend on how often they were looked at."""
    return pl.col("item_kind") == "claim" if name == DECISIONS.name else pl.lit(True)


def assert_same(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> None:
    for name, rows in expected.items():
        assert found[name].equals(rows), name


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two landings that nothing was derived of, in its folder."""
    folder = tmp_path_factory.mktemp("landed")
    rows = episodes()
    landed(folder, rows[::2], rows[1::2])
    return folder


@pytest.fixture(scope="module")
def expected(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """Its tables after one plain run."""
    job = copy(lake, tmp_path_factory)
    run_consolidate(job)
    return held(job)


def copy(lake: Path, factory: pytest.TempPathFactory) -> Job:
    folder = factory.mktemp("copy")
    shutil.copytree(lake / "lake", folder / "lake")
    return job_on(folder / "lake", buckets=BUCKETS)


@given(unit_rows=st.sampled_from([3, 10]), order=st.randoms(use_true_random=False))
@settings(max_examples=2, deadline=None)
def test_units_in_any_order_and_twice_come_to_the_same_tables(
    lake: Path,
    expected: dict[str, pl.DataFrame],
    tmp_path_factory: pytest.TempPathFactory,
    unit_rows: int,
    order: Random,
) -> None:
    job = copy(lake, tmp_path_factory)
    with cut(unit_rows):
        units = planned(job, State())
    order.shuffle(units)
    told = []
    for unit in units:
        told.append(json.loads(json.dumps(consolidate_unit(job, unit.payload))))
        assert consolidate_unit(job, unit.payload)["rows_out"] == 0
    run_consolidate(job)  # gives the derived rows their vectors
    assert_same(held(job), expected)
    whole = Done()
    for one in told:
        whole.add(one)
    assert whole.rows_in == len([row for row in episodes() if not row.get("is_injected")])
    assert whole.facts.claims == expected["claims"].height


def test_nights_in_units_come_to_what_nights_at_once_come_to(tmp_path: Path) -> None:
    rows = episodes()
    nights = [rows[n::2] for n in range(2)]
    once, many = job_on(tmp_path / "once" / "lake"), job_on(tmp_path / "many" / "lake", buckets=BUCKETS)
    for number, night in enumerate(nights):
        file = write(tmp_path / f"{number}.jsonl", night)
        for job, unit_rows in ((once, 1_000), (many, 5)):
            ingest(job, file)
            run_embed(job)
            with cut(unit_rows, whole_rows=0 if job is many else 1_000):
                run_consolidate(job)
    found, wanted = held(many), held(once)
    for name, frame in wanted.items():
        if name != "vectors":
            bare = [frame.drop("tenant_bucket"), found[name].drop("tenant_bucket")]
            assert bare[0].equals(bare[1]), name


def test_a_run_that_was_killed_goes_on_with_what_is_left(
    lake: Path,
    expected: dict[str, pl.DataFrame],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real: Callable[..., None] = tables.append
    monkeypatch.setattr(consolidate, "NOTE_SECONDS", 0.0)
    seen = []
    for most in (2, 45):
        job, left = copy(lake, tmp_path_factory), [most]

        def dying(*arguments: Any, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise StorageError("killed", "Run again.")
            real(*arguments)

        with cut(10), monkeypatch.context() as patched:
            patched.setattr(tables, "append", dying)
            with pytest.raises(StorageError):
                run_consolidate(job)
        with cut(10):
            seen.append(run_consolidate(job).rows_in)
        # Where its topics were written and their members were not, they were looked at once more.
        found = {t.name: revisions.standing(job.lake, t).sort(t.key) for t in STANDING}
        for name, frame in found.items():
            wanted = revisions.alive(revisions.newest(table_named(name), expected[name])).sort(
                frame.columns[0]
            )
            assert frame.filter(is_pure(name)).equals(wanted.filter(is_pure(name))), name
        assert held(job)["claims"].equals(expected["claims"])
        assert consolidate_state.load(job).behind == {}
        assert consolidate_state.load(job).is_reclaimed
        assert run_consolidate(job).state == "unchanged"
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < seen[0]


def test_a_bucket_that_fails_fails_alone_and_is_done_next_time(
    lake: Path, expected: dict[str, pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> None:
    job = copy(lake, tmp_path_factory)
    bad = job.lake.bucket("north")
    names = sorted(tables.data_files(job.lake, EPISODES, buckets=[bad]))
    lost = Path(job.lake.table_uri(EPISODES)) / names[0]
    kept = lost.read_bytes()
    lost.write_bytes(kept[:-10])
    with cut(1), pytest.raises(UnitsError, match=f"bucket {bad}") as raised:
        run_consolidate(job)
    assert all(done.unit.buckets == (bad,) for done in raised.value.failed)
    found = held(job)
    for table in DERIVED:
        there = set(found[table.name]["tenant_bucket"])
        assert there == set(expected[table.name]["tenant_bucket"]) - {bad}, table.name
    state = consolidate_state.load(job)
    assert state.behind == {bad: None}
    assert not state.is_reclaimed
    lost.write_bytes(kept)
    rows = tables.scan(job.lake, EPISODES, buckets=[bad]).filter(~pl.col("is_injected"))
    assert run_consolidate(job).rows_in == rows.collect().height
    assert_same(held(job), expected)
    assert consolidate_state.load(job) == State(Seen(lineage.mark(job.lake, EPISODES)[0], AS_OF))


def test_a_bucket_that_lags_behind_gets_the_news_that_it_missed(tmp_path: Path) -> None:
    rows = episodes()
    job = landed(tmp_path, rows[:30])
    run_consolidate(job)
    before = consolidate_state.load(job)
    ingest(job, write(tmp_path / "more.jsonl", rows[30:]))
    run_embed(job)
    bad = job.lake.bucket("west")
    lost = Path(job.lake.table_uri(EPISODES)) / max(
        tables.added_files(job.lake, EPISODES, before.seen.version if before.seen else -1)
        & tables.data_files(job.lake, EPISODES, buckets=[bad])
    )
    kept = lost.read_bytes()
    lost.write_bytes(b"")
    with cut(1), pytest.raises(UnitsError):
        run_consolidate(job)
    assert consolidate_state.load(job).behind == {bad: before.seen}
    lost.write_bytes(kept)
    run_consolidate(job)
    whole = landed(tmp_path / "whole", rows[:30], rows[30:])
    run_consolidate(whole)
    for table in (t for t in DERIVED if t.name in ("facts", "claims", "conversations", "attempts")):
        found, wanted = (
            tables.scan(one.lake, table).collect()
            if table.name == "claims"
            else revisions.standing(one.lake, table)
            for one in (job, whole)
        )
        assert found.sort(table.key).equals(wanted.sort(table.key)), table.name


def test_within_a_unit_lineage_is_committed_first(
    lake: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, order = copy(lake, tmp_path_factory), []
    real: Callable[..., None] = tables.append

    def noted(*arguments: Any) -> None:
        order.append(arguments[1].name)
        real(*arguments)

    monkeypatch.setattr(tables, "append", noted)
    unit = planned(job, State())[0]
    consolidate_unit(job, unit.payload)
    written = [name for name in order if name != VECTORS.name]
    assert written[0] == LINEAGE.name
    assert len(written) == len(set(written)) > 5


@pytest.mark.parametrize("is_later", [False, True])
@pytest.mark.parametrize("is_killed", [False, True])
def test_lineage_that_was_written_alone_is_not_there_twice(
    is_later: bool, is_killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = episodes()
    job = landed(tmp_path, rows[:30] if is_later else rows)
    if is_later:
        run_consolidate(job)
        ingest(job, write(tmp_path / "more.jsonl", rows[30:]))
        run_embed(job)
    real: Callable[..., None] = tables.append

    def breaking(*arguments: Any) -> None:
        if arguments[1].name not in (LINEAGE.name, VECTORS.name, RUNS.name):
            raise KeyboardInterrupt if is_killed else StorageError("the disk is full", "Free space.")
        real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(tables, "append", breaking)
        with pytest.raises(KeyboardInterrupt if is_killed else StorageError):
            run_consolidate(job)
    alone = tables.scan(job.lake, LINEAGE).collect()
    assert alone.height > 0
    run_consolidate(job)
    found = tables.scan(job.lake, LINEAGE).select(LINEAGE.key).collect()
    assert found.height > alone.height / 2
    assert found.filter(found.is_duplicated()).height == 0
    assert consolidate_state.load(job).behind == {}


def test_a_dry_run_in_units_tells_what_a_run_does(
    lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    job = copy(lake, tmp_path_factory)
    with cut(5):
        dry = run_consolidate(replace(job, is_dry=True))
        assert tables.version(job.lake, LINEAGE) == -1
        shown = run_consolidate(replace(job, has_diff=True))
    assert dry.detail["diff"]
    assert dry.detail["facts"] == shown.detail["facts"]
    assert dry.rows_out == shown.rows_out
    order = ("change", "fact_id")
    first, second = (sorted(one.detail["diff"], key=lambda r: [r[n] for n in order]) for one in (dry, shown))
    assert first == second
