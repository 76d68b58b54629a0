"""Landed lines back into rows: which lines of a segment are rows of ours, and which are torn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import polars as pl

from lake.lake import Lake
from transforms.schemas import EPISODES, QUARANTINE, TEXTS, Table

_COLUMNS = {table.name: set(table.names) for table in (EPISODES, QUARANTINE)}
_REQUIRED = {t.name: {c.name for c in t.columns if not c.is_nullable} for t in (EPISODES, QUARANTINE)}
_TEXT_COLUMNS = {
    t.name: [c.name for c in t.columns if c.dtype in (pl.String, TEXTS)] for t in (EPISODES, QUARANTINE)
}
_SHARES = ("importance", "trust")
_Line = tuple[bytes, dict[str, Any]]
"""A line, and its row."""
_MISFITS = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)


def segment_rows(
    lines: Sequence[bytes], table: Table, lake: Lake | None = None
) -> tuple[pl.DataFrame, list[bytes]]:
    """Rows of one table among landed lines, and the lines that are none: torn, or against its rules.

    Args:
        lines: Lines of segments.
        table: ``EPISODES`` or ``QUARANTINE``.
        lake: Opens the text of an encrypted lake's rows; None leaves it as it landed. A row whose key was
            destroyed is neither among the rows nor among the torn lines.

    Raises:
        LakeError: The lake is encrypted, and its keys are not there or not the right ones.
    """
    rows, torn = _sorted_out(lines)
    frame, broken = _framed(rows[table.name], table, lake)
    return frame, torn + broken


def rows_of(lines: Sequence[bytes], lake: Lake) -> tuple[pl.DataFrame, pl.DataFrame, list[bytes]]:
    """Rows of ``EPISODES`` and of ``QUARANTINE`` among landed lines, and the lines that are none of either.

    As ``segment_rows``, each line read once.
    """
    rows, torn = _sorted_out(lines)
    episodes, broken = _framed(rows[EPISODES.name], EPISODES, lake)
    refused, broken_too = _framed(rows[QUARANTINE.name], QUARANTINE, lake)
    return episodes, refused, [*torn, *broken, *broken_too]


def _sorted_out(lines: Sequence[bytes]) -> tuple[dict[str, list[_Line]], list[bytes]]:
    """Lines with their rows by table, and the torn ones."""
    rows: dict[str, list[_Line]] = {name: [] for name in _COLUMNS}
    torn = []
    for line in lines:
        name, row = _landed_row(line)
        if row is None:
            torn.append(line)
        else:
            rows[name].append((line, row))
    return rows, torn


def _framed(rows: Sequence[_Line], table: Table, lake: Lake | None) -> tuple[pl.DataFrame, list[bytes]]:
    """Rows of a table, and lines of those against its rules; by halves where a value is of a wrong type."""
    try:
        frame, is_broken, is_kept = _checked([row for _, row in rows], table, lake)
    except _MISFITS:
        if len(rows) == 1:
            return table.empty(), [rows[0][0]]
    else:
        return frame.filter(is_kept & ~is_broken), [rows[i][0] for i in is_broken.arg_true()]
    middle = len(rows) // 2
    halves = [_framed(part, table, lake) for part in (rows[:middle], rows[middle:])]
    return pl.concat([frame for frame, _ in halves]), [line for _, torn in halves for line in torn]


def records_of(lines: Sequence[bytes], lake: Lake) -> list[tuple[str, dict[str, Any]]]:
    """Table and row of each landed line, as JSON has it, with its text opened where the lake is encrypted.

    Args:
        lines: Lines of segments.
        lake: Where they landed.

    Returns:
        In the order of the lines; an empty name and row where the line is torn or nobody's. Text that does
        not open is null.

    Raises:
        LakeError: The lake is encrypted, and its keys are not there or not the right ones.
    """
    records = [_landed_row(line) for line in lines]
    told = [(name, row if row is not None else {}) for name, row in records]
    if lake.encryption is None:
        return told
    from lake.crypto.frames import binding_columns, open_rows  # only where a lake is encrypted

    for table in (EPISODES, QUARANTINE):
        mine = [row for name, row in told if name == table.name]
        names = [n for n in table.names if n in table.free_text or n in binding_columns(table)]
        schema = pl.Schema({name: table.polars[name] for name in names})
        frame = pl.DataFrame([[row.get(n) for n in names] for row in mine], schema=schema, orient="row")
        for row, opened in zip(mine, open_rows(lake, table, frame).rows.iter_rows(named=True), strict=True):
            row.update({name: opened[name] for name in table.free_text})
    return told


def _checked(
    rows: list[dict[str, Any]], table: Table, lake: Lake | None
) -> tuple[pl.DataFrame, pl.Series, pl.Series]:
    """Rows with their text opened; whether each is against the rules, and whether its key lives."""
    frame = _frame(rows, table)
    breach = pl.any_horizontal(_breaches(table)).alias("breach")
    if lake is None or lake.encryption is None:
        return frame, frame.select(breach).to_series(), pl.repeat(True, frame.height, eager=True)
    from lake.crypto.frames import open_rows  # only where a lake is encrypted

    opened = open_rows(lake, table, frame)
    # Of a row that was tampered with, the text is null: it is broken already.
    is_broken = opened.broken | frame.select(breach).to_series()
    return opened.rows, is_broken, ~opened.shredded


def _breaches(table: Table) -> list[pl.Expr]:
    """Where a row is what the table's own rules forbid; never null."""
    found = [pl.lit(False)]
    for column in table.columns:
        held = pl.col(column.name)
        if not column.is_nullable:
            found.append(held.is_null())
        if column.allowed:
            found.append(~held.is_in(column.allowed).fill_null(True))
        if column.dtype.is_nested():
            found.append((held.list.eval(pl.element().is_null()).list.any()).fill_null(False))
        if column.name in _SHARES:
            found.append(~held.is_between(0, 1).fill_null(True))
    return found


def _landed_row(line: bytes) -> tuple[str, dict[str, Any] | None]:
    """Table and row of one line; no row where the line is not one of ours, whole."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return "", None
    if isinstance(record, dict) and len(record) == 1:
        name, row = next(iter(record.items()))
        if name in _COLUMNS and isinstance(row, dict) and _REQUIRED[name] <= row.keys() <= _COLUMNS[name]:
            return (name, row) if all(_is_text(row.get(n)) for n in _TEXT_COLUMNS[name]) else ("", None)
    return "", None


def _is_text(value: object) -> bool:
    """Whether it is text, texts or null; a number would quietly become text."""
    if isinstance(value, list):
        return all(isinstance(part, str) for part in value)
    return value is None or isinstance(value, str)


def _frame(rows: list[dict[str, Any]], table: Table) -> pl.DataFrame:
    instants = [name for name, dtype in table.polars.items() if isinstance(dtype, pl.Datetime)]
    loose = pl.Schema({n: pl.String if n in instants else d for n, d in table.polars.items()})
    frame = pl.DataFrame(rows, schema=loose, orient="row") if rows else pl.DataFrame(schema=loose)
    return frame.with_columns(
        pl.col(n).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", time_zone="UTC")
        for n in instants
    ).select(table.names)


def lines_of(data: bytes, *, is_sealed: bool) -> list[bytes]:
    """Complete lines of a segment; an open one's unfinished last line is not yet there."""
    if not is_sealed and not data.endswith(b"\n"):
        data = data[: data.rfind(b"\n") + 1]
    return [line for line in data.split(b"\n") if line]
