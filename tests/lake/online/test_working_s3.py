"""Working memory on an object store: one object a session, replaced on condition."""

from __future__ import annotations

import threading

import pytest

from lake import landing
from lake.lake import init_lake, open_lake
from lake.online import working_file
from lake.online.working import Session
from lake.online.working_log import SessionName
from lake.storage import Storage
from transforms.policy import Policy

pytestmark = pytest.mark.server
ANA = SessionName("acme", "travel", "s1", "ana")


def opened(uri: str) -> Session:
    return Session(open_lake(uri), ANA, Policy())


def test_a_session_of_several_processes(bucket: str) -> None:
    uri = init_lake(f"{bucket}/working", 2).uri
    landing.append(
        open_lake(uri),
        [{"content": "before", "role": "user", "retention_tier": "session"}],
        tenant_id="acme",
        agent_id="travel",
        session_id="s1",
        user_id="ana",
    )
    sessions = [opened(uri) for _ in range(3)]

    def work(part: int) -> None:
        for number in range(3):
            sessions[part].note(f"{part}-{number}")
            sessions[part].add("user", f"row {part}-{number}")

    threads = [threading.Thread(target=work, args=(part,)) for part in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = opened(uri)
    again.settle()
    expected = {f"{part}-{number}" for part in range(3) for number in range(3)}
    assert set(again.state().notes) == expected
    assert {row.content for row in again.rows()} == {"before", *(f"row {name}" for name in expected)}
    again.close()
    assert opened(uri).rows() == []


def test_a_change_that_another_was_quicker_than_is_made_anew(bucket: str) -> None:
    lake = init_lake(f"{bucket}/race", 2)
    store: Storage = lake.storage
    key = f"{working_file.PREFIX}/000/x.jsonl"
    calls = []

    def step(held: bytes) -> working_file.Write:
        calls.append(held)
        if len(calls) == 1:
            store.write(key, b"theirs\n")
        return working_file.Write(b"ours\n")

    working_file.change(lake, key, step)
    assert calls == [b"", b"theirs\n"]
    assert store.read(key) == b"theirs\nours\n"
    working_file.change(lake, key, lambda _: working_file.Write(b"", is_all=True))
    assert working_file.read(lake, key) == b""
