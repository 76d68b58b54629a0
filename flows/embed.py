"""Embed: each text without a vector of the current model gets one, and of the one before while kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from flows.commit import tidy
from flows.job import Job, StepResult, record, step
from flows.notes import hint, mark_of
from lake import lineage, tables
from lake.embedders.protocol import Embedder, Priced
from lake.vectors import vectors_of
from transforms import ids
from transforms.costs import by_tenant
from transforms.embedding import EMBEDDED, embedded_columns, hashed_texts
from transforms.model_requests import Spending
from transforms.schemas import INSTANT, VECTORS, Table


@dataclass(frozen=True)
class _Seen:
    """What this model has been through of a table: a version, and files of it with refused texts."""

    version: int = -1
    retry: frozenset[str] = field(default_factory=frozenset)


def run_embed(job: Job) -> StepResult:
    """Embed what came since the last run of this model; unchanged costs two reads a table.

    Returns:
        rows_in: rows looked at; rows_out: vectors written; rejected: texts the model refused,
        which are tried again with the next run and can be found by their words meanwhile.
    """
    with step(job, "embed") as result:
        versions = embed_tables(job, EMBEDDED, result)
        if versions is None:
            result.state = "unchanged"
            return result
    record(job, result, read=versions, written={VECTORS.name: tables.version(job.lake, VECTORS)})
    return result


def embed_tables(job: Job, wanted: Sequence[Table], result: StepResult) -> dict[str, int] | None:
    """Give new texts of these tables their vectors, those of the model that is being replaced among them.

    Args:
        job: The run.
        wanted: Some of ``embedding.EMBEDDED``.
        result: Its counts are added to.

    Returns:
        Version read of each table; None where there was nothing to do.
    """
    done = [_embed_side(side, wanted, result) for side in job.sides]
    found = [versions for versions in done if versions is not None]
    return {name: version for versions in found for name, version in versions.items()} if found else None


def _embed_side(job: Job, wanted: Sequence[Table], result: StepResult) -> dict[str, int] | None:
    """See ``embed_tables``; of one model."""
    marks = {table.name: lineage.mark(job.lake, table) for table in wanted}
    seen = _load(job)
    due = [t for t in wanted if seen[t.name].version != marks[t.name][0] or seen[t.name].retry]
    if not due:
        return None
    now, written = dict(seen), result.rows_out
    for table in due:
        refusing = _embed_table(job, table, _files(job, table, seen[table.name]), result)
        now[table.name] = _Seen(marks[table.name][0], frozenset(refusing))
    if now == seen and result.rows_out == written:  # the same texts were refused again
        return None
    _remember(job, now, {**_marks_of(job, now), **marks})
    if result.rows_out > written:
        tidy(job, VECTORS)
    return {name: mark[0] for name, mark in marks.items()}


def embed_texts(job: Job, texts: pl.DataFrame) -> pl.DataFrame:
    """Vectors of texts, those that are held read, the others made and, but for a dry run, kept.

    Args:
        job: The run.
        texts: ``tenant_id``, ``tenant_bucket``, ``text_hash`` and ``embedding_text`` of one bucket.

    Returns:
        ``text_hash`` and ``vector``; a text that the model refuses is missing.
    """
    wanted = texts.unique("text_hash", keep="any").sort("tenant_id", "text_hash")
    buckets = wanted["tenant_bucket"].unique().to_list()
    held = vectors_of(job.lake, buckets, job.space, wanted)
    fresh = wanted.join(held, on="text_hash", how="anti", maintain_order="left")
    made = [_vectors(job, rows)[0] for rows in fresh.iter_slices(job.policy.embed.batch_rows)]
    if not job.is_dry:
        for frame in made:
            tables.append(job.lake, VECTORS, frame)
    return pl.concat([held, *(frame.select("text_hash", "vector") for frame in made)])


def _embed_table(job: Job, table: Table, files: frozenset[str], result: StepResult) -> set[str]:
    """Embed the texts of some files of a table. Returns those that hold a refused text."""
    refusing: set[str] = set()
    with job.progress.task(f"embed {table.name}", _count(job, table, files)) as advance:
        for pending, rows in _portions(job, table, files):
            result.rows_in += rows
            refusing |= _embed_portion(job, pending, result)
            advance(rows)
    return refusing


def _files(job: Job, table: Table, seen: _Seen) -> frozenset[str]:
    """Data files to look through: the new ones, and those with a text that was refused before.

    A file that compaction has merged away since is among the new ones under its new name.
    """
    added = tables.added_files(job.lake, table, seen.version)
    return added | (seen.retry & tables.data_files(job.lake, table)) if seen.retry else added


def _count(job: Job, table: Table, files: frozenset[str]) -> int:
    rows = tables.scan(job.lake, table, files=files).select(pl.len()).collect()
    return int(rows.item())


def _portions(job: Job, table: Table, files: frozenset[str]) -> Iterator[tuple[pl.DataFrame, int]]:
    """Texts without a vector, about ``embed.batch_rows`` at once, and how many rows were looked at."""
    waiting: list[pl.DataFrame] = []
    seen = 0
    for bucket in range(job.lake.buckets):
        here = sorted(f for f in files if f"tenant_bucket={bucket}/" in f)
        if not here:
            continue
        held = _held(job, bucket)
        for name in here:
            rows = tables.scan(job.lake, table, files=[name]).select(embedded_columns(table)).collect()
            texts = hashed_texts(rows, table, job.policy.embed.max_text_chars)
            texts = texts.select("tenant_id", "tenant_bucket", "text_hash", "embedding_text")
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
        kept, refused, tokens = _vectors(job, rows)
        result.tokens += tokens
        result.rejected += refused.height
        result.rows_out += kept.height
        refusing |= set(refused["file"])
        tables.append(job.lake, VECTORS, kept)
    return refusing


def _vectors(job: Job, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Rows of texts as rows of ``schemas.VECTORS``, those the model refused, and tokens sent."""
    done = job.embedder.embed(rows["embedding_text"].to_list())
    if not job.is_dry:
        job.spending.extend(
            embedding_spending(job.embedder, rows["tenant_id"], rows["embedding_text"], done.tokens)
        )
    flat = pl.Series(done.vectors.ravel())
    vectors = flat.reshape((rows.height, job.embedder.dimensions)).arr.to_list()
    frame = rows.with_columns(
        vector=vectors,
        model_key=pl.lit(job.space),
        dimensions=pl.lit(job.embedder.dimensions, pl.Int32),
        embedded_at=pl.lit(job.as_of).cast(INSTANT),
    )
    is_refused = pl.int_range(pl.len()).is_in(sorted(done.refused))
    return frame.filter(~is_refused), frame.filter(is_refused), done.tokens


