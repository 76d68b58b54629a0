from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError
from hypothesis import given, settings
from hypothesis import strategies as st

from lake import commits, parts, tables, upkeep
from lake.lake import Lake, init_lake
from tests.lake.made import episodes, finished, frame, worker
from transforms.errors import BusyError, LakeError, StorageError
from transforms.schemas import EPISODES, QUARANTINE, RUNS, STORED, VECTORS


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 4)


def names(lake: Lake, **scan: Any) -> list[str]:
    return sorted(tables.scan(lake, EPISODES, **scan).collect()["content"])


def test_before_the_first_row(lake: Lake) -> None:
    for table in STORED:
        assert tables.scan(lake, table).collect().equals(table.empty())
        assert tables.version(lake, table) == -1
        assert tables.data_files(lake, table) == frozenset()
        assert tables.added_files(lake, table, -1) == frozenset()
        assert (upkeep.compact(lake, table), upkeep.vacuum(lake, table, 24)) == (0, 0)
        assert tables.size_bytes(lake, table) == 0
    tables.append(lake, EPISODES, EPISODES.empty())
    assert tables.version(lake, EPISODES) == -1


@pytest.mark.parametrize("table", STORED, ids=lambda t: t.name)
def test_every_table_gives_back_what_went_in(lake: Lake, table: Any) -> None:
    given = frame(table, [{table.key[-1]: name, "tenant_bucket": i % 4} for i, name in enumerate("abcdef")])
    if table is VECTORS:
        given = given.with_columns(vector=pl.lit([0.5, 0.25], pl.List(pl.Float32)))
    if table is EPISODES:
        given = given.with_columns(tags=pl.lit(["x", "y"]), month=pl.Series(["2026-01", "2026-02"] * 3))
    tables.append(lake, table, given[:3])
    tables.append(lake, table, given[3:])
    found = tables.scan(lake, table).collect().sort(table.key[-1])
    assert found.equals(given)
    assert tables.version(lake, table) == 2
    upkeep.compact(lake, table)
    assert tables.scan(lake, table).collect().sort(table.key[-1]).equals(given)


ODD = [
    "007",
    "../x",
    "__HIVE_DEFAULT_PARTITION__",
    "a'b\"c; drop table",
    "😀",
    "null",
    "a/b=c",
    "é",
    "x" * 500,
]


def test_odd_tenants_survive(lake: Lake) -> None:
    for tenant in ODD:
        tables.append(lake, EPISODES, episodes(lake, tenant, [f"of {tenant}"]))
    upkeep.compact(lake, EPISODES)
    for tenant in ODD:
        found = tables.scan(lake, EPISODES, buckets=[lake.bucket(tenant)]).filter(
            pl.col("tenant_id") == tenant
        )
        assert found.collect()["content"].to_list() == [f"of {tenant}"]
    paths = " ".join(str(p.relative_to(lake.uri)) for p in Path(lake.uri).rglob("*"))
    assert not any(tenant in paths for tenant in ODD if tenant not in ("null", "007"))


def test_partition_values_are_text_not_guessed_numbers(lake: Lake) -> None:
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one"], "007"))
    assert names(lake, months=["007"]) == ["one"]
    upkeep.compact(lake, EPISODES)
    assert tables.scan(lake, EPISODES).collect()["month"].to_list() == ["007"]


@pytest.mark.parametrize("month", ["__HIVE_DEFAULT_PARTITION__", "a b/ü%=", "../x", ""])
def test_a_partition_value_that_readers_would_misread_never_gets_in(lake: Lake, month: str) -> None:
    with pytest.raises(LakeError, match="episodes: rows of a month that is no number or month"):
        tables.append(lake, EPISODES, episodes(lake, "acme", ["one"], month))
    assert list(Path(lake.uri).rglob("*.parquet")) == []


def test_a_scan_names_only_the_files_of_its_partitions(lake: Lake) -> None:
    for tenant in "abcdefgh":
        for month in ("2026-03", "2026-04"):
            tables.append(lake, EPISODES, episodes(lake, tenant, [f"{tenant}{month}"], month))
    bucket = lake.bucket("a")
    wanted = f"tenant_bucket={bucket}/month=2026-04/"
    files = [f for f in tables.data_files(lake, EPISODES) if wanted in f]
    for file in tables.data_files(lake, EPISODES) - set(files):
        (Path(lake.table_uri(EPISODES)) / file).write_bytes(b"not read")
    found = tables.scan(lake, EPISODES, buckets=[bucket], months=["2026-04"]).collect()
    assert sorted(found["content"]) == sorted(f"{t}2026-04" for t in "abcdefgh" if lake.bucket(t) == bucket)
    again = tables.scan(lake, EPISODES, files=files).collect()
    assert again.sort("content").equals(found.sort("content"))
    assert tables.scan(lake, EPISODES, files=[]).collect().equals(EPISODES.empty())


