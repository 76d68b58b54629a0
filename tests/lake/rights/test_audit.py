from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.lake import Lake, init_lake
from lake.rights import audit
from tests.lake.made import NOON, environment
from transforms.errors import LakeError, UsageError

PROCESSES = Path(__file__).with_name("processes.py")
HEX = "ab" * 16


def run(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROCESSES), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 2)


def filled(lake: Lake, count: int = 5) -> list[audit.Entry]:
    return [
        audit.append(lake, "erase_done", at=NOON, subject_hash=HEX, request_id=HEX, counts={"rows": n})
        for n in range(count)
    ]


def path(lake: Lake, seq: int) -> Path:
    return Path(lake.uri) / audit.key_of(seq)


def record(lake: Lake, seq: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path(lake, seq).read_bytes())
    return found


def write(lake: Lake, seq: int, told: dict[str, Any]) -> None:
    path(lake, seq).write_text(json.dumps(told, sort_keys=True, separators=(",", ":")))


def broken(lake: Lake) -> str | None:
    return audit.verify(lake).broken


def test_events_follow_one_another(lake: Lake) -> None:
    assert audit.verify(lake) == audit.Verified(0, None, None)
    assert audit.head(lake) is None
    told = filled(lake)
    assert [one.seq for one in told] == [1, 2, 3, 4, 5]
    assert audit.verify(lake) == audit.Verified(5, told[-1], None)
    assert audit.head(lake) == told[-1]
    assert audit.entries(lake) == told
    assert record(lake, 1)["prev"] == audit.genesis(lake)
    assert all(record(lake, n)["prev"] == record(lake, n - 1)["hash"] for n in range(2, 6))


def test_an_event_is_of_its_own_lake(lake: Lake, tmp_path: Path) -> None:
    other = init_lake(f"{tmp_path}/other", 2)
    filled(lake, 1), filled(other, 1)
    path(lake, 1).write_bytes(path(other, 1).read_bytes())
    assert broken(lake) == "event 1 does not follow event 0"


def test_instants_are_utc(lake: Lake) -> None:
    cest = timezone(timedelta(hours=2))
    assert audit.append(lake, "x", at=datetime(2026, 7, 1, 2, tzinfo=cest)).at == "2026-07-01T00:00:00+00:00"


