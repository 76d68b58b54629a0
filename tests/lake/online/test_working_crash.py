"""Processes on one session, killed at random moments: nothing that was acknowledged is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lake import landed_lines, landing
from lake.lake import Lake, init_lake, open_lake
from lake.online import working_file, working_log
from lake.online.working import Session
from lake.online.working_log import SessionName
from tests.lake.made import ROOT, environment
from tests.lake.online.working_workers import POLICY
from transforms.schemas import EPISODES
from transforms.working.state import folded

WORKERS = Path(__file__).with_name("working_workers.py")
ANA = SessionName("acme", "travel", "s1", "ana")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 4)


def started(lake: Lake, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKERS), "work", lake.uri, name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment())


def said(process: subprocess.Popen[str]) -> list[str]:
    out, _ = process.communicate(timeout=60)
    return [line for line in out.splitlines() if line]


def covered_or_shown(lake: Lake) -> tuple[set[str], int]:
    """First words of rows that the session's window holds, and how many it has summed up."""
    session = Session(open_lake(lake.uri), ANA, POLICY)
    session.settle()
    window = session.window()
    return {row.content.split(" ", 1)[0] for row in window.rows}, window.summed.rows


def landed(lake: Lake) -> list[str]:
    lines = [
        line
        for entry in lake.storage.entries(landing.PREFIX)
        for line in landed_lines.lines_of(lake.storage.read(entry.key) or b"", is_sealed=True)
    ]
    rows, _ = landed_lines.segment_rows(lines, EPISODES)
    return [text.split(" ", 1)[0] for text in rows.sort("event_at")["content"]]


def notes(lake: Lake) -> set[str]:
    key = ANA.key(lake)
    log = working_log.parsed(lake, key, working_file.read(lake, key))
    return set(folded(log.changes, 1_000).notes)


def test_two_processes_on_one_session_lose_nothing(lake: Lake) -> None:
    running = [started(lake, name, 10) for name in ("one", "two")]
    told = [line for process in running for line in said(process)]
    assert len(told) == 40
    rows, summed = covered_or_shown(lake)
    assert sorted(landed(lake)) == sorted(
        line.removeprefix("row ") for line in told if line.startswith("row")
    )
    assert rows == set(landed(lake)[-len(rows) :])
    assert len(rows) + summed == 20
    assert notes(lake) == {line.removeprefix("note ") for line in told if line.startswith("note")}


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_at_any_moment_loses_nothing_acknowledged(lake: Lake, seed: int) -> None:
    rng = random.Random(seed)
    process = started(lake, "p", 200)
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(rng.randint(1, 24))]
    time.sleep(rng.random() * 0.05)
    process.send_signal(signal.SIGKILL)
    told += said(process)
    rows, summed = covered_or_shown(lake)
    held = landed(lake)
    acknowledged = [line.removeprefix("row ") for line in told if line.startswith("row")]
    assert set(acknowledged) <= set(held)
    # A row that landed and was not acknowledged may be missing from the window, no other.
    assert set(acknowledged[-(len(rows) - 1) :]) <= rows
    assert len(acknowledged) <= len(rows) + summed <= len(held)
    noted = [line.removeprefix("note ") for line in told if line.startswith("note")]
    # A quick process has written more than a state holds; one that was not acknowledged may have come, too.
    assert set(noted[-(POLICY.working.state_items - 1) :]) <= notes(lake)
    assert notes(lake) <= {*noted, f"p-{len(noted)}"}
    session = Session(open_lake(lake.uri), ANA, POLICY)
    assert session.note("goes on") is None
    assert "goes on" in notes(lake)
