"""Lakes of earlier versions: brought to this one in place, or refused with nothing changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from lake import revisions, tables, upkeep
from lake.lake import RECORD, VERSION, Lake, init_lake, open_lake, opened_at_any_version
from lake.migrations import backup, columns, registry
from lake.migrations.run import migrate, planned
from lake.storage import LocalStorage
from lake.table_shape import configuration
from tests.flows.dying import living
from tests.flows.lakes import files_below
from tests.lake.crypto.sealed import files_with, ring, sealed_lake
from tests.lake.migrations.old_lakes import DONE, made, old_lake, old_tables, rows_of
from transforms.errors import BusyError, LakeError
from transforms.schemas import EPISODES, FACTS, MODEL_RESULTS, RECALLS, STORED, Table

NOW = datetime(2026, 7, 1, 3, tzinfo=UTC)
IN_PLACE = ("A", "B", "D", "E")
BY_NAME = {table.name: table for table in STORED}
ADDED = {"A": {}, "B": {"model_results": ["owner"]}, "D": {"recalls": ["budget_tokens", "seconds"]}, "E": {}}


def upgraded(root: Path) -> Lake:
    lake, version = opened_at_any_version(str(root))
    migrate(lake, version, NOW)
    return open_lake(str(root))


def rows(lake: Lake, table: Table) -> pl.DataFrame:
    return tables.scan(lake, table).collect().sort(table.key)


@pytest.mark.parametrize("done", DONE)
def test_the_recorded_shapes_are_of_tables_that_there_are(done: str) -> None:
    assert {table.name for table in old_tables(done)} <= BY_NAME.keys()


def test_the_newest_recorded_shape_is_the_declared_one_until_a_table_changes() -> None:
    """Whoever changes a table records its shape, raises the version and adds a step."""
    for table in old_tables("E"):
        now = BY_NAME[table.name]
        told = {c.name: (str(c.dtype), c.is_nullable) for c in now.columns}
        assert told == {c.name: (str(c.dtype), c.is_nullable) for c in table.columns}


@pytest.mark.parametrize("done", IN_PLACE)
def test_an_old_lake_is_refused_with_the_remedy_and_then_upgraded_in_place(tmp_path: Path, done: str) -> None:
    held = old_lake(tmp_path / "lake", done)
    with pytest.raises(LakeError, match="has version 1, this slowwave reads version 2") as caught:
        open_lake(str(tmp_path / "lake"))
    assert caught.value.remedy.endswith(f"slowwave --lake {tmp_path}/lake migrate")
    lake = upgraded(tmp_path / "lake")
    for name, before in held.items():
        table = BY_NAME[name]
        after = rows(lake, table)
        assert after.select(before.columns).equals(before)
        added = sorted(set(table.names) - set(before.columns))
        assert added == ADDED[done].get(name, [])
        assert all(after[column].null_count() == after.height for column in added)
    assert columns.drifts(lake) == []
    assert json.loads(lake.storage.read(RECORD) or b"")["version"] == VERSION


@pytest.mark.parametrize("done", IN_PLACE)
def test_an_upgraded_lake_is_written_rewritten_and_compacted_as_a_new_one(tmp_path: Path, done: str) -> None:
    old_lake(tmp_path / "lake", done)
    lake = upgraded(tmp_path / "lake")
    for table in (BY_NAME[t.name] for t in old_tables(done)):
        before = rows(lake, table)
        more = rows_of(lake, table, since=10)
        tables.append(lake, table, more)
        both = pl.concat([before, more.sort(table.key)]).sort(table.key)
        assert rows(lake, table).equals(both)
        files = tables.data_files(lake, table)
        tables.rewrite(lake, table, files, tables.scan(lake, table, as_stored=True).collect(), as_stored=True)
        assert rows(lake, table).equals(both)
        tables.append(lake, table, rows_of(lake, table, since=20))
        upkeep.compact(lake, table)
        assert rows(lake, table).height == both.height + 3


@pytest.mark.parametrize("done", ["B", "D"])
def test_old_and_new_files_merge_where_the_old_ones_lack_a_column(tmp_path: Path, done: str) -> None:
    old_lake(tmp_path / "lake", done)
    lake = upgraded(tmp_path / "lake")
    table = MODEL_RESULTS if done == "B" else RECALLS
    tables.append(lake, table, rows_of(lake, table, since=12))
    before = rows(lake, table)
    assert upkeep.compact(lake, table) > 0
    assert rows(lake, table).equals(before)
    for name in ADDED[done][table.name]:
        assert 0 < before[name].null_count() < before.height


def test_an_upgraded_encrypted_lake_reads_its_sealed_text_and_seals_what_is_new(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    held = made(sealed_lake(root, 4), "D")
    lake, version = opened_at_any_version(str(root))
    migrate(lake, version, NOW)  # without its keys
    lake = open_lake(str(root), ring(root))
    for name in ("recalls", "episodes", "facts"):
        assert rows(lake, BY_NAME[name]).select(held[name].columns).equals(held[name])
    tables.append(lake, RECALLS, rows_of(lake, RECALLS, since=10))
    before = rows(lake, RECALLS)
    assert before.filter(pl.col("query") == "query 1")["seconds"].to_list() == [None]
    files = tables.data_files(lake, RECALLS)
    stored = tables.scan(lake, RECALLS, as_stored=True).collect()
    tables.rewrite(lake, RECALLS, files, stored, as_stored=True)
    upkeep.compact(lake, RECALLS)
    assert rows(lake, RECALLS).equals(before)
    assert files_with(root, "query 11") == set()


def test_below_a_folder_that_looks_like_a_partition_the_old_files_read_alike(tmp_path: Path) -> None:
    held = old_lake(tmp_path / "team=one" / "lake", "D")
    lake = upgraded(tmp_path / "team=one" / "lake")
    assert rows(lake, RECALLS).select(held["recalls"].columns).equals(held["recalls"])
    assert rows(lake, RECALLS)["seconds"].null_count() == 3


def test_a_version_before_the_upgrade_is_read_with_nulls(tmp_path: Path) -> None:
    old_lake(tmp_path / "lake", "D")
    lake = upgraded(tmp_path / "lake")
    before = rows(lake, RECALLS)
    tables.append(lake, RECALLS, rows_of(lake, RECALLS, since=10))
    then = replace(lake, pins=((RECALLS.name, 1),))
    assert rows(then, RECALLS).equals(before)


def test_rows_that_would_have_to_be_made_up_are_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    old_lake(tmp_path / "lake", "C")
    before = files_below(tmp_path / "lake")
    lake, version = opened_at_any_version(str(tmp_path / "lake"))
    for act in (lambda: planned(lake, version), lambda: migrate(lake, version, NOW)):
        with pytest.raises(
            LakeError, match=r"recalls lacks access_count,.*score \(float instead of double\)"
        ) as caught:
            act()
        assert "make a new lake" in caught.value.remedy
    assert files_below(tmp_path / "lake") == before
    with pytest.raises(LakeError, match="has version 1"):
        open_lake(str(tmp_path / "lake"))


def test_a_lake_of_then_without_a_recall_log_is_upgraded(tmp_path: Path) -> None:
    held = old_lake(tmp_path / "lake", "C", left_out=("recalls",))
    lake = upgraded(tmp_path / "lake")
    assert all(rows(lake, BY_NAME[name]).select(frame.columns).equals(frame) for name, frame in held.items())


def test_a_dry_run_tells_and_changes_nothing(tmp_path: Path) -> None:
    old_lake(tmp_path / "lake", "D")
    before = files_below(tmp_path / "lake")
    lake, version = opened_at_any_version(str(tmp_path / "lake"))
    (one,) = planned(lake, version)
    assert one.changes[0] == "recalls: columns added budget_tokens, seconds"
    assert files_below(tmp_path / "lake") == before


def test_a_second_migration_changes_nothing(tmp_path: Path) -> None:
    old_lake(tmp_path / "lake", "D")
    lake = upgraded(tmp_path / "lake")
    before = files_below(tmp_path / "lake")
    assert migrate(lake, VERSION, NOW) == ([], None)
    assert files_below(tmp_path / "lake") == before


STEPS = ((LocalStorage, "write"), (LocalStorage, "delete"), (columns, "retried"))


def test_killed_before_any_of_its_effects_it_goes_on_where_it_was(tmp_path: Path) -> None:
    held = old_lake(tmp_path / "old", "D")
    shutil.copytree(tmp_path / "old", tmp_path / "whole")
    lake, version = opened_at_any_version(str(tmp_path / "whole"))
    with living(effects=STEPS) as life:
        migrate(lake, version, NOW)
    assert life.count > 40
    for number in [*range(0, life.count - 6, 9), *range(life.count - 6, life.count)]:
        root = Path(shutil.copytree(tmp_path / "old", tmp_path / f"died-{number}"))
        original = (root / RECORD).read_bytes()
        lake, version = opened_at_any_version(str(root))
        with living(number, STEPS):
            migrate(lake, version, NOW)
        again, at = opened_at_any_version(str(root))
        migrate(again, at, NOW + timedelta(hours=1))
        lake = open_lake(str(root))
        assert columns.drifts(lake) == []
        assert rows(lake, RECALLS).select(held["recalls"].columns).equals(held["recalls"])
        (folder,) = (root / backup.PREFIX).iterdir()
        assert (folder / RECORD).read_bytes() == original
        assert DeltaTable(str(root / "tables" / "recalls")).version() == 3
        assert len(list((folder / "tables" / "recalls" / "_delta_log").glob("*.json"))) == 2
        assert not (root / backup.MARKER).exists()


def test_the_backup_holds_all_metadata_as_it_was_and_nothing_of_a_person(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    old_lake(root, "E")
    lake, version = opened_at_any_version(str(root))
    for key in (
        "index/CURRENT",
        "index/gen-000001/manifest.json",
        "state/consolidated.json",
        "state/requests/r.json",
        "state/retaining/1.json",  # which names owners whose sessions are to be derived anew
    ):
        lake.storage.write(key, b"{}")
    lake.storage.write("index/gen-000001/data/rows.lance", b"rows")
    before = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    wanted = {
        key
        for key in before
        if key == RECORD
        or "/_delta_log/" in key
        or key in ("index/CURRENT", "index/gen-000001/manifest.json", "state/consolidated.json")
    }
    _, folder = migrate(lake, version, NOW)
    assert folder == "migrations/2026-07-01T030000Z-from-1"
    kept = {
        p.relative_to(root / folder).as_posix(): p.read_bytes()
        for p in (root / folder).rglob("*")
        if p.is_file()
    }
    told = json.loads(kept.pop("backup.json"))
    assert told["files"] == len(wanted)
    assert kept == {key: before[key] for key in wanted}
    for tenant in ("acme", "zeta", "omega", "user_id 0", "content 0", "tea"):
        assert not [name for name in files_with(root, tenant) if name.startswith(backup.PREFIX)]


def test_the_metadata_put_back_is_the_lake_as_it_was(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    held = old_lake(root, "D")
    lake, version = opened_at_any_version(str(root))
    _, folder = migrate(lake, version, NOW)
    assert folder is not None
    for path in (root / folder / "tables").rglob("_delta_log"):
        log = root / path.relative_to(root / folder)
        for entry in log.iterdir():
            entry.unlink()
        for entry in path.iterdir():
            (log / entry.name).write_bytes(entry.read_bytes())
    (root / RECORD).write_bytes((root / folder / RECORD).read_bytes())
    lake, version = opened_at_any_version(str(root))
    assert version == 1
    for table in old_tables("D"):
        assert tables.scan(lake, table).collect().sort(table.key).equals(held[table.name])


@pytest.mark.parametrize(("hours", "is_gone"), [(49, True), (47, False)])
def test_a_backup_goes_with_the_data_files_its_logs_name(tmp_path: Path, hours: int, is_gone: bool) -> None:
    old_lake(tmp_path / "lake", "D")
    lake = upgraded(tmp_path / "lake")
    assert (backup.expire(lake, NOW + timedelta(hours=hours), 48) > 0) is is_gone
    assert (lake.storage.entries(backup.PREFIX) == []) is is_gone


def test_a_newer_lake_is_refused_with_the_remedy(tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / "lake"))
    lake.storage.write(
        RECORD, json.dumps({"format": "slowwave", "version": VERSION + 1, "more": []}).encode()
    )
    for act in (open_lake, opened_at_any_version, init_lake):
        with pytest.raises(LakeError, match=f"version {VERSION + 1}") as caught:
            act(lake.uri)
        assert "update slowwave" in caught.value.remedy


@pytest.mark.parametrize("version", [0, -1, True, "2", None, 1.0])
def test_a_version_that_is_none_is_a_damaged_record(tmp_path: Path, version: object) -> None:
    lake = init_lake(str(tmp_path / "lake"))
    record = {"format": "slowwave", "version": version, "lake_id": "00", "buckets": 4}
    lake.storage.write(RECORD, json.dumps(record).encode())
    with pytest.raises(LakeError, match="is damaged"):
        open_lake(lake.uri)


def test_a_record_that_somebody_else_wrote_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_lake(tmp_path / "lake", "D")
    lake, version = opened_at_any_version(str(tmp_path / "lake"))
    other = json.dumps({"format": "slowwave", "version": 2, "lake_id": "11", "buckets": 4}).encode()

    def applied(lake: Lake) -> None:
        columns.apply(lake)
        lake.storage.write(RECORD, other)

    (step,) = registry.STEPS
    monkeypatch.setattr(registry, "STEPS", (replace(step, apply=applied),))
    with pytest.raises(BusyError, match="changed while the lake was migrated"):
        migrate(lake, version, NOW)
    assert lake.storage.read(RECORD) == other


def test_the_steps_lead_from_the_first_version_to_this_one() -> None:
    versions = [(step.from_version, step.to_version) for step in registry.STEPS]
    assert versions == [(n, n + 1) for n in range(1, VERSION)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake of this version with rows of all tables."""
    lake = init_lake(str(tmp_path / "lake"), 4)
    for table in STORED:
        tables.append(lake, table, rows_of(lake, table))
    return lake


