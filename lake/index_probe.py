"""Is a generation readable? Asked before it is made live again, and before it is left live."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson

from lake.index import PAYLOAD, Generation, TableEntry, load_manifest
from lake.index_record import REMEDY
from lake.lake import Lake
from lake.scope import Filters, Scope, predicate
from transforms.errors import LakeError

_DAMAGE = (OSError, ValueError, RuntimeError, KeyError)
_COLUMNS = ["tenant_id", "user_id", "agent_id", "session_id", "search_text", "vector", PAYLOAD]
_WORD_CHARS = 200


def probed(lake: Lake, name: str) -> Generation:
    """Open a generation: count each table, read a row of each of its files, search it by vector and text.

    Costs little, whatever the number of rows: a search stays inside the scope of one row.

    Raises:
        LakeError: It is gone, or something of this fails.
    """
    generation = Generation(lake, load_manifest(lake, name))
    for entry in generation.manifest.tables:
        try:
            fault = _fault(generation, entry)
        except _DAMAGE as error:
            raise LakeError(f"generation {name} of the index is damaged: {entry.name}", REMEDY) from error
        if fault:
            raise LakeError(f"generation {name} of the index is damaged: {entry.name} {fault}", REMEDY)
    return generation


def _fault(generation: Generation, entry: TableEntry) -> str:
    """What is wrong with a table, empty where nothing is."""
    table = generation.dataset(entry.name)
    rows = table.count_rows()
    if rows != entry.rows:
        return f"holds {rows} rows, its manifest says {entry.rows}"
    starts, start = [], 0
    for fragment in table.get_fragments():
        starts.append(start)
        start += fragment.count_rows()
    if not rows:
        return ""
    taken = table.take(starts, columns=_COLUMNS).to_pylist()
    for row in taken:
        orjson.loads(row[PAYLOAD])
    return _search_fault(generation, entry, taken[0])


def _search_fault(generation: Generation, entry: TableEntry, row: dict[str, Any]) -> str:
    where = predicate(scope := Scope.of_row(row), Filters(datetime.min.replace(tzinfo=UTC)))
    query = np.asarray(row["vector"], np.float32)
    near = [s.to_table() for s in generation.vector_scans(scope, query, 1, where)]
    if not sum(found.num_rows for found in near):
        return "finds no row by its vector"
    words = str(row["search_text"])[:_WORD_CHARS]
    for scan in generation.text_scans(scope, words, 1, where):
        scan.to_table()
    return ""
