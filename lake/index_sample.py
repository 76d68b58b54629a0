"""A look at the rows of a generation that is bounded: ids of its facts, some rows by id, spread vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from lake.index import MAIN, PAYLOAD, Generation, TableEntry, tenant_hash
from lake.index_blocks import block_ranges, chosen_blocks, matrix_of

MOST_TABLES = 64
"""Tables of large scopes that are looked into beside the main one."""
_ID = pl.Schema({"tenant_id": pl.String(), "memory_id": pl.String()})
HELD_SCHEMA = pl.Schema(
    {**_ID, "content_hash": pl.String(), "trust": pl.Float64(), "vector": pl.List(pl.Float32())}
)
"""A row of the index as answers are compared by; an empty vector is none."""


@dataclass(frozen=True)
class Spread:
    """Vectors of rows on both sides of an instant, evenly spread over the generation.

    Attributes:
        earlier: float32 (n, d) of what happened at the instant or before; rows of length 1.
        recent: The same of what happened after it.
        rows: How many rows were looked at.
        bare: How many of these have no vector.
    """

    earlier: NDArray[np.float32]
    recent: NDArray[np.float32]
    rows: int
    bare: int


def fact_ids(generation: Generation) -> pl.DataFrame:
    """``tenant_id`` and ``memory_id`` of every fact and preference."""
    found = [pl.DataFrame(schema=_ID)]
    for entry in generation.manifest.tables:
        table = generation.dataset(entry.name)
        rows = table.to_table(columns=list(_ID), filter="kind IN ('fact', 'preference')")
        found.append(pl.DataFrame(rows).cast(_ID))
    return pl.concat(found).sort(list(_ID))


def held_rows(generation: Generation, wanted: pl.DataFrame) -> pl.DataFrame:
    """Rows by tenant and id (``HELD_SCHEMA``); one that is not in the index is missing.

    Args:
        generation: Which.
        wanted: ``tenant_id`` and ``memory_id``: some thousand at most, for all are named in a filter.
    """
    found = [pl.DataFrame(schema=HELD_SCHEMA)]
    for tenant, ids in _by_tenant(wanted):
        named = f"tenant_id = {_quoted(tenant)} AND memory_id IN ({', '.join(map(_quoted, ids))})"
        for entry in _tables_of(generation, tenant):
            table = generation.dataset(entry.name)
            rows = table.to_table(columns=["memory_id", PAYLOAD, "vector"], filter=named)
            found.append(_shaped(tenant, rows))
    return pl.concat(found).unique(list(_ID), keep="first", maintain_order=True).sort(list(_ID))


def _by_tenant(wanted: pl.DataFrame) -> Iterator[tuple[str, Sequence[str]]]:
    named = wanted.select(_ID.names()).unique().sort(_ID.names())
    for (tenant,), rows in named.group_by(["tenant_id"], maintain_order=True):
        yield str(tenant), rows["memory_id"].to_list()


def _tables_of(generation: Generation, tenant: str) -> list[TableEntry]:
    mine = tenant_hash(tenant)
    return [e for e in generation.manifest.tables if e.scope is None or e.tenant == mine]


def _quoted(text: str) -> str:
    """Text as the store's filter has it."""
    return "'" + text.replace("'", "''") + "'"


def _shaped(tenant: str, rows: Any) -> pl.DataFrame:
    payloads = [orjson.loads(text) for text in rows[PAYLOAD].to_pylist()]
    matrix = matrix_of(rows["vector"].combine_chunks()).astype(np.float32)
    vectors = [row.tolist() if row.any() else [] for row in matrix]
    return pl.DataFrame(
        {
            "tenant_id": [tenant] * len(payloads),
            "memory_id": rows["memory_id"].to_pylist(),
            "content_hash": [one.get("content_hash") for one in payloads],
            "trust": [one.get("trust") for one in payloads],
            "vector": vectors,
        },
        schema=HELD_SCHEMA,
    )


def spread(generation: Generation, since: datetime, most: int) -> Spread:
    """Vectors of at most so many rows on each side of an instant.

    The time of every row of the tables looked into is read, and the vectors of the chosen ones, in blocks.

    Args:
        generation: Which.
        since: UTC.
        most: Rows of each side.
    """
    entries = _looked_into(generation)
    total = sum(entry.rows for entry in entries)
    earlier, recent = [_nothing(generation)], [_nothing(generation)]
    for entry in entries:
        table = generation.dataset(entry.name)
        times = table.to_table(columns=["event_at"])["event_at"].to_numpy().astype("datetime64[us]")
        is_recent = times > np.datetime64(since.replace(tzinfo=None), "us")
        room = max(round(most * entry.rows / total), 1) if total else 0
        ranges = block_ranges(len(times))
        is_near = np.zeros(len(times), bool)
        for rows in ranges:
            is_near[rows.start : rows.stop] = True
        for side, is_in in ((earlier, ~is_recent), (recent, is_recent)):
            places = _evenly(np.flatnonzero(is_in & is_near), room)
            side += [
                matrix_of(rows).astype(np.float32) for rows in chosen_blocks(table, ranges, places, "vector")
            ]
    both = [np.concatenate(side) for side in (earlier, recent)]
    held = [rows[rows.any(axis=1)] for rows in both]
    looked = sum(len(rows) for rows in both)
    return Spread(held[0], held[1], looked, looked - sum(len(rows) for rows in held))


def _looked_into(generation: Generation) -> list[TableEntry]:
    """The main table and some of the others, always the same ones."""
    entries = [entry for entry in generation.manifest.tables if entry.rows]
    main = [entry for entry in entries if entry.name == MAIN]
    return main + sorted((e for e in entries if e.name != MAIN), key=lambda e: e.name)[:MOST_TABLES]


def _evenly(places: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    if len(places) <= most:
        return places
    return places[np.arange(most, dtype=np.int64) * len(places) // most]


def _nothing(generation: Generation) -> NDArray[np.float32]:
    return np.zeros((0, generation.manifest.dimensions), np.float32)
