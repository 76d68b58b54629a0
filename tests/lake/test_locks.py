from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lake import leases, locks, tables
from lake.lake import Lake, init_lake
from lake.storage import Dated, Entry
from tests.lake.made import episodes, finished, worker
from transforms.errors import BusyError, LakeError, StorageError
from transforms.schemas import EPISODES


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 4)


def test_one_holder_at_a_time_also_between_threads(lake: Lake) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(5):
            with locks.hold(lake, "commit", 30):
                inside += 1
                most = max(most, inside)
                time.sleep(0.002)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_names_do_not_hinder_each_other(lake: Lake) -> None:
    with locks.hold(lake, "nightly", 0), locks.hold(lake, "commit", 0):
        pass


def test_a_second_one_declines_at_once_or_after_its_wait(lake: Lake) -> None:
    with locks.hold(lake, "nightly", 0):
        with pytest.raises(BusyError) as caught, locks.hold(lake, "nightly", 0):
            pytest.fail("two holders")
        assert caught.value.message == "another run holds the nightly lock of this lake"
        assert "on_busy" in caught.value.remedy
        with pytest.raises(BusyError, match="waited"), locks.hold(lake, "nightly", 0.2):
            pytest.fail("two holders")
    with locks.hold(lake, "nightly", 0):
        pass


def test_a_failing_block_frees_it(lake: Lake) -> None:
    with pytest.raises(ZeroDivisionError), locks.hold(lake, "nightly", 0):
        raise ZeroDivisionError
    with locks.hold(lake, "nightly", 0):
        pass


def test_another_process_waits_and_kill_9_frees_it(lake: Lake) -> None:
    holder = worker("hold", lake.uri, "nightly", 0, 60)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(BusyError), locks.hold(lake, "nightly", 0):
        pytest.fail("two holders")
    waiter = worker("hold", lake.uri, "nightly", 60, 0)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert finished(waiter) == ["held"]


def test_a_lock_file_that_cannot_be_made(tmp_path: Path) -> None:
    lake = init_lake(f"{tmp_path}/lake", 4)
    (tmp_path / "lake" / "locks").write_bytes(b"")
    with pytest.raises(LakeError, match="locking nightly"), locks.hold(lake, "nightly", 0):
        pytest.fail("held")


def test_each_holder_has_a_greater_token_also_after_one_that_was_killed(lake: Lake) -> None:
    tokens = []
    for _ in range(3):
        with locks.hold(lake, "nightly", 0) as token:
            tokens.append(token)
            assert locks.token(lake, "nightly") == token
            assert locks.token(lake, "commit") is None
        assert locks.token(lake, "nightly") is None
    holder = worker("hold", lake.uri, "nightly", 0, 60)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    with locks.hold(lake, "nightly", 0) as token:
        tokens.append(token)
    assert tokens == [1, 2, 3, 5]


def test_a_worker_of_a_run_writes_only_while_that_run_holds_the_lake(lake: Lake) -> None:
    def write(name: str, token: int) -> None:
        with locks.under(lake, "nightly", token):
            tables.append(lake, EPISODES, episodes(lake, "t", [name]))

    with locks.hold(lake, "nightly", 0) as first:
        locks.require(lake, "nightly", first)
        write("while it is held", first)
        with pytest.raises(BusyError, match="nightly lock ran out"):
            locks.require(lake, "nightly", first + 1)
    with pytest.raises(BusyError):  # nobody holds it
        write("after its end", first)
    with locks.hold(lake, "nightly", 0) as second:
        with pytest.raises(BusyError):  # another does
            write("under another run", first)
        write("the other", second)
    assert sorted(tables.scan(lake, EPISODES).collect()["content"]) == ["the other", "while it is held"]


def test_workers_that_ask_do_not_make_a_run_decline(lake: Lake) -> None:
    stop = threading.Event()
    with locks.hold(lake, "nightly", 0) as token:
        pass

    def ask() -> None:
        while not stop.is_set():
            with suppress(BusyError):
                locks.require(lake, "nightly", token)

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(20):
            with locks.hold(lake, "nightly", 0):
                pass
    finally:
        stop.set()
        for asker in askers:
            asker.join()


def test_a_run_waits_for_a_commit_of_the_run_before(lake: Lake) -> None:
    """A worker that stands in a commit while its run is killed: the next run begins after that commit."""
    holder = worker("hold", lake.uri, "nightly", 0, 60)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    orphan = worker("commit_slowly", lake.uri, "nightly", 1, 2)
    assert orphan.stdout is not None
    assert orphan.stdout.readline() == "inside\n"
    holder.kill()
    holder.communicate()
    with locks.hold(lake, "nightly", 0):
        assert finished(orphan) == ["committed"]
    late = worker("commit_slowly", lake.uri, "nightly", 1, 0)
    assert late.wait() != 0
    late.communicate()


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
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.6)
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
        time.sleep(1.0)  # longer than the lease
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
        assert time.monotonic() - began >= 0.6
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
    time.sleep(0.7)
    start, won, lost = threading.Barrier(6), [], []

    def contend() -> None:
        start.wait()
        try:
            with locks.hold(remote(store), "nightly", 0):
                won.append(1)
                time.sleep(0.4)
        except BusyError:
            lost.append(1)

    threads = [threading.Thread(target=contend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)


def test_a_store_that_is_away_for_a_moment_costs_nothing(store: Memory) -> None:
    with locks.hold(remote(store), "nightly", 0):
        store.is_down = True
        time.sleep(0.25)
        store.is_down = False
        time.sleep(0.6)
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
            time.sleep(0.4)

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
