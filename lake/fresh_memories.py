"""Fresh rows as memories: embedded and counted once, then searched with the published ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lake.online.views import FrameSource, held_whole
from lake.rights import standing
from lake.scope import Scope
from transforms.embedding import with_text_hash
from transforms.forgetting.due import Wishes
from transforms.memories import memories
from transforms.policy import Policy
from transforms.standing import Standing

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder
    from lake.lake import Lake

SCOPES_HELD = 64
VECTORS_HELD = 20_000
"""Vectors of fresh texts kept between calls; 1 KB each at 256 dimensions."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Prepared:
    """A scope's fresh rows: their frame and what their people asked for, and what was made of both."""

    episodes: pl.DataFrame
    told: list[Standing]
    source: FrameSource


class FreshMemories:
    """Turns fresh episodes into a source of a search. Safe between threads.

    Args:
        policy: Retention, and where texts are cut.
        embedder: Embeds them.
        lake: Where people's own retention periods and pins stand; None: nobody asked for anything.
    """

    def __init__(self, policy: Policy, embedder: Embedder, lake: Lake | None = None) -> None:
        self._lake = lake
        self._policy = policy
        self._embedder = embedder
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._held: OrderedDict[Scope, _Prepared] = OrderedDict()

    def source(self, episodes: pl.DataFrame, scope: Scope) -> FrameSource:
        """Fresh rows of a scope as a search reads them; the very same while nothing changes."""
        told = self._told(scope)
        with self._lock:
            held = self._held.get(scope)
            if held is None or held.episodes is not episodes or held.told != told:
                held = self._prepare(scope, episodes, told)
                self._held[scope] = held
            self._held.move_to_end(scope)
            while len(self._held) > SCOPES_HELD:
                self._held.popitem(last=False)
            return held.source

    def _told(self, scope: Scope) -> list[Standing]:
        """What the people of a scope asked for, looked up with each call: it holds at once."""
        if self._lake is None:
            return []
        if scope.user is not None:
            return standing.of_rows(self._lake, scope.tenant, scope.user, scope.agent)
        return [one for one in standing.load_all(self._lake) if one.subject.tenant == scope.tenant]

    def _prepare(self, scope: Scope, episodes: pl.DataFrame, told: list[Standing]) -> _Prepared:
        hashed = with_text_hash(episodes, self._policy.embed.max_text_chars)
        self._embed(hashed)
        nothing = pl.DataFrame(schema={"text_hash": pl.String, "vector": pl.List(pl.Float32)})
        wishes = Wishes.of(told)
        rows = memories(hashed, nothing, self._policy, _BEGINNING, wishes=wishes)
        order = rows.select("memory_id").join(
            hashed.select(memory_id="episode_id", text_hash="text_hash"),
            on="memory_id",
            how="left",
            maintain_order="left",
        )
        vectors = [self._vectors[name] for name in order["text_hash"]]
        matrix = np.array(vectors, np.float32).reshape(-1, self._embedder.dimensions)
        self._forget()
        source = held_whole(rows, matrix, self._policy.recall, is_fresh=True, scope=scope)
        return _Prepared(episodes, told, source)

    def _embed(self, hashed: pl.DataFrame) -> None:
        """Vectors of texts that have none yet; zeros where the model refuses one."""
        texts: dict[str, Any] = dict(hashed.select("text_hash", "embedding_text").iter_rows())
        missing = sorted(name for name in texts if name not in self._vectors)
        if missing:
            done = self._embedder.embed([texts[name] for name in missing])
            self._vectors.update(zip(missing, done.vectors, strict=True))
        for name in texts:
            self._vectors.move_to_end(name)

    def _forget(self) -> None:
        while len(self._vectors) > VECTORS_HELD:
            self._vectors.popitem(last=False)