def embedding_spending(
    embedder: Embedder, tenants: pl.Series, texts: pl.Series, tokens: int
) -> list[Spending]:
    """What embedding some texts took, by tenant; a model that is no service costs no money."""
    price = embedder.input_price if isinstance(embedder, Priced) else None
    return by_tenant(
        tenants, texts, tokens, model_key=embedder.model_key, mode="local" if price is None else "live",
        price=price or 0.0,
    )  # fmt: skip


def state_key(job: Job, space: str) -> str:
    """Where it is kept what a model has been through."""
    # Where texts are cut is part of the name: cut elsewhere, a long text is another one.
    return f"state/embedded-{ids.row_id(space, str(job.policy.embed.max_text_chars))}.json"


def _load(job: Job) -> dict[str, _Seen]:
    """What the last complete run of this model saw of each table; nothing where that is not known."""
    record = hint(job, state_key(job, job.space))
    nothing = {table.name: _Seen() for table in EMBEDDED}
    try:
        if not lineage.holds(job.lake, VECTORS, mark_of(record["vectors"])):
            return nothing
        held = record["tables"]
        return {table.name: _seen(job, table, held.get(table.name)) for table in EMBEDDED}
    except (KeyError, TypeError, ValueError, AttributeError):
        return nothing


def _seen(job: Job, table: Table, record: dict[str, Any] | None) -> _Seen:
    if record is None:
        return _Seen()
    seen = _Seen(int(record["version"]), frozenset(map(str, record["retry_files"])))
    return seen if lineage.holds(job.lake, table, mark_of(record["mark"])) else _Seen()


def _marks_of(job: Job, seen: Mapping[str, _Seen]) -> dict[str, lineage.Mark]:
    """Marks of what was seen of each table, for those that this run does not look at."""
    return {t.name: lineage.mark_at(job.lake, t, seen[t.name].version) for t in EMBEDDED}


def _remember(job: Job, seen: Mapping[str, _Seen], marks: Mapping[str, lineage.Mark]) -> None:
    record = {
        "model_key": job.space,
        "vectors": lineage.mark(job.lake, VECTORS),
        "tables": {
            name: {"version": one.version, "retry_files": sorted(one.retry), "mark": marks[name]}
            for name, one in seen.items()
        },
    }
    job.lake.storage.write(state_key(job, job.space), json.dumps(record).encode())
