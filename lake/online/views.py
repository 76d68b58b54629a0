"""Rows that a search ranks, source by source: of the index (their payload stays there), or held whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from lake.index import NAME_COLUMNS, PAYLOAD, RECORD_COLUMN, TERMS_COLUMN, Generation
from lake.scope import Scope
from transforms.policy_recall import RecallPolicy
from transforms.relevance import Prepared, prepare
from transforms.schemas import INSTANT, MEMORIES
from transforms.scope_columns import Positions, ScopeColumns
from transforms.scoring_record import CODES, FORM, RECORD, columns_of, from_parts

SMALLEST_BYTES = 4096
"""What a view counts for at least: its arrays' own headers, its key."""


class Gone(Exception):  # noqa: N818 says what happened
    """A file of the index could not be read: its generation was removed meanwhile, or is damaged."""


MOST_TEXTS = 1_000
"""Payloads a view keeps: reading one again costs a search of a small scope a quarter of its time."""
_TEXT_BYTES = 600
"""About what a payload holds of memory."""
_ID_BYTES = 32
Usual = tuple[ScopeColumns, Prepared]
_T = TypeVar("_T")


class Source(Protocol):
    """Rows of one scope: their scoring columns, and their payload on demand."""

    @property
    def columns(self) -> ScopeColumns:
        """Of all rows, sorted."""

    @property
    def prepared(self) -> Prepared | None:
        """What relevance needs of the rows whatever is asked, where it is kept."""

    @property
    def usual(self) -> Usual | None:
        """Rows that stand for the scope, where these are only some of its rows."""

    def rows(self, positions: Positions) -> list[dict[str, Any]]:
        """``schemas.MEMORIES`` without text and vector that searches read; instants in microseconds.

        Raises:
            Gone: The index is no longer there.
        """


@dataclass(frozen=True)
class FrameSource:
    """Rows that are held whole.

    Attributes:
        columns: Their scoring columns.
        prepared: As ``Source``.
        usual: As ``Source``.
        frame: ``schemas.MEMORIES`` without ``search_text`` and ``vector``, row by row with them; instants
            as integers.
        scope: Whose they are; None where it does not matter.
    """

    columns: ScopeColumns
    frame: pl.DataFrame
    prepared: Prepared | None = None
    usual: Usual | None = None
    scope: Scope | None = None

    def rows(self, positions: Positions) -> list[dict[str, Any]]:
        """As ``Source``."""
        return self.frame[positions].to_dicts() if len(positions) else []


def held_whole(
    rows: pl.DataFrame,
    vectors: NDArray[np.floating[Any]],
    policy: RecallPolicy,
    *,
    is_fresh: bool,
    scope: Scope | None = None,
) -> FrameSource:
    """A source of memories that lie in no index.

    Args:
        rows: ``schemas.MEMORIES``, its ``vector`` left out or not.
        vectors: float16 or float32 (rows, d), row by row with them.
        policy: That they are asked with.
        is_fresh: Whether they are not published yet.
        scope: Whose they are.
    """
    columns = columns_of(rows, vectors, is_fresh=is_fresh)
    order = columns.sorted_rows()
    columns = columns.take(order)
    shown = rows[order].select([n for n in MEMORIES.names if n not in ("search_text", "vector")])
    frame = shown.with_columns(pl.col(INSTANT).to_physical())
    return FrameSource(columns, frame, prepare(columns, policy), scope=scope)


@dataclass(frozen=True)
class View:
    """One scope of one generation, or the part of it in one of its tables.

    Attributes:
        columns: Scoring columns.
        generation: Where the payload is.
        table: Which of its tables.
        addresses: Row by row, the store's row id.
        scope: Whose rows these are.
        prepared: As ``Source``.
        usual: As ``Source``.
        held: Payloads, where they were read with the columns.
        texts: Payloads that were shown before, as JSON by position, at most ``MOST_TEXTS``.
        refused: The tombstones last asked for, and which rows they refuse.
    """

    columns: ScopeColumns
    generation: Generation
    table: str
    addresses: NDArray[np.uint64]
    scope: Scope
    prepared: Prepared | None = None
    usual: Usual | None = None
    held: Sequence[dict[str, Any]] | None = None
    texts: dict[int, str] = field(default_factory=dict, compare=False)
    refused: dict[str, Any] = field(default_factory=dict, compare=False)

    def rows(self, positions: Positions) -> list[dict[str, Any]]:
        """As ``Source``; every row is checked to be the one that was scored, and of the scope.

        Raises:
            Gone: The table is gone, or holds other rows than were scanned.
        """
        places = positions.tolist()
        if self.held is None:
            texts = self._texts(places)
            rows = [orjson.loads(texts[place]) for place in places]
        else:
            rows = [self.held[place] for place in places]
        wanted = self.columns.ids[positions].tolist()
        for row, name in zip(rows, wanted, strict=True):
            if row["memory_id"].encode() != name or not self.scope.holds(row):
                raise Gone(f"a payload of table {self.table} is not of the row it stands beside")
        return rows

    def _texts(self, places: list[int]) -> dict[int, str]:
        """Payloads by position, those read that were not shown before."""
        found = {place: self.texts[place] for place in places if place in self.texts}
        missing = [place for place in places if place not in found]
        if missing:
            rows = self.addresses[np.array(missing, np.int64)]
            read = reading(self.generation.payloads, self.table, rows)
            found |= zip(missing, read, strict=True)
            room = MOST_TEXTS - len(self.texts)
            self.texts.update((place, found[place]) for place in missing[:room] if room > 0)
        return found

    @property
    def nbytes(self) -> int:
        """Bytes held, or that may come to be held."""
        held = 0 if self.prepared is None else self.prepared.nbytes
        texts = min(len(self.columns), MOST_TEXTS) * _TEXT_BYTES
        return max(SMALLEST_BYTES, self.columns.nbytes + self.addresses.nbytes + held + texts)


