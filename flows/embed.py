"""Embed: give every text that has no vector of the current model one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from flows.commit import tidy
from flows.job import Job, StepResult, record, step
from flows.notes import hint, mark_of
from lake import lineage, tables
from transforms import ids
from transforms.embedding import with_text_hash
from transforms.schemas import EPISODES, INSTANT, VECTORS

_READ = ["tenant_id", "tenant_bucket", "event_at", "speaker", "role", "content"]


@dataclass(frozen=True)
class _Seen:
    """What this model has been through: a version of episodes, and files of it with refused texts."""

    version: int = -1
    retry: frozenset[str] = field(default_factory=frozenset)


def run_embed(job: Job) -> StepResult:
    """Embed what came since the last run of this model; unchanged costs two reads.

    Returns:
        rows_in: rows looked at; rows_out: vectors written; rejected: texts the model refused,
        which are tried again with the next run and can be found by their words meanwhile.
    """
    with step(job, "embed") as result:
        mark = lineage.mark(job.lake, EPISODES)
        current = mark[0]
        seen = _load(job)
        if seen.version == current and not seen.retry:
            result.state = "unchanged"
            return result
        files = _files(job, seen)
        refusing: set[str] = set()
        with job.progress.task("embed", _count(job, files)) as advance:
            for pending, rows in _portions(job, files):
                result.rows_in += rows
                refusing |= _embed_portion(job, pending, result)
                advance(rows)
        now = _Seen(current, frozenset(refusing))
        if now == seen and result.rows_out == 0:  # the same texts were refused again
            result.state = "unchanged"
        else:
            _remember(job, now, mark)
        if result.rows_out:
            tidy(job, VECTORS)
    written = {VECTORS.name: tables.version(job.lake, VECTORS)}
    record(job, result, read={EPISODES.name: current}, written=written)
    return result


def _files(job: Job, seen: _Seen) -> frozenset[str]:
    """Data files to look through: the new ones, and those with a text that was refused before.

    A file that compaction has merged away since is among the new ones under its new name.
    """
    added = tables.added_files(job.lake, EPISODES, seen.version)
    return added | (seen.retry & tables.data_files(job.lake, EPISODES)) if seen.retry else added


def _count(job: Job, files: frozenset[str]) -> int:
    rows = tables.scan(job.lake, EPISODES, files=files).select(pl.len()).collect()
    return int(rows.item())


def _portions(job: Job, files: frozenset[str]) -> Iterator[tuple[pl.DataFrame, int]]:
    """Texts without a vector, about ``embed.batch_rows`` at once, and how many rows were looked at."""
    waiting: list[pl.DataFrame] = []
    seen = 0
    for bucket in range(job.lake.buckets):
        here = sorted(f for f in files if f"tenant_bucket={bucket}/" in f)
        if not here:
            continue
        held = _held(job, bucket)
        for name in here:
            rows = tables.scan(job.lake, EPISODES, files=[name]).select(_READ).collect()
            texts = with_text_hash(rows, job.policy.embed.max_text_chars).drop("content")
            fresh = texts.unique("text_hash", keep="any").join(held, on="text_hash", how="anti")
            held = pl.concat([held, fresh.select("text_hash")])
            waiting.append(fresh.sort("tenant_id", "text_hash").with_columns(file=pl.lit(name)))
            seen += rows.height
            if sum(frame.height for frame in waiting) >= job.policy.embed.batch_rows:
                yield pl.concat(waiting), seen
                waiting, seen = [], 0
    if waiting:
        yield pl.concat(waiting), seen


def _held(job: Job, bucket: int) -> pl.DataFrame:
    """Hashes of texts of a bucket that have a vector in this job's space."""
    vectors = tables.scan(job.lake, VECTORS, buckets=[bucket]).filter(pl.col("model_key") == job.space)
    return vectors.select("text_hash").collect()


def _embed_portion(job: Job, pending: pl.DataFrame, result: StepResult) -> set[str]:
    """Embed and commit in batches, so a killed run keeps what it has done.

    Returns:
        Files that hold a refused text.
    """
    refusing: set[str] = set()
    for rows in pending.iter_slices(job.policy.embed.batch_rows):
        done = job.embedder.embed(rows["embedding_text"].to_list())
        result.tokens += done.tokens
        result.rejected += len(done.refused)
        flat = pl.Series(done.vectors.ravel())
        vectors = flat.reshape((rows.height, job.embedder.dimensions)).arr.to_list()
        frame = rows.with_columns(
            vector=vectors,
            model_key=pl.lit(job.space),
            dimensions=pl.lit(job.embedder.dimensions, pl.Int32),
            embedded_at=pl.lit(job.as_of).cast(INSTANT),
        )
        is_refused = pl.int_range(pl.len()).is_in(sorted(done.refused))
        refusing |= set(frame.filter(is_refused)["file"])
        kept = frame.filter(~is_refused)
        tables.append(job.lake, VECTORS, kept)
        result.rows_out += kept.height
    return refusing


def _state_key(job: Job) -> str:
    # Where texts are cut is part of the name: cut elsewhere, a long text is another one.
    return f"state/embedded-{ids.row_id(job.space, str(job.policy.embed.max_text_chars))}.json"


def _load(job: Job) -> _Seen:
    """What the last complete run of this model saw; nothing where that cannot be told any more."""
    record = hint(job, _state_key(job))
    try:
        marks = [(t, mark_of(record["marks"][t.name])) for t in (EPISODES, VECTORS)]
        seen = _Seen(int(record["episodes_version"]), frozenset(map(str, record["retry_files"])))
    except (KeyError, TypeError, ValueError):
        return _Seen()
    return seen if all(lineage.holds(job.lake, t, mark) for t, mark in marks) else _Seen()


def _remember(job: Job, seen: _Seen, episodes: lineage.Mark) -> None:
    record = {
        "model_key": job.space,
        "episodes_version": seen.version,
        "retry_files": sorted(seen.retry),
        "marks": {EPISODES.name: episodes, VECTORS.name: lineage.mark(job.lake, VECTORS)},
    }
    job.lake.storage.write(_state_key(job), json.dumps(record).encode())
