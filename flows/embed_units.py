"""Embedding in units: some buckets, or a part of one by hash of the text, so that no two meet a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from flows.engine.units import Unit
from flows.job import Job
from lake import measured, tables
from lake.data_files import bucket_of
from lake.embedders.protocol import Embedder, Priced
from transforms.costs import by_tenant
from transforms.embedding import EMBEDDED, embedded_columns, hashed_texts
from transforms.model_requests import Spending
from transforms.schemas import INSTANT, VECTORS, Table

TASK = "embed"
UNIT_ROWS = 200_000
"""Most rows of a unit: their hashes, and those of the bucket's vectors, are held at once."""
LEAST_PART = 4
"""A unit has at least this part of a batch: fewer rows are not worth a commit of their own."""
UNITS_A_WORKER = 4
"""So that workers end at about the same time."""
_HASH_DIGITS = 8
"""Of a text's hash, read as a number: parts of a bucket are even to the row."""

Files = Mapping[str, Sequence[str]]
"""Data files to look through, by table."""


def plan(job: Job, side: int, files: Files) -> list[Unit]:
    """Units of about as many rows each, the largest first; the log says how many rows a file has.

    Args:
        job: The run.
        side: Which of ``job.sides``.
        files: What is to be looked through.
    """
    by_bucket = _rows_by_bucket(job, files)
    workers, most = job.engine.workers, UNIT_ROWS
    if workers > 1:
        share = sum(by_bucket.values()) // (workers * UNITS_A_WORKER)
        most = min(UNIT_ROWS, max(1, job.policy.embed.batch_rows // LEAST_PART, share))
    units: list[Unit] = []
    waiting: list[int] = []
    for bucket in sorted(by_bucket):
        parts = -(-by_bucket[bucket] // most)
        if parts > 1:
            units += [_unit(side, [bucket], (part, parts), files, by_bucket) for part in range(parts)]
            continue
        if sum(by_bucket[one] for one in waiting) + by_bucket[bucket] > most:
            units.append(_unit(side, waiting, (0, 1), files, by_bucket))
            waiting = []
        waiting = [*waiting, bucket]
    if waiting:
        units.append(_unit(side, waiting, (0, 1), files, by_bucket))
    return sorted(units, key=lambda unit: (-unit.rows, unit.buckets))


def _rows_by_bucket(job: Job, files: Files) -> dict[int, int]:
    found: Counter[int] = Counter()
    for table in EMBEDDED:
        wanted = set(files.get(table.name, ()))
        if wanted:
            for name, rows in measured.live_files(job.lake, table).select("file", "rows").iter_rows():
                if name in wanted:
                    found[bucket_of(name)] += rows
    return dict(found)


def _unit(
    side: int, buckets: Sequence[int], part: tuple[int, int], files: Files, rows: Mapping[int, int]
) -> Unit:
    own = {
        table: sorted(name for name in names if bucket_of(name) in buckets) for table, names in files.items()
    }
    number, parts = part
    told = f"bucket {buckets[0]}" if len(buckets) == 1 else f"buckets {buckets[0]} to {buckets[-1]}"
    return Unit(
        TASK,
        f"{told}, part {number + 1} of {parts}" if parts > 1 else told,
        tuple(buckets),
        {"side": side, "files": own, "part": number, "parts": parts},
        sum(rows[bucket] for bucket in buckets) // parts,
    )


@dataclass
class _Counts:
    """What a unit did; ``refused`` holds files with a refused text, by table."""

    rows: int = 0
    written: int = 0
    rejected: int = 0
    tokens: int = 0
    refused: dict[str, set[str]] = field(default_factory=dict)


def embed_unit(job: Job, payload: dict[str, Any]) -> dict[str, Any]:
    """Give the texts of some files their vectors; those that are there already are left alone.

    Args:
        job: The run.
        payload: Of a unit of ``plan``.

    Returns:
        ``rows`` looked at, ``written``, ``rejected``, ``tokens``, and ``refused``: files with a refused
        text, by table.
    """
    side, counts = job.sides[payload["side"]], _Counts()
    with tables.held_open(is_shared=True):
        for pending in _portions(side, payload, counts):
            _embed(side, pending, counts)
    return {**vars(counts), "refused": {table: sorted(names) for table, names in counts.refused.items()}}


@dataclass(frozen=True)
class _Pending:
    """Texts without a vector, and the table and files that they stand in."""

    texts: pl.DataFrame
    table: Table
    files: Sequence[str]


def _portions(job: Job, payload: Mapping[str, Any], counts: _Counts) -> Iterator[list[_Pending]]:
    """Texts without a vector, about ``embed.batch_rows`` at once."""
    waiting: list[_Pending] = []
    for bucket, groups in _groups(job, payload["files"]):
        held = _held(job, bucket, payload)
        for table, names in groups:
            texts = _texts(job, table, names, payload)
            counts.rows += texts.height
            fresh = texts.unique("text_hash", keep="any").join(held, on="text_hash", how="anti")
            held = pl.concat([held, fresh.select("text_hash")])
            waiting.append(_Pending(fresh.sort("tenant_id", "text_hash"), table, names))
            if sum(one.texts.height for one in waiting) >= job.policy.embed.batch_rows:
                yield waiting
                waiting = []
    yield waiting


def _groups(job: Job, files: Files) -> Iterator[tuple[int, list[tuple[Table, list[str]]]]]:
    """Files of each bucket, small ones together up to the rows of a batch."""
    found: dict[int, list[tuple[Table, list[str]]]] = {}
    for table in EMBEDDED:
        wanted = files.get(table.name, ())
        if not wanted:
            continue
        rows = dict(measured.live_files(job.lake, table).select("file", "rows").iter_rows())
        for bucket in sorted({bucket_of(name) for name in wanted}):
            own = [name for name in sorted(wanted) if bucket_of(name) == bucket]
            filled = 0
            for name in own:
                if not filled:
                    found.setdefault(bucket, []).append((table, []))
                found[bucket][-1][1].append(name)
                filled += rows[name]
                filled = 0 if filled >= job.policy.embed.batch_rows else filled
    yield from sorted(found.items())


def _texts(job: Job, table: Table, names: Sequence[str], payload: Mapping[str, Any]) -> pl.DataFrame:
    rows = tables.scan(job.lake, table, files=names).select(embedded_columns(table)).collect()
    texts = hashed_texts(rows, table, job.policy.embed.max_text_chars)
    return texts.select("tenant_id", "tenant_bucket", "text_hash", "embedding_text").filter(_is_of(payload))


def _is_of(payload: Mapping[str, Any]) -> pl.Expr:
    """Whether a text belongs to the unit, by its hash."""
    if payload["parts"] == 1:
        return pl.lit(value=True)
    number = pl.col("text_hash").str.slice(0, _HASH_DIGITS).str.to_integer(base=16)
    is_of: pl.Expr = number % payload["parts"] == payload["part"]
    return is_of


def _held(job: Job, bucket: int, payload: Mapping[str, Any]) -> pl.DataFrame:
    """Hashes of texts of a bucket that have a vector in this job's space."""
    vectors = tables.scan(job.lake, VECTORS, buckets=[bucket]).filter(pl.col("model_key") == job.space)
    return vectors.filter(_is_of(payload)).select("text_hash").collect()


def _embed(job: Job, pending: Sequence[_Pending], counts: _Counts) -> None:
    """Embed and commit in batches, so a killed run keeps what it has done."""
    if not pending:
        return
    rows = pl.concat([one.texts.with_columns(source=pl.lit(place)) for place, one in enumerate(pending)])
    for batch in rows.iter_slices(job.policy.embed.batch_rows):
        kept, refused, tokens = vectors_made(job, batch)
        tables.append(job.lake, VECTORS, kept)
        counts.tokens += tokens
        counts.rejected += refused.height
        counts.written += kept.height
        for place in refused["source"].unique():
            counts.refused.setdefault(pending[place].table.name, set()).update(pending[place].files)


def vectors_made(job: Job, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, int]:
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