def reading(what: Callable[..., _T], *arguments: Any) -> _T:
    """What a read of the index returns.

    Raises:
        Gone: It failed.
    """
    try:
        return what(*arguments)
    except (OSError, ValueError, RuntimeError) as error:
        raise Gone(str(error)) from error


def scored(found: pa.Table, dimensions: int) -> ScopeColumns:
    """Scoring columns of scanned rows, in the scan's order; where no vectors were read, of no dimensions."""
    found = found.combine_chunks()
    if RECORD_COLUMN not in found.column_names:
        return _of_payload(found, dimensions)
    terms, starts = _lists(found[TERMS_COLUMN])
    names = {column.removesuffix("_id"): _one(found[column]) for column in NAME_COLUMNS}
    return from_parts(
        _ids(found["memory_id"]),
        matrix(found["vector"], dimensions) if "vector" in found.column_names else _no_vectors(found),
        terms,
        starts,
        _records(found[RECORD_COLUMN]),
        names,
        is_fresh=False,
    )


def scored_with_payload(found: pa.Table, dimensions: int) -> tuple[ScopeColumns, list[dict[str, Any]]]:
    """Scoring columns of a few rows that were read with their payload, which holds their names; and it."""
    rows = [orjson.loads(text) for text in found[PAYLOAD].to_pylist()]
    for column in ("memory_id", *NAME_COLUMNS):
        if column not in found.column_names:
            found = found.append_column(column, pa.array([row[column] for row in rows], pa.string()))
    return scored(found, dimensions), rows


def _of_payload(found: pa.Table, dimensions: int) -> ScopeColumns:
    """Of a generation of an older version, which has neither records nor terms: made from its payload."""
    rows = pl.DataFrame([orjson.loads(text) for text in found[PAYLOAD].to_pylist()], schema=_PAYLOAD_SCHEMA)
    whole = rows.with_columns(
        pl.Series("search_text", found["search_text"].to_pylist(), pl.String),
        *(pl.col(name).cast(INSTANT) for name, kind in MEMORIES.polars.items() if kind == INSTANT),
    )
    return columns_of(whole, matrix(found["vector"], dimensions), is_fresh=False)


_PAYLOAD_SCHEMA = {
    name: pl.Int64 if kind == INSTANT else kind
    for name, kind in MEMORIES.polars.items()
    if name not in ("search_text", "vector")
}


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _ids(column: pa.ChunkedArray) -> NDArray[np.bytes_]:
    if not len(column):
        return np.zeros(0, f"S{_ID_BYTES}")
    names = _one(column)
    _, offsets, data = names.buffers()
    begins = np.frombuffer(offsets, np.int32, len(names) + 1, names.offset * 4)
    if (np.diff(begins) == _ID_BYTES).all():  # as all ids are that were not made up
        return np.frombuffer(data, f"S{_ID_BYTES}", len(names), int(begins[0]))
    return np.array(names.cast(pa.binary()).to_pylist(), np.bytes_)


def _no_vectors(found: pa.Table) -> NDArray[np.float16]:
    return np.zeros((found.num_rows, 0), np.float16)


def matrix(column: pa.ChunkedArray, dimensions: int) -> NDArray[np.float16]:
    """Vectors of a column, float16 (rows, dimensions)."""
    if not len(column):
        return np.zeros((0, dimensions), np.float16)
    flat = _one(column).flatten().to_numpy(zero_copy_only=False)
    held: NDArray[np.float16] = flat.reshape(len(column), dimensions)
    return held


def _lists(column: pa.ChunkedArray) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    if not len(column):
        return np.zeros(0, np.uint32), np.zeros(1, np.int64)
    lists = _one(column)
    starts = lists.offsets.to_numpy().astype(np.int64)
    return lists.values.to_numpy()[starts[0] : starts[-1]].view(np.uint32), starts - starts[0]


def _records(column: pa.ChunkedArray) -> NDArray[Any]:
    if not len(column):
        return np.zeros(0, RECORD)
    held = _one(column)
    _, data = held.buffers()
    found = np.frombuffer(data, RECORD, count=len(held), offset=held.offset * RECORD.itemsize)
    if (found["form"] != FORM).any() or any(found[n].max() >= len(known) for n, known in CODES.items()):
        raise Gone("records of the index are damaged, or of another form")
    return found
