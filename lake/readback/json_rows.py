"""JSON and JSON lines as rows: every string, number and key inside them, by the key it stands under."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import orjson
import polars as pl
import pyarrow as pa

from lake.readback.columns import Rows
from lake.readback.needles import LEAST_IDENTIFIER_BYTES

LINES = 4096
"""Lines at once."""
KEYS = "keys"


def documents(file: BinaryIO, *, is_lines: bool) -> Iterator[list[Any]]:
    """Blocks of JSON values.

    Args:
        file: UTF-8.
        is_lines: One value a line; a last line without its end is a write that was cut off, and no fault.

    Raises:
        ValueError: Something is no JSON.
    """
    if not is_lines:
        data = file.read()
        if data.strip():
            yield [orjson.loads(data)]
        return
    block = []
    for line in file:
        if line.strip():
            try:
                block.append(orjson.loads(line))
            except orjson.JSONDecodeError:
                if line.endswith(b"\n"):
                    raise
        if len(block) == LINES:
            yield block
            block = []
    yield block


def leaf_columns(block: list[Any]) -> Iterator[tuple[str, pa.Array, Rows]]:
    """Strings of a block by the key they stand under, with the row of each; keys are a column, too."""
    columns: dict[str, tuple[list[str], list[int]]] = {}
    for row, value in enumerate(block):
        waiting: list[tuple[str, Any]] = [("value", value)]
        while waiting:
            name, held = waiting.pop()
            if isinstance(held, dict):
                waiting.extend(held.items())
                waiting.extend((KEYS, key) for key in held)
            elif isinstance(held, list):
                waiting.extend((name, item) for item in held)
            elif held is not None and not isinstance(held, bool):
                text = held if isinstance(held, str) else str(held)
                if isinstance(held, str) or len(text) >= LEAST_IDENTIFIER_BYTES:  # 7 is nobody's name
                    texts, rows = columns.setdefault(name, ([], []))
                    texts.append(text)
                    rows.append(row)
    for name, (texts, rows) in columns.items():
        yield name, pa.array(texts, pa.large_string()), np.array(rows, np.int64)


def frame(values: list[Any]) -> pl.DataFrame:
    """JSON objects as rows of strings; what is nested is JSON."""
    rows = [value if isinstance(value, dict) else {"value": value} for value in values]
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame(
        {name: [_shown(row.get(name)) for row in rows] for name in names},
        schema=dict.fromkeys(names, pl.String),
    )


def _shown(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()
