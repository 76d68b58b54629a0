"""Notes of files end: met again they stay, not met for long they go, and the file is then read once more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows import notes_kept
from flows.ingest import Tally, run_ingest
from flows.job import Job
from flows.upkeep_night import keep
from lake.sources import open_sources
from tests.flows.lakes import job_on, row, write
from transforms.validate import Defaults

BEGIN = datetime.fromordinal(8_000 * notes_kept.DAYS).replace(tzinfo=UTC)
SPAN = timedelta(days=notes_kept.DAYS)


class Days:
    """What the clock shows."""

    def __init__(self) -> None:
        self.now = BEGIN

    def night(self, job: Job, *paths: Path) -> Tally:
        tally = run_ingest(job, [(s, Defaults()) for p in paths for s in open_sources(str(p))])[1]
        keep(job, now=self.now)
        return tally


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> Days:
    days = Days()
    monkeypatch.setattr(notes_kept, "now", lambda: days.now)
    return days


def notes(job: Job) -> list[str]:
    return [entry.key for entry in job.lake.storage.entries(notes_kept.WHOLE)]


def test_a_note_goes_where_no_run_has_met_its_file(tmp_path: Path, days: Days) -> None:
    job = job_on(tmp_path / "lake")
    kept, gone = (write(tmp_path / f"{n}.jsonl", [row(n)]) for n in (1, 2))
    days.night(job, kept, gone)
    assert len(notes(job)) == 2
    for _ in range(3):
        days.now += SPAN
        assert days.night(job, kept).unchanged_files == 1
    assert len(notes(job)) == 1
    tally = days.night(job, kept, gone)
    assert (tally.unchanged_files, tally.landed, tally.duplicates) == (1, 0, 2)
    assert len(notes(job)) == 2
    assert days.night(job, kept, gone).unchanged_files == 2


def test_within_a_span_nothing_is_written_nor_looked_through(
    tmp_path: Path, days: Days, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_on(tmp_path / "lake")
    path = write(tmp_path / "a.jsonl", [row(1)])
    days.night(job, path)
    before = [(e.key, e.tag) for e in job.lake.storage.entries("state")]
    days.now += SPAN - timedelta(seconds=1)
    monkeypatch.setattr(notes_kept, "_is_old", lambda *_, **__: pytest.fail("looked through"))
    assert days.night(job, path).unchanged_files == 1
    assert [(e.key, e.tag) for e in job.lake.storage.entries("state")] == before


def test_notes_of_before_there_were_spans_hold_and_end(tmp_path: Path, days: Days) -> None:
    job = job_on(tmp_path / "lake")
    kept, gone = (write(tmp_path / f"{n}.jsonl", [row(n)]) for n in (1, 2))
    run_ingest(job, [(s, Defaults()) for p in (kept, gone) for s in open_sources(str(p))])
    for key in notes(job):  # as they were named
        raw = job.lake.storage.read(key) or b""
        job.lake.storage.write(f"{key.split('.')[0]}.json", raw)
        job.lake.storage.delete(key)
    assert days.night(job, kept).unchanged_files == 1
    assert len(notes(job)) == 2
    days.now += SPAN
    days.night(job, kept)
    assert len(notes(job)) == 1
    assert days.night(job, kept, gone).unchanged_files == 1


def test_a_dry_run_moves_no_note(tmp_path: Path, days: Days) -> None:
    storage = job_on(tmp_path / "lake").lake.storage
    notes_kept.write_note(storage, notes_kept.PART, "ab", b"{}")
    before = storage.entries(notes_kept.PART)
    days.now += SPAN
    assert notes_kept.read_note(storage, notes_kept.PART, "ab", is_moved=False) == b"{}"
    assert storage.entries(notes_kept.PART) == before
    notes_kept.drop_note(storage, notes_kept.PART, "ab")
    assert storage.entries(notes_kept.PART) == []


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"span": "x"}'])
def test_a_damaged_record_of_the_last_look_is_as_good_as_none(tmp_path: Path, days: Days, raw: bytes) -> None:
    job = job_on(tmp_path / "lake")
    path = write(tmp_path / "a.jsonl", [row(1)])
    days.night(job, path)
    job.lake.storage.write(notes_kept.STATE, raw)
    assert notes_kept.expire(job.lake, days.now) == 0
    assert days.night(job, path).unchanged_files == 1
