"""What every part of a reader stands on: the lake, the policy, the models, and a query made ready."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING

from lake import arguments
from lake.embedders.protocol import well_formed
from lake.forks import require_threads
from lake.lake import Lake, as_lake
from lake.online.asked import Asked
from lake.online.query_vector import OwnVector, query_vector
from lake.online.recall_log import RecallLog
from lake.rights.tombstones import load
from lake.scope import Filters, Scope
from transforms.policy import Policy
from transforms.policy_entries import MEMORY_KINDS
from transforms.weights import weights_of

if TYPE_CHECKING:
    from lake.crypto.access import Keys
    from lake.embedders.protocol import Embedder
    from lake.online.searcher import Searcher
    from lake.rerankers.protocol import Reranker


class Reader:
    """A lake opened for reading. ``lake.recall.Recall`` is made of its parts and tells the arguments."""

    def __init__(
        self,
        lake: Lake | str | PathLike[str],
        *,
        policy: Policy | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._lake = as_lake(lake, keys)
        self._policy = policy or Policy()
        self._embedder = embedder
        self._reranker = reranker
        self._lock = threading.Lock()
        self._searching: Searcher | None = None
        self._log = RecallLog(self._lake, self._policy)

    def _scopes(self, own: Scope, also: Sequence[str]) -> tuple[Scope, ...]:
        if not also:
            return (own,)
        from lake.sharing.reading import scopes_of

        return scopes_of(self._lake, own, also)

    def _filters(
        self, as_of: datetime | str | None, kinds: Sequence[str] | None, *, partial: bool = False
    ) -> Filters:
        instant = arguments.instant(as_of)
        return Filters(
            as_of=instant or datetime.now(UTC),
            is_replay=instant is not None,
            kinds=arguments.names("kinds", kinds, MEMORY_KINDS),
            max_sensitivity=self._policy.recall.max_sensitivity,
            tombstones=load(self._lake),
            is_partial=partial,
        )

    def _asked(
        self,
        query: str,
        scopes: tuple[Scope, ...],
        filters: Filters,
        candidates: int,
        limit: int | None,
        weights: str | Mapping[str, float] | None = None,
        own: tuple[OwnVector | None, str | None] = (None, None),
    ) -> Asked:
        """A query with all that its search needs: its words and its vector, whose memories, which of them.

        Raises:
            UsageError: The query is empty, or this process was forked from one that had computed.
        """
        require_threads()
        text = unicodedata.normalize("NFC", well_formed(arguments.question(query)))  # as landed text is
        chosen = self._policy.recall.weights_for(scopes[0].agent) if weights is None else weights_of(weights)
        vector = query_vector(self._model(), text, *own)
        return Asked(
            text,
            vector,
            scopes,
            filters,
            self._policy,
            candidates,
            limit,
            weights=chosen,
            reranker=self._reranker,
        )

    @property
    def _searcher(self) -> Searcher:
        with self._lock:
            if self._searching is None:
                from lake.online.searcher import Searcher

                self._searching = Searcher(self._lake, self._policy, self._model)
            return self._searching

    def _model(self) -> Embedder:
        if self._embedder is None:
            from lake.embedders.config import EmbedderConfig, make_embedder

            self._embedder = make_embedder(EmbedderConfig())
        return self._embedder
