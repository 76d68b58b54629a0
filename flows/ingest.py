"""Ingest: files and landed rows to episodes and quarantine, each input row in exactly one of them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

import polars as pl

from flows.job import Job, StepResult, record, step
from lake import landing, locks, tables
from lake.sources import Source
from lake.storage import LocalStorage
from transforms import ids
from transforms.normalise import normalise, split_new
from transforms.policy import IngestPolicy
from transforms.quarantine import quarantined
from transforms.readers.batch import Batch
from transforms.schemas import EPISODES, QUARANTINE, REFUSALS
from transforms.validate import Defaults

COMMIT_LOCK = "commit"
STANDARD_INPUT = "standard input"
COMMIT_WAIT_SECONDS = 600.0


@dataclass
class Tally:
    """What became of the rows of a run."""

    files: int = 0
    unchanged_files: int = 0
    rows_in: int = 0
    landed: int = 0
    duplicates: int = 0
    quarantined: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        shown = asdict(self)
        return {
            **shown,
            "reasons": dict(sorted(self.reasons.items())),
            "left_out": dict(sorted(self.left_out.items())),
        }


@dataclass
class _Buffer:
    """Normalised rows waiting for their commit."""

    episodes: list[pl.DataFrame] = field(default_factory=list)
    quarantine: list[pl.DataFrame] = field(default_factory=list)

    @property
    def height(self) -> int:
        return sum(frame.height for frame in (*self.episodes, *self.quarantine))


def run_ingest(job: Job, sources: Iterable[tuple[Source, Defaults]]) -> tuple[StepResult, Tally]:
    """Ingest landed rows, then the sources.

    Args:
        job: The run.
        sources: Opened lazily, one at a time, each with the scope of rows that name none.

    Returns:
        The step, and the tally by outcome.
    """
    tally = Tally()
    with step("ingest") as result:
        _ingest_landed(job, tally)
        for source, defaults in sources:
            tally.files += 1
            _ingest_source(job, source, defaults, tally)
        if tally.landed:
            _tidy(job)
    result.rows_in, result.rows_out = tally.rows_in, tally.landed
    result.rejected, result.duplicates = tally.quarantined, tally.duplicates
    if tally.landed + tally.quarantined == 0:
        result.state = "unchanged"
    result.detail = {k: v for k, v in tally.as_dict().items() if k not in ("rows_in", "duplicates")}
    written = {t.name: tables.version(job.lake, t) for t in (EPISODES, QUARANTINE)}
    record(job, result, written=written)
    return result, tally


def _ingest_source(job: Job, source: Source, defaults: Defaults, tally: Tally) -> None:
    """One file: skipped when the very same bytes went in under the same settings before."""
    key = _source_key(job, source, defaults)
    done = job.lake.storage.read(key) if key else None
    if done is not None:
        rows = int(json.loads(done)["rows_in"])
        tally.unchanged_files += 1
        tally.rows_in += rows
        tally.duplicates += rows
        return
    buffer, before = _Buffer(), tally.rows_in
    with job.progress.task(f"ingest {source.file_name}", None) as advance:
        for batch in _batches(source, job.policy.ingest):
            tally.rows_in += batch.rows_in
            tally.left_out.update(batch.left_out)
            _normalise_into(job, buffer, batch.drafts, batch.refusals, source.reader.name, defaults)
            if buffer.height >= job.policy.ingest.commit_rows:
                _commit(job, buffer, tally)
            advance(batch.rows_in)
    _commit(job, buffer, tally)
    if key:
        note = {"file": source.file_name, "rows_in": tally.rows_in - before}
        job.lake.storage.write(key, json.dumps(note).encode())


def _batches(source: Source, policy: IngestPolicy) -> Iterator[Batch]:
    with source.open() as stream:
        yield from source.reader.read(stream, source.file_name, policy)


def _source_key(job: Job, source: Source, defaults: Defaults) -> str | None:
    """Where the note lies that this content went in whole; None for standard input."""
    if source.file_name == STANDARD_INPUT:
        return None
    content = blake2b(digest_size=16)
    with source.open() as stream:
        while block := stream.read(1 << 20):
            content.update(block)
    settings = job.policy.ingest.model_dump_json() + job.policy.redact.model_dump_json()
    name = ids.row_id(content.hexdigest(), source.reader.name, repr(defaults), settings)
    return f"state/ingested/{name[:2]}/{name}.json"


def _normalise_into(
    job: Job, buffer: _Buffer, drafts: pl.DataFrame, refusals: pl.DataFrame, source: str, defaults: Defaults
) -> None:
    """Normalise a reader's batch into the buffer."""
    fill = {"tenant_id": defaults.tenant_id, "user_id": defaults.user_id}
    known = refusals.with_columns(pl.col(c).fill_null(pl.lit(v, pl.String)) for c, v in fill.items())
    done = normalise(
        drafts,
        source=source,
        defaults=defaults,
        policy=job.policy,
        as_of=job.as_of,
        buckets=job.lake.buckets,
    )
    buffer.episodes.append(done.episodes)
    buffer.quarantine.append(_to_quarantine(job, pl.concat([known, done.refusals]), source))


