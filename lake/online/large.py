"""Candidates of a scope that is too large to be held: by the store's vector index and its full-text index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lake.index import Generation
from lake.online.asked import Asked
from lake.online.outlines import Outline
from lake.online.refused import refused, served
from lake.online.views import Usual, View, reading, scored_with_payload
from lake.scope import Scope, predicate, scope_predicate
from transforms.scope_columns import ScopeColumns

RowIds = NDArray[np.uint64]

GROWTH, MOST_FETCHED = 4, 4_000
"""How many times more are fetched where tombstones refuse too many, and from how many on no more are."""
SPARE_PART = 5
"""A fifth more rows than asked are fetched, for those that turn out not to be served."""


def candidates(
    generation: Generation,
    pool: Executor,
    asked: Asked,
    scope: Scope,
    usual: Usual,
    held: Mapping[str, Outline] | None = None,
) -> Sequence[View]:
    """Best ``asked.count`` rows of each of the scope's tables by cosine and by BM25, both searches at once.

    The scope is the store's predicate, always. The filters hold for nearly every row, and as part
    of the predicate they cost each search 3 to 5 ms, so some rows more are fetched by
    scope alone and those not served are left to the ranking; where too few would be left, the search is
    made again with the filters in the predicate, and where tombstones are the reason, for more rows.
    Either way the answer is the same.

    Args:
        generation: Searched.
        pool: Runs the search by words beside the other.
        asked: The search.
        scope: Whose rows.
        usual: Rows that stand for the scope.
        held: Outlines of the scope by table, where they are held; else every column is read.

    Raises:
        Gone: The generation cannot be read.
    """
    fetched = asked.count + asked.count // SPARE_PART
    loose, tight = scope_predicate(scope), predicate(scope, asked.filters)
    is_narrow = asked.filters.kinds is not None or asked.filters.since is not None
    where = tight if is_narrow or asked.filters.until is not None else loose
    found = reading(_found, generation, pool, asked, scope, fetched, where, held)
    while any(_is_short(one, asked, scope, fetched) for one in found):
        if where is loose:
            where = tight
        elif fetched < MOST_FETCHED:  # tombstones refuse them, which the store knows nothing of
            fetched *= GROWTH
        else:
            break
        found = reading(_found, generation, pool, asked, scope, fetched, where, held)
    return [_view(generation, scope, one, usual) for one in found]


@dataclass(frozen=True)
class _Found:
    """Rows that one table's searches found.

    Attributes:
        table: Its name.
        searches: Row ids by search.
        row_ids: All of them, ascending.
        columns: Scoring columns, row by row with them.
        rows: Payloads, where they were read with the columns.
    """

    table: str
    searches: tuple[RowIds, ...]
    row_ids: RowIds
    columns: ScopeColumns
    rows: list[dict[str, Any]] | None


def _found(
    generation: Generation,
    pool: Executor,
    asked: Asked,
    scope: Scope,
    count: int,
    where: str,
    held: Mapping[str, Outline] | None,
) -> list[_Found]:
    """By table, what is nearest and what holds the most of the words.

    The searches return row ids only, and the rows are then read once: a column more costs a search of
    the store as much as reading it of both searches' rows together.
    """
    texts = generation.text_scans(scope, asked.text, count, where, (), has_row_ids=True)
    # Prepared here, for two threads that prepare would wait for each other's interpreter.
    pending = [pool.submit(scan.to_table) for scan in texts]
    near = generation.vector_scans(scope, asked.vector, count, where, (), has_row_ids=True)
    by_vector = [scan.to_table() for scan in near]
    found = []
    for entry, one, other in zip(generation.tables_of(scope), by_vector, pending, strict=True):
        searches = one["_rowid"].to_numpy(), other.result()["_rowid"].to_numpy()
        row_ids = np.unique(np.concatenate(searches))
        if len(row_ids):
            found.append(_Found(entry.name, searches, row_ids, *_read(generation, entry.name, row_ids, held)))
    return found


def _read(
    generation: Generation, table: str, row_ids: RowIds, held: Mapping[str, Outline] | None
) -> tuple[ScopeColumns, list[dict[str, Any]] | None]:
    """Scoring columns of rows, and their payload where it had to be read for them."""
    if held is not None:
        return held[table].read(generation, row_ids), None
    taken = generation.taken(table, row_ids, generation.fetched_columns())
    return scored_with_payload(taken, generation.manifest.dimensions)


def _is_short(found: _Found, asked: Asked, scope: Scope, fetched: int) -> bool:
    """Whether the table has more rows than a search fetched, and too few of those are served."""
    mask = served(found.columns, asked.filters)
    if asked.filters.tombstones:
        mask &= ~refused(found.columns, scope.tenant, asked.filters.tombstones)
    return any(
        len(ids) >= fetched and int(mask[np.searchsorted(found.row_ids, ids)].sum()) < asked.count
        for ids in found.searches
    )


def _view(generation: Generation, scope: Scope, found: _Found, usual: Usual) -> View:
    order = found.columns.sorted_rows()
    return View(
        found.columns.take(order),
        generation,
        found.table,
        found.row_ids[order],
        scope,
        usual=usual,
        held=None if found.rows is None else [found.rows[place] for place in order.tolist()],
    )
