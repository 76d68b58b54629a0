"""Portions of records in the row shape -> batches, a column at a time.

A portion whose columns hold only expected types is built by column. In any other portion each
record is judged alone by ``row_shape``, so that only the faulty ones are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from transforms.readers.batch import ID_COLUMNS, Batch, refusals_frame, settle
from transforms.readers.row_shape import (
    ALIASES,
    COLUMNS,
    INTEGER_COLUMNS,
    KNOWN_FIELDS,
    TEXT_COLUMNS,
    TIME_COLUMNS,
    json_text,
    merge_metadata,
    shape_record,
)
from transforms.readers.text import JsonFault
from transforms.readers.times import iso_numbers, iso_strings
from transforms.schemas import DRAFTS

_HUGE = 1e300

Raw = Callable[[int], str]
"""Source text of the n-th record of a portion."""

_NONE = type(None)


def rows_batch(
    records: Sequence[Mapping[str, object]],
    numbers: Sequence[int],
    raw: Raw,
    file_name: str,
    refused: Sequence[dict[str, object]] = (),
) -> Batch:
    """The batch of one portion of records.

    Args:
        records: Parsed records, any field types.
        numbers: Line or item number of each.
        raw: Source text of the n-th record, asked for only where a row is refused.
        file_name: For ``source_file``.
        refused: Rows of the portion that are already refused (keys of ``REFUSALS``).
    """
    columns = _columns(records)
    faults = list(refused)
    kept: Sequence[int] = range(len(records))
    if columns is None:
        columns, kept, more = _one_by_one(records, numbers, raw, file_name)
        faults += more
    frame = drafts_frame(columns, [numbers[i] for i in kept], file_name)
    return finish(frame, lambda i: raw(kept[i]), faults)


def drafts_frame(columns: Mapping[str, pl.Series], numbers: Sequence[int], file_name: str) -> pl.DataFrame:
    """A frame of the schema ``DRAFTS`` from some of its columns; the others are null."""
    given = [series.alias(name) for name, series in columns.items()]
    lines = pl.Series("source_line", numbers, dtype=pl.Int64)
    frame = pl.DataFrame([lines, *given])
    missing = [
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in DRAFTS.polars.items()
        if name not in columns and name != "source_line"
    ]
    return (
        frame.with_columns(missing).with_columns(pl.lit(file_name).alias("source_file")).select(DRAFTS.names)
    )


def finish(frame: pl.DataFrame, raw: Raw, faults: Sequence[dict[str, object]]) -> Batch:
    """Clean drafts, refuse those that cannot stand, and count."""
    drafts, more = settle(frame, _Lazy(raw, frame.height))
    refusals = pl.concat([refusals_frame(faults), more]).sort("source_line", maintain_order=True)
    return Batch(drafts, refusals, frame.height + len(faults))


class _Lazy(Sequence[str]):
    """Source texts by position, decoded only when asked for."""

    def __init__(self, raw: Raw, height: int) -> None:
        self._raw = raw
        self._height = height

    def __len__(self) -> int:
        return self._height

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        return self._raw(index)


def refusal(fault: JsonFault, raw: str, number: int, file_name: str) -> dict[str, object]:
    """One row of ``REFUSALS``."""
    return {
        "reason": fault.reason,
        "detail": fault.detail,
        "raw": raw,
        "source_file": file_name,
        "source_line": number,
    }


def _one_by_one(
    records: Sequence[Mapping[str, object]], numbers: Sequence[int], raw: Raw, file_name: str
) -> tuple[dict[str, pl.Series], list[int], list[dict[str, object]]]:
    drafts, kept, faults = [], [], []
    for i, record in enumerate(records):
        try:
            drafts.append(shape_record(record))
            kept.append(i)
        except JsonFault as fault:
            row = refusal(fault, raw(i), numbers[i], file_name)
            faults.append(row | {n: _word(record.get(n)) for n in ("tenant_id", "user_id")})
    columns = {
        name: pl.Series(name, [d.get(name) for d in drafts], dtype=DRAFTS.polars[name]) for name in COLUMNS
    }
    return columns, kept, faults


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _columns(records: Sequence[Mapping[str, object]]) -> dict[str, pl.Series] | None:
    """Columns of the portion by name, or null if some value needs a judgement of its own."""
    fields: set[str] = set().union(*records)
    source: dict[str, str] = {c: c for c in COLUMNS if c in fields}
    for column, names in ALIASES.items():
        given = [n for n in names if n in fields]
        if len(given) > 1:
            return None
        if given:
            source[column] = given[0]
    unknown = fields - KNOWN_FIELDS
    built: dict[str, pl.Series] = {}
    try:
        for column, field in source.items():
            if column == "metadata":
                continue
            series = _column(column, [r.get(field) for r in records])
            if series is None:
                return None
            built[column] = series
        if unknown or "metadata" in source:
            built["metadata"] = _metadata(records, unknown)
    except (JsonFault, OverflowError, TypeError):  # the last two: an integer too large for its column
        return None
    return built


def _metadata(records: Sequence[Mapping[str, object]], unknown: set[str]) -> pl.Series:
    names = sorted(unknown)
    texts = [merge_metadata(r.get("metadata"), {n: r[n] for n in names if n in r}) for r in records]
    return pl.Series("metadata", texts, dtype=pl.String)


def _column(column: str, values: list[object]) -> pl.Series | None:  # noqa: PLR0911 - one return a kind of column
    kinds = set(map(type, values)) - {_NONE}
    if column in ID_COLUMNS and kinds <= {str, int}:
        texts = [str(v) if type(v) is int else v for v in values] if int in kinds else values
        return pl.Series(column, texts, dtype=pl.String)
    if column in TEXT_COLUMNS and kinds <= {str}:
        return pl.Series(column, values, dtype=pl.String)
    if column in TIME_COLUMNS:
        return _times(column, values, kinds)
    if column in INTEGER_COLUMNS and kinds <= {int}:
        return pl.Series(column, values, dtype=DRAFTS.polars[column], strict=True)
    if column == "importance" and kinds <= {int, float}:
        numbers = [None if v is None else float(v) for v in values]  # type: ignore[arg-type]
        series = pl.Series(column, numbers, dtype=pl.Float64)
        return series if series.abs().fill_null(0.0).lt(_HUGE).all() else None
    if column == "is_injected" and kinds <= {bool}:
        return pl.Series(column, values, dtype=pl.Boolean)
    if column == "tool_arguments":
        return pl.Series(column, [json_text(v, column) for v in values], dtype=pl.String)
    if column == "tags" and kinds <= {list} and {type(t) for v in values if v for t in v} <= {str}:  # type: ignore[attr-defined]
        return pl.Series(column, values, dtype=pl.List(pl.String))
    return None


def _times(column: str, values: list[object], kinds: set[type]) -> pl.Series | None:
    """ISO texts; null if the types are mixed or some value is no instant."""
    if kinds <= {str}:
        given = pl.Series(column, values, dtype=pl.String)
        times = iso_strings(given)
    elif kinds <= {int} or kinds <= {float}:
        given = pl.Series(column, values, dtype=pl.Int64 if kinds == {int} else pl.Float64, strict=True)
        times = iso_numbers(given)
    else:
        return None
    return times if times.null_count() == given.null_count() else None
