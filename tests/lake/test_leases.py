"""Leases, on a store in memory whose clock and failures the tests set."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from lake import leases, locks
from lake.lake import Lake
from lake.storage import Dated, Entry
from transforms.errors import BusyError, StorageError


class Memory:
    """An object store with conditional writes, and a switch that makes it fail."""

    uri = "s3://bucket/lake"

    def __init__(self) -> None:
        self.held: dict[str, tuple[bytes, int]] = {}
        self.written: dict[str, datetime] = {}
        self.ahead = timedelta(0)
        self.writes = 0
        self.is_down = False
        self.guard = threading.Lock()

    @contextmanager
    def call(self) -> Iterator[None]:
        with self.guard:
            if self.is_down:
                raise StorageError("the store is away")
            yield

    def read(self, key: str) -> bytes | None:
        with self.call():
            return self.held[key][0] if key in self.held else None

    def read_dated(self, key: str) -> Dated | None:
        with self.call():
            if key not in self.held:
                return None
            data, number = self.held[key]
            return Dated(data, str(number), self.written[key])

    def put(self, key: str, data: bytes) -> None:
        self.writes += 1
        self.held[key] = (data, self.writes)
        self.written[key] = datetime.now(UTC) + self.ahead

    def write(self, key: str, data: bytes) -> None:
        with self.call():
            self.put(key, data)

    def create(self, key: str, data: bytes) -> bool:
        with self.call():
            if key in self.held:
                return False
            self.put(key, data)
            return True

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        with self.call():
            if key not in self.held or str(self.held[key][1]) != tag:
                return False
            self.put(key, data)
            return True

    def entries(self, prefix: str) -> list[Entry]:
        return []

    def delete(self, key: str) -> None:
        with self.call():
            self.held.pop(key, None)

    def sweep(self, prefix: str, older_than_seconds: float) -> int:
        return 0


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 1.5)
    monkeypatch.setattr(leases, "STAMP_SECONDS", 0.0)
    monkeypatch.setattr(locks, "_LEASE_POLL_SECONDS", 0.02)
    return Memory()


def is_free(store: Memory) -> bool:
    """Given back, its token kept, and nothing else left beside it."""
    return (
        list(store.held) == ["locks/nightly"] and json.loads(store.held["locks/nightly"][0])["owner"] is None
    )


def remote(store: Memory) -> Lake:
    return Lake(store.uri, store, "id", 4)


def test_a_lease_is_renewed_while_it_is_held_and_gone_afterwards(store: Memory) -> None:
    with locks.hold(remote(store), "nightly", 0):
        first = store.held["locks/nightly"]
        time.sleep(2.5)  # longer than the lease
        assert store.held["locks/nightly"][1] > first[1]
        with pytest.raises(BusyError), locks.hold(remote(store), "nightly", 0):
            pytest.fail("two holders")
    assert is_free(store)


def dead(store: Memory, token: int = 4) -> None:
    store.write("locks/nightly", json.dumps({"owner": "dead", "token": token}).encode())


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(days=-3), timedelta(hours=5)])
def test_a_dead_holders_lease_is_taken_over_after_its_end_only(store: Memory, ahead: timedelta) -> None:
    """By the store's clock, wherever that stands."""
    store.ahead = ahead
    began = time.monotonic()
    dead(store)
    with pytest.raises(BusyError), locks.hold(remote(store), "nightly", 0):
        pytest.fail("taken over early")
    with locks.hold(remote(store), "nightly", 5) as token:
        assert time.monotonic() - began >= 1.5
        assert token == 5
    assert is_free(store)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"owner": null}', b'{"owner": "x", "token": "y"}'])
def test_a_lease_that_cannot_be_read_is_taken_over(store: Memory, raw: bytes) -> None:
    store.write("locks/nightly", raw)
    with locks.hold(remote(store), "nightly", 0):
        pass
    assert is_free(store)


def test_of_many_contenders_for_a_dead_lease_one_wins(store: Memory) -> None:
    dead(store)
    time.sleep(1.75)
    start, won, lost, all_lost = threading.Barrier(6), [], [], threading.Event()

    def contend() -> None:
        start.wait()
        try:
            with locks.hold(remote(store), "nightly", 0):
                won.append(1)
                assert all_lost.wait(60)
        except BusyError:
            lost.append(1)
            if len(lost) == 5:
                all_lost.set()

    threads = [threading.Thread(target=contend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)


def test_a_store_that_is_away_for_a_moment_costs_nothing(store: Memory) -> None:
    with locks.hold(remote(store), "nightly", 0):
        store.is_down = True
        time.sleep(0.6)
        store.is_down = False
        time.sleep(1.5)
        assert store.held["locks/nightly"]
    assert is_free(store)


def test_a_run_that_lost_its_lease_says_so_and_leaves_the_new_holders_alone(store: Memory) -> None:
    other = json.dumps({"owner": "other", "token": 2}).encode()

    def lose() -> None:
        with locks.hold(remote(store), "nightly", 0) as token:
            locks.require(remote(store), "nightly", token)
            store.write("locks/nightly", other)
            with pytest.raises(BusyError):
                locks.require(remote(store), "nightly", token)
            time.sleep(1.0)

    with pytest.raises(BusyError, match="ran out while this run worked"):
        lose()
    assert store.held["locks/nightly"][0] == other


def test_a_created_lease_whose_answer_was_lost_is_still_ours(
    store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = store.create

    def deaf(key: str, data: bytes) -> bool:
        create(key, data)
        return False

    monkeypatch.setattr(store, "create", deaf)
    with locks.hold(remote(store), "nightly", 0):
        pass
    assert is_free(store)