@pytest.mark.parametrize(
    "counts",
    [
        {"text": "Mail me at once"},
        {"mail": "ann@example.com"},
        {"name": "Ann"},
        {"ratio": 0.5},
        {"is_done": True},
        {"nested": {"a": 1}},
        {"long": "z" * 41},
        {"no word!": 1},
        {"none": None},
    ],
)
def test_content_is_not_taken(lake: Lake, counts: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        audit.append(lake, "x", at=NOON, counts=counts)
    assert not any(str(value) in str(caught.value) for value in counts.values() if value is not True)
    assert audit.entries(lake) == []


@pytest.mark.parametrize("ids", [{"subject_hash": "ana"}, {"request_id": "for Ann"}])
def test_ids_are_hex(lake: Lake, ids: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        audit.append(
            lake, "x", at=NOON, subject_hash=ids.get("subject_hash"), request_id=ids.get("request_id")
        )


def test_counts_hashes_instants_and_words_are_taken(lake: Lake) -> None:
    counts: dict[str, int | str] = {
        "rows": 3,
        "sha256": "0f" * 32,
        "due": "2026-07-01T00:00:00+00:00",
        "state": "read_back.done-1",
    }
    assert audit.append(lake, "x", at=NOON, counts=counts).counts == counts
    assert broken(lake) is None


def changed(lake: Lake) -> None:
    write(lake, 3, {**record(lake, 3), "counts": {"rows": 99}})


def changed_and_hashed_anew(lake: Lake) -> None:
    told = {**record(lake, 3), "counts": {"rows": 99}}
    write(lake, 3, {**told, "hash": audit.hash_of(told)})


def taken_out(lake: Lake) -> None:
    path(lake, 3).unlink()


def first_taken_out(lake: Lake) -> None:
    path(lake, 1).unlink()


def reordered(lake: Lake) -> None:
    second, third = path(lake, 2).read_bytes(), path(lake, 3).read_bytes()
    path(lake, 2).write_bytes(third)
    path(lake, 3).write_bytes(second)


def renumbered(lake: Lake) -> None:
    """Event 3 taken out and the later ones moved up."""
    path(lake, 3).unlink()
    path(lake, 4).rename(path(lake, 3))
    path(lake, 5).rename(path(lake, 4))


def torn(lake: Lake) -> None:
    path(lake, 3).write_bytes(path(lake, 3).read_bytes()[:40])


def not_canonical(lake: Lake) -> None:
    path(lake, 3).write_text(json.dumps(record(lake, 3), indent=1))


def truncated(lake: Lake) -> None:
    path(lake, 5).unlink()


def all_gone(lake: Lake) -> None:
    for seq in range(1, 6):
        path(lake, seq).unlink()


def foreign(lake: Lake) -> None:
    (Path(lake.uri) / "audit" / "note.json").write_text("{}")


def head_gone(lake: Lake) -> None:
    (Path(lake.uri) / audit.HEAD).unlink()


def head_damaged(lake: Lake) -> None:
    (Path(lake.uri) / audit.HEAD).write_text("{")


def head_of_another(lake: Lake) -> None:
    (Path(lake.uri) / audit.HEAD).write_text(json.dumps({"seq": 4, "hash": "00" * 32}))


@pytest.mark.parametrize(
    ("tamper", "length", "told"),
    [
        (changed, 2, "event 3 was changed"),
        (changed_and_hashed_anew, 3, "event 4 does not follow event 3"),
        (taken_out, 2, "event 3 is missing"),
        (first_taken_out, 0, "event 1 is missing"),
        (reordered, 1, "event 2 was moved: it calls itself 3"),
        (renumbered, 2, "event 3 was moved: it calls itself 4"),
        (torn, 2, "event 3 cannot be read"),
        (not_canonical, 2, "event 3 cannot be read"),
        (truncated, 4, "event 5 is missing: HEAD names event 5, the chain ends at 4"),
        (all_gone, 0, "event 1 is missing: HEAD names event 5, the chain ends at 0"),
        (foreign, 5, "1 files are no events, such as number 7 of audit/"),
        (head_gone, 5, "HEAD is missing"),
        (head_damaged, 5, "HEAD is damaged"),
        (head_of_another, 5, "HEAD names another event 4"),
    ],
)
def test_the_first_broken_link_is_named(
    lake: Lake, tamper: Callable[[Lake], None], length: int, told: str
) -> None:
    filled(lake)
    assert broken(lake) is None
    tamper(lake)
    found = audit.verify(lake)
    assert (found.length, found.broken) == (length, told)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = init_lake(str(tmp_path_factory.mktemp("audit") / "lake"), 2)
    filled(lake, 4)
    return lake


@given(seq=st.integers(1, 4), place=st.integers(0, 10_000), byte=st.integers(0, 255))
@settings(max_examples=100)
def test_no_byte_of_an_event_can_be_changed(four: Lake, seq: int, place: int, byte: int) -> None:
    whole = path(four, seq).read_bytes()
    raw = bytearray(whole)
    raw[place % len(raw)] = byte
    path(four, seq).write_bytes(bytes(raw))
    try:
        assert (broken(four) is None) == (bytes(raw) == whole)
    finally:
        path(four, seq).write_bytes(whole)


def test_after_a_cut_the_next_event_leaves_the_gap_in_sight(lake: Lake) -> None:
    filled(lake)
    truncated(lake)
    assert audit.append(lake, "later", at=NOON).seq == 6
    assert broken(lake) == "event 5 is missing"


def test_the_chain_goes_on_without_its_head(lake: Lake) -> None:
    filled(lake)
    head_gone(lake)
    assert audit.append(lake, "later", at=NOON).seq == 6
    assert broken(lake) is None


def test_a_damaged_event_in_the_way_is_told(lake: Lake) -> None:
    filled(lake)
    path(lake, 6).write_text("{")
    with pytest.raises(LakeError, match=r"audit/000000000006\.json cannot be read"):
        audit.append(lake, "later", at=NOON)


def test_writers_in_several_processes_make_one_chain(lake: Lake) -> None:
    writers = [run("events", lake.uri, f"writer{n}", "10") for n in range(3)]
    said = [int(line) for writer in writers for line in writer.communicate(timeout=60)[0].split()]
    assert sorted(said) == list(range(1, 31))
    assert audit.verify(lake).length == 30
    assert broken(lake) is None


def test_killed_between_event_and_head_the_chain_holds(lake: Lake) -> None:
    for length in (1, 2, 4):
        killed = run("event_without_head", lake.uri)
        killed.communicate(timeout=60)
        assert killed.returncode == -9
        assert audit.verify(lake).length == length
        assert broken(lake) is None
        newest = audit.head(lake)
        assert newest is not None
        assert (newest.seq, newest.kind) == (length, "killed")
        if length == 2:
            assert audit.append(lake, "later", at=datetime.now(UTC)).seq == 3