def older(lake: Lake, table: Table, *names: str) -> Table:
    """Make the table anew without some columns, as if another checkout had."""
    for path in Path(lake.table_uri(table)).rglob("*"):
        if path.is_file():
            path.unlink()
    less = replace(table, columns=tuple(c for c in table.columns if c.name not in names))
    tables.append(lake, less, rows_of(lake, less))
    return less


def writes(lake: Lake, table: Table) -> list[Callable[[], object]]:
    """Ways to write to a table."""
    more = rows_of(lake, table, since=30)
    files = tables.data_files(lake, table)
    return [
        lambda: tables.append(lake, table, more),
        lambda: tables.rewrite(lake, table, files, more),
        lambda: tables.create_table(lake, table),
    ]


def test_a_table_that_lacks_a_nullable_column_reads_null_and_is_written_once_migrated(lake: Lake) -> None:
    older(lake, RECALLS, "seconds")
    (drift,) = columns.drifts(lake)
    assert str(drift) == "recalls lacks seconds"
    assert rows(lake, RECALLS)["seconds"].to_list() == [None, None, None]
    before = files_below(lake.root or Path())
    for write in writes(lake, RECALLS):
        with pytest.raises(LakeError, match="recalls lacks seconds") as caught:
            write()
        assert "slowwave migrate" in caught.value.remedy
    assert files_below(lake.root or Path()) == before
    done, folder = migrate(lake, VERSION, NOW)
    assert done[0].changes[0] == "recalls: columns added seconds"
    assert folder is not None
    for write in writes(lake, RECALLS):
        write()


