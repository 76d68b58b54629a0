"""The published index: generations of Lance tables, one pointer, and searches inside a scope.

A generation has one ``main`` table, searched exactly inside a scope, and a table of its own for each
(tenant, user) above ``publish.large_scope_rows``. Rows are sorted by bucket, tenant, user and time, those
that came after it was built whole behind them; only speed leans on that. Both the vector and the text
search take the scope as a predicate of the store; there is no search without one.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lake.index_record import (
    POINTER,
    Manifest,
    Pointer,
    TableEntry,
    load_manifest,
    read_pointer,
    write_pointer,
)
from lake.lake import Lake
from lake.scope import Scope
from transforms import ids
from transforms.schemas import MEMORIES
from transforms.scoring_record import FORM
from transforms.search_text import query_text

__all__ = [
    "POINTER",
    "Generation",
    "Manifest",
    "Pointer",
    "TableEntry",
    "load_manifest",
    "read_pointer",
    "write_pointer",
]
MAIN = "main"
PAYLOAD = "payload"
"""Column with a whole memory as JSON: one scattered read a row in place of twenty, 3 ms less a search."""
PAYLOAD_COLUMNS = [name for name in MEMORIES.names if name not in ("search_text", "vector")]
RECORD_COLUMN, TERMS_COLUMN = "record", "terms"
"""What a whole scope is scored by: a fixed-size record (``transforms.scoring_record``) and hashed terms."""
PLAIN_COLUMNS = (
    "memory_id",
    "tenant_id",
    "user_id",
    "agent_id",
    "session_id",
    "kind",
    "speaker",
    "sensitivity",
    "event_at",
    "expires_at",
    "search_text",
    "vector",
)
"""Columns that searches filter or search by; what is only shown stands in the payload."""
NAME_COLUMNS = ("user_id", "agent_id", "session_id", "speaker")
"""Names that a whole scope is scored by, beside its records."""
ANSWER = (PAYLOAD, "vector")
_OPEN_TABLES = 64
_INDEX_CACHE_BYTES = 96 << 20
_METADATA_CACHE_BYTES = 32 << 20
"""What a reader may hold of an index in memory; the library's own default is 7 GiB."""


_OPENED = itertools.count()


def scope_hash(tenant: str, user: str | None) -> str:
    """Names a (tenant, user) scope without showing it."""
    return ids.row_id("scope", tenant, user or "")


def tenant_hash(tenant: str) -> str:
    """Names a tenant without showing it."""
    return ids.row_id("tenant", tenant)


def probes(entry: TableEntry) -> dict[str, Any]:
    """How the vector search of a table is to use its index."""
    if entry.nprobes is None:
        return {"use_index": False}
    return {"minimum_nprobes": entry.nprobes, "maximum_nprobes": entry.nprobes}


@dataclass(frozen=True)
class _Places:
    """Where a table's rows are for ``take``, which counts rows that are left, not those of the files.

    Attributes:
        begins: Rows that are left before each fragment.
        deleted: Of a fragment that hides rows, their places, ascending.
    """

    begins: dict[int, int]
    deleted: dict[int, NDArray[np.int64]]

    def row(self, row_id: int) -> int:
        """The place of a row by the store's row id."""
        fragment, place = row_id >> 32, row_id & 0xFFFFFFFF
        hidden = self.deleted.get(fragment)
        before = 0 if hidden is None else int(np.searchsorted(hidden, place))
        return self.begins[fragment] + place - before


def _places(table: Any) -> _Places:
    begins, deleted, begin = {}, {}, 0
    for fragment in table.get_fragments():
        begins[fragment.fragment_id] = begin
        begin += fragment.count_rows()
        if fragment.num_deletions:
            found = fragment.scanner(columns=[], with_row_id=True).to_table()["_rowid"].to_numpy()
            left = (found & np.uint64(0xFFFFFFFF)).astype(np.int64)
            deleted[fragment.fragment_id] = np.setdiff1d(
                np.arange(fragment.physical_rows, dtype=np.int64), left, assume_unique=True
            )
    return _Places(begins, deleted)


