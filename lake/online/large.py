"""Candidates of a scope that is too large to be held: by the store's vector index and its full-text index."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np
import pyarrow as pa

from lake.index import Generation
from lake.online.asked import Asked
from lake.online.refused import served
from lake.online.views import Usual, View, reading, scored
from lake.scope import Scope, predicate, scope_predicate

SPARE_PART = 5
"""A fifth more rows than asked are fetched, for those that turn out not to be served."""


def candidates(
    generation: Generation, pool: Executor, asked: Asked, scope: Scope, usual: Usual
) -> Sequence[View]:
    """Best ``asked.count`` rows of each of the scope's tables by cosine and by BM25, both searches at once.

    The scope is the store's predicate, always. The filters hold for nearly every row, and as part
    of the predicate they cost each search 3 to 5 ms, so some rows more are fetched by
    scope alone and those not served are left to the ranking; where too few would be left, the search is
    made again with the filters in the predicate. Either way the answer is the same.

    Raises:
        Gone: The generation cannot be read.
    """
    fetched = asked.count + asked.count // SPARE_PART
    loose, tight = scope_predicate(scope), predicate(scope, asked.filters)
    is_narrow = asked.filters.kinds is not None or asked.filters.since is not None
    where = tight if is_narrow or asked.filters.until is not None else loose
    found = reading(_searched, generation, pool, asked, scope, fetched, where)
    views = []
    for entry, tables in zip(generation.tables_of(scope), found, strict=True):
        if any(_is_short(generation, table, asked, fetched) for table in tables):
            again = reading(_searched, generation, pool, asked, scope, asked.count, tight)
            return [
                _view(generation, e.name, scope, t, usual)
                for e, t in zip(generation.tables_of(scope), again, strict=True)
            ]
        views.append(_view(generation, entry.name, scope, tables, usual))
    return views


def _searched(
    generation: Generation, pool: Executor, asked: Asked, scope: Scope, count: int, where: str
) -> list[tuple[pa.Table, pa.Table]]:
    """By table: rows found by vector, and rows found by words."""
    columns = generation.scored_columns()
    texts = generation.text_scans(scope, asked.text, count, where, columns, has_row_ids=True)
    # Prepared here, for two threads that prepare would wait for each other's interpreter.
    pending = [pool.submit(scan.to_table) for scan in texts]
    near = generation.vector_scans(scope, asked.vector, count, where, columns, has_row_ids=True)
    by_vector = [scan.to_table() for scan in near]
    return list(zip(by_vector, [done.result() for done in pending], strict=True))


def _is_short(generation: Generation, table: pa.Table, asked: Asked, fetched: int) -> bool:
    """Whether the table has more rows than were fetched, and too few of those are served."""
    if table.num_rows < fetched:
        return False
    columns = scored(table, generation.manifest.dimensions)
    return int(served(columns, asked.filters).sum()) < asked.count


def _view(
    generation: Generation, table: str, scope: Scope, found: tuple[pa.Table, pa.Table], usual: Usual
) -> View:
    near, texts = found
    names = [name for name in near.column_names if name != "_distance"]
    whole = pa.concat_tables([near.select(names), texts.select(names)])
    addresses, first = np.unique(whole["_rowid"].to_numpy(), return_index=True)
    columns = scored(whole.take(pa.array(first)), generation.manifest.dimensions)
    order = columns.sorted_rows()
    return View(columns.take(order), generation, table, addresses[order], scope, usual=usual)
