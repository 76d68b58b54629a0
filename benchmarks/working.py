"""Working memory: writes and reads of sessions in a warm process, and the first ones of a cold process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from lake import landing
from lake.lake import Lake, init_lake, open_lake
from lake.online.working import Session
from lake.online.working_log import SessionName
from transforms.policy import Policy

SESSIONS = 500
TURNS = 300
"""Turns that are timed: a user's message, a call, its result, an answer; each is one write."""
COLD = 5

Emit = Callable[[dict[str, Any]], None]


def run(emit: Emit) -> None:
    """Measure and hand over one mapping: p50 and p99 in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="slowwave-working-") as folder:
        lake = init_lake(f"{folder}/lake")
        before = _crowd(lake)
        writes, reads, states = _warm(lake)
        cold = [_cold(lake.uri) for _ in range(COLD)]
        landed = sum(e.size_bytes for e in lake.storage.entries(landing.PREFIX))
    emit(
        {
            "sessions": SESSIONS,
            "landed_bytes": landed,
            "writes": len(writes),
            **_shown("first_open", before),
            **_shown("write", writes),
            **_shown("state_write", states),
            **_shown("read", reads),
            "cold_import_ms": _middle([c[0] for c in cold]),
            "cold_first_read_ms": _middle([c[1] for c in cold]),
            "cold_other_read_ms": _middle([c[2] for c in cold]),
            "cold_first_write_ms": _middle([c[3] for c in cold]),
        }
    )


def _name(number: int) -> SessionName:
    return SessionName("acme", f"agent-{number % 10}", f"session-{number}", f"user-{number % 100}")


def _crowd(lake: Lake) -> list[float]:
    """Sessions of one tenant, so of one bucket, with a few rows each. Returns seconds of each opening."""
    opened = []
    for number in range(SESSIONS):
        session = Session(lake, _name(number), Policy())
        began = time.perf_counter()
        session.rows()
        opened.append(time.perf_counter() - began)
        for turn in range(3):
            session.add("user", f"Turn {turn}: the flight leaves at nine. " + "word " * (number % 40))
    return opened


def _warm(lake: Lake) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each write, of each reading of all messages after it, and of each change of the state.

    Each turn is of the next session, as a service of many sessions has them; its reads follow its writes.
    """
    sessions = [Session(lake, _name(number), Policy()) for number in range(50)]
    for session in sessions:
        session.rows()
    writes: list[float] = []
    reads: list[float] = []
    states: list[float] = []
    for turn in range(TURNS):
        session = sessions[turn % len(sessions)]
        for act in _turn(session, turn):
            _timed(act, writes)
            _timed(session.messages, reads)
        _timed(partial(session.note, f"week {turn} is booked"), states)
    return writes, reads, states


def _turn(session: Session, turn: int) -> list[Callable[[], object]]:
    """The writes of a turn."""
    link, found = f"call_{turn}", f"We found {turn} rooms. " + "room " * 40
    return [
        partial(session.add, "user", f"Is there a room with a view of the sea in week {turn}?"),
        partial(session.add_tool_call, "search", {"week": turn}, call_id=link),
        partial(session.add_tool_result, link, found, name="search"),
        partial(session.add, "assistant", f"We decided on the room of week {turn} with breakfast."),
    ]


def _timed(act: Callable[[], object], into: list[float]) -> None:
    began = time.perf_counter()
    act()
    into.append(time.perf_counter() - began)


def _cold(uri: str) -> tuple[float, float, float, float]:
    """Seconds of importing, of the first read, of one of another session, and of the first write."""
    code = (
        "import time; t = [time.perf_counter()]\n"
        "from benchmarks import working\n"
        "t.append(time.perf_counter())\n"
        f"working.first({uri!r}, t)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    first, second, third, fourth = map(float, out.split())
    return first, second, third, fourth


def first(uri: str, times: list[float]) -> None:
    """In a process of its own: read two sessions, write to one, print the seconds of each."""
    lake = open_lake(uri)
    for act in (
        lambda: Session(lake, _name(1), Policy()).messages(),
        lambda: Session(lake, _name(2), Policy()).messages(),
        lambda: Session(lake, _name(1), Policy()).add("user", "And the one after?"),
    ):
        act()
        times.append(time.perf_counter())
    print(*(after - before for before, after in pairwise(times)))


def _middle(times: list[float]) -> float:
    return round(sorted(times)[len(times) // 2] * 1000, 2)


def _shown(name: str, times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    points = {"p50": 0.5, "p99": 0.99}
    return {
        f"{name}_{point}_ms": round(ordered[int(share * (len(ordered) - 1))] * 1000, 2)
        for point, share in points.items()
    }