def _to_quarantine(job: Job, refusals: pl.DataFrame, source: str) -> pl.DataFrame:
    return quarantined(
        refusals, source=source, policy=job.policy.redact, as_of=job.as_of, buckets=job.lake.buckets
    )


def _commit(job: Job, buffer: _Buffer, tally: Tally) -> None:
    """Write what is new, under the commit lock, so that two runs never write one row twice."""
    if buffer.height == 0:
        return
    episodes = pl.concat(buffer.episodes or [EPISODES.empty()])
    refused = pl.concat(buffer.quarantine or [QUARANTINE.empty()])
    buffer.episodes.clear()
    buffer.quarantine.clear()
    with locks.hold(job.lake, COMMIT_LOCK, COMMIT_WAIT_SECONDS):
        fresh, duplicates, clashes = split_new(episodes, _held(job, episodes))
        del episodes
        refused = pl.concat([refused, _to_quarantine(job, clashes, "ingest")])
        strange = _new_quarantine(job, refused)
        tables.append(job.lake, QUARANTINE, strange)
        tables.append(job.lake, EPISODES, fresh)
    tally.landed += fresh.height
    tally.quarantined += strange.height
    tally.duplicates += duplicates + refused.height - strange.height
    tally.reasons.update(strange["reason"].to_list())


def _held(job: Job, episodes: pl.DataFrame) -> pl.DataFrame:
    """Ids and content hashes in the lake that the candidates' ids meet; reads their buckets only."""
    buckets = episodes["tenant_bucket"].unique().to_list()
    held = tables.scan(job.lake, EPISODES, buckets=buckets).select("episode_id", "content_hash")
    wanted = episodes.lazy().select("episode_id").unique()
    return held.join(wanted, on="episode_id", how="semi").collect()


def _new_quarantine(job: Job, refused: pl.DataFrame) -> pl.DataFrame:
    buckets = refused["tenant_bucket"].unique().to_list()
    held = tables.scan(job.lake, QUARANTINE, buckets=buckets).select("quarantine_id")
    return refused.unique("quarantine_id", maintain_order=True).join(
        held.collect(), on="quarantine_id", how="anti", maintain_order="left"
    )


def _ingest_landed(job: Job, tally: Tally) -> None:
    """Compact landed segments into the tables, then remove them."""
    keys = landing.seal(job.lake)
    with job.progress.task("ingest landed rows", len(keys) or None) as advance:
        for part in _grouped(keys, 200):
            buffer = _Buffer()
            for key in part:
                _landed_into(job, buffer, key, tally)
            _commit(job, buffer, tally)
            _sync(job)
            landing.remove(job.lake, part)
            advance(len(part))


def _grouped(keys: Sequence[str], size: int) -> list[Sequence[str]]:
    return [keys[i : i + size] for i in range(0, len(keys), size)]


def _landed_into(job: Job, buffer: _Buffer, key: str, tally: Tally) -> None:
    """Rows of one sealed segment; a line torn by a crash was never acknowledged, and is quarantined."""
    data = job.lake.storage.read(key)
    if data is None:  # another ingest had it
        return
    lines = landing.lines_of(data, is_sealed=True)
    episodes, torn = landing.segment_rows(lines, EPISODES)
    refused, _ = landing.segment_rows(lines, QUARANTINE)
    tally.rows_in += len(lines)
    buffer.episodes.append(episodes)
    buffer.quarantine.append(refused)
    if torn:
        rows = [
            {
                "reason": "truncated_json",
                "detail": "A landed line is torn.",
                "raw": t.decode("utf-8", "replace"),
                "source_file": key,
            }
            for t in torn
        ]
        frame = pl.DataFrame(rows, schema_overrides=REFUSALS.polars)
        missing = [
            pl.lit(None, REFUSALS.polars[n]).alias(n) for n in REFUSALS.names if n not in frame.columns
        ]
        buffer.quarantine.append(
            _to_quarantine(job, frame.with_columns(missing).select(REFUSALS.names), landing.SOURCE)
        )


def _sync(job: Job) -> None:
    """Landed rows were promised to survive a power cut; so must the table files that replace them."""
    if isinstance(job.lake.storage, LocalStorage):
        os.sync()


def _tidy(job: Job) -> None:
    """Keep the number of files bounded."""
    for table in (EPISODES, QUARANTINE):
        if len(tables.data_files(job.lake, table)) > job.policy.ingest.compact_above_files:
            with job.progress.task(f"compact {table.name}", None):
                tables.compact(job.lake, table)
        tables.vacuum(job.lake, table, job.policy.ingest.vacuum_after_hours)
