"""Lakes as earlier versions left them, made from what was recorded of their tables' columns.

``shapes.json`` names each table that there was when A, B, C, D and E of the project were done, with its
columns then: type by name, with a question mark where null was a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from lake import tables
from lake.lake import RECORD, Lake, init_lake
from transforms.schemas import INSTANT, STORED, TEXTS, VECTOR, Column, Table

SHAPES: Mapping[str, Any] = json.loads(Path(__file__).with_name("shapes.json").read_text("utf-8"))
DONE = ("A", "B", "C", "D", "E")
TENANTS = ("acme", "zeta", "omega")
_KINDS: Mapping[str, Any] = {
    "String": pl.String,
    "Int32": pl.Int32,
    "Int64": pl.Int64,
    "Float32": pl.Float32,
    "Float64": pl.Float64,
    "Boolean": pl.Boolean,
    "instant": INSTANT,
    "texts": TEXTS,
    "vector": VECTOR,
}
_NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def old_tables(done: str) -> list[Table]:
    """The tables of a lake at the end of A, B, C, D or E."""
    return [_table(name) for name in SHAPES["lakes"][done]]


def _table(name: str) -> Table:
    shape = SHAPES["tables"][name]
    now = next(table for table in STORED if table.name == name.partition("@")[0])
    held = {column.name: column for column in now.columns}
    columns = tuple(
        Column(
            column,
            _KINDS[kind.rstrip("?")],
            held[column].description,
            kind.endswith("?"),
            held[column].is_personal,
            held[column].allowed,
            held[column].is_free_text,
        )
        for column, kind in shape["columns"].items()
    )
    return Table(now.name, now.description, columns, now.key, tuple(shape["partition_by"]), now.sort_by)


def rows_of(lake: Lake, table: Table, since: int = 0, count: int = 3) -> pl.DataFrame:
    """Rows of a table that differ from each other in every column, with nulls where they are values."""
    numbers = range(since, since + count)
    return pl.DataFrame(
        [{c.name: _value(lake, c, number) for c in table.columns} for number in numbers], schema=table.polars
    )


def _value(lake: Lake, column: Column, number: int) -> Any:
    tenant = TENANTS[number % len(TENANTS)]
    if column.name == "tenant_id":
        return tenant
    if column.name == "tenant_bucket":
        return lake.bucket(tenant)
    if column.name == "month":
        return "2026-03"
    if column.allowed:
        return column.allowed[number % len(column.allowed)]
    if column.is_nullable and number % 2:
        return None
    if column.dtype == INSTANT:
        return _NOON + timedelta(hours=number)
    if column.dtype == TEXTS:
        return [f"{column.name} {number}", "tea"]
    if column.dtype == VECTOR:
        return [1.0, float(number)]
    plain = {pl.Boolean: number % 3 == 0, pl.String: f"{column.name} {number}"}
    return next((value for kind, value in plain.items() if column.dtype == kind), number + 1)


def made(lake: Lake, done: str, left_out: tuple[str, ...] = ()) -> dict[str, pl.DataFrame]:
    """Fill a new lake as it was at the end of A, B, C, D or E; its record says version 1.

    Returns:
        The rows of each table, in the order of its key.
    """
    held = {}
    for table in old_tables(done):
        if table.name not in left_out:
            rows = rows_of(lake, table)
            tables.append(lake, table, rows)
            held[table.name] = rows.sort(table.key)
    record = json.loads(lake.storage.read(RECORD) or b"")
    lake.storage.write(RECORD, json.dumps({**record, "version": 1}).encode())
    return held


def old_lake(root: Path, done: str, left_out: tuple[str, ...] = ()) -> dict[str, pl.DataFrame]:
    """Make such a lake at a root."""
    return made(init_lake(str(root), 4), done, left_out)
