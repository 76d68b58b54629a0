"""Sources of a search as of the past: scopes as they were believed to be, kept for the next question."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lake import tables
from lake.lake import Lake
from lake.online.asked import Asked
from lake.online.believed import believed
from lake.online.views import FrameSource, held_whole
from lake.rights import standing
from lake.rights.tombstones import Tombstones
from lake.scope import Scope
from transforms.embedding import vector_space
from transforms.policy import Policy
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    RECALLS,
    SUMMARIES,
    VECTORS,
)
from transforms.standing import Standing

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder

HELD = 8
"""Scopes at an instant that are kept: replays ask many questions of one."""
_READ = (EPISODES, COLD, VECTORS, CLAIMS, FACTS, SUMMARIES, ATTEMPTS, CONVERSATIONS, RECALLS)

_State = tuple[tuple[int, ...], Tombstones | None, list[Standing]]


class Past:
    """What was believed, for searches. Safe between threads.

    Args:
        lake: Whose.
        policy: Retention and folding.
        model: Gives the model that embeds queries, and texts that have no vector yet.
    """

    def __init__(self, lake: Lake, policy: Policy, model: Callable[[], Embedder]) -> None:
        self._lake = lake
        self._policy = policy
        self._model = model
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[Scope, datetime, bool], tuple[_State, FrameSource]] = OrderedDict()

    def sources(self, asked: Asked) -> list[FrameSource]:
        """One source a scope of the search, as of ``filters.as_of``.

        Raises:
            UsageError: A scope is too large to be read whole.
            HistoryError: The lake no longer holds all that stood then.
        """
        return [self._source(scope, asked) for scope in asked.scopes]

    def _source(self, scope: Scope, asked: Asked) -> FrameSource:
        at, refusing = asked.filters.as_of, asked.filters.tombstones
        told = [one for one in standing.load_all(self._lake) if one.subject.tenant == scope.tenant]
        state = tuple(tables.version(self._lake, table) for table in _READ), refusing, told
        key = scope, at, asked.filters.is_partial
        with self._lock:
            held = self._held.get(key)
            if held is not None and held[0] == state:
                self._held.move_to_end(key)
                return held[1]
        made = self._made(scope, asked)
        with self._lock:
            self._held[key] = state, made
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        return made

    def _made(self, scope: Scope, asked: Asked) -> FrameSource:
        at, refusing = asked.filters.as_of, asked.filters.tombstones
        space = vector_space(self._model().model_key)
        is_partial = asked.filters.is_partial
        rows = believed(self._lake, scope, self._policy, at, space, is_partial=is_partial)
        if refusing:
            rows = rows.filter(~refusing.is_refused(rows))
        # As published ones are held, so that a memory scores to the bit what it scored then.
        halves = self._vectors(rows).astype(np.float16)
        return held_whole(rows.drop("embedding_text"), halves, self._policy.recall, is_fresh=False)

    def _vectors(self, rows: pl.DataFrame) -> NDArray[np.float32]:
        """Vectors of the rows, made now where the lake has none yet."""
        model = self._model()
        has_one = (rows["vector"].list.len() == model.dimensions).to_numpy()
        matrix = np.zeros((rows.height, model.dimensions), np.float32)
        flat = rows["vector"].filter(has_one).explode(empty_as_null=False).to_numpy()
        matrix[has_one] = flat.reshape(-1, model.dimensions)
        bare = rows["embedding_text"].filter(~has_one).to_list()
        if bare:
            matrix[~has_one] = model.embed(bare).vectors
        return matrix
