"""What the files of an export are: their columns, and the JSON that describes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from transforms.declarations import INSTANT, TEXTS, VECTOR, Column, Table

INTERNAL = ("tenant_bucket", "month", "revision", "is_removed")
"""The lake's own bookkeeping; vectors are left out with it."""
STANDING = (
    Column("is_held", pl.Boolean, "Legal hold"),
    Column("is_opted_out", pl.Boolean, "Nothing is remembered any more"),
    Column("opted_out_at", INSTANT, "Since when", is_nullable=True),
    Column("period_seconds", pl.Int64, "Own retention period", is_nullable=True),
    Column("forbidden_topics", TEXTS, "Topics never to remember"),
    Column("pinned", TEXTS, "Memories kept whatever their decay"),
)


@dataclass(frozen=True)
class Part:
    """One file of the export.

    Attributes:
        name: Of the file and of its count.
        description: What one row is.
        columns: Columns of its rows.
        frames: Its rows, portion by portion; may be called again.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    frames: Callable[[], Iterator[pl.DataFrame]]


def shown_columns(table: Table) -> tuple[Column, ...]:
    """Columns of a table that are the person's: without bookkeeping and vectors."""
    return tuple(c for c in table.columns if c.name not in INTERNAL and c.dtype != VECTOR)


def schema_of(parts: list[Part]) -> str:
    """JSON that describes every column of every file."""
    described = {
        part.name: {
            "a_row_is": part.description,
            "columns": {
                column.name: {
                    "type": _type_name(column.dtype),
                    "description": column.description,
                    "may_be_null": column.is_nullable,
                }
                for column in part.columns
            },
        }
        for part in parts
    }
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def _type_name(dtype: pl.DataType | type[pl.DataType]) -> str:
    """The type as it stands in the JSON."""
    if dtype == INSTANT:
        return "text: instant in ISO 8601, UTC"
    if dtype == TEXTS:
        return "list of texts"
    if dtype == pl.String:
        return "text"
    return "true or false" if dtype == pl.Boolean else "number"