class Generation:
    """An opened generation: searches over the tables that a scope can lie in. Safe between threads."""

    def __init__(self, lake: Lake, manifest: Manifest) -> None:
        self.manifest = manifest
        self.root = lake.index_uri(manifest.generation)
        self.opened = next(_OPENED)
        self._open: OrderedDict[str, Any] = OrderedDict()
        self._places: dict[str, _Places] = {}
        self._lock = threading.Lock()
        self._session: Any = None

    def names_same(self, other: Generation) -> bool:
        """Whether both are openings of one generation."""
        return self.manifest.generation == other.manifest.generation

    def vectors(
        self,
        scope: Scope,
        query: NDArray[np.float32],
        k: int,
        predicate: str,
        columns: tuple[str, ...] = ANSWER,
    ) -> pa.Table:
        """Nearest rows by cosine.

        Args:
            scope: Whose.
            query: float32 (dimensions,), L2-normalised.
            k: Most rows of each table.
            predicate: From ``lake.scope.predicate``.
            columns: What to return beside the measure.

        Returns:
            The columns and ``_distance`` (1 - cosine).
        """
        return pa.concat_tables(
            [s.to_table() for s in self.vector_scans(scope, query, k, predicate, columns)]
        )

    def texts(
        self, scope: Scope, query: str, k: int, predicate: str, columns: tuple[str, ...] = ANSWER
    ) -> pa.Table:
        """Best rows by BM25 over any of the query's words; arguments as for ``vectors``.

        Returns:
            The columns and ``_score``.
        """
        return pa.concat_tables([s.to_table() for s in self.text_scans(scope, query, k, predicate, columns)])

    def vector_scans(
        self,
        scope: Scope,
        query: NDArray[np.float32],
        k: int,
        predicate: str,
        columns: tuple[str, ...] = ANSWER,
        *,
        has_row_ids: bool = False,
    ) -> list[Any]:
        """``vectors`` prepared, one scan a table, not yet run; with the store's row ids where asked."""
        near: dict[str, Any] = {"column": "vector", "q": pa.array(query), "k": k, "metric": "dot"}
        return [
            self.dataset(entry.name).scanner(
                columns=[*columns, "_distance"],
                filter=predicate,
                prefilter=True,
                nearest=near | probes(entry),
                with_row_id=has_row_ids,
            )
            for entry in self.tables_of(scope)
        ]

    def text_scans(
        self,
        scope: Scope,
        query: str,
        k: int,
        predicate: str,
        columns: tuple[str, ...] = ANSWER,
        *,
        has_row_ids: bool = False,
    ) -> list[Any]:
        """``texts`` prepared, one scan a table, not yet run."""
        from lance.query import MatchQuery

        words = MatchQuery(query_text(query), "search_text")
        return [
            self.dataset(entry.name).scanner(
                columns=[*columns, "_score"],
                filter=predicate,
                prefilter=True,
                full_text_query=words,
                limit=k,
                with_row_id=has_row_ids,
            )
            for entry in self.tables_of(scope)
        ]

    def scored_columns(self) -> tuple[str, ...]:
        """Columns that a whole scope is scored by; what they are made of, if an older version published."""
        if self._has_records():
            return "memory_id", *NAME_COLUMNS, "vector", TERMS_COLUMN, RECORD_COLUMN
        return "memory_id", "search_text", "vector", PAYLOAD

    def _has_records(self) -> bool:
        """Whether it holds records and terms, in the form that this version reads."""
        form = self.manifest.inputs.get("form", FORM)
        return form == FORM and RECORD_COLUMN in self.dataset(MAIN).schema.names

    def holds_at_most(self, rows: int) -> bool:
        """Whether a person without a table of his own is known to have so many episodes at most."""
        publish = self.manifest.inputs.get("policy", {}).get("publish", {})
        limit = publish.get("large_scope_rows")
        return isinstance(limit, int) and limit <= rows

    def fetched_columns(self) -> tuple[str, ...]:
        """Columns a few rows are scored by and shown from: as few as can be, for each is a read a row."""
        if self._has_records():
            return PAYLOAD, "vector", TERMS_COLUMN, RECORD_COLUMN
        return self.scored_columns()

    def taken(self, name: str, row_ids: NDArray[np.uint64], columns: Sequence[str]) -> pa.Table:
        """Columns of rows of a table by the store's row ids, in their order."""
        table = self.dataset(name)
        places = self._places.get(name)
        if places is None:
            places = self._places[name] = _places(table)
        return table.take([places.row(row_id) for row_id in row_ids.tolist()], columns=list(columns))

    def payloads(self, name: str, row_ids: NDArray[np.uint64]) -> list[str]:
        """Payload of rows of a table by the store's row ids, in their order."""
        if not len(row_ids):
            return []
        texts: list[str] = self.taken(name, row_ids, (PAYLOAD,))[PAYLOAD].to_pylist()
        return texts

    def tables_of(self, scope: Scope) -> list[TableEntry]:
        """Tables that rows of the scope can lie in: its own, or main and the tenant's own ones."""
        entries = self.manifest.tables
        main = [entry for entry in entries if entry.scope is None]
        if scope.user:
            wanted = scope_hash(scope.tenant, scope.user)
            return [entry for entry in entries if entry.scope == wanted] or main
        tenant = tenant_hash(scope.tenant)
        return main + [entry for entry in entries if entry.tenant == tenant]

    def dataset(self, name: str) -> Any:
        """The opened Lance table, kept open while it is among the most recently used."""
        with self._lock:
            if name in self._open:
                self._open.move_to_end(name)
                return self._open[name]
        import lance

        with self._lock:
            if self._session is None:
                self._session = lance.Session(
                    index_cache_size_bytes=_INDEX_CACHE_BYTES,
                    metadata_cache_size_bytes=_METADATA_CACHE_BYTES,
                )
        opened = lance.dataset(f"{self.root}/{name}.lance", session=self._session)
        with self._lock:
            self._open[name] = opened
            while len(self._open) > _OPEN_TABLES:
                self._open.popitem(last=False)
        return opened
