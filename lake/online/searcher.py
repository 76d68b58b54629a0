"""One search, step by step: scope views, fresh tail, ranking; again where the index is switched meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from lake import tables
from lake.candidates import Ranked
from lake.fresh import FreshTail
from lake.fresh_memories import FreshMemories
from lake.index import Generation
from lake.lake import Lake
from lake.live_index import ATTEMPTS, LiveIndex, unreadable
from lake.online import large, windows
from lake.online.asked import Asked
from lake.online.fact_shelf import FactShelf, Row, facts_of
from lake.online.held_views import TooLarge, Views
from lake.online.past import Past
from lake.online.ranking import ranked
from lake.online.routed import routed
from lake.online.views import FrameSource, Gone, Source
from lake.scope import Scope
from transforms.errors import LakeError
from transforms.policy import Policy
from transforms.schemas import EPISODES

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder

_T = TypeVar("_T")


class Searcher:
    """Searches of one lake. Safe between threads.

    Args:
        lake: Whose.
        policy: Of the fresh tail.
        model: Gives the model that embeds texts and queries.
    """

    def __init__(self, lake: Lake, policy: Policy, model: Callable[[], Embedder]) -> None:
        self._lake = lake
        self._policy = policy
        self._model = model
        self._lock = threading.Lock()
        self._tail = FreshTail(lake, policy)
        self._fresh: FreshMemories | None = None
        self._views = Views(policy.recall)
        self._past = Past(lake, policy, model)
        self._shelf = FactShelf()
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="slowwave-recall")
        self.index = LiveIndex(lake, model)

    def ranked(self, asked: Asked) -> Ranked:
        """Memories of the live generation and of the fresh tail, scored, near-duplicates marked.

        The index's state is read before the tail's and the landed rows before the tables, the way a
        row moves, so that a row on its way is met at least once; twice is put right by its id.

        Raises:
            LakeError: The index cannot be read.
            ModelMismatchError: It was built with another model.
        """
        return self._reading(lambda generation: self._found(generation, asked))

    def base_facts(self, asked: Asked, count: int) -> list[Row]:
        """The newest-confirmed facts of the caller's own scope, whatever is asked.

        Args:
            asked: The search beside which they are wanted.
            count: Most facts.

        Returns:
            ``schemas.MEMORIES`` without search text and vector; instants in microseconds since 1970.

        Raises:
            LakeError: As ``ranked``.
        """
        return self._reading(lambda generation: self._base_facts(generation, asked, count))

    def _reading(self, work: Callable[[Generation | None], _T]) -> _T:
        """Do some work on the live generation, again where it is switched and removed meanwhile."""
        failed: Generation | None = None
        for _ in range(ATTEMPTS):
            generation = self.index.live(failed)
            try:
                return work(generation)
            except Gone as error:  # it may have been removed between pointer and read
                if failed is not None and generation is not None and failed.names_same(generation):
                    raise unreadable(generation) from error
                failed = generation
        raise LakeError("the index is switched faster than it can be read", "Keep more generations.")

    def _found(self, generation: Generation | None, asked: Asked) -> Ranked:
        if generation is None:
            asked = self._standing(asked, -1)
            return ranked(routed(asked, []), self._unpublished(asked, -1))
        if _is_before(generation, asked):
            believed = self._believed(asked)
            found = ranked(routed(asked, [facts_of(one) for one in believed]), believed)
            return replace(found, background=generation.manifest.measured())
        since = int(generation.manifest.inputs["episodes"])
        asked = self._standing(asked, since)
        asked = routed(asked, [self._shelf.of(generation, scope) for scope in asked.scopes])
        published = self._published(generation, asked)
        fresh = self._unpublished(asked, since)
        found = ranked(asked, [*published, *(self._judged(generation, one) for one in fresh)])
        manifest = generation.manifest
        return replace(found, generation=manifest.generation, background=manifest.measured())

    def _base_facts(self, generation: Generation | None, asked: Asked, count: int) -> list[Row]:
        if generation is None or count == 0:
            return []
        if not _is_before(generation, asked):
            asked = self._standing(asked, int(generation.manifest.inputs["episodes"]))
            return self._shelf.of(generation, asked.scopes[0]).base(count, asked.filters)
        own = self._past.sources(replace(asked, scopes=asked.scopes[:1]))[0]
        return facts_of(own).base(count, asked.filters)

    def _published(self, generation: Generation, asked: Asked) -> list[Source]:
        """Sources of each scope: whole ones where it can be held, else the store's candidates."""
        sources: list[Source] = []
        for scope in asked.scopes:
            found = self._views.of(generation, scope)
            if isinstance(found, TooLarge):
                sources += self._large(generation, asked, scope, found)
            else:
                sources += found
        return sources

    def _large(self, generation: Generation, asked: Asked, scope: Scope, held: TooLarge) -> list[Source]:
        """Candidates of a scope that is not held: by similarity, and what the route asks for besides."""
        usual, rest = held.usual, held.outlines
        named = windows.views(generation, asked, scope, usual)
        if named and asked.route is not None and asked.route.sessions is not None:
            return list(named)
        found: list[Source] = list(large.candidates(generation, self._pool, asked, scope, usual, rest))
        inside = windows.widened(asked)
        if inside is not None:
            found += large.candidates(generation, self._pool, inside, scope, usual, rest)
        return [*found, *named]

    def _believed(self, asked: Asked) -> list[Source]:
        """What was believed before the live generation was built; landed rows before the tables, as above."""
        landed = self._unpublished(asked, tables.version(self._lake, EPISODES))
        return [*self._past.sources(asked), *landed]

    def _standing(self, asked: Asked, since: int) -> Asked:
        """The same search without what edits have replaced since the index was built."""
        gone = [ids for scope in asked.scopes if (ids := self._tail.replaced(scope, since))]
        if not gone:
            return asked
        return replace(asked, filters=replace(asked.filters, replaced=frozenset().union(*gone)))

    def _unpublished(self, asked: Asked, since: int) -> list[FrameSource]:
        """The fresh tail of each scope."""
        sources: list[FrameSource] = []
        for scope in asked.scopes:
            episodes = self._tail.episodes(scope, since, asked.filters.tombstones)
            if episodes is not None and asked.filters.is_replay:  # what is later must not tell rare words
                episodes = episodes.filter(pl.col("event_at") <= asked.filters.as_of)
            if episodes is not None and episodes.height:
                sources.append(self._fresh_memories().source(episodes, scope))
        return sources

    def _judged(self, generation: Generation, fresh: FrameSource) -> FrameSource:
        """A fresh tail, its words and cosines judged by its whole scope, where most of that is published."""
        held = self._views.of(generation, fresh.scope) if fresh.scope is not None else ()
        if isinstance(held, TooLarge):
            return replace(fresh, usual=held.usual)
        largest = max(held, key=lambda view: len(view.columns), default=None)
        if largest is None or largest.prepared is None or len(largest.columns) < len(fresh.columns):
            return fresh
        return replace(fresh, usual=(largest.columns, largest.prepared))

    def _fresh_memories(self) -> FreshMemories:
        with self._lock:
            if self._fresh is None:
                self._fresh = FreshMemories(self._policy, self._model(), self._lake)
            return self._fresh


def _is_before(generation: Generation, asked: Asked) -> bool:
    """Whether the search is as of an instant that the generation knows more than."""
    built = datetime.fromisoformat(generation.manifest.as_of)
    return asked.filters.is_replay and asked.filters.as_of < built