def test_the_log_holds_nothing_personal(lake: Lake) -> None:
    secret = "Zaphod"
    for table in (EPISODES, QUARANTINE, VECTORS):
        personal = {
            c.name: f"{secret}{i}"
            for i, c in enumerate(table.columns)
            if c.is_personal and c.dtype == pl.String
        }
        for _ in range(2):
            tables.append(lake, table, frame(table, [{**personal, "tags": [secret], "month": "2026-03"}]))
        upkeep.compact(lake, table)
        DeltaTable(lake.table_uri(table)).create_checkpoint()
        log = Path(lake.table_uri(table)) / "_delta_log"
        assert len(list(log.iterdir())) >= 4
        held = b"".join(p.read_bytes() for p in log.iterdir())
        held += b"".join(
            pl.read_parquet(p).write_json().encode() for p in log.glob("*.parquet") if p.is_file()
        )
        assert secret.encode() not in held
        assert b"numRecords" in held


def test_added_files_are_those_since_a_version_also_after_a_merge(lake: Lake) -> None:
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one"]))
    first = tables.data_files(lake, EPISODES)
    tables.append(lake, EPISODES, episodes(lake, "acme", ["two"]))
    added = tables.added_files(lake, EPISODES, 1)
    assert len(added) == 1
    assert not added & first
    assert names(lake, files=added) == ["two"]
    assert tables.data_files(lake, EPISODES, at_version=1) == first
    assert upkeep.compact(lake, EPISODES) == 1
    assert names(lake, files=tables.added_files(lake, EPISODES, 1)) == ["one", "two"]
    assert names(lake, files=tables.added_files(lake, EPISODES, -1)) == ["one", "two"]
    assert names(lake, files=tables.added_files(lake, EPISODES, 99)) == ["one", "two"]
    with pytest.raises(LakeError, match="no version 99"):
        tables.data_files(lake, EPISODES, at_version=99)


def test_vacuum_takes_superseded_files_and_what_killed_writers_left(lake: Lake) -> None:
    for name in ("one", "two"):
        tables.append(lake, EPISODES, episodes(lake, "acme", [name]))
    upkeep.compact(lake, EPISODES)
    root = Path(lake.table_uri(EPISODES))
    live = {root / f for f in tables.data_files(lake, EPISODES)}
    folder = next(iter(live)).parent
    for rest in (folder / "part-orphan.zstd.parquet", folder / ".part-x.tmp"):
        rest.write_bytes(b"rest")
    assert upkeep.vacuum(lake, EPISODES, upkeep.SAFE_HOURS) == 0
    old = time.time() - 13 * 3600
    for path in root.rglob("*"):
        if path.is_file() and "_delta_log" not in path.parts and path not in live:
            os.utime(path, (old, old))
    assert upkeep.vacuum(lake, EPISODES, upkeep.SAFE_HOURS - 1) == 0  # an orphan may be a live writer's
    assert upkeep.vacuum(lake, EPISODES, upkeep.SAFE_HOURS) == 2
    assert names(lake) == ["one", "two"]
    held = {p for p in root.rglob("*") if p.is_file() and "_delta_log" not in p.parts}
    assert {p for p in held if p.suffix != ".parquet"} == set()
    assert live <= held


def test_vacuum_at_once_removes_what_a_merge_superseded(lake: Lake) -> None:
    for name in ("one", "two"):
        tables.append(lake, EPISODES, episodes(lake, "acme", [name]))
    upkeep.compact(lake, EPISODES)
    assert upkeep.vacuum(lake, EPISODES, 0) == 2
    assert names(lake) == ["one", "two"]


def conflicts(monkeypatch: pytest.MonkeyPatch, errors: list[Exception]) -> None:
    """Makes the next commits fail, each with one of these."""
    commit = DeltaTable.create_write_transaction

    def fails(self: DeltaTable, *args: Any, **kwargs: Any) -> None:
        if errors:
            raise errors.pop()
        commit(self, *args, **kwargs)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", fails)
    monkeypatch.setattr(commits.time, "sleep", lambda _: None)


def test_a_conflict_is_tried_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    conflicts(monkeypatch, [CommitFailedError("conflict")] * 3)
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one"]))
    assert names(lake) == ["one"]


