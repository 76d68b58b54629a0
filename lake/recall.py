"""Recall online: search and context inside a scope, from the live generation and the fresh tail.

Importing this module loads no index library, no model and no orchestrator.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lake.lake import Lake, as_lake
from transforms import scoring
from transforms.embedding import vector_space, with_text_hash
from transforms.errors import ModelMismatchError, UsageError
from transforms.memories import memories
from transforms.packing import Packed, pack
from transforms.policy import Policy
from transforms.schemas import MEMORIES

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder
    from lake.fresh import FreshTail
    from lake.index import Generation, Scope

FACTORS = {
    "relevance": "relevance",
    "recency": "recency",
    "importance": "importance_factor",
    "frequency": "frequency",
    "type": "type_factor",
}
"""Name of each factor as it is returned, and the column of ``scoring.score`` that holds it."""


@dataclass(frozen=True)
class Memory:
    """One recalled memory. ``score`` is the weighted sum of ``factors``; all lie in 0..1."""

    id: str
    kind: str
    text: str
    score: float
    factors: dict[str, float]
    event_at: datetime
    source_refs: list[str]
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    role: str | None
    speaker: str | None
    outcome: str | None
    is_fresh: bool

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        shown = (
            {name: getattr(self, name) for name in self.__slots__}
            if hasattr(self, "__slots__")
            else dict(self.__dict__)
        )
        return {**shown, "event_at": self.event_at.isoformat()}


@dataclass(frozen=True)
class Context:
    """A packed context: the text for a prompt, and the report of what went in and what did not."""

    text: str
    tokens_used: int
    tokens_available: int
    packed: int
    summarised: int
    dropped: int
    by_tier: list[dict[str, Any]]
    memories: list[Memory]
    dropped_rows: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {**self.__dict__, "memories": [memory.as_dict() for memory in self.memories]}


class Recall:
    """Reads one lake. Make one and keep it: it holds the opened index. Safe between threads.

    Args:
        lake: A lake or its address.
        policy: Weights and limits; the default policy where None.
        embedder: The model that embeds queries; the local default where None. It must be the one
            that the live generation was built with.
    """

    def __init__(
        self, lake: Lake | str, *, policy: Policy | None = None, embedder: Embedder | None = None
    ) -> None:
        self._lake = as_lake(lake)
        self._policy = policy or Policy()
        self._embedder = embedder
        self._lock = threading.Lock()
        self._generation: Generation | None = None
        self._tail: FreshTail | None = None
        self._fresh_vectors: dict[str, list[float]] = {}
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="slowwave-recall")

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
        as_of: datetime | None = None,
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
            as_of: Rows expired at this instant are not served; the clock where None.

        Raises:
            UsageError: No scope, an empty query or a k below 1.
            ModelMismatchError: The index was built with another model.
        """
        scope = self._scope(tenant, user, agent, session, tenant_wide)
        wanted = self._policy.recall.default_k if k is None else k
        if wanted < 1:
            raise UsageError(f"k is {wanted}", "Ask for at least one.")
        kept, _ = self._ranked(
            query, scope, kinds, _instant(as_of), max(wanted, self._policy.recall.candidates)
        )
        return _typed(kept.head(wanted))

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
        as_of: datetime | None = None,
    ) -> Context:
        """Memories for a query, packed into a token budget as delimited data.

        Args:
            query: What the prompt is about.
            tenant: As for ``search``, like the other scope arguments.
            user: Person.
            agent: Agent.
            session: Conversation; its own rows count as working memory.
            tenant_wide: Search the whole tenant.
            budget: Most tokens of the text; the policy's default where None.
            as_of: As for ``search``.

        Raises:
            UsageError: As ``search``, or a budget below 1.
        """
        from lake.tokens import count_tokens, truncate_tokens

        scope = self._scope(tenant, user, agent, session, tenant_wide)
        policy = self._policy.context
        kept, duplicates = self._ranked(query, scope, None, _instant(as_of), policy.candidates)
        floor = self._policy.recall.relevance_floor.get(vector_space(self._model().model_key), 0.0)
        packed = pack(
            kept,
            policy=policy,
            budget_tokens=policy.default_budget_tokens if budget is None else budget,
            count=lambda texts: count_tokens(texts, policy.encoding),
            shorten=lambda text, limit: truncate_tokens(text, limit, policy.encoding),
            relevance_floor=floor,
            already_dropped=duplicates,
        )
        return _context(packed)

    def _scope(
        self, tenant: str, user: str | None, agent: str | None, session: str | None, tenant_wide: bool
    ) -> Scope:
        from lake.index import Scope

        return Scope(tenant, user, agent, session, tenant_wide)

    def _ranked(
        self, query: str, scope: Scope, kinds: Sequence[str] | None, as_of: datetime, candidates: int
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Scored candidates without near-duplicates, and those; with ``is_fresh``."""
        if not query.strip():
            raise UsageError("the query is empty", "Say what to look for.")
        vector = self._query_vector(query)
        found = self._candidates(query, vector, scope, kinds, as_of, candidates)
        dimensions = self._model().dimensions
        matrix = found["vector"].explode().to_numpy().reshape(-1, dimensions) if found.height else None
        plain = found.drop("vector")
        scored = scoring.score(plain, policy=self._policy, as_of=as_of)
        if matrix is not None:
            order = scored.select("memory_id").join(
                plain.select("memory_id").with_row_index("position"),
                on="memory_id",
                how="left",
                maintain_order="left",
            )
            matrix = matrix[order["position"].to_numpy()]
        return scoring.drop_near_duplicates(scored, matrix, threshold=self._policy.recall.duplicate_cosine)

    def _candidates(
        self,
        query: str,
        vector: NDArray[np.float32],
        scope: Scope,
        kinds: Sequence[str] | None,
        as_of: datetime,
        candidates: int,
    ) -> pl.DataFrame:
        """Rows of the index by vector and by text, and of the fresh tail, each with cosine and bm25."""
        from lake.candidates import fresh_candidates, index_candidates

        for attempt in (1, 2):
            generation = self._live(reload=attempt == 2)
            try:
                published = index_candidates(
                    generation, self._pool, query, vector, scope, kinds, as_of, candidates
                )
                break
            except (OSError, ValueError):  # the generation was removed between pointer and read
                if attempt == 2:
                    raise
        since = int(generation.manifest.inputs["episodes"]) if generation else -1
        rows = self._fresh().episodes(scope, since, as_of)
        fresh = fresh_candidates(self._as_memories(rows, as_of), query, vector, kinds, candidates)
        both = [frame for frame in (published, fresh) if frame is not None and frame.height]
        if not both:
            return published if published is not None else fresh
        # The published copy of a row wins: it carries what consolidation added.
        return pl.concat(both).unique("memory_id", keep="first", maintain_order=True)

    def _as_memories(self, episodes: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
        """Fresh rows as memories, embedded now; a text is embedded once a process."""
        if episodes.is_empty():
            return MEMORIES.empty()
        hashed = with_text_hash(episodes, self._policy.embed.max_text_chars)
        missing = hashed.unique("text_hash").filter(~pl.col("text_hash").is_in(list(self._fresh_vectors)))
        if missing.height:
            done = self._model().embed(missing["embedding_text"].to_list())
            for i, name in enumerate(missing["text_hash"]):
                self._fresh_vectors[name] = [] if i in done.refused else done.vectors[i].tolist()
        vectors = pl.DataFrame({"text_hash": hashed["text_hash"].unique()}).with_columns(
            vector=pl.col("text_hash").map_elements(self._fresh_vectors.get, return_dtype=pl.List(pl.Float32))
        )
        return memories(hashed, vectors, self._policy, as_of)

    def _query_vector(self, query: str) -> NDArray[np.float32]:
        """The query's vector; zeros where the model refuses it, so that its words still find rows."""
        vector: NDArray[np.float32] = self._model().embed([query]).vectors[0]
        return vector

    def _model(self) -> Embedder:
        if self._embedder is None:
            from lake.embedders.config import EmbedderConfig, make_embedder

            self._embedder = make_embedder(EmbedderConfig())
        return self._embedder

    def _fresh(self) -> FreshTail:
        from lake.fresh import FreshTail

        with self._lock:
            if self._tail is None:
                self._tail = FreshTail(self._lake, self._policy)
            return self._tail

    def _live(self, *, reload: bool = False) -> Generation | None:
        """The live generation, opened again after a switch; None before the first publish.

        Raises:
            ModelMismatchError: It holds vectors of another space than this reader's model.
        """
        from lake.index import Generation, load_manifest, read_pointer

        pointer = read_pointer(self._lake)
        if pointer is None:
            return None
        with self._lock:
            held = self._generation
            if reload or held is None or held.manifest.generation != pointer.generation:
                held = Generation(self._lake, load_manifest(self._lake, pointer.generation))
                self._generation = held
        space = vector_space(self._model().model_key)
        if held.manifest.space != space:
            raise ModelMismatchError(
                f"the index holds vectors of {held.manifest.space}, the query was embedded by {space}",
                "Configure the index's model, or run slowwave embed and publish with this one.",
            )
        return held


def _instant(as_of: datetime | None) -> datetime:
    if as_of is None:
        return datetime.now(UTC)
    if as_of.tzinfo is None:
        raise UsageError("as_of has no time zone", "Pass an aware datetime.")
    return as_of.astimezone(UTC)


def _typed(scored: pl.DataFrame) -> list[Memory]:
    return [
        Memory(
            id=row["memory_id"],
            factors={name: row[column] for name, column in FACTORS.items()},
            **{name: row[name] for name in Memory.__dataclass_fields__ if name not in ("id", "factors")},
        )
        for row in scored.to_dicts()
    ]


def _context(packed: Packed) -> Context:
    dropped = packed.dropped.select("memory_id", "tier", "score", "reason").rename({"memory_id": "id"})
    return Context(
        packed.text,
        packed.tokens_used,
        packed.tokens_available,
        packed.packed_count,
        packed.summarised_count,
        packed.dropped_count,
        packed.by_tier().to_dicts(),
        _typed(packed.rows),
        dropped.to_dicts(),
    )
