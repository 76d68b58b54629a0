"""Recall online: search and context inside a scope, from the live generation and the fresh tail.

Importing this module loads no index library, no model and no orchestrator.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lake import arguments
from lake.answers import Context, Memory, best_memories, packed_context
from lake.arguments import MOST_ROWS, MOST_TOKENS
from lake.candidates import Candidates, Ranked, joined, ranked
from lake.embedders.protocol import well_formed
from lake.forks import require_threads
from lake.lake import Lake, as_lake
from lake.live_index import LiveIndex
from lake.rights.tombstones import load
from lake.scope import Filters, Scope
from transforms.embedding import vector_space
from transforms.packing import pack
from transforms.policy import Policy
from transforms.policy_entries import MEMORY_KINDS

if TYPE_CHECKING:
    from lake.beliefs import Fact
    from lake.chain import Chain
    from lake.crypto.access import Keys
    from lake.embedders.protocol import Embedder
    from lake.fresh import FreshTail
    from lake.fresh_memories import FreshMemories

__all__ = ["Context", "Memory", "Recall"]


class Recall:
    """Reads one lake. Make one and keep it: it holds the opened index. Safe between threads.

    Args:
        lake: A lake or its address.
        policy: Weights and limits; the default policy where None.
        embedder: The model that embeds queries; the local default where None. It must be the one
            that the live generation was built with.
        keys: The keys of an encrypted lake; a ``Lake`` may bring its own. Without them its published
            memories are recalled only until something lands after them, which raises a ``LakeError``.
    """

    def __init__(
        self,
        lake: Lake | str | PathLike[str],
        *,
        policy: Policy | None = None,
        embedder: Embedder | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._lake = as_lake(lake, keys)
        self._policy = policy or Policy()
        self._embedder = embedder
        self._lock = threading.Lock()
        self._index = LiveIndex(self._lake, self._model)
        self._fresh: tuple[FreshTail, FreshMemories] | None = None

    def search(
        self,
        query: str,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
        k: int | None = None,
        kinds: Sequence[str] | None = None,
        as_of: datetime | str | None = None,
    ) -> list[Memory]:
        """The best memories of a scope for a query, best first.

        Args:
            query: What to look for, in any language.
            tenant: Customer; always.
            user: Person. At least one of user, agent and session, or ``tenant_wide``.
            agent: Agent.
            session: Conversation.
            tenant_wide: Search all users and agents of the tenant.
            k: Most rows; the policy's ``default_k`` where None.
            kinds: Only these kinds.
            as_of: The instant to answer at, a datetime or ISO 8601 text with a zone: rows expired at
                it, or of a later event, are not served. Where None it is now, and a row whose
                writer's clock is ahead is served.

        Raises:
            UsageError: No scope, an empty query, a k below 1, an unknown kind, an as_of without zone,
                or an argument of another type.
            ModelMismatchError: The index was built with another model.
        """
        scope = Scope(tenant, user, agent, session, tenant_wide)
        wanted = self._policy.recall.default_k if k is None else arguments.count("k", k, MOST_ROWS)
        candidates = max(wanted, self._policy.recall.candidates)
        return best_memories(
            self._ranked(query, scope, self._filters(as_of, kinds), candidates, wanted), wanted
        )

    def context(
        self,
        query: str,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
        budget: int | None = None,
        as_of: datetime | str | None = None,
    ) -> Context:
        """Memories for a query, packed into a token budget as delimited data.

        Args:
            query: What the prompt is about.
            tenant: As for ``search``, like the other scope arguments.
            user: Person.
            agent: Agent.
            session: Conversation.
            tenant_wide: Search the whole tenant.
            budget: Most tokens of the text; the policy's default where None.
            as_of: As for ``search``.

        Raises:
            UsageError: As ``search``, or a budget below 1.
        """
        from lake.tokens import count_tokens, truncate_tokens

        scope = Scope(tenant, user, agent, session, tenant_wide)
        policy = self._policy.context
        tokens = policy.default_budget_tokens
        if budget is not None:
            tokens = arguments.count("budget", budget, MOST_TOKENS)
        kept, repeated = self._ranked(query, scope, self._filters(as_of, None), policy.candidates).frames()
        floor = self._policy.recall.relevance_floor.get(vector_space(self._model().model_key), 0.0)
        packed = pack(
            kept,
            policy=policy,
            budget_tokens=tokens,
            count=lambda texts: count_tokens(texts, policy.encoding),
            shorten=lambda text, limit: truncate_tokens(text, limit, policy.encoding),
            relevance_floor=floor,
            already_dropped=repeated,
        )
        return packed_context(packed)

    def facts(
        self,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
        as_of: datetime | str | None = None,
        recorded_by: datetime | str | None = None,
        history: bool = False,
    ) -> list[Fact]:
        """What is held to be true of a scope, last confirmed first.

        Args:
            tenant: Customer; always.
            user: Person. At least one of user and agent, or ``tenant_wide``.
            agent: Agent.
            session: None: facts are of a user or an agent.
            tenant_wide: All users and agents of the tenant.
            as_of: What was true at this instant by what had been said until then; now where None.
            recorded_by: Only by what the lake held at this instant, whatever has been landed since.
            history: Facts that no longer hold, too.

        Raises:
            UsageError: As ``search``, or a session.
        """
        from lake.beliefs import facts_of, scope_of

        at, known = arguments.instant(as_of), arguments.instant(recorded_by)
        return facts_of(
            self._lake,
            scope_of(tenant, user, agent, session, tenant_wide),
            self._policy,
            at or datetime.now(UTC),
            is_replay=at is not None,
            recorded_by=known,
            has_history=history,
            space=lambda: vector_space(self._model().model_key),
        )

    def explain(
        self,
        row_id: str,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
    ) -> Chain:
        """Why a memory is there: the words it rests on, and every decision between them and it.

        Args:
            row_id: Id of a memory, fact, claim, topic, conversation or attempt, or the first eight
                characters of it or more.
            tenant: As for ``search``, like the other scope arguments.
            user: Person.
            agent: Agent.
            session: Conversation.
            tenant_wide: The whole tenant.

        Raises:
            UsageError: As ``search``, or the scope holds no such row, or several whose ids begin so.
        """
        from lake.chain import chain_of

        scope = Scope(tenant, user, agent, session, tenant_wide)
        return chain_of(self._lake, scope, arguments.question(row_id), self._policy.recall.max_sensitivity)

    def _filters(self, as_of: datetime | str | None, kinds: Sequence[str] | None) -> Filters:
        instant = arguments.instant(as_of)
        return Filters(
            as_of=instant or datetime.now(UTC),
            is_replay=instant is not None,
            kinds=arguments.names("kinds", kinds, MEMORY_KINDS),
            max_sensitivity=self._policy.recall.max_sensitivity,
            tombstones=load(self._lake),
        )

    def _ranked(
        self, query: str, scope: Scope, filters: Filters, candidates: int, limit: int | None = None
    ) -> Ranked:
        """Scored candidates of the index and the fresh tail, near-duplicates marked.

        The index's state is read before the tail's and the landed rows before the tables, the way a
        row moves, so that a row on its way is met at least once; twice is put right by its id.
        """
        require_threads()
        query = unicodedata.normalize("NFC", well_formed(arguments.question(query)))  # as landed text is
        # Zeros where the model refuses the query, whose words then still find rows.
        vector = self._model().embed([query]).vectors[0]
        since, published = self._index.candidates(query, vector, scope, filters, candidates)
        fresh = self._unpublished(query, vector, scope, filters, candidates, since)
        return ranked(joined(published, fresh, len(vector)), self._policy, filters, limit)

    def _unpublished(
        self,
        query: str,
        vector: NDArray[np.float32],
        scope: Scope,
        filters: Filters,
        candidates: int,
        since: int,
    ) -> Candidates | None:
        tail, fresh = self._tail()
        episodes = tail.episodes(scope, since, filters.tombstones)
        if episodes is None:
            return None
        return fresh.candidates(episodes, query, vector, scope, filters, candidates)

    def _model(self) -> Embedder:
        if self._embedder is None:
            from lake.embedders.config import EmbedderConfig, make_embedder

            self._embedder = make_embedder(EmbedderConfig())
        return self._embedder

    def _tail(self) -> tuple[FreshTail, FreshMemories]:
        from lake.fresh import FreshTail
        from lake.fresh_memories import FreshMemories

        with self._lock:
            if self._fresh is None:
                memories = FreshMemories(self._policy, self._model(), self._lake)
                self._fresh = FreshTail(self._lake, self._policy), memories
            return self._fresh
