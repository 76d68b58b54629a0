"""A lake of an earlier version on a real object store."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

import pytest

from lake import locks, tables, upkeep
from lake.lake import RECORD, VERSION, Lake, init_lake, open_lake, opened_at_any_version
from lake.migrations import backup, columns, run
from lake.storage import Storage
from tests.lake.migrations.old_lakes import made, old_tables, rows_of
from transforms.errors import BusyError
from transforms.schemas import RECALLS

pytestmark = pytest.mark.server
NOW = datetime(2026, 7, 1, 3, tzinfo=UTC)
KEPT = ("episodes", "recalls")


@pytest.fixture
def older(bucket: str) -> Lake:
    lake = init_lake(f"{bucket}/{secrets.token_hex(4)}", 4)
    made(lake, "D", tuple(t.name for t in old_tables("D") if t.name not in KEPT))
    return lake


def sizes(storage: Storage) -> dict[str, str]:
    return {e.key: e.tag for prefix in ("tables", "state", "migrations") for e in storage.entries(prefix)}


def test_it_is_upgraded_in_place_with_a_backup_and_works_on(older: Lake) -> None:
    before = tables.scan(older, RECALLS).collect().sort(RECALLS.key)
    lake, version = opened_at_any_version(older.uri)
    with locks.hold(lake, "nightly", 0):
        _, folder = run.migrate(lake, version, NOW)
    lake = open_lake(older.uri)
    assert columns.drifts(lake) == []
    assert lake.storage.read(f"{folder}/{RECORD}") != lake.storage.read(RECORD)
    logs = [e.key for e in lake.storage.entries(f"{folder}/tables")]
    assert len(logs) == 4  # of two tables, each created and appended to
    assert tables.scan(lake, RECALLS).collect().sort(RECALLS.key).equals(before)
    tables.append(lake, RECALLS, rows_of(lake, RECALLS, since=9))
    both = tables.scan(lake, RECALLS).collect().sort(RECALLS.key)
    assert both.height == 6
    assert both["seconds"].null_count() == 5
    assert upkeep.compact(lake, RECALLS) > 0
    assert tables.scan(lake, RECALLS).collect().sort(RECALLS.key).equals(both)
    held = sizes(lake.storage)
    assert run.migrate(lake, VERSION, NOW) == ([], None)
    assert sizes(lake.storage) == held
    assert backup.expire(lake, NOW.replace(month=8), 48) > 0
    assert lake.storage.entries(backup.PREFIX) == []


def test_a_record_that_another_host_wrote_meanwhile_stays(
    older: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, version = opened_at_any_version(older.uri)
    real = columns.apply

    def applied(lake: Lake) -> None:
        real(lake)
        lake.storage.write(RECORD, b"{}")

    planned = run.planned(lake, version)
    changed = [type(one)(type(one.step)(1, 2, "", one.step.plan, applied), one.changes) for one in planned]
    monkeypatch.setattr(run, "planned", lambda *_: changed)
    with pytest.raises(BusyError, match="changed while"):
        run.migrate(lake, version, NOW)
    assert lake.storage.read(RECORD) == b"{}"
