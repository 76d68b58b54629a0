"""A chain checked from where it was whole before: what came since is read, and nothing may be missing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lake.lake import Lake, init_lake
from lake.rights import audit
from lake.rights.anchors import examined, examined_since

AT = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = init_lake(str(tmp_path / "lake"))
    for number in range(6):
        audit.append(made, "retain", at=AT, counts={"rows": number})
    return made


def head(lake: Lake) -> tuple[int, str]:
    found = audit.head(lake)
    assert found is not None
    return found.seq, found.hash


def changed(lake: Lake, seq: int) -> None:
    record = json.loads(lake.storage.read(audit.key_of(seq)) or b"")
    record["counts"]["rows"] = 99
    raw = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    lake.storage.write(audit.key_of(seq), raw)


def test_only_later_events_are_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    since = head(lake)
    for number in range(3):
        audit.append(lake, "retain", at=AT, counts={"rows": number})
    newest = audit.head(lake)
    read: list[str] = []
    real = type(lake.storage).read

    def watched(storage: object, key: str) -> bytes | None:
        read.append(key)
        return real(storage, key)  # type: ignore[arg-type]

    monkeypatch.setattr(type(lake.storage), "read", watched)
    found = examined_since(lake, since)
    assert (found.length, found.broken) == (9, None)
    assert found.head == newest
    events = {key for key in read if key.startswith("audit/0")}
    assert events == {audit.key_of(seq) for seq in (6, 7, 8, 9)}


def test_it_agrees_with_the_whole_walk(lake: Lake) -> None:
    assert examined_since(lake, head(lake)) == examined(lake) == examined_since(lake, None)
    audit.append(lake, "retain", at=AT)
    assert examined_since(lake, (3, audit.entries(lake)[2].hash)) == examined(lake)


@pytest.mark.parametrize("seq", [7, 8])
def test_a_later_event_that_was_changed_is_found(lake: Lake, seq: int) -> None:
    since = head(lake)
    for _ in range(3):
        audit.append(lake, "retain", at=AT, counts={"rows": 1})
    changed(lake, seq)
    assert examined_since(lake, since).broken == f"event {seq} was changed"


def test_a_changed_checkpoint_or_a_forged_one_has_all_of_it_read(lake: Lake) -> None:
    since = head(lake)
    changed(lake, 2)
    assert examined_since(lake, (6, "0" * 64)).broken == "event 2 was changed"
    changed(lake, 6)
    assert examined_since(lake, since).broken == "event 2 was changed"


@pytest.mark.parametrize("seq", [2, 6])
def test_an_earlier_event_that_is_gone_is_found(lake: Lake, seq: int) -> None:
    since = head(lake)
    audit.append(lake, "retain", at=AT)
    lake.storage.delete(audit.key_of(seq))
    assert examined_since(lake, since).broken == f"event {seq} is missing"


def test_an_earlier_event_that_was_changed_is_for_the_whole_walk(lake: Lake) -> None:
    since = head(lake)
    changed(lake, 2)
    assert examined_since(lake, since).broken is None
    assert examined(lake).broken == "event 2 was changed"
