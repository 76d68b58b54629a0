"""Killed behind every commit, ingest of traces comes to the rows of a calm run and reads what is open."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.notes import Note, Notes
from tests.flows.dying import living
from tests.flows.erasing import erase
from tests.flows.kept_progress import Kept
from tests.flows.lakes import ingest, job_on, what_is_held
from tests.transforms.readers.telling import FORMATS, steps
from transforms.policy import IngestPolicy, Policy
from transforms.validate import Defaults

ACME = Defaults(tenant_id="acme")
SMALL = Policy(ingest=IngestPolicy(batch_rows=20, batch_bytes=120_000, commit_rows=40))


@contextmanager
def dying_behind_the_next_part() -> Iterator[list[bool]]:
    """The run inside dies once a part of a file was noted; the list says that it did."""
    real, parts = Notes.write, list[bool]()
    with living() as life, pytest.MonkeyPatch.context() as patch:

        def write(notes: Notes, key: str, note: Note) -> None:
            real(notes, key, note)
            if note.point is not None:
                parts.append(True)
                life.die()

        patch.setattr(Notes, "write", write)
        yield parts


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_killed_behind_every_commit(tmp_path: Path, name: str, is_packed: bool) -> None:
    told = [step for n in range(7) for step in steps(n, sessions=4, name=f"day{n}s")]
    records = FORMATS[name](told, 4)
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    file = tmp_path / ("traces.jsonl.gz" if is_packed else "traces.jsonl")
    file.write_bytes(gzip.compress(data) if is_packed else data)
    calm, job = (job_on(tmp_path / lake, policy=SMALL) for lake in ("calm", "lake"))
    whole = ingest(calm, file, defaults=ACME)
    assert whole["quarantined"] == 0
    read, kills = list[int](), 0
    tally: dict[str, Any] = {}
    for _ in range(99):
        progress = Kept()
        with dying_behind_the_next_part() as parts:
            tally = ingest(replace(job, progress=progress), file, defaults=ACME)
        read += [meter.total or 0 for meter in progress.meters if meter.unit == "bytes"]
        if not parts:
            break
        kills += 1
    assert kills > 5
    assert what_is_held(job).equals(what_is_held(calm))
    assert tally["left_out"] == whole["left_out"]
    assert tally["landed"] + tally["duplicates"] == whole["landed"] + whole["duplicates"]
    assert read[0] == file.stat().st_size
    assert read == sorted(read, reverse=True)
    if not is_packed:  # that is read at once
        assert read[-1] < len(data) / 4
    assert not any((tmp_path / "lake" / "state" / "ingesting").rglob("*.json"))


@pytest.mark.parametrize("name", FORMATS)
def test_few_rows_of_much_source_are_kept_too(tmp_path: Path, name: str) -> None:
    """Calls of a model repeat their history: the bytes read for a commit count, not only its rows."""
    records = FORMATS[name]([step for n in range(7) for step in steps(n, sessions=4, name=f"day{n}s")], 4)
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    part = file.stat().st_size // 8
    policy = Policy(ingest=IngestPolicy(batch_bytes=part, commit_bytes=2 * part, sniff_bytes=4_096))
    calm, job = (job_on(tmp_path / lake, policy=policy) for lake in ("calm", "lake"))
    ingest(calm, file, defaults=ACME)
    with dying_behind_the_next_part() as parts:
        ingest(job, file, defaults=ACME)
    assert parts
    assert 0 < what_is_held(job).height < what_is_held(calm).height
    progress = Kept()
    ingest(replace(job, progress=progress), file, defaults=ACME)
    assert sum(meter.total or 0 for meter in progress.meters if meter.unit == "bytes") < 8 * part
    assert what_is_held(job).equals(what_is_held(calm))


def test_an_erasure_leaves_no_note_of_a_file_that_was_read_halfway(tmp_path: Path) -> None:
    """Points of traces hold ids of sessions and digests of what was said in them."""
    told = [step for n in range(3) for step in steps(n, sessions=4, name=f"day{n}s")]
    records = FORMATS["langfuse-traces"](told, 1)
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    job = job_on(tmp_path / "lake", policy=SMALL)
    with dying_behind_the_next_part() as parts:
        ingest(job, file, defaults=ACME)
    assert parts
    notes = tmp_path / "lake" / "state" / "ingesting"
    assert any("day0s1" in note.read_text() for note in notes.rglob("*.json"))
    erase(job, tenant="acme", user="u-day0s1")
    assert not any(notes.rglob("*.json"))
    assert ingest(job, file, defaults=ACME)["landed"] > 0


def test_a_note_whose_state_was_changed_counts_as_none(tmp_path: Path) -> None:
    records = FORMATS["otel-spans"](steps(3, sessions=12), 2)
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    calm, job = (job_on(tmp_path / lake, policy=SMALL) for lake in ("calm", "lake"))
    ingest(calm, file, defaults=ACME)
    with dying_behind_the_next_part() as parts:
        ingest(job, file, defaults=ACME)
    assert parts
    (note,) = (tmp_path / "lake" / "state" / "ingesting").rglob("*.json")
    note.write_text(note.read_text().replace("until", "unti1"))
    progress = Kept()
    ingest(replace(job, progress=progress), file, defaults=ACME)
    assert [meter.total for meter in progress.meters if meter.unit == "bytes"] == [file.stat().st_size]
    assert what_is_held(job).equals(what_is_held(calm))