def test_a_table_that_lacks_a_column_without_nulls_is_neither_read_nor_written(lake: Lake) -> None:
    older(lake, FACTS, "fact", "polarity")
    for act in (
        *writes(lake, FACTS),
        lambda: tables.scan(lake, FACTS),
        lambda: revisions.standing(lake, FACTS),
    ):
        with pytest.raises(LakeError, match="facts lacks fact, polarity") as caught:
            act()
        assert "make a new lake" in caught.value.remedy
    assert rows(lake, EPISODES).height == 3


def test_a_column_of_another_type_is_neither_read_nor_written(lake: Lake) -> None:
    for path in Path(lake.table_uri(RECALLS)).rglob("*"):
        if path.is_file():
            path.unlink()
    other = replace(
        RECALLS,
        columns=tuple(replace(c, dtype=pl.Float32) if c.name == "score" else c for c in RECALLS.columns),
    )
    tables.append(lake, other, rows_of(lake, other))
    for act in (*writes(lake, RECALLS), lambda: tables.scan(lake, RECALLS)):
        with pytest.raises(
            LakeError, match=r"recalls has another type for score \(float instead of double\)"
        ):
            act()


def test_a_column_that_this_version_does_not_know_is_read_past_and_never_lost(lake: Lake) -> None:
    DeltaTable(lake.table_uri(FACTS)).alter.add_columns([Field("mood", PrimitiveType("string"))])
    assert rows(lake, FACTS).height == 3
    for write in writes(lake, FACTS):
        with pytest.raises(LakeError, match="facts has the unknown columns mood") as caught:
            write()
        assert "update slowwave" in caught.value.remedy
    with pytest.raises(LakeError, match="mood"):
        migrate(lake, VERSION, NOW)


