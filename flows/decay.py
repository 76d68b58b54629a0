"""Decay: the retention score of every memory at an instant, and what would be forgotten and why."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from flows import retain_state
from flows.decay_units import COLUMNS, look
from flows.engine.run import require_all
from flows.engine.units import Done, Unit
from flows.job import Job, StepResult, step
from flows.retain_groups import grouped, run_groups
from flows.retain_judged import Judged, basis_of
from flows.retain_ledger import Lines
from lake import tables
from lake.faults import wrapped
from transforms.forgetting import spread
from transforms.subjects import Subject


def run_decay(
    job: Job, *, subject: Subject | None = None, out: str | None = None, is_complete: bool = False
) -> StepResult:
    """Score every memory; nothing of the lake is written, and no score is kept.

    What a night finds is left with its job, so that retain need not judge it again.

    Args:
        job: The run.
        subject: Only memories of it; None is all.
        out: File to write the scored memories to, Parquet, bucket by bucket.
        is_complete: Look at every memory, also where nothing can be due since the last retain.

    Returns:
        rows_in: memories scored; rows_out: those that the policy lets go. The detail has, by kind, rows,
        the distribution of scores, and what would be forgotten by reason. ``unchanged`` where all is to
        be looked at only as far as needed, and nothing is due that was not at the last retain.

    Raises:
        StorageError: The file cannot be written.
        UnitsError: Buckets could not be scored.
    """
    with step(job, "decay") as result, tables.held_open():
        is_complete = is_complete or subject is not None or out is not None
        units = _units(job, subject, is_complete=is_complete, is_apart=out is not None)
        if not units:
            result.state = "unchanged"
            return result
        counts = _written(job, units, subject, out) if out is not None else _counted(job, units)
        kinds = spread.by_kind(spread.together(counts))
        result.rows_in = sum(kind["rows"] for kind in kinds)
        result.rows_out = sum(sum(kind["forgotten"].values()) for kind in kinds)
        result.detail = {"kinds": kinds} if out is None else {"kinds": kinds, "out": out}
        if not (result.rows_out or is_complete):
            result.state = "unchanged"
    return result


def _units(job: Job, subject: Subject | None, *, is_complete: bool, is_apart: bool) -> list[Unit]:
    """A unit for each group of buckets that are to be looked at; a file is written bucket by bucket."""
    told = retain_state.instructions_of(job)
    method = retain_state.method_of(job, told)
    seen, files = retain_state.load(job, method), retain_state.files_by_bucket(job)
    buckets = list(range(job.lake.buckets)) if subject is None else [job.lake.bucket(subject.tenant)]
    if not is_complete:
        buckets = [b for b in buckets if not seen.is_settled(b, files[b], job.as_of)]
    shared: dict[str, Any] = {
        "looked_at": seen.looked_at.isoformat() if seen.looked_at else None,
        "subject": None if subject is None else subject.as_dict(),
    }
    bases = {str(b): basis_of(job, method, files[b], seen.looked_at) for b in buckets}
    found = []
    for group in grouped(job, buckets, is_apart=is_apart, is_shared_out=True):
        held = None if is_complete else {str(b): bases[str(b)] for b in group.buckets}
        payload = {"buckets": group.buckets, "bases": held, **shared}
        found.append(Unit("decay", group.name, (), payload, group.rows))
    return found


def _counted(job: Job, units: list[Unit]) -> list[dict[str, spread.Spread]]:
    ends, counts = list[Done](), list[dict[str, spread.Spread]]()
    for done in run_groups(job, units, "decay"):
        ends.append(done)
        if done.result is not None:
            counts.append(done.result["kinds"])
            bases = done.unit.payload["bases"]
            for bucket, told in done.result["buckets"].items() if bases else ():
                _remember(job, int(bucket), bases[bucket], told)
    require_all("decay", ends)
    return counts


def _remember(job: Job, bucket: int, basis: str, told: dict[str, Any]) -> None:
    """What a unit in another process found; one in this process has left more."""
    held = job.judged.get(bucket)
    if not told["is_clear"] or (held is not None and held.basis == basis):
        return
    next_at = datetime.fromisoformat(told["next_at"]) if told["next_at"] else None
    job.judged[bucket] = Judged(Lines(), int(told["rows"]), next_at, basis=basis)


def _written(
    job: Job, units: list[Unit], subject: Subject | None, out: str
) -> list[dict[str, spread.Spread]]:
    """As ``_counted``, with the memories written to a file; here, because one process writes a file."""
    place, counts = Path(out), []
    with (
        wrapped(f"writing {place.name}"),
        _replacing(place) as temporary,
        job.progress.task("decay", sum(unit.rows for unit in units) or None) as advance,
        _Rows(temporary) as rows,
    ):
        for unit in units:
            counts.append(look(job, unit.payload, subject, rows.write)[0])
            advance(unit.rows)
    return counts


@contextmanager
def _replacing(place: Path) -> Iterator[Path]:
    """A file beside a place, which takes it when it is whole."""
    temporary = place.parent / f".{place.name}.{secrets.token_hex(6)}.tmp"
    try:
        yield temporary
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


class _Rows:
    """A Parquet file of scored memories, written a frame at a time."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> _Rows:
        return self

    def write(self, rows: pl.DataFrame) -> None:
        """Append rows of ``COLUMNS``."""
        table = rows.select(COLUMNS).to_arrow(compat_level=pl.CompatLevel.oldest())
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._place, table.schema, compression="zstd")
        self._writer.write_table(table)

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
