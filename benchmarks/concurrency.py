"""Readers of many threads and processes while writers land, publish, retain, erase and roll over the index.

``python -m benchmarks.concurrency [--seconds N]``: no answer may hold an error, a torn row, a row of somebody
else, a row twice, or one that was gone before it was asked for; and none may miss a row that has landed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.concurrency_readers import TENANT, Board, HashedEmbedder, text_of
from flows.embed import run_embed
from flows.erase import run_erase
from flows.ingest import run_ingest
from flows.job import Job, exclusive
from flows.publish import run_publish
from flows.retain import run_retain
from lake import landing
from lake.lake import Lake, init_lake
from transforms.policy import Policy, PublishPolicy
from transforms.subjects import Subject

Emit = Callable[[dict[str, Any]], None]
USERS = 6
LEAVER = f"u{USERS - 1}"
"""The user that is erased as a whole once half of the time is over."""
LIFE_SECONDS = 3


@dataclass(frozen=True)
class Load:
    """How much goes on at once."""

    processes: int = 8
    threads: int = 64
    """Threads of the first process; the others have four each."""
    seconds: float = 60.0
    """At least; the writers finish a round that they began."""
    rows: int = 200
    pause_seconds: float = 0.02
    """Between two searches of a thread: readers that never rest would leave the writers no processor."""


@dataclass
class Writers:
    """What changes the lake, and tells the board of it."""

    lake: Lake
    board: Board
    until: float
    policy: Policy = field(default_factory=lambda: Policy(publish=PublishPolicy(keep_generations=1)))
    done: Counter[str] = field(default_factory=Counter)
    _number: int = 0
    _erased: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def job(self) -> Job:
        """A job of now."""
        return Job(self.lake, self.policy, datetime.now(UTC), HashedEmbedder)

    def land(self, count: int, expires_at: datetime | None = None) -> list[tuple[str, str]]:
        """Land rows of the users in turn, and tell that they are there."""
        with self._lock:
            numbers = range(self._number, self._number + count)
            self._number += count
            owners = [(number, f"u{number % USERS}") for number in numbers]
            named = [(number, user) for number, user in owners if user not in self._erased]
            ends = {} if expires_at is None else {"expires_at": expires_at.isoformat()}
            rows = [
                {"tenant_id": TENANT, "user_id": user, "role": "user", "content": text_of(user, n), **ends}
                for n, user in named
            ]
            landed = landing.append(self.lake, rows, policy=self.policy).landed
            told = [(row, user) for row, (_, user) in zip(landed, named, strict=True)]
            if expires_at is None:
                self.board.say("there", told)
            self.done["landed"] += len(told)
            return told

    def keep_landing(self) -> None:
        """Land a few rows again and again."""
        while time.monotonic() < self.until:
            self.land(3)
            time.sleep(0.05)

    def publish(self) -> None:
        """A new index in place of the live one, which is removed under its readers."""
        run = self.job()
        with exclusive(run):
            run_ingest(run, [])
            run_embed(run)
            state = run_publish(run, force=True).state
        self.done[f"publish {state}"] += 1

    def expire(self) -> None:
        """Rows whose time is over by the next step go with retain; none is shown after its last second."""
        ends = datetime.now(UTC) + timedelta(seconds=LIFE_SECONDS)
        told = self.land(6, ends)
        time.sleep(max(0.0, (ends - datetime.now(UTC)).total_seconds()))
        self.board.say("gone", told)
        run = self.job()
        with exclusive(run):
            run_ingest(run, [])
            run_retain(run)
        self.done["retain"] += 1

    def erase_memory(self) -> None:
        """One memory of a user that is being read."""
        ((row, user), *_) = self.land(2)  # at least one of two is of a user that is still there
        self.publish()
        self.board.say("leaving", [(row, user)])
        run_erase(self.job(), Subject(TENANT, memory=row), basis="gdpr_art_17", requested_by="subject")
        self.board.say("gone", [(row, user)])
        self.done["erase memory"] += 1

    def erase_user(self, user: str) -> None:
        """A whole user, while its scope is read; from then on nothing of it lands, as it was asked for."""
        with self._lock:
            self._erased.add(user)
            self.board.now(user)
            mine = [(row, owner) for row, owner in sorted(self.board.users.items()) if owner == user]
            self.board.say("leaving", mine)
        run_erase(self.job(), Subject(TENANT, user), basis="gdpr_art_17", requested_by="subject")
        self.board.say("gone", mine)
        self.done["erase user"] += 1


def run_load(folder: Path, load: Load) -> dict[str, Any]:
    """Readers and writers on one lake for a while.

    Returns:
        ``faults`` by what they were, ``done`` by writer's step, and by process what its readers saw.
    """
    lake = init_lake(str(folder / "lake"), 2)
    board = Board(folder / "board")
    board.path.touch()
    writers = Writers(lake, board, 0.0)
    writers.land(load.rows)
    writers.publish()
    writers.until = time.monotonic() + load.seconds
    readers = [_start(lake, board, load.threads if i == 0 else 4, load) for i in range(load.processes)]
    lander = threading.Thread(target=writers.keep_landing)
    lander.start()
    steps = [writers.publish, writers.expire, writers.erase_memory]
    turn, half = 0, writers.until - load.seconds / 2
    while time.monotonic() < writers.until or turn < len(steps):  # on a busy machine one round at least
        if time.monotonic() > half and not writers.done["erase user"]:
            writers.erase_user(LEAVER)
        steps[turn % len(steps)]()
        turn += 1
    lander.join()
    board.say("over", [("-", "-")])
    seen = [_ended(process) for process in readers]
    faults = sum((Counter(one["faults"]) for one in seen), Counter[str]())
    return {"faults": dict(faults), "done": dict(writers.done), "readers": seen}


def _start(lake: Lake, board: Board, threads: int, load: Load) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.concurrency_readers", lake.uri, str(board.path)]
    return subprocess.Popen(
        [*command, str(threads), str(USERS), str(load.pause_seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    if process.returncode:
        return {"searches": 0, "faults": {f"a process died: {err[-400:]}": 1}}
    told: dict[str, Any] = json.loads(out)
    return told


def run(emit: Emit, load: Load | None = None) -> None:
    """Measure and hand over one mapping."""
    chosen = load or Load()
    with tempfile.TemporaryDirectory(prefix="slowwave-concurrency-") as folder:
        told = run_load(Path(folder), chosen)
    readers = told["readers"]
    emit(
        {
            "processes": chosen.processes,
            "threads": chosen.threads + 4 * (chosen.processes - 1),
            "seconds": chosen.seconds,
            "searches": sum(one["searches"] for one in readers),
            "faults": told["faults"],
            "done": told["done"],
            "p50_ms": max(one.get("p50_ms", 0) for one in readers),
            "p99_ms": max(one.get("p99_ms", 0) for one in readers),
        }
    )


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=Load.seconds)
    parser.add_argument("--processes", type=int, default=Load.processes)
    parser.add_argument("--threads", type=int, default=Load.threads)
    options = parser.parse_args()
    run(lambda told: print(json.dumps(told)), Load(options.processes, options.threads, options.seconds))


if __name__ == "__main__":
    main()
