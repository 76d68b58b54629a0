"""kill -9 in the middle of a write to the store: all of it is there afterwards, or nothing."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from flows.embed import run_embed
from flows.publish import run_publish
from lake import landing, tables
from lake.erasure import history
from lake.index_record import read_pointer
from lake.lake import Lake, init_lake, open_lake
from lake.storage import S3Storage
from tests.flows.lakes import ingest, job_on, row, write
from tests.lake.made import ROOT, environment, episodes
from tests.lake.s3_store import Weather
from transforms.schemas import EPISODES

pytestmark = pytest.mark.server
WORKER = Path(__file__).with_name("s3_worker.py")


@pytest.fixture
def lake(weather: Weather) -> Lake:
    del weather
    lake = init_lake(f"s3://lakes/{secrets.token_hex(4)}", 2)
    tables.append(lake, EPISODES, episodes(lake, "t", ["before"]))
    return lake


def started(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WORKER), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=ROOT,
    )


def killed_at(weather: Weather, verb: str, uri: str, part: str, *, passes: bool) -> None:
    """Run a worker, and kill it while its put of a key with a certain part in it is on the way."""
    weather.reached.clear()
    weather.let_go.clear()
    weather.ended.clear()
    weather.matches = lambda method, path: method == "PUT" and part in path
    weather.fails, weather.how, weather.is_lost = 1, "held", not passes
    process = started(verb, uri)
    try:
        assert weather.reached.wait(60), "the worker never came to it"
    finally:
        process.kill()
        out, _ = process.communicate()
    weather.let_go.set()
    assert weather.ended.wait(60)
    assert "acknowledged" not in out


def contents(lake: Lake) -> list[str]:
    return sorted(tables.scan(lake, EPISODES).collect()["content"])


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("part", [".parquet", "_delta_log/0"])
def test_an_append(weather: Weather, lake: Lake, part: str, passes: bool) -> None:
    killed_at(weather, "append", lake.uri, part, passes=passes)
    is_committed = part.startswith("_delta") and passes
    assert contents(lake) == sorted(["before", *(["one", "two"] if is_committed else [])])
    left = history.stale_files(lake, EPISODES)
    assert bool(left) == (
        not is_committed and (passes or part.startswith("_delta"))
    )  # a file no commit names
    tables.append(lake, EPISODES, episodes(lake, "t", ["after"]))
    assert "after" in contents(lake)
    history.clear(lake, [EPISODES])  # as an erasure does
    assert history.stale_files(lake, EPISODES) == {}
    assert contents(lake) == sorted(["after", "before", *(["one", "two"] if is_committed else [])])


@pytest.mark.parametrize("passes", [False, True])
def test_a_landing_put(weather: Weather, lake: Lake, passes: bool) -> None:
    killed_at(weather, "land", lake.uri, "landing/", passes=passes)
    held = [lake.storage.read(key) or b"" for key in landing.seal(lake)]
    assert [raw.count(b"\n") for raw in held] == ([1] if passes else [])
    assert all(raw.endswith(b"\n") for raw in held)


def test_an_upload_in_parts(lake: Lake) -> None:
    storage = lake.storage
    assert isinstance(storage, S3Storage)
    process = started("pieces", lake.uri)
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline() == "piece\n"
    process.kill()
    process.communicate()
    assert storage.half_written("tables/") == history.half_written(lake) == 1
    assert storage.half_written("index/") == 0
    assert contents(lake) == ["before"]
    assert not [entry for entry in storage.entries("") if "large" in entry.key]  # no listing shows it
    assert storage.sweep("tables/episodes", 3600) == 0  # it may be that of a living writer
    assert history.half_written(lake) == 1
    history.clear(lake, [EPISODES])
    assert history.half_written(lake) == 0


@pytest.mark.parametrize("passes", [False, True])
def test_an_index_switch(weather: Weather, tmp_path: Path, passes: bool) -> None:
    job = job_on(f"s3://lakes/{secrets.token_hex(4)}")  # type: ignore[arg-type]  an address is all it needs
    ingest(job, write(tmp_path / "rows.jsonl", [row(1), row(2)]))
    run_embed(job)
    run_publish(job)
    killed_at(weather, "publish", job.lake.uri, "index/CURRENT", passes=passes)
    pointer = read_pointer(open_lake(job.lake.uri))
    assert pointer is not None
    assert pointer.generation == ("gen-000002" if passes else "gen-000001")
    again = run_publish(job, force=True)
    pointer = read_pointer(job.lake)
    assert pointer is not None
    assert pointer.generation == again.generation
    held = {entry.key.split("/")[1] for entry in job.lake.storage.entries("index/")} - {"CURRENT"}
    assert held == set(pointer.kept())  # what the killed one left is gone, or is kept as it was live
