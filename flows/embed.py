"""Embed: give every text that has no vector of the current model one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl

from flows.job import Job, StepResult, record, step
from lake import tables
from transforms import ids
from transforms.embedding import with_text_hash
from transforms.schemas import EPISODES, INSTANT, VECTORS

_READ = ["tenant_id", "tenant_bucket", "event_at", "speaker", "role", "content"]


def run_embed(job: Job) -> StepResult:
    """Embed what came since the last run of this model; unchanged costs two reads.

    Returns:
        rows_in: texts looked at; rows_out: vectors written; rejected: texts the model refused,
        which are tried again with the next run and can be found by their words meanwhile.
    """
    with step("embed") as result:
        current = tables.version(job.lake, EPISODES)
        since = _last_version(job)
        if since == current:
            result.state = "unchanged"
            return result
        files = tables.added_files(job.lake, EPISODES, since)
        total = _count(job, files)
        with job.progress.task("embed", total) as advance:
            for pending, seen in _portions(job, files):
                result.rows_in += seen
                _embed_portion(job, pending, result)
                advance(seen)
        if result.rejected == 0:
            _remember(job, current)
    written = {VECTORS.name: tables.version(job.lake, VECTORS)}
    record(job, result, read={EPISODES.name: current}, written=written)
    return result


def _count(job: Job, files: frozenset[str]) -> int:
    rows = tables.scan(job.lake, EPISODES, files=files).select(pl.len()).collect()
    return int(rows.item())


def _portions(job: Job, files: frozenset[str]) -> Iterator[tuple[pl.DataFrame, int]]:
    """Texts without a vector, about ``embed.batch_rows`` at once, and how many rows were looked at."""
    waiting: list[pl.DataFrame] = []
    seen = 0
    for bucket in range(job.lake.buckets):
        held = _held(job, bucket)
        for name in sorted(f for f in files if f"tenant_bucket={bucket}/" in f):
            rows = tables.scan(job.lake, EPISODES, files=[name]).select(_READ).collect()
            texts = with_text_hash(rows, job.policy.embed.max_text_chars)
            fresh = texts.unique("text_hash").join(held, on="text_hash", how="anti")
            held = pl.concat([held, fresh.select("text_hash")])
            waiting.append(fresh.drop("content").sort("tenant_id", "text_hash"))
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


def _embed_portion(job: Job, pending: pl.DataFrame, result: StepResult) -> None:
    """Embed and commit in batches, so a killed run keeps what it has done."""
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
        kept = frame.filter(~pl.int_range(pl.len()).is_in(sorted(done.refused)))
        tables.append(job.lake, VECTORS, kept)
        result.rows_out += kept.height


def _state_key(job: Job) -> str:
    return f"state/embedded-{ids.digest(job.space)}.json"


def _last_version(job: Job) -> int:
    """Version of episodes that the last complete run of this model saw; -1 where there was none."""
    raw = job.lake.storage.read(_state_key(job))
    return -1 if raw is None else int(json.loads(raw)["episodes_version"])


def _remember(job: Job, version: int) -> None:
    text = json.dumps({"model_key": job.space, "episodes_version": version})
    job.lake.storage.write(_state_key(job), text.encode())