def test_a_writer_that_never_wins_says_so_and_leaves_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    conflicts(monkeypatch, [CommitFailedError("conflict")] * 100)
    with pytest.raises(BusyError, match="appending to episodes: other writers won 12 times"):
        tables.append(lake, EPISODES, episodes(lake, "acme", ["one"]))
    assert names(lake) == []
    assert list(Path(lake.table_uri(EPISODES)).rglob("*.parquet")) == []


def test_rows_can_be_rewritten_some_at_a_time_in_one_commit(lake: Lake) -> None:
    for tenant in ("acme", "umbrella"):
        tables.append(lake, EPISODES, episodes(lake, tenant, ["one", "two"]))
    files, version = sorted(tables.data_files(lake, EPISODES)), tables.version(lake, EPISODES)
    held = (tables.scan(lake, EPISODES, files=[name]).collect() for name in files)
    tables.rewrite(lake, EPISODES, files, (rows.filter(pl.col("content") == "two") for rows in held))
    assert names(lake) == ["two", "two"]
    assert tables.version(lake, EPISODES) == version + 1
    tables.rewrite(lake, EPISODES, sorted(tables.data_files(lake, EPISODES)), iter(()))
    assert names(lake) == []


def test_a_rewrite_that_breaks_off_between_its_rows_leaves_nothing(lake: Lake, tmp_path: Path) -> None:
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one", "two"]))
    before = sorted(tmp_path.rglob("*.parquet"))

    def broken() -> Iterator[pl.DataFrame]:
        yield episodes(lake, "acme", ["one"])
        raise LakeError("lost bytes", "Restore them.")

    with pytest.raises(LakeError, match="lost bytes"):
        tables.rewrite(lake, EPISODES, sorted(tables.data_files(lake, EPISODES)), broken())
    assert names(lake) == ["one", "two"]
    assert sorted(tmp_path.rglob("*.parquet")) == before


def test_a_failed_commit_leaves_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    conflicts(monkeypatch, [DeltaError("No space left on device (os error 28)")])
    with pytest.raises(StorageError, match="appending to episodes: the disk is full"):
        tables.append(lake, EPISODES, episodes(lake, "acme", ["one"]))
    assert list(Path(lake.table_uri(EPISODES)).rglob("*.parquet")) == []
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one"]))
    assert names(lake) == ["one"]


