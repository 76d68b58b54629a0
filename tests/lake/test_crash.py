"""Processes killed at random moments: what was acknowledged is there, once, and nothing half."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from flows.ingest import run_ingest
from flows.job import Job
from lake import landing, queries, tables, upkeep
from lake.lake import Lake, init_lake, open_lake
from tests.lake.made import ROOT, command, environment, episodes, finished, worker
from transforms.policy import Policy
from transforms.schemas import EPISODES


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 4)


def no_model() -> None:
    pytest.fail("ingest asked for a model")


def ingest(lake: Lake) -> None:
    run_ingest(Job(open_lake(lake.uri), Policy(), datetime.now(UTC), no_model), [])


def texts(lake: Lake) -> Counter[str]:
    """First word of each episode, counted."""
    return Counter(t.split(" ", 1)[0] for t in tables.scan(lake, EPISODES).collect()["content"])


def killed_after(process: subprocess.Popen[str], lines: int, seconds: float) -> list[str]:
    """Whole lines said before a kill that comes so long after so many lines."""
    assert process.stdout is not None
    assert process.stderr is not None
    said = [process.stdout.readline() for _ in range(lines)]
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    said += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    return [line.strip() for line in said if line.endswith("\n")]


def test_every_acknowledged_row_is_ingested_once_while_many_write(lake: Lake) -> None:
    processes, rows = 4, 8
    writers = [worker("land", lake.uri, f"p{i}", rows, 2) for i in range(processes)]
    stop = threading.Event()

    def seal_again_and_again() -> None:
        while not stop.wait(0.5):
            ingest(lake)

    sealing = threading.Thread(target=seal_again_and_again)
    sealing.start()
    said = [line for writer in writers for line in finished(writer)]
    stop.set()
    sealing.join()
    ingest(lake)
    assert len(said) == processes * rows * 2
    assert texts(lake) == Counter(said)
    assert landing.seal(lake) == []
    assert queries.query(lake, "check_episode_ids").height == 0


def test_forked_children_have_segments_of_their_own(lake: Lake) -> None:
    said = finished(worker("fork_and_land", lake.uri, 4, PYTHONWARNINGS="ignore"))
    assert len({e.key for e in lake.storage.entries(landing.PREFIX)}) == 3 * len(
        {lake.bucket(f"t{i}") for i in range(3)}
    )
    ingest(lake)
    assert len(said) == 3 * 4 * 2
    assert texts(lake) == Counter(said)


def test_a_child_that_cannot_compute_says_so_and_does_not_hang(lake: Lake) -> None:
    before, told, after = finished(worker("fork_too_late", lake.uri, PYTHONWARNINGS="ignore"))
    assert (before, after) == ("before-0-0", "after-0-0")
    assert "forked after its parent had used slowwave" in told
    ingest(lake)
    assert texts(lake) == Counter([before, after])


def test_killed_writers_lose_no_acknowledged_row_and_leave_no_half_one(lake: Lake) -> None:
    chance = random.Random(7)
    writers = [worker("land", lake.uri, f"k{i}", 100_000, 2) for i in range(5)]
    said = [
        line
        for writer in writers
        for line in killed_after(writer, chance.randint(1, 5), chance.random() / 20)
    ]
    ingest(lake)
    held = texts(lake)
    assert set(said) <= set(held)
    assert set(held.values()) == {1}
    assert len(held) - len(said) <= 5 * 2  # landed, but killed before they could say so: one a thread
    ingest(lake)
    assert texts(lake) == held


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_line_torn_by_a_power_cut_is_quarantined_and_the_rest_lands(lake: Lake, cut: int) -> None:
    for text in ("one", "two"):
        landing.append(lake, [{"content": text, "tenant_id": "acme"}])
    (entry,) = lake.storage.entries(landing.PREFIX)
    path = Path(lake.uri) / entry.key
    path.write_bytes(path.read_bytes()[:-cut])
    ingest(lake)
    ingest(lake)
    kept = {"one", "two"} if cut == 1 else {"one"}
    assert set(texts(lake)) == kept
    found = queries.query(lake, "quarantine_counts").select("reason", "rows").rows()
    assert found == ([] if cut == 1 else [("truncated_json", 1)])


def test_killed_committers_lose_no_acknowledged_batch_and_show_no_half_one(lake: Lake) -> None:
    chance, rows = random.Random(11), 6
    said: list[str] = []
    for round_ in range(2):
        writers = [worker("commit", lake.uri, f"r{round_}t{i}", 100_000, rows) for i in range(5)]
        for writer in writers:
            said += killed_after(writer, chance.randint(1, 3), chance.random() / 10)
        batch = pl.col("content").str.replace("/[0-9]+$", "")
        found = tables.scan(lake, EPISODES).group_by(batch).len().collect()
        assert set(found["len"]) == {rows}
        assert set(said) <= set(found["content"])
        tables.append(lake, EPISODES, episodes(lake, "next", [f"after/{round_}/{i}" for i in range(rows)]))
        said.append(f"after/{round_}")
        upkeep.compact(lake, EPISODES)


def test_a_killed_ingest_goes_on_where_it_was(lake: Lake, tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    row = '{{"content": "row-{}", "tenant_id": "t{}", "user_id": "u", "event_at": "2026-03-01T10:00:00Z"}}\n'
    source.write_text("".join(row.format(i, i % 3) for i in range(3000)))
    for seconds in (0.9, 1.5):
        process = subprocess.Popen(
            [sys.executable, "-m", "flows", "--lake", lake.uri, "ingest", str(source)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            cwd=ROOT,
        )
        time.sleep(seconds)
        process.kill()
        process.wait()
    done = command(lake.uri, "--json", "ingest", source)
    assert done.returncode == 0, done.stderr
    assert texts(lake) == Counter(f"row-{i}" for i in range(3000))
