"""Rows of those who must not be remembered, on their way in online."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lake import landing, segments
from lake.lake import Lake, init_lake
from lake.rights import standing, tombstones
from lake.storage import Entry, LocalStorage
from tests.lake.made import NOON, environment
from transforms.policy import Policy
from transforms.standing import Standing
from transforms.subjects import Subject

REQUEST = "ab" * 16
ANA = Subject("acme", user="ana")
PROCESSES = Path(__file__).with_name("processes.py")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 2)


def row(text: str = "hello", user: str = "ana", **more: Any) -> dict[str, Any]:
    return {"content": text, "tenant_id": "acme", "user_id": user, **more}


def stored(lake: Lake) -> bytes:
    keys = [entry.key for entry in lake.storage.entries(landing.PREFIX)]
    return b"".join(lake.storage.read(key) or b"" for key in keys)


def told(receipt: landing.Receipt) -> list[tuple[int, str]]:
    return [(one.index, one.reason) for one in receipt.refused]


def test_rows_of_an_erased_user_are_refused_and_not_kept(lake: Lake) -> None:
    tombstones.place(lake, ANA, None, REQUEST)
    receipt = landing.append(lake, [row("zebra"), row("kept", "anabel"), row("zebra", "ben")], now=NOON)
    assert told(receipt) == [(0, "erased_subject")]
    assert len(receipt.landed) == 2
    assert stored(lake).count(b"zebra") == 1
    assert b'"user_id":"ana"' not in stored(lake)


def test_refusals_of_both_kinds_come_in_input_order(lake: Lake) -> None:
    tombstones.place(lake, ANA, None, REQUEST, mark="opted_out")
    rows = [row("", "ben"), row("zebra"), row("", "ana"), row("fine", "ben")]
    receipt = landing.append(lake, rows, now=NOON)
    assert told(receipt) == [(0, "no_content"), (1, "opted_out"), (2, "opted_out")]
    assert len(receipt.landed) == 1
    assert b'"user_id":"ana"' not in stored(lake)  # not in quarantine, either


def test_after_an_erasure_new_rows_land(lake: Lake) -> None:
    tombstones.place(lake, ANA, NOON, REQUEST)
    rows = [row("old", event_at="2026-03-14T12:00:00Z"), row("new", event_at="2026-03-14T12:00:00.000001Z")]
    receipt = landing.append(lake, rows, now=NOON)
    assert told(receipt) == [(0, "erased_subject")]
    assert b"new" in stored(lake)


def test_forbidden_topics_are_refused_for_whom_they_are_forbidden(lake: Lake) -> None:
    standing.save(lake, Standing(ANA, forbidden_topics=("divorce",)))
    rows = [
        row("My Divorces"),
        row("my divorce", "ben"),
        row("divorcee"),
        row("x", metadata={"a": "DIVORCE"}),
    ]
    receipt = landing.append(lake, rows, now=NOON)
    assert told(receipt) == [(0, "forbidden_topic"), (3, "forbidden_topic")]
    assert b"My Divorces" not in stored(lake)


def test_an_agent_and_a_session_can_be_erased_too(lake: Lake) -> None:
    tombstones.place(lake, Subject("acme", agent="bot"), None, REQUEST)
    tombstones.place(lake, Subject("acme", session="s1"), None, REQUEST)
    rows = [row(agent_id="bot"), row(session_id="s1"), row(agent_id="bo", session_id="s11")]
    assert told(landing.append(lake, rows, now=NOON)) == [(0, "erased_subject"), (1, "erased_subject")]


def test_check_says_what_append_would(lake: Lake) -> None:
    tombstones.place(lake, ANA, None, REQUEST)
    for one in (row("zebra"), row("zebra", "ben"), row("", "ben")):
        refused = landing.check(lake, one, Policy(), NOON)
        receipt = landing.append(lake, [one], now=NOON)
        assert receipt.refused == ([refused] if refused else [])
        assert (refused is None) == bool(receipt.landed)


def test_the_look_is_under_the_lock_that_a_sealing_waits_for(lake: Lake) -> None:
    """A writer that looked before the tombstone was placed has written before the sealing is done."""
    looked, placed = threading.Event(), threading.Event()
    held = segments.segment(Path(lake.uri) / "landing" / "000")

    def made() -> bytes:
        looked.set()
        assert placed.wait(10)
        return b"late\n"

    writer = threading.Thread(target=held.append, args=(made,))
    writer.start()
    assert looked.wait(10)
    tombstones.place(lake, ANA, None, REQUEST)
    threading.Timer(0.2, placed.set).start()
    landing.seal(lake)
    assert stored(lake) == b"late\n"
    writer.join()


def test_an_erasure_is_never_outrun_by_writers_of_other_processes(lake: Lake) -> None:
    command = [sys.executable, str(PROCESSES), "land", lake.uri, "ana"]
    writers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
    tombstones.place(lake, ANA, None, REQUEST)
    landing.seal(lake)
    before = stored(lake).count(b"\n")
    said = [writer.communicate(timeout=60)[0].split() for writer in writers]
    assert [reason for _, reason in said] == ["erased_subject"] * 2
    assert before == sum(int(count) for count, _ in said)
    assert stored(lake).count(b"\n") == before


class OneByOne:
    """A store as an object store is, to which something happens right after the first put of landed rows."""

    def __init__(self, storage: LocalStorage, happens: Any) -> None:
        self._storage = storage
        self._happens = happens
        self.uri = storage.uri

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def write(self, key: str, data: bytes) -> None:
        self._storage.write(key, data)
        if key.startswith(landing.PREFIX):
            happens, self._happens = self._happens, lambda: None
            happens()

    def entries(self, prefix: str) -> list[Entry]:
        return self._storage.entries(prefix)


def test_on_an_object_store_it_is_looked_up_again_after_the_put(lake: Lake) -> None:
    assert isinstance(lake.storage, LocalStorage)
    store = OneByOne(lake.storage, lambda: tombstones.place(lake, ANA, None, REQUEST))
    remote = Lake(lake.uri, store, lake.lake_id, lake.buckets)
    receipt = landing.append(remote, [row("zebra"), row("kept", "ben")], now=NOON)
    assert told(receipt) == [(0, "erased_subject")]
    assert len(receipt.landed) == 1
    assert b"zebra" not in stored(lake)
    assert stored(lake).count(b"kept") == 1