def test_a_column_that_may_now_be_null_is_relaxed(lake: Lake) -> None:
    for path in Path(lake.table_uri(RECALLS)).rglob("*"):
        if path.is_file():
            path.unlink()
    strict = replace(
        RECALLS,
        columns=tuple(replace(c, is_nullable=False) if c.name == "seconds" else c for c in RECALLS.columns),
    )
    tables.append(lake, strict, rows_of(lake, strict))
    (drift,) = columns.drifts(lake)
    assert str(drift) == "recalls allows no null in seconds"
    migrate(lake, VERSION, NOW)
    assert columns.drifts(lake) == []
    tables.append(lake, RECALLS, rows_of(lake, RECALLS, since=11, count=1))
    assert rows(lake, RECALLS)["seconds"].null_count() == 1


def test_settings_of_a_table_follow_this_version(lake: Lake) -> None:
    """Statistics above all: a column that became personal must leave the log's."""
    wanted = configuration(EPISODES)
    DeltaTable(lake.table_uri(EPISODES)).alter.set_table_properties(
        {"delta.dataSkippingStatsColumns": "tenant_id,content"}, raise_if_not_exists=False
    )
    done, _ = migrate(lake, VERSION, NOW)
    assert [one.changes for one in done] == [("episodes: delta.dataSkippingStatsColumns set anew",)]
    assert DeltaTable(lake.table_uri(EPISODES)).metadata().configuration == wanted
