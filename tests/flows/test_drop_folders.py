"""Drop folders: whatever lies in them, the watch goes on; and many small files share a commit."""

from __future__ import annotations

import gzip
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows import watch
from flows.job import Job
from flows.stopping import Stopped
from lake import tables
from lake.lake import init_lake
from tests.flows.lakes import Command, Said, content, ingest, job_on, reasons, row, write
from transforms.errors import BusyError, StorageError
from transforms.policy import IngestPolicy, Policy
from transforms.schemas import EPISODES, QUARANTINE

Step = Callable[[], object]


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    init_lake(str(tmp_path / "lake"), 2)
    (tmp_path / "drop").mkdir()
    return tmp_path / "drop"


def aged(path: Path) -> Path:
    """As if it had been written a minute ago."""
    os.utime(path, (time.time() - 60, time.time() - 60))
    return path


@pytest.fixture
def watched(command: Command, drop: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """The watch, with what happens while it sleeps; behind the last of it a signal ends it."""

    def run(*steps: Step) -> Said:
        left = list(steps)

        def sleep(seconds: float) -> None:
            if not left:
                raise Stopped(signal.SIGTERM, "")
            left.pop(0)()

        monkeypatch.setattr(watch.time, "sleep", sleep)
        return command("--lake", drop.parent / "lake", "--json", "ingest", "--watch", drop)

    return run


def test_what_cannot_be_read_stops_nobody_and_is_said_once(
    drop: Path, watched: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    (drop / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"content": "' + os.urandom(9_000) + b'"}')[:5_000])
    (drop / "none.gz").write_bytes(b"\x1f\x8b")
    (drop / "zip.zip").write_bytes(b"PK\x03\x04 and nothing")
    (drop / "folder.jsonl").mkdir()
    (drop / "absent.jsonl").symlink_to(drop / "nowhere")
    (drop / "round").symlink_to(drop)
    os.mkfifo(drop / "pipe.jsonl")
    write(drop / "denied.jsonl", [row(1)])
    write(drop / "good.jsonl", [row(2)])
    for path in drop.iterdir():
        if path.is_file():
            aged(path)
    real = Path.open

    def opened(path: Path, *words: Any, **named: Any) -> object:
        if path.name == "denied.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *words, **named)

    monkeypatch.setattr(Path, "open", opened)
    said = watched(*[lambda: None] * 3)
    assert said.code == 0
    assert (said.json["landed"], said.json["reasons"]) == (1, {"damaged_file": 3})
    assert said.err.count("denied.jsonl cannot be read: Permission denied") == 1
    assert "nowhere" not in said.err


def test_a_file_that_goes_between_the_look_and_the_reading_is_passed_over(
    drop: Path, watched: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        aged(write(drop / name, [row(ord(name[0]))]))
    real = watch.run_ingest

    def late(job: object, pairs: object) -> object:
        (drop / "a.jsonl").unlink(missing_ok=True)
        return real(job, pairs)  # type: ignore[arg-type]

    monkeypatch.setattr(watch, "run_ingest", late)
    said = watched(lambda: None)
    assert (said.code, said.json["landed"], said.json["quarantined"]) == (0, 1, 0)


def test_a_file_that_grows_or_is_written_anew_is_read_again(drop: Path, watched: Callable[..., Said]) -> None:
    file = aged(write(drop / "a.jsonl", [row(1), row(2)]))

    def grow() -> None:
        write(file, [row(1), row(2), row(3)])
        os.utime(file, (time.time() + 3_600, time.time() + 3_600))  # by a clock that is an hour ahead

    said = watched(grow, lambda: None, lambda: None, lambda: file.rename(drop / "b.jsonl"), lambda: None)
    told = said.json
    assert (told["landed"], told["files"], told["unchanged_files"]) == (3, 3, 1)


def test_while_another_run_holds_the_lake_it_waits_and_says_so_once(
    drop: Path, watched: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(write(drop / "a.jsonl", [row(1)]))
    real, left = watch.exclusive, [1, 2]

    def held(job: Job) -> object:
        if left:
            left.pop()
            raise BusyError("another run holds the lake", "Wait.")
        return real(job)

    monkeypatch.setattr(watch, "exclusive", held)
    said = watched(*[lambda: None] * 3)
    assert (said.code, said.json["landed"]) == (0, 1)
    assert said.err.count("tried again") == 1


def test_a_folder_that_is_taken_away_is_looked_for_again(drop: Path, watched: Callable[..., Said]) -> None:
    away = drop.rename(drop.parent / "away")
    drop.mkdir()

    def back() -> None:
        aged(write(away / "a.jsonl", [row(1)]))
        away.rename(drop)

    said = watched(drop.rmdir, lambda: None, back)
    assert (said.code, said.json["landed"]) == (0, 1)
    assert said.err.count("drop cannot be read") == 1


def test_a_signal_during_a_look_ends_it_well(
    drop: Path, watched: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise Stopped(signal.SIGINT, "")

    monkeypatch.setattr(watch, "files_below", stop)
    assert watched().code == 0


def test_many_small_files_share_a_commit_and_each_is_noted(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(30):
        write(folder / f"{n:02d}.jsonl", [row(2 * n), row(2 * n + 1), "{"])
    job = job_on(tmp_path / "lake")
    before = tables.version(job.lake, EPISODES)
    tally = ingest(job, folder)
    assert (tally["files"], tally["landed"], tally["quarantined"]) == (30, 60, 30)
    assert tables.version(job.lake, EPISODES) - before <= 2
    again = ingest(job, folder)
    assert (again["unchanged_files"], again["duplicates"], again["landed"]) == (30, 90, 0)
    assert {*content(job, QUARANTINE)["source_file"]} == {f"{n:02d}.jsonl" for n in range(30)}


def test_files_that_tell_of_the_same_row_go_in_one_after_the_other(tmp_path: Path) -> None:
    """A later export with an edited text makes a version, as when it comes on another day."""
    folder = tmp_path / "exports"
    folder.mkdir()
    for day, text in enumerate(["first words", "second words"], start=1):
        write(folder / f"{day}.jsonl", [row(1, text), row(day + 1)])
    together, apart = job_on(tmp_path / "together"), job_on(tmp_path / "apart")
    tally = ingest(together, folder)
    for day in (1, 2):
        ingest(apart, folder / f"{day}.jsonl")
    assert sorted(content(together)["content"]) == sorted(content(apart)["content"])
    assert reasons(together) == reasons(apart)
    assert tally["versions"] + tally["quarantined"] == 1


def test_of_a_commit_that_fails_no_file_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(4):
        write(folder / f"{n}.jsonl", [row(n)])
    job = job_on(tmp_path / "lake", policy=Policy(ingest=IngestPolicy(commit_rows=3)))
    real, calls = tables.append, []

    def full(*words: object) -> object:
        calls.append(1)
        if len(calls) <= 1:
            raise StorageError("appending: the disk is full", "Free space.")
        return real(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(tables, "append", full)
    with pytest.raises(StorageError):
        ingest(job, folder)
    assert content(job).height == 0
    tally = ingest(job, folder)
    assert (tally["landed"], tally["unchanged_files"]) == (4, 0)
