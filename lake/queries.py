"""Runs the statements of ``sql/`` on lake tables: only the columns a statement names are read.

Each file's header declares its inputs, parameters and output; values go in as parameters only.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb
import polars as pl

from lake import tables
from lake.lake import Lake
from transforms.errors import UsageError
from transforms.schemas import STORED

_KEY = re.compile(r"\b(purpose|input|parameter|output|source): ")
_INPUT = re.compile(r"(\w+)\(([^)]*)\)")
_TABLES = {table.name: table for table in STORED}


@dataclass(frozen=True)
class Statement:
    """One file of ``sql/``: its text, and what its header declares.

    Args:
        name: File name without ``.sql``.
        text: The whole file.
        inputs: Columns read of each table.
        parameters: Type of each.
        output: Type of each column, in order.
    """

    name: str
    text: str
    inputs: Mapping[str, tuple[str, ...]]
    parameters: Mapping[str, str]
    output: Mapping[str, str]


@cache
def statement(name: str) -> Statement:
    """Load ``sql/<name>.sql``.

    Raises:
        UsageError: There is no such file.
    """
    file = files("sql").joinpath(f"{name}.sql")
    if not file.is_file():
        raise UsageError(f"there is no statement {name}", f"Take one of {', '.join(statement_names())}.")
    text = file.read_text("utf-8")
    header = _header(text)
    tables_read = [_INPUT.fullmatch(value) for value in header["input"]]
    inputs = {m[1]: tuple(c.strip() for c in m[2].split(",")) for m in tables_read if m}
    columns = [_pair(part) for value in header["output"] for part in value.split(",")]
    parameters = dict(_pair(value.split(",", 1)[0]) for value in header["parameter"])
    return Statement(name, text, inputs, parameters, dict(columns))


def _pair(part: str) -> tuple[str, str]:
    column, kind = part.strip().split(" ", 1)
    return column, kind


def _header(text: str) -> dict[str, list[str]]:
    """Values of each key of the leading comment; the formatter may have wrapped its lines."""
    lines = itertools.takewhile(lambda line: line.startswith("--"), text.splitlines())
    parts = _KEY.split(" ".join(line.removeprefix("--").strip() for line in lines))
    found: dict[str, list[str]] = {"input": [], "parameter": [], "output": []}
    for key, value in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(key, []).append(value.strip())
    return found


def statement_names() -> list[str]:
    """Every statement, by name."""
    return sorted(f.name.removesuffix(".sql") for f in files("sql").iterdir() if f.name.endswith(".sql"))


def query(
    lake: Lake,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    extra: Mapping[str, pl.DataFrame] | None = None,
    buckets: Collection[int] | None = None,
) -> pl.DataFrame:
    """Run a statement on the lake.

    Args:
        lake: Where its table inputs are read.
        name: File name without ``.sql``.
        parameters: A value for each declared parameter.
        extra: Inputs that are no lake tables.
        buckets: Tenant buckets to read; give the tenant's own where there is one.

    Returns:
        What the statement's header declares as output, in the statement's order.

    Raises:
        UsageError: There is no such statement, or a parameter or extra input of it is not given.
    """
    wanted, extra = statement(name), extra or {}
    missing = sorted(set(wanted.parameters) - set(parameters or {}))
    missing += sorted(set(wanted.inputs) - set(_TABLES) - set(extra))
    if missing:
        raise UsageError(f"statement {name} is not given {', '.join(missing)}", f"See sql/{name}.sql.")
    frames = {
        table: extra[table] if table in extra else _columns(lake, table, columns, buckets)
        for table, columns in wanted.inputs.items()
    }
    return run(wanted, frames, parameters or {})


def _columns(
    lake: Lake, table: str, columns: Collection[str], buckets: Collection[int] | None
) -> pl.DataFrame:
    return tables.scan(lake, _TABLES[table], buckets=buckets).select(sorted(columns)).collect()


def run(wanted: Statement, frames: Mapping[str, pl.DataFrame], parameters: Mapping[str, Any]) -> pl.DataFrame:
    """Run a statement on frames, in a connection of its own, in UTC, seeing nothing else."""
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute("set python_enable_replacements = false")
        for table, frame in frames.items():
            connection.register(table, frame.to_arrow())
        values = {key: parameters[key] for key in wanted.parameters}
        found: pl.DataFrame = connection.sql(wanted.text, params=values).pl()
        return found
