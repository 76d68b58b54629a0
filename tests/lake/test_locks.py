from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lake import locks, tables
from lake.lake import Lake, init_lake
from tests.lake.made import episodes, finished, worker
from transforms.errors import BusyError, LakeError
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
