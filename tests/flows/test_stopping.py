"""Ctrl-C and SIGTERM in real processes: the end is quick and clean, and the same call goes on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from flows import verbs
from flows.__main__ import main
from flows.progress_memory import descendants
from flows.progress_meter import counted
from flows.stopping import ANEW, RESUME, Stopped, stoppable
from lake import tables
from lake.index import read_pointer
from lake.lake import Lake, init_lake, open_lake
from lake.revisions import standing
from tests.flows.lakes import environment, row, write
from transforms.schemas import CONVERSATIONS, EPISODES, FACTS, RUNS, SUMMARIES, VECTORS

AT = ("--as-of", "2026-07-01T00:00:00Z")
ROWS = 800
QUICK_SECONDS = 12.0
"""Within which a run must end; a quiet machine takes one or two."""
LINUX = Path("/proc/self/statm").exists()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input, a configuration with two workers, and a lake whose night nobody disturbed."""
    place = tmp_path_factory.mktemp("stopping")
    rows = [
        row(n, tenant_id=f"t{n % 5}", user_id=f"u{n % 17}", session_id=f"s{n % 40}", content=_words(n))
        for n in range(ROWS)
    ]
    write(place / "a.jsonl", rows)
    (place / "slowwave.toml").write_text(
        "[ingest]\nbatch_rows = 200\ncommit_rows = 400\n[embed]\nbatch_rows = 100\n"
        "[engine]\nworkers = 2\nleast_rows = 0\n"
    )
    init_lake(str(place / "calm"), 4)
    done = subprocess.run(call("calm", place), cwd=place, env=environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return place


def _words(number: int) -> str:
    return f"I live in Town{number % 13} and work at the harbour office on pier {number * 7 % 11}."


def call(lake: str, place: Path, *more: str) -> list[str]:
    """The night of a lake in the folder, told in lines."""
    words = ["--lake", lake, "nightly", "a.jsonl", *AT, "--progress", "lines", *more]
    return [sys.executable, "-m", "flows", *words]


@dataclass
class Ended:
    """How a process ended: its code, what it said last, how long that took, and who outlived it."""

    code: int
    said: list[str]
    seconds: float
    orphans: list[int]

    @property
    def last(self) -> str:
        return self.said[-1]


def stopped_at(task: str, number: int, lake: str, place: Path, *more: str) -> Ended:
    """Start a night, send the signal when the task begins, and wait."""
    process = subprocess.Popen(
        call(lake, place, *more), cwd=place, env=environment(), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said, began, below = [], 0.0, list[int]()
    for line in process.stderr:
        said.append(line.rstrip())
        if not began and re.search(f"event=(start|progress) task={task} ", line):
            time.sleep(0.1)
            below = descendants(process.pid)
            began = time.monotonic()
            process.send_signal(number)
    process.stderr.close()
    code = process.wait(60)
    seconds = time.monotonic() - began
    assert began, f"task {task} never began: {said}"
    return Ended(code, said, seconds, [pid for pid in below if _runs(pid)])


def _runs(pid: int) -> bool:
    """Whether it goes on; one that has ended stays in the list until whoever inherited it looks."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state in "ZX":
            return False
        time.sleep(0.05)
    return True


def held(lake: Lake) -> dict[str, pl.DataFrame]:
    """What a lake holds, without what depends on when it was written."""
    found = {table.name: standing(lake, table) for table in (FACTS, CONVERSATIONS, SUMMARIES)}
    for table in (EPISODES, VECTORS):
        rows = tables.scan(lake, table).collect().sort(table.key)
        found[table.name] = rows.drop("ingested_at", "embedded_at", "source_line", strict=False)
    return found


STOPS = (
    ("ingest", "ingest", signal.SIGINT),
    ("embed", "embed", signal.SIGTERM),
    ("consolidate", "consolidate", signal.SIGINT),
    ("publish", "publish", signal.SIGTERM),
)
"""Task, its step, and the signal that comes while it works."""


def test_nights_that_signals_end_again_and_again_come_to_what_an_undisturbed_one_does(folder: Path) -> None:
    lake = init_lake(str(folder / "rough"), 4)
    for task, step, number in STOPS:
        ended = stopped_at(task, number, "rough", folder)
        assert ended.code == 128 + number, ended.said
        assert ended.seconds < QUICK_SECONDS
        assert ended.orphans == []
        assert ended.last.startswith("slowwave: stopped"), ended.said[-9:]
        assert ended.last.endswith(RESUME)
        assert ("by SIGTERM" in ended.last) == (number == signal.SIGTERM)
        assert "Traceback" not in "\n".join(ended.said)
        runs = tables.scan(lake, RUNS).filter(pl.col("step") == step).collect().sort("started_at")
        assert runs.select("state", "error").row(-1) == ("failed", "interrupted")
    assert_goes_on("rough", folder)


def assert_goes_on(lake: str, folder: Path, *more: str) -> None:
    """The same call ends well, and the lake holds what the calm one does."""
    again = subprocess.run(
        call(lake, folder, *more), cwd=folder, env=environment(), capture_output=True, check=False
    )
    assert again.returncode == 0, again.stderr.decode()
    rough, calm = (held(open_lake(str(folder / name))) for name in (lake, "calm"))
    for name, rows in calm.items():
        assert rows.height > 0
        assert rough[name].equals(rows), name
    assert read_pointer(open_lake(str(folder / lake))) is not None


@pytest.mark.skipif(find_spec("distributed") is None, reason="needs the cluster extra")
@pytest.mark.server
def test_a_signal_ends_the_workers_of_dask(folder: Path) -> None:
    init_lake(str(folder / "dask"), 4)
    ended = stopped_at("consolidate", signal.SIGTERM, "dask", folder, "--engine", "dask")
    assert (ended.code, ended.orphans) == (143, [])
    assert ended.last.startswith("slowwave: stopped by SIGTERM")
    assert_goes_on("dask", folder, "--engine", "dask")


# The mechanism by itself

STUBBORN = """
import subprocess, sys, time
from flows.stopping import stoppable
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with stoppable(lambda stopped: print(stopped.message, file=sys.stderr, flush=True), grace_seconds={grace}):
    said = [str(child.pid)]
    while True:
        try:
            while said:  # inside, for the signal comes as soon as it is read
                print(said.pop(), flush=True)
            time.sleep(60)
        except KeyboardInterrupt:  # as a library that swallows it
            print("swallowed", flush=True)
"""


@pytest.fixture
def stubborn() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def _start(started: list[subprocess.Popen[str]], grace: float) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", STUBBORN.format(grace=grace)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.append(process)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.skipif(not LINUX, reason="only Linux tells of other processes")
def test_a_second_signal_ends_it_at_once_with_all_it_started(stubborn: list[subprocess.Popen[str]]) -> None:
    process, child = _start(stubborn, 600)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "swallowed\n"
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert not _runs(child)
    assert process.stderr is not None
    assert process.stderr.read() == "stopped\n"


@pytest.mark.skipif(not LINUX, reason="only Linux tells of other processes")
def test_what_does_not_come_back_is_ended_after_the_grace(stubborn: list[subprocess.Popen[str]]) -> None:
    process, child = _start(stubborn, 0.3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 143
    assert not _runs(child)
    assert process.stderr is not None
    assert process.stderr.read() == "stopped by SIGTERM\n"


def test_a_stop_where_nothing_may_be_raised_is_kept_for_the_next_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Torn:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    class Faulty:
        def __del__(self) -> None:
            raise ValueError("of the destructor")

    told: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda met: told.append(str(met.exc_value)))
    before = sys.unraisablehook
    with stoppable(lambda _: None), counted("embed", None, "rows") as advance:
        Torn()
        Faulty()
        with pytest.raises(Stopped):
            advance(1)
    assert told == ["of the destructor"]
    assert sys.unraisablehook is before


def test_handlers_of_before_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stoppable(lambda _: None):
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_with_json_the_last_word_is_json(folder: Path) -> None:
    init_lake(str(folder / "json"), 4)
    process = subprocess.Popen(
        call("json", folder, "--json"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "task=ingest " in line:
            process.send_signal(signal.SIGTERM)
            break
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 143
    told = json.loads(out)["error"]
    assert (told["code"], told["remedy"]) == ("interrupted", RESUME)
    assert told["message"].startswith("stopped by SIGTERM in ingest")


@pytest.mark.parametrize(
    ("words", "remedy"),
    [("tune --traces t --out o", ANEW), ("report health --out o", ANEW), ("embed", RESUME)],
)
def test_what_only_reads_has_nothing_to_go_on_from(
    words: str, remedy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: object) -> None:
        raise Stopped(signal.SIGINT, "in the middle")

    monkeypatch.setattr(verbs, "run", stop)
    assert main(["--lake", "nowhere", *words.split()]) == 130
    assert capsys.readouterr().err == f"slowwave: stopped in the middle. {remedy}\n"
