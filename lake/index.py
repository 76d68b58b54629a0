"""The published index: generations of Lance tables, one pointer, and searches inside a scope.

A generation has one ``main`` table sorted by tenant, user and time, searched exactly inside a scope,
and a table of its own for each (tenant, user) above ``publish.large_scope_rows``. Both the vector and
the text search take the scope as a predicate of the store; there is no search without one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
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
PLAIN_COLUMNS = (
    "memory_id",
    "tenant_id",
    "user_id",
    "agent_id",
    "session_id",
    "kind",
    "sensitivity",
    "event_at",
    "expires_at",
    "search_text",
    "vector",
)
"""Columns that searches filter or search by; what is only shown stands in the payload."""
ANSWER = (PAYLOAD, "vector")
_OPEN_TABLES = 64
_INDEX_CACHE_BYTES = 192 << 20
_METADATA_CACHE_BYTES = 64 << 20
"""What a reader may hold of an index in memory; the library's own default is 7 GiB."""


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


class Generation:
    """An opened generation: searches over the tables that a scope can lie in. Safe between threads."""

    def __init__(self, lake: Lake, manifest: Manifest) -> None:
        self.manifest = manifest
        self.root = lake.index_uri(manifest.generation)
        self._open: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._session: Any = None

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
    ) -> list[Any]:
        """``vectors`` prepared, one scan a table, not yet run."""
        near: dict[str, Any] = {"column": "vector", "q": pa.array(query), "k": k, "metric": "dot"}
        return [
            self.dataset(entry.name).scanner(
                columns=[*columns, "_distance"],
                filter=predicate,
                prefilter=True,
                nearest=near | probes(entry),
            )
            for entry in self.tables_of(scope)
        ]

    def text_scans(
        self, scope: Scope, query: str, k: int, predicate: str, columns: tuple[str, ...] = ANSWER
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
            )
            for entry in self.tables_of(scope)
        ]

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
