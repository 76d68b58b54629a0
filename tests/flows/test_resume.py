"""An ingest that was killed goes on where its last commit ended, and drop folders are watched."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.job import Job
from flows.progress_meter import Meter, counted
from flows.watch import Drop
from lake import locks
from lake.lake import init_lake
from tests.flows.dripping import begun, call, killed, told, until
from tests.flows.dying import living
from tests.flows.kept_progress import Kept
from tests.flows.lakes import content, environment, ingest, job_on, row, what_is_held, write
from transforms.policy import IngestPolicy, Policy
from transforms.schemas import QUARANTINE

SMALL = Policy(ingest=IngestPolicy(batch_rows=5, batch_bytes=20_000, commit_rows=10))
ROWS = 40


def conversations(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"c{n}",
            "tenant_id": "acme",
            "created_at": f"2026-06-01T10:{n:02d}:00Z",
            "messages": [{"role": "user", "content": f"note {n}"}, {"role": "assistant", "content": "noted"}],
        }
        for n in range(count)
    ]


def made(form: str, folder: Path) -> Path:
    """A file of 40 rows and one that is refused."""
    if form == "lines":
        return write(folder / "a.jsonl", [*(row(n) for n in range(ROWS)), "{"])
    if form == "gzip":
        plain = made("lines", folder)
        packed = folder / "a.jsonl.gz"
        packed.write_bytes(gzip.compress(plain.read_bytes()))
        return packed
    data = [*conversations(ROWS // 2), {"id": "bad", "messages": 3}]
    file = folder / "a.json"
    wrapped = json.dumps(data if form == "array" else {"title": "x", "conversations": data})
    file.write_text(wrapped, "utf-8")
    return file


def kept(job: Job, *files: Path) -> tuple[dict[str, Any], list[Meter]]:
    progress = Kept()
    tally = ingest(replace(job, progress=progress), *files)
    return tally, [meter for meter in progress.meters if meter.unit == "bytes"]


@pytest.mark.parametrize("form", ["lines", "gzip", "array"])
def test_progress_counts_the_bytes_of_the_file_as_it_lies(tmp_path: Path, form: str) -> None:
    file = made(form, tmp_path)
    _, meters = kept(job_on(tmp_path / "lake"), file)
    assert [(m.done, m.total) for m in meters] == [(file.stat().st_size, file.stat().st_size)]


@pytest.mark.parametrize("form", ["lines", "gzip", "array"])
def test_a_killed_ingest_goes_on_behind_its_last_commit(tmp_path: Path, form: str) -> None:
    """Died before one effect after the other: the rows are those of a calm run, and what is done is done."""
    file = made(form, tmp_path)
    calm = job_on(tmp_path / "calm", policy=SMALL)
    with living() as life:
        whole = ingest(calm, file)
    assert (whole["landed"], whole["quarantined"]) == (ROWS, 1)
    resumed = 0
    assert not any((tmp_path / "calm" / "state" / "ingesting").rglob("*.json"))
    for last in range(1, life.count, 1 if form == "lines" else 3):
        lake = tmp_path / f"lake{last}"
        job = job_on(lake, policy=SMALL)
        with living(last):
            ingest(job, file)
        tally, meters = kept(job, file)
        assert tally["landed"] + tally["duplicates"] + tally["quarantined"] == ROWS + 1
        assert what_is_held(job).equals(what_is_held(calm))
        assert content(job, QUARANTINE).height == 1
        size = file.stat().st_size
        resumed += not (tally["unchanged_files"] or any(meter.total == size for meter in meters))
    assert resumed


def test_a_part_does_not_stand_for_other_settings_or_a_table_that_was_lost(tmp_path: Path) -> None:
    file = made("lines", tmp_path)
    job = job_on(tmp_path / "lake", policy=SMALL)
    with living() as life:
        ingest(replace(job, progress=Dying(job, life.die)), file)
    assert any((tmp_path / "lake" / "state" / "ingesting").rglob("*.json"))
    other = job_on(tmp_path / "lake", policy=Policy(ingest=IngestPolicy(batch_rows=5, commit_rows=12)))
    _, meters = kept(other, file)
    assert meters[0].total == file.stat().st_size


class Dying(Kept):
    """Progress that dies once a part of a file was noted."""

    def __init__(self, job: Job, die: Callable[[], None]) -> None:
        super().__init__()
        self._notes, self._die = Path(job.lake.uri) / "state" / "ingesting", die

    @contextmanager
    def task(self, name: str, total: int | None, unit: str = "rows") -> Iterator[Callable[[int], None]]:
        with counted(name, total, unit, self._told) as advance:

            def step(count: int) -> None:
                advance(count)
                if any(self._notes.rglob("*.json")):
                    self._die()

            yield step


CONFIG = "[ingest]\nbatch_rows = 100\ncommit_rows = 200\n"


def test_kill_9_in_the_middle_of_a_file(tmp_path: Path) -> None:
    count = 6_000
    write(tmp_path / "a.jsonl", [row(n) for n in range(count)])
    (tmp_path / "slowwave.toml").write_text(CONFIG)
    init_lake(str(tmp_path / "lake"), 2)
    notes = tmp_path / "lake" / "state" / "ingesting"
    words = ("--lake", "lake", "ingest", "a.jsonl", "--as-of", "2026-07-01T00:00:00Z")
    for _ in range(2):
        before = [path.read_bytes() for path in notes.rglob("*.json")]
        process = begun(tmp_path, *words)
        until(lambda held=before: (n := [p.read_bytes() for p in notes.rglob("*.json")]) != held and n)  # type: ignore[misc,return-value]
        killed(process)
    done = subprocess.run(
        call(*words, "--progress", "lines"), cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    said = done.stderr.decode()
    assert done.returncode == 0, said
    end = next(line for line in said.split("\n") if "event=end task=ingest " in line)
    total = re.search(r"total=(\d+) unit=bytes", end)
    assert total
    assert int(total[1]) < (tmp_path / "a.jsonl").stat().st_size * 0.95
    calm = job_on(tmp_path / "calm")
    assert ingest(calm, tmp_path / "a.jsonl")["landed"] == count
    assert what_is_held(job_on(tmp_path / "lake")).equals(what_is_held(calm))
    again = told(tmp_path, *words)
    assert (again["unchanged_files"], again["duplicates"], again["landed"]) == (1, count, 0)


def test_files_are_whole_when_they_are_old_or_look_the_same_twice(tmp_path: Path) -> None:
    now = time.time()
    write(tmp_path / "old.jsonl", [row(1)])
    os.utime(tmp_path / "old.jsonl", (now - 60, now - 60))
    new = write(tmp_path / "new.jsonl", [row(2)])
    for name in (".hidden.jsonl", "b.jsonl.part", "c.tmp"):
        write(tmp_path / name, [row(3)])
    drop = Drop(tmp_path)
    first = drop.whole(now)
    assert list(first) == ["old.jsonl"]
    drop.taken.update(first)
    with new.open("a") as stream:
        stream.write("x\n")
    assert list(drop.whole(now)) == []  # it has grown
    second = drop.whole(now)
    assert list(second) == ["new.jsonl"]
    drop.taken.update(second)
    assert list(drop.whole(now)) == []
    (tmp_path / "b.jsonl.part").rename(tmp_path / "b.jsonl")
    drop.whole(now)
    assert list(drop.whole(now)) == ["b.jsonl"]


def test_files_that_a_changed_one_explains_are_looked_at_again(tmp_path: Path) -> None:
    now, export = time.time(), tmp_path / "export"
    for name in ("users.json", "kiln/day.json", "kiln/more/day.json", "day.json"):
        (export / name).parent.mkdir(parents=True, exist_ok=True)
        (export / name).write_text("[]")
        os.utime(export / name, (now - 60, now - 60))
    drop = Drop(tmp_path)
    first = drop.whole(now)
    drop.taken.update(first)
    assert drop.whole(now) == {}
    os.utime(export / "users.json", (now - 50, now - 50))
    assert sorted(drop.whole(now)) == ["export/kiln/day.json", "export/users.json"]


def test_a_watch_takes_what_comes_survives_kill_9_and_ends_well(tmp_path: Path) -> None:
    init_lake(str(tmp_path / "lake"), 2)
    drop = tmp_path / "drop"
    drop.mkdir()
    names = ("one", "two", "three")
    words = ("--lake", "lake", "--progress", "none", "ingest", "--watch", "drop")
    held = {name: write(tmp_path / f"{name}.jsonl", [row(n) for n in range(i * 9, i * 9 + 9)])
            for i, name in enumerate(names)}  # fmt: skip
    past = time.time() - 60

    def drops(name: str) -> None:
        os.utime(held[name], (past, past))
        held[name].rename(drop / f"{name}.jsonl")

    def landed() -> int:
        return what_is_held(job_on(tmp_path / "lake")).height

    drops("one")
    process = begun(tmp_path, *words)
    until(lambda: landed() == 9)
    drops("two")
    until(lambda: landed() == 18)
    killed(process)
    drops("three")
    process = begun(tmp_path, "--json", *words)
    until(lambda: landed() == 27)
    with locks.hold(init_lake(str(tmp_path / "lake")), "nightly", 60):  # the round has ended
        time.sleep(1.5)  # and it sleeps
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=20)
    assert process.returncode == 0, said
    tally = json.loads(out)
    assert (tally["landed"], tally["duplicates"]) == (9, 18)
    assert sorted(path.name for path in drop.iterdir()) == sorted(f"{name}.jsonl" for name in names)
