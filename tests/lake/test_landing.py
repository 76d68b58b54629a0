from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake import landed_lines, landing, segments
from lake.lake import Lake, init_lake
from tests.lake.made import NOON
from transforms.errors import LakeError, StorageError, UsageError
from transforms.policy import Policy
from transforms.schemas import EPISODES, QUARANTINE


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 4)


def landed(lake: Lake) -> tuple[pl.DataFrame, pl.DataFrame, list[bytes]]:
    """Episodes, quarantine and torn lines of every segment."""
    lines = [
        line
        for entry in lake.storage.entries(landing.PREFIX)
        for line in landed_lines.lines_of(lake.storage.read(entry.key) or b"", is_sealed=True)
    ]
    episodes, torn = landed_lines.segment_rows(lines, EPISODES)
    return episodes, landed_lines.segment_rows(lines, QUARANTINE)[0], torn


def row(text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"content": text, "tenant_id": "acme", **more}


def test_a_row_lands_whole(lake: Lake) -> None:
    given = row("Mail me at ann@example.com", user_id="u1", role="user", event_at="2026-03-01T10:00:00+02:00")
    receipt = landing.append(lake, [given], now=NOON)
    episodes, refused, torn = landed(lake)
    found = episodes.to_dicts()[0]
    assert receipt == landing.Receipt([found["episode_id"]], [])
    assert (refused.height, torn) == (0, [])
    assert found["content"] == "Mail me at [REDACTED:email]"
    assert (found["tenant_id"], found["user_id"], found["kind"]) == ("acme", "u1", "conversation")
    assert found["event_at"] == datetime(2026, 3, 1, 8, tzinfo=UTC)
    assert found["ingested_at"] == NOON
    assert EPISODES.conform(episodes).height == 1


def test_secrets_never_touch_the_disk(lake: Lake) -> None:
    secret = "sk-proj-" + "a1B2" * 12
    landing.append(lake, [row(f"key {secret}"), {"content": f"no tenant, {secret}"}])
    held = b"".join(p.read_bytes() for p in Path(lake.uri).rglob("*") if p.is_file())
    assert b"[REDACTED" in held
    assert secret.encode() not in held


def test_ids_come_back_in_the_order_of_the_rows(lake: Lake) -> None:
    rows = [row(f"text {i}", tenant_id=f"t{i % 3}", event_at=NOON - timedelta(hours=i)) for i in range(9)]
    receipt = landing.append(lake, rows, now=NOON)
    text = dict(landed(lake)[0].select("episode_id", "content").iter_rows())
    assert [text[name] for name in receipt.landed] == [f"text {i}" for i in range(9)]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"content": "no tenant"}, "no_tenant"),
        (row(event_at="yesterday"), "bad_time"),
        (row(event_at="2026-03-01T10:00:00"), "naive_time"),
        (row(event_at=datetime(2026, 3, 1, 10)), "naive_time"),
        (row(event_at="1969-12-31T23:59:59Z"), "time_out_of_range"),
        (row(""), "no_content"),
        (row(importance="high"), "bad_field_type"),
        (row(kind="poem"), "bad_value"),
        (row(tenant_id="a\x00b"), "bad_id"),
        ("just text", "not_an_object"),
        (None, "not_an_object"),
        (row(metadata={"loop": float}, steps=10**400), "bad_field_type"),
    ],
)
def test_a_refused_row_is_told_and_kept_and_its_neighbours_land(lake: Lake, bad: Any, reason: str) -> None:
    receipt = landing.append(lake, [row("before"), bad, row("after")], now=NOON)
    episodes, refused, torn = landed(lake)
    assert [(r.index, r.reason) for r in receipt.refused] == [(1, reason)]
    assert receipt.refused[0].detail
    assert refused["reason"].to_list() == [reason]
    assert sorted(episodes["content"]) == ["after", "before"]
    assert len(receipt.landed) == 2
    assert torn == []


def test_what_python_holds_lands_as_json_would(lake: Lake) -> None:
    name = uuid.UUID(int=7)
    odd = row(
        "a lone \ud800 half",
        event_at=datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=2))),
        session_id=7,
        trace=name,
        blob=b"\x00",
        many={1},
    )
    receipt = landing.append(lake, [odd], now=NOON)
    assert receipt.refused == []
    found = landed(lake)[0].to_dicts()[0]
    assert found["content"] == "a lone \ufffd half"
    assert (found["event_at"], found["session_id"]) == (datetime(2026, 3, 1, 8, tzinfo=UTC), "7")
    assert orjson.loads(found["metadata"])["trace"] == str(name)