@pytest.mark.parametrize("error", [CommitFailedError("lost answer"), DeltaError("lost answer")])
def test_a_commit_whose_answer_was_lost_is_not_written_twice_nor_taken_back(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    commit = DeltaTable.create_write_transaction

    def deaf(self: DeltaTable, *args: Any, **kwargs: Any) -> None:
        commit(self, *args, **kwargs)
        monkeypatch.undo()
        raise error

    monkeypatch.setattr(DeltaTable, "create_write_transaction", deaf)
    try:
        tables.append(lake, EPISODES, episodes(lake, "acme", ["one"]))
    except StorageError:
        assert type(error) is DeltaError
    assert names(lake) == ["one"]


def test_a_failed_file_leaves_none_of_the_batch(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    write = type(lake.storage).write

    def fails(store: Any, key: str, data: bytes) -> None:
        if "month=2026-04" in key:
            raise StorageError("the disk is full")
        write(store, key, data)

    batch = pl.concat(
        [episodes(lake, t, ["x"], m) for t in "abcd" for m in ("2026-03", "2026-04", "2026-05")]
    )
    monkeypatch.setattr(type(lake.storage), "write", fails)
    with pytest.raises(StorageError):
        tables.append(lake, EPISODES, batch)
    assert list(Path(lake.table_uri(EPISODES)).rglob("*.parquet")) == []
    assert names(lake) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads names of descriptors in /proc")
def test_data_then_log_are_on_disk_when_append_returns(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.append(lake, RUNS, frame(RUNS, [{"run_id": "first"}]))
    synced: list[str] = []
    sync = os.fsync

    def fsync(handle: int) -> None:
        state = tables.version(lake, RUNS)
        synced.append(f"{state} {Path(f'/proc/self/fd/{handle}').readlink().name}")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    tables.append(lake, RUNS, frame(RUNS, [{"run_id": "second"}]))
    before = [name for name in synced if name.startswith("1 ")]
    after = [name for name in synced if name.startswith("2 ")]
    assert len(before) == 2
    assert before[0].endswith(".tmp")
    assert before[1] == "1 runs"
    assert f"2 {2:020}.json" in after
    assert after[-1] == "2 _delta_log"


def test_large_partitions_are_split(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS_PER_FILE", 3)
    tables.append(lake, EPISODES, episodes(lake, "acme", list("abcdefgh")))
    assert len(tables.data_files(lake, EPISODES)) == 3
    assert names(lake) == list("abcdefgh")


def test_a_torn_log_is_a_fault_with_a_remedy(lake: Lake) -> None:
    tables.append(lake, RUNS, frame(RUNS, [{"run_id": "a"}]))
    log = Path(lake.table_uri(RUNS)) / "_delta_log" / f"{1:020}.json"
    log.write_bytes(log.read_bytes()[:50])
    with pytest.raises(StorageError, match="opening table runs") as caught:
        tables.scan(lake, RUNS)
    assert caught.value.remedy


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from(["append", "compact", "vacuum"]), max_size=7))
def test_upkeep_never_changes_the_rows(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    lake = init_lake(f"{tmp_path_factory.mktemp('lake')}/lake", 2)
    held: list[str] = []
    for i, step in enumerate(steps):
        if step == "append":
            tables.append(lake, EPISODES, episodes(lake, f"t{i % 3}", [f"n{i}"]))
            held.append(f"n{i}")
        elif step == "compact":
            upkeep.compact(lake, EPISODES)
        else:
            upkeep.vacuum(lake, EPISODES, 0)
        assert names(lake) == sorted(held)


def test_writers_of_several_tenants_all_land_beside_readers_and_upkeep(lake: Lake) -> None:
    commits, rows = 6, 5
    reader = worker("watch", lake.uri, 4)
    writers = [worker("commit", lake.uri, f"t{i}", commits, rows) for i in range(4)]
    tidier = worker("tidy", lake.uri, 4)
    said = [line for writer in writers for line in finished(writer)]
    assert len(said) == 4 * commits
    finished(tidier)
    seen = finished(reader)
    assert set(seen) <= {"none", f"{rows} {rows}"}
    assert f"{rows} {rows}" in seen
    assert names(lake) == sorted(
        f"t{t}/{b}/{i}" for t in range(4) for b in range(commits) for i in range(rows)
    )


def test_a_full_disk_commits_nothing_and_goes_on_when_there_is_space(
    small_disk: Callable[[int], Path],
) -> None:
    lake = init_lake(f"{small_disk(600)}/lake", 4)
    tables.append(lake, EPISODES, episodes(lake, "acme", ["first"]))
    noise = [os.urandom(400).hex() for _ in range(2000)]
    big = pl.concat([episodes(lake, "acme", noise[:10], "2026-04"), episodes(lake, "acme", noise[10:])])
    with pytest.raises(StorageError, match="the disk is full") as caught:
        tables.append(lake, EPISODES, big)
    assert "Free space" in caught.value.remedy
    assert names(lake) == ["first"]
    root = Path(lake.table_uri(EPISODES))
    assert len(list(root.rglob("part-*"))) == 1
    small_disk(4000)
    tables.append(lake, EPISODES, big)
    assert names(lake) == sorted(["first", *noise])


ODD_NAMES = (
    "sp ace",
    "ünï",
    "a#b",
    "{}",
    'a"b',
    "a?b",
    "a*b",
    "a=b",
    "tenant_bucket=5",
    "a%b",
    "a:b'c",
    "😀<&>",
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_lake_may_lie_below_any_name(name: str, tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / name / "lake"), 4)
    for text in ("one", "two"):
        tables.append(lake, EPISODES, episodes(lake, "acme", [text], "2026-03"))
    tables.append(lake, EPISODES, episodes(lake, "acme", ["three"], "2026-04"))
    assert names(lake) == ["one", "three", "two"]
    bucket = lake.bucket("acme")
    found = tables.scan(lake, EPISODES, buckets=[bucket], months=["2026-03"]).collect()
    assert sorted(found["content"]) == ["one", "two"]
    assert set(found["tenant_bucket"]) == {bucket}
    assert found.schema == EPISODES.empty().schema
    assert upkeep.compact(lake, EPISODES) == 1
    files = tables.data_files(lake, EPISODES)
    assert all((Path(lake.table_uri(EPISODES)) / file).is_file() for file in files)
    assert tables.scan(lake, EPISODES, files=files).collect().height == 3
    assert upkeep.vacuum(lake, EPISODES, 0) == 2
    assert names(lake) == ["one", "three", "two"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("damage", ["shortened", "missing"])
def test_a_damaged_data_file_is_named(lake: Lake, damage: str) -> None:
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one"], "2026-03"))
    (file,) = tables.data_files(lake, EPISODES)
    path = Path(lake.table_uri(EPISODES)) / file
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(LakeError, match=f"table episodes: data file {file} is") as caught:
        tables.scan(lake, EPISODES)
    assert "backup" in caught.value.remedy
    others = [bucket for bucket in range(lake.buckets) if bucket != lake.bucket("acme")]
    assert tables.scan(lake, EPISODES, buckets=others).collect().is_empty()
