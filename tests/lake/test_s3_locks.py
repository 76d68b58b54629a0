"""Leases on a real store, held by processes that are killed, stopped and woken."""

from __future__ import annotations

import secrets
import signal
import threading
import time

import pytest

from lake import leases, locks, tables
from lake.lake import Lake, init_lake, open_lake
from tests.lake.made import episodes, worker
from tests.lake.test_s3_killed import started
from transforms.errors import BusyError
from transforms.schemas import EPISODES

pytestmark = pytest.mark.server


@pytest.fixture
def lake(bucket: str, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 2.0)
    return init_lake(f"{bucket}/{secrets.token_hex(4)}", 2)


def held(lake: Lake) -> list[str]:
    return sorted(tables.scan(lake, EPISODES).collect()["content"])


def test_one_holder_and_nothing_left_but_its_token(lake: Lake) -> None:
    with locks.hold(lake, "nightly", 0) as first:
        with pytest.raises(BusyError), locks.hold(open_lake(lake.uri), "nightly", 0):
            pytest.fail("two holders")
        with locks.hold(lake, "commit", 0):
            pass
    with locks.hold(lake, "nightly", 0) as second:
        assert second > first
    assert [entry.key for entry in lake.storage.entries("locks")] == ["locks/commit", "locks/nightly"]


def test_a_killed_holders_lease_runs_out_and_one_contender_gets_it(lake: Lake) -> None:
    holder = worker("hold", lake.uri, "nightly", 0, 60)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    with pytest.raises(BusyError, match=r"killed counts for \d+ s more"), locks.hold(lake, "nightly", 0):
        pytest.fail("the lease has not run out yet")
    start, won, lost, all_lost = threading.Barrier(4), [], [], threading.Event()

    def contend() -> None:
        start.wait()
        try:
            with locks.hold(lake, "nightly", 0) as token:
                won.append(token)
                assert all_lost.wait(60)
        except BusyError:
            lost.append(1)
            if len(lost) == 3:
                all_lost.set()

    time.sleep(leases.LEASE_SECONDS + leases.STAMP_SECONDS + 1)
    threads = [threading.Thread(target=contend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [2]


def test_a_holder_that_slept_through_its_lease_does_not_write(lake: Lake) -> None:
    tables.append(lake, EPISODES, episodes(lake, "t", ["before"]))
    sleeper = started("sleepy", lake.uri)
    assert sleeper.stdout is not None
    assert sleeper.stdout.readline() == "held 1\n"
    sleeper.send_signal(signal.SIGSTOP)
    with locks.hold(lake, "nightly", 20) as token:
        assert token == 2
        sleeper.send_signal(signal.SIGCONT)
        out, _ = sleeper.communicate("go on\n", timeout=60)
        tables.append(lake, EPISODES, episodes(lake, "t", ["the other run"]))
    assert "refused: the nightly lock ran out" in out
    assert "written" not in out
    assert held(lake) == ["before", "the other run"]


def test_workers_of_a_run_stop_when_it_is_gone(lake: Lake) -> None:
    tables.append(lake, EPISODES, episodes(lake, "t", ["before"]))
    with locks.hold(lake, "nightly", 0) as token:
        hand = started("work", lake.uri, token)
        assert hand.stdout is not None
        assert hand.stdout.readline() == "row\n"
    out, _ = hand.communicate(timeout=60)
    assert out.endswith("refused\n")
    with pytest.raises(BusyError):
        locks.require(lake, "nightly", token)
    assert held(lake)[0] == "before"