def test_defaults_fill_what_a_row_leaves_open(lake: Lake) -> None:
    rows = [{"content": "x"}, {"content": "y", "user_id": "other", "event_at": "2026-03-01T10:00:00"}]
    scope = {"tenant_id": "acme", "user_id": "u", "timezone": "Europe/Berlin"}
    assert landing.append(lake, rows, now=NOON, **scope).refused == []
    found = landed(lake)[0].sort("content")
    assert found["user_id"].to_list() == ["u", "other"]
    assert found["event_at"].to_list() == [NOON, datetime(2026, 3, 1, 9, tzinfo=UTC)]


def test_wrong_calls_are_said_so(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no time zone Mars/Base"):
        landing.append(lake, [row()], timezone="Mars/Base")
    with pytest.raises(UsageError, match="no argument tenant"):
        landing.append(lake, [row()], tenant="acme")
    with pytest.raises(LakeError, match="no lake at"):
        landing.append(f"{tmp_path}/none", [row()])
    assert landed(lake)[0].height == 0


def test_no_rows_write_nothing(lake: Lake) -> None:
    assert landing.append(lake, []) == landing.Receipt([], [])
    assert lake.storage.entries(landing.PREFIX) == []


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.one_of(st.dictionaries(st.text(max_size=5), st.text(max_size=5)), st.text(max_size=3)), max_size=6
    )
)
def test_every_row_is_told_once_whatever_it_is(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    lake = init_lake(f"{tmp_path_factory.mktemp('lake')}/lake", 4)
    receipt = landing.append(lake, rows, tenant_id="acme", now=NOON)
    assert len(receipt.landed) + len(receipt.refused) == len(rows)
    episodes, refused, torn = landed(lake)
    assert set(receipt.landed) == set(episodes["episode_id"])
    assert torn == []
    assert refused.height <= len(receipt.refused)
    assert bool(refused.height) == bool(receipt.refused)


def test_a_process_keeps_one_segment_a_bucket_until_it_is_sealed_or_full(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        landing.append(lake, [row()])
    first = landing.seal(lake)
    assert len(first) == 1
    landing.append(lake, [row("after the seal")])
    assert len(lake.storage.entries(landing.PREFIX)) == 2
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 1)
    landing.append(lake, [row("in a third")])
    assert len(landing.seal(lake)) == 3
    landing.remove(lake, landing.seal(lake))
    assert lake.storage.entries(landing.PREFIX) == []
    landing.append(lake, [row("and on")])
    assert landed(lake)[0]["content"].to_list() == ["and on"]


def test_a_writer_whose_segment_is_deleted_begins_another(lake: Lake) -> None:
    landing.append(lake, [row("lost by hand")])
    for entry in lake.storage.entries(landing.PREFIX):
        lake.storage.delete(entry.key)
    landing.append(lake, [row("kept")])
    assert landed(lake)[0]["content"].to_list() == ["kept"]


@pytest.mark.parametrize("fails", ["write", "fdatasync", "interrupt"])
def test_a_failed_append_leaves_no_trace_and_the_next_one_lands(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    landing.append(lake, [row("first")])
    write, sync = os.write, os.fdatasync

    def half(file: int, data: memoryview) -> int:
        write(file, bytes(data)[: len(data) // 2])
        if fails == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC, "No space left on device")

    def unsynced(file: int) -> None:
        sync(file)
        raise OSError(errno.EIO, "Input/output error")

    if fails == "fdatasync":
        monkeypatch.setattr(os, "fdatasync", unsynced)
    else:
        monkeypatch.setattr(os, "write", half)
    with pytest.raises(KeyboardInterrupt if fails == "interrupt" else StorageError):
        landing.append(lake, [row("second")])
    monkeypatch.undo()
    assert landed(lake)[0]["content"].to_list() == ["first"]
    landing.append(lake, [row("third")])
    episodes, _, torn = landed(lake)
    assert sorted(episodes["content"]) == ["first", "third"]
    assert torn == []


def test_after_a_cut_that_failed_too_nothing_is_written_behind_the_half_line(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.append(lake, [row("first")])
    write = os.write

    def half(file: int, data: memoryview) -> int:
        write(file, bytes(data)[:20])
        raise OSError(errno.EIO, "Input/output error")

    def uncut(_file: int, _size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", half)
    monkeypatch.setattr(os, "ftruncate", uncut)
    with pytest.raises(StorageError, match="Input/output error"):
        landing.append(lake, [row("second")])
    monkeypatch.undo()
    landing.append(lake, [row("third")])
    episodes, _, torn = landed(lake)
    assert sorted(episodes["content"]) == ["first", "third"]
    assert [len(line) for line in torn] == [20]


def test_a_full_disk_refuses_the_row_and_leaves_the_segment_whole(small_disk: Callable[[int], Path]) -> None:
    disk = small_disk(256)
    lake = init_lake(f"{disk}/lake", 4)
    kept = landing.append(lake, [row("first")]).landed

    def land_many() -> None:
        for i in range(100):
            kept.extend(landing.append(lake, [row(f"{i} " + "word " * 2000)]).landed)

    with pytest.raises(StorageError, match="landing rows: the disk is full") as caught:
        land_many()
    assert "Free space" in caught.value.remedy
    episodes, _, torn = landed(lake)
    assert (episodes["episode_id"].to_list(), torn) == (kept, [])
    small_disk(1024)
    kept += landing.append(lake, [row("after")]).landed
    assert set(landed(lake)[0]["episode_id"]) == set(kept)


def lines(lake: Lake) -> list[bytes]:
    landing.append(lake, [row("one"), row("two"), {"content": "three"}], now=NOON)
    return [
        line
        for entry in lake.storage.entries(landing.PREFIX)
        for line in landed_lines.lines_of(lake.storage.read(entry.key) or b"", is_sealed=False)
    ]


def test_an_unfinished_last_line_is_not_there_yet_and_is_torn_once_sealed(lake: Lake) -> None:
    one, two = (line for line in lines(lake) if b'"episodes"' in line)
    data = one + b"\n" + two[:-9]
    assert landed_lines.lines_of(data, is_sealed=False) == [one]
    assert landed_lines.lines_of(two[:-9], is_sealed=False) == []
    sealed = landed_lines.lines_of(data, is_sealed=True)
    rows, torn = landed_lines.segment_rows(sealed, EPISODES)
    assert (rows.height, torn) == (1, [two[:-9]])


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[: len(line) // 2],
        lambda line: b"\x00" * len(line),
        lambda line: b"[1]",
        lambda line: b'{"episodes": 1}',
        lambda line: b'{"other": {}}',
        lambda line: line.replace(b'"content":', b'"contents":'),
        lambda line: line.replace(b'"event_at":"', b'"event_at":"x'),
        lambda line: line.replace(b'"content_chars":3', b'"content_chars":{"a":3}'),
    ],
)
def test_a_damaged_line_is_torn_and_its_neighbours_are_read(
    lake: Lake, damage: Callable[[bytes], bytes]
) -> None:
    good, bad = (line for line in lines(lake) if b'"episodes"' in line)
    assert damage(bad) != bad
    rows, torn = landed_lines.segment_rows([damage(bad), good], EPISODES)
    assert rows.height == 1
    assert torn == [damage(bad)]


def test_rows_of_the_release_before_lack_a_column_that_may_be_null(lake: Lake) -> None:
    record = orjson.loads(next(line for line in lines(lake) if b'"episodes"' in line))
    del record["episodes"]["parent_id"]
    rows, torn = landed_lines.segment_rows([orjson.dumps(record)], EPISODES)
    assert (rows["parent_id"].to_list(), torn) == ([None], [])


def test_a_segment_gives_back_what_was_normalised(lake: Lake) -> None:
    rows = [row(f"text {i} 😀 漢字", tags=["a", "b"], importance=0.5, steps=3) for i in range(5)]
    landing.append(lake, rows, now=NOON, policy=Policy())
    episodes = landed(lake)[0]
    assert dict(episodes.schema) == dict(EPISODES.polars)
    assert episodes["tags"].to_list() == [["a", "b"]] * 5
    assert EPISODES.conform(episodes).equals(episodes)
