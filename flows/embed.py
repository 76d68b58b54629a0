"""Embed: each text without a vector of the current model gets one, and of the one before while kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from flows import embed_units
from flows.commit import tidy
from flows.engine.run import require_all, run_units
from flows.engine.units import Done
from flows.job import Job, StepResult, record, step
from flows.notes import hint, mark_of
from lake import lineage, tables
from lake.vectors import vectors_of
from transforms import ids
from transforms.embedding import EMBEDDED
from transforms.schemas import VECTORS, Table


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


def embed_tables(
    job: Job, wanted: Sequence[Table], result: StepResult, failed: list[Done] | None = None
) -> dict[str, int] | None:
    """Give new texts of these tables their vectors, those of the model that is being replaced among them.

    Args:
        job: The run.
        wanted: Some of ``embedding.EMBEDDED``.
        result: Its counts are added to.
        failed: Takes the units that failed, for a caller that has more to do before it says so.

    Returns:
        Version read of each table; None where there was nothing to do.

    Raises:
        UnitsError: Units failed, and there is no ``failed``; the others were done, and what failed is due
            again.
    """
    found: dict[str, int] = {}
    ends: list[Done] = []
    for number, side in enumerate(job.sides):
        versions, ended = _embed_side(job, number, side, wanted, result)
        found.update(versions or {})
        ends += ended
    if failed is None:
        require_all("embed", ends)
    else:
        failed += [done for done in ends if done.failure]
    return found or None


def _embed_side(
    job: Job, number: int, side: Job, wanted: Sequence[Table], result: StepResult
) -> tuple[dict[str, int] | None, list[Done]]:
    """See ``embed_tables``; of one model. Files of a unit that failed count as seen, and are due again."""
    marks = {table.name: lineage.mark(side.lake, table) for table in wanted}
    seen = _load(side)
    due = [t for t in wanted if seen[t.name].version != marks[t.name][0] or seen[t.name].retry]
    if not due:
        return None, []
    now, written = dict(seen), result.rows_out
    files = {table.name: sorted(_files(side, table, seen[table.name])) for table in due}
    units = embed_units.plan(job, number, files)
    ends = list(run_units(job, units, "embed"))
    again = _told(ends, result)
    for table in due:
        now[table.name] = _Seen(marks[table.name][0], frozenset(again.get(table.name, ())))
    if now == seen and result.rows_out == written:  # the same texts were refused again
        return None, ends
    _remember(side, now, {**_marks_of(side, now), **marks})
    if result.rows_out > written:
        tidy(side, VECTORS)
    return {name: mark[0] for name, mark in marks.items()}, ends


def _told(ends: Sequence[Done], result: StepResult) -> dict[str, set[str]]:
    """Add the counts of units to a step's. Returns files to look at again, by table."""
    again: dict[str, set[str]] = {}
    for done in ends:
        told = done.result
        if told is not None:
            result.rows_in += told["rows"]
            result.rows_out += told["written"]
            result.rejected += told["rejected"]
            result.tokens += told["tokens"]
        for table, names in (done.unit.payload["files"] if told is None else told["refused"]).items():
            again.setdefault(table, set()).update(names)
    return again


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
    made = [embed_units.vectors_made(job, rows)[0] for rows in fresh.iter_slices(job.policy.embed.batch_rows)]
    if not job.is_dry:
        for frame in made:
            tables.append(job.lake, VECTORS, frame)
    return pl.concat([held, *(frame.select("text_hash", "vector") for frame in made)])


def _files(job: Job, table: Table, seen: _Seen) -> frozenset[str]:
    """Data files to look through: the new ones, and those with a text that was refused before."""
    return tables.added_files(job.lake, table, seen.version, seen.retry)


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
