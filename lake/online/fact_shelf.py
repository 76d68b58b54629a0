"""Facts of a scope at hand: their keys, and the rows themselves, from the live generation.

One scan a scope, with the scope as the store's predicate, kept while it is asked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import orjson

from lake.index import PAYLOAD, Generation
from lake.online.views import Gone, Source, reading
from lake.scope import Filters, Scope, scope_predicate
from transforms.fact_keys import FactKeys, keys_of
from transforms.scope_columns import KINDS

FACT_KINDS = ("fact", "preference")
MOST_FACTS = 5_000
"""Facts of one scope that are kept, the newest confirmed: above what capacity lets one user hold."""
MOST_BYTES = 16 << 20
"""What the shelf may hold in all."""
_BESIDE = 1_500
"""Bytes of a fact beside its payload: its dictionary and its keys as sets, measured."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Facts:
    """Facts of one scope of one generation.

    Attributes:
        rows: ``schemas.MEMORIES`` without vector and search text, newest confirmed first; instants in
            microseconds since 1970.
        nbytes: Bytes held, about.
    """

    rows: tuple[Row, ...]
    nbytes: int

    @cached_property
    def by_id(self) -> dict[str, Row]:
        """The rows by memory id."""
        return {row["memory_id"]: row for row in self.rows}

    @cached_property
    def keys(self) -> FactKeys:
        """What questions name them by."""
        return keys_of(self.rows)

    def served(self, filters: Filters) -> Iterator[Row]:
        """Rows that a call may see, in order."""
        return (row for row in self.rows if filters.serves(row))

    def base(self, count: int, filters: Filters) -> list[Row]:
        """The newest-confirmed facts that a call may see, at most ``count``.

        Denials come after what holds: "does not like" alone tells an agent less.
        """
        found = list(self.served(filters))
        held = [row for row in found if row.get("polarity") != "negative"]
        denied = [row for row in found if row.get("polarity") == "negative"]
        return [*held, *denied][:count]


class FactShelf:
    """Facts of the scopes most recently asked for. Safe between threads.

    Args:
        most_bytes: Bytes held at most; facts of a larger scope are read and not kept.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[str, Scope], Facts] = OrderedDict()
        self._bytes = 0

    def of(self, generation: Generation, scope: Scope) -> Facts:
        """Facts of a scope in a generation; those of a session alone are none: facts are of people.

        Raises:
            Gone: The generation cannot be read.
        """
        key = (f"{generation.root}#{generation.opened}", scope)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        found = _read(generation, scope)
        with self._lock:
            if key not in self._held and found.nbytes <= self._most_bytes:
                self._held[key] = found
                self._bytes += found.nbytes
                while self._bytes > self._most_bytes:
                    _, gone = self._held.popitem(last=False)
                    self._bytes -= gone.nbytes
        return found

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._bytes


def facts_of(source: Source) -> Facts:
    """Facts among rows that are held whole; read anew with each call."""
    is_fact = np.isin(source.columns.kind, [KINDS.index(kind) for kind in FACT_KINDS])
    rows = source.rows(np.flatnonzero(is_fact & source.columns.is_derived))
    rows.sort(key=lambda row: (-row["event_at"], row["memory_id"]))
    return Facts(tuple(rows[:MOST_FACTS]), 0)


def _read(generation: Generation, scope: Scope) -> Facts:
    kinds = ", ".join(f"'{kind}'" for kind in FACT_KINDS)
    where = f"{scope_predicate(scope)} AND kind IN ({kinds})"
    entries = generation.tables_of(scope)
    if scope.user is None:
        held = reading(lambda: sum(generation.dataset(e.name).count_rows(filter=where) for e in entries))
        if held > MOST_FACTS:
            return Facts((), 0)  # of a whole tenant no key singles out one fact
    texts: list[str] = []
    for entry in entries:
        texts += reading(_payloads, generation, entry.name, where)
    rows = [orjson.loads(text) for text in texts]
    if any(not scope.holds(row) for row in rows):
        raise Gone("the index answered with a fact of another scope")
    rows.sort(key=lambda row: (-row["event_at"], row["memory_id"]))
    kept = tuple(rows[:MOST_FACTS])
    return Facts(kept, sum(map(len, texts)) + _BESIDE * len(kept))


def _payloads(generation: Generation, table: str, where: str) -> list[str]:
    scanner = generation.dataset(table).scanner(columns=[PAYLOAD], filter=where)
    found: list[str] = scanner.to_table()[PAYLOAD].to_pylist()
    return found
