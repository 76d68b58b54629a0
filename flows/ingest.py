"""Ingest: files and landed rows to episodes and quarantine, each input row in exactly one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

import polars as pl

from flows.commit import Tally, resume_versions, tidy, to_quarantine
from flows.ingest_progress import told, told_in_bytes
from flows.job import Job, StepResult, record, step
from flows.landed import ingest_landed
from flows.notes import Note, Notes
from flows.recalled import Folded, fold_recalls
from flows.shared_commits import File, SharedCommits, placed
from lake import tables
from lake.sources import Source
from transforms.errors import InputError
from transforms.normalise import normalise
from transforms.quarantine import confined
from transforms.readers.batch import Batch, Resumable, refusals_frame
from transforms.readers.lines import Point
from transforms.schemas import COSTS, EPISODES, QUARANTINE, RUNS
from transforms.validate import Defaults

_NO_IDS = pl.Series(dtype=pl.String)
DEPENDS_ON_AS_OF = "time_out_of_range"
"""The refusal that another as-of may take back: a file with one is read again with each run."""


def run_ingest(job: Job, sources: Iterable[tuple[Source, Defaults]]) -> tuple[StepResult, Tally]:
    """Ingest landed rows and fold the recall log, then the sources.

    Args:
        job: The run.
        sources: Opened lazily, one at a time, each with the scope of rows that name none.

    Returns:
        The step, and the tally by outcome.
    """
    tally, folded = Tally(), Folded()
    with step(job, "ingest") as result:
        try:
            resume_versions(job)
            ingest_landed(job, tally)
            folded = fold_recalls(job)
            _ingest_all(job, sources, tally)
            if tally.landed + tally.quarantined:
                tidy(job, EPISODES, QUARANTINE, RUNS, COSTS)
        finally:
            _fill(result, tally, folded)
    written = {t.name: tables.version(job.lake, t) for t in (EPISODES, QUARANTINE)}
    record(job, result, written=written)
    return result, tally


def _ingest_all(job: Job, sources: Iterable[tuple[Source, Defaults]], tally: Tally) -> None:
    notes = Notes(job)
    commits = SharedCommits(job, notes, tally)
    read = Counter[tuple[str | None, str]]()
    try:
        for source, defaults in sources:
            tally.files += 1
            file = File(source.owned_by(defaults.user_id), defaults)
            read[defaults.tenant_id, source.file_name] += 1
            file.place = read[defaults.tenant_id, source.file_name]
            _ingest_source(job, notes, commits, file, tally)
    except Exception:  # files before the one that ends the run stay in
        commits.commit()
        raise
    commits.commit()


def _fill(result: StepResult, tally: Tally, folded: Folded) -> None:
    result.rows_in, result.rows_out = tally.rows_in, tally.landed
    result.rejected, result.duplicates = tally.quarantined, tally.duplicates
    told = folded.as_dict()
    if tally.landed + tally.quarantined == 0 and not told:
        result.state = "unchanged"
    result.detail = {k: v for k, v in tally.as_dict().items() if k not in ("rows_in", "duplicates")}
    if told:
        result.detail["recall_log"] = told


def _ingest_source(job: Job, notes: Notes, commits: SharedCommits, file: File, tally: Tally) -> None:
    """One file: skipped when the very same bytes went in under the same settings before.

    A file that breaks off midway (damaged packing) keeps the rows before the break, puts one row
    into quarantine for the rest, and is read again with the next run.
    """
    source = file.source
    with suppress(InputError):  # met again, and told, at the place where it breaks
        file.key = notes.key(source, file.defaults)
    before, left_before = tally.rows_in, Counter(tally.left_out)

    def count() -> None:
        file.rows_in, file.left_out = tally.rows_in - before, tally.left_out - left_before

    done = notes.read(file.key) if file.key else None
    if done is not None:
        _count_done(done, tally)
        if done.point is None:
            tally.unchanged_files += 1
            return
    try:
        for batch in _batches(job, source, done.point if done else None):
            _take(job, commits, file, batch, tally)
            if commits.is_full:
                end = batch.pause() if batch.pause is not None else None
                if end is not None:
                    _take(job, commits, file, end, tally)
                commits.commit(file)
                count()
                if (point := (end or batch).point) is not None:
                    commits.note(file, point)
    except InputError as error:
        file.is_final = False
        tally.rows_in += 1
        commits.take(EPISODES.empty(), _NO_IDS, _damaged(job, file, error))
    count()
    commits.end(file, left_before)


def _batches(job: Job, source: Source, point: Point | None) -> Iterator[Batch]:
    """Batches of a source, or of what comes after a point; told in bytes of the file where it has a size."""
    reader, policy, tape = source.reader, job.policy.ingest, source.tape
    with source.open_at(point.offset if point else 0) as stream:
        begin = tape.position if tape is not None else 0  # a reader may read before its first batch
        if point is not None and isinstance(reader, Resumable):
            batches = reader.read_on(stream, source.file_name, policy, point)
        else:
            batches = reader.read(stream, source.file_name, policy)
        if tape is None or tape.size_bytes is None:
            yield from told(job.progress, batches)
        else:
            yield from told_in_bytes(job.progress, batches, tape, (begin, tape.size_bytes))


def _count_done(note: Note, tally: Tally) -> None:
    """Every row that went in before is a duplicate, save those its format leaves out."""
    tally.rows_in += note.rows_in
    tally.left_out.update(note.left_out)
    tally.duplicates += note.rows_in - sum(note.left_out.values())


def _take(job: Job, commits: SharedCommits, file: File, batch: Batch, tally: Tally) -> None:
    """Normalise a reader's batch into what waits for the next commit."""
    tally.rows_in += batch.rows_in
    tally.left_out.update(batch.left_out)
    batch = _placed(batch, file)
    defaults, source = file.defaults, file.source.reader.name
    fill = {"tenant_id": defaults.tenant_id or None, "user_id": defaults.user_id or None}
    known = batch.refusals.with_columns(pl.col(c).fill_null(pl.lit(v, pl.String)) for c, v in fill.items())
    done = normalise(
        batch.drafts,
        source=source,
        defaults=defaults,
        policy=job.policy,
        as_of=job.as_of,
        buckets=job.lake.buckets,
    )
    refused = pl.concat([confined(known, defaults.confined_to), done.refusals])
    file.is_final = file.is_final and DEPENDS_ON_AS_OF not in refused["reason"]
    commits.take(done.episodes, done.claimed, to_quarantine(job, refused, source), batch.source_bytes)


def _placed(batch: Batch, file: File) -> Batch:
    """A batch whose rows tell their file from those of the same name that the run has read before.

    All exports of a product have one name: by it a text of the next export would be one of the same file.
    """
    if file.place == 1:
        return batch
    name = file.source.file_name
    is_mine, place = pl.col("source_file") == name, pl.lit(placed(name, file.place))
    named = pl.when(is_mine).then(place).otherwise("source_file").alias("source_file")
    return replace(
        batch, drafts=batch.drafts.with_columns(named), refusals=batch.refusals.with_columns(named)
    )


def _damaged(job: Job, file: File, error: InputError) -> pl.DataFrame:
    """The quarantine row of a file that cannot be read to its end."""
    row: dict[str, object] = {
        "reason": "damaged_file",
        "detail": "The file cannot be read to its end.",
        "raw": error.message,
        "tenant_id": file.defaults.tenant_id or None,
        "user_id": file.defaults.user_id or None,
        "source_file": file.source.file_name,
    }
    return to_quarantine(job, refusals_frame([row]), file.source.reader.name)
