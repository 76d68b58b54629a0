"""Whole scopes of a generation in memory: one scan each, kept while they are asked for.

A search inside a scope then touches the disk only for the few memories that it shows. The scan takes the
scope as the store's predicate, always, and what is shown is checked against the scope again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lake.index import Generation, TableEntry
from lake.online.outlines import Outline, outlines
from lake.online.views import SMALLEST_BYTES, Usual, View, reading, scored
from lake.scope import Scope, scope_predicate
from transforms.policy_recall import RecallPolicy
from transforms.relevance import prepare
from transforms.scope_columns import united
from transforms.scope_copies import owned

MOST_ROWS = 20_000
"""Scopes of more rows are not held: their candidates come from the store's own indexes."""
SAMPLE_ROWS = 4_000
"""Rows by which the words and cosines of a larger scope are judged."""
MOST_BYTES = 80 << 20
"""What views may hold in all: some 12 scopes of 5,000 rows, or thousands of small ones."""


@dataclass(frozen=True)
class TooLarge:
    """Stands for a scope of more than ``MOST_ROWS`` rows: some of them, by which the others are judged.

    Attributes:
        usual: Columns of a sample, and what relevance needs of them.
        outlines: All rows without their vectors, by table; None where that is too much.
    """

    usual: Usual
    outlines: Mapping[str, Outline] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        rest = sum(outline.nbytes for outline in (self.outlines or {}).values())
        return max(SMALLEST_BYTES, self.usual[0].nbytes + self.usual[1].nbytes + rest)


class Views:
    """Views most recently asked for, by generation and scope. Safe between threads.

    Args:
        policy: That they are asked with.
        most_bytes: Bytes held at most; a larger view is made and not kept.
    """

    def __init__(self, policy: RecallPolicy, most_bytes: int = MOST_BYTES) -> None:
        self._policy = policy
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[Scope, Sequence[View] | TooLarge] = OrderedDict()
        self._making: dict[Scope, threading.Lock] = {}
        self._bytes = 0
        self._generation: Generation | None = None

    def of(self, generation: Generation, scope: Scope) -> Sequence[View] | TooLarge:
        """Views of a scope, one a table that holds rows of it.

        Raises:
            Gone: The generation cannot be read.
        """
        found = self._found(generation, scope)
        if found is None:
            with self._lock:
                making = self._making.setdefault(scope, threading.Lock())
            with making:  # of many that ask for one scope, one reads it
                found = self._found(generation, scope)
                if found is None:
                    found = read(generation, scope, self._policy)
                    self._keep(generation, scope, found)
        return found

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._bytes

    def _found(self, generation: Generation, scope: Scope) -> Sequence[View] | TooLarge | None:
        with self._lock:
            if self._generation is not generation:
                return None
            if scope in self._held:
                self._held.move_to_end(scope)
                return self._held[scope]
            return None

    def _keep(self, generation: Generation, scope: Scope, found: Sequence[View] | TooLarge) -> None:
        with self._lock:
            self._making.pop(scope, None)
            if self._generation is not generation:
                if self._generation is not None and _is_older(generation, self._generation):
                    return  # read for a search that began before the switch
                self._held.clear()
                self._generation, self._bytes = generation, 0
            size = _size(found)
            if size > self._most_bytes:
                return
            old = self._held.pop(scope, None)
            self._bytes += size - (_size(old) if old is not None else 0)
            self._held[scope] = found
            while self._bytes > self._most_bytes:
                _, gone = self._held.popitem(last=False)
                self._bytes -= _size(gone)


def _is_older(one: Generation, other: Generation) -> bool:
    return one.opened < other.opened


def _size(found: Sequence[View] | TooLarge) -> int:
    if isinstance(found, TooLarge):
        return found.nbytes
    return max(SMALLEST_BYTES, sum(view.nbytes for view in found))


def read(generation: Generation, scope: Scope, policy: RecallPolicy) -> Sequence[View] | TooLarge:
    """All rows of a scope, by one scan of each table that they can lie in.

    Raises:
        Gone: The generation cannot be read.
    """
    where, entries = scope_predicate(scope), generation.tables_of(scope)
    has_own = any(entry.scope for entry in entries)
    is_bounded = scope.user is not None and not has_own and generation.holds_at_most(MOST_ROWS)
    counts = () if is_bounded else [reading(_count, generation, entry.name, where) for entry in entries]
    if sum(counts) > MOST_ROWS:
        held = outlines(generation, entries, where)
        return TooLarge(_sample(generation, entries, where, policy, held), held)
    views = [_view(generation, entry.name, scope, where, policy) for entry in entries]
    return [view for view in views if len(view.columns)]


def _count(generation: Generation, table: str, where: str) -> int:
    return int(generation.dataset(table).count_rows(filter=where))


def _scanned(generation: Generation, table: str, where: str, columns: Sequence[str]) -> pa.Table:
    scan = generation.dataset(table).scanner(columns=list(columns), filter=where, with_row_id=True)
    return scan.to_table()


def _view(generation: Generation, table: str, scope: Scope, where: str, policy: RecallPolicy) -> View:
    found = reading(_scanned, generation, table, where, reading(generation.scored_columns))
    columns = scored(found, generation.manifest.dimensions)
    addresses: NDArray[np.uint64] = found["_rowid"].to_numpy()
    order = columns.sorted_rows()
    if not np.array_equal(order, np.arange(len(order))):
        columns, addresses = columns.take(order), addresses[order]
    columns = owned(columns)
    return View(columns, generation, table, addresses.copy(), scope, prepare(columns, policy))


def _sample(
    generation: Generation,
    entries: Sequence[TableEntry],
    where: str,
    policy: RecallPolicy,
    held: Mapping[str, Outline] | None,
) -> Usual:
    """Rows of a scope at even distances, as the store lists them."""
    listed = {
        entry.name: held[entry.name].addresses
        if held is not None
        else reading(_scanned, generation, entry.name, where, ())["_rowid"].to_numpy()
        for entry in entries
    }
    step = -(-sum(map(len, listed.values())) // SAMPLE_ROWS)
    wanted = {name: rows[::step] for name, rows in listed.items() if len(rows)}
    if held is not None:
        parts = [held[name].read(generation, rows) for name, rows in wanted.items()]
    else:
        columns = reading(generation.scored_columns)
        taken = [reading(generation.taken, name, rows, columns) for name, rows in wanted.items()]
        parts = [scored(rows, generation.manifest.dimensions) for rows in taken]
    sample, _ = united(parts)
    sample = sample.take(sample.sorted_rows())
    return sample, prepare(sample, policy)
