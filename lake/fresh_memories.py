"""Fresh rows as memories: embedded and counted once, then searched by brute force."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lake.candidates import FRAME, Candidates, dots
from lake.rights import standing
from lake.scope import Filters, Scope
from transforms.bm25 import bm25, words
from transforms.embedding import with_text_hash
from transforms.forgetting.due import Wishes
from transforms.memories import memories
from transforms.policy import Policy
from transforms.schemas import INSTANT
from transforms.search_text import query_text
from transforms.standing import Standing, periods, pins

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder
    from lake.lake import Lake

SCOPES_HELD = 64
VECTORS_HELD = 20_000
"""Vectors of fresh texts kept between calls; 1 KB each at 256 dimensions."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Prepared:
    """A scope's fresh rows: their frame and what their people asked for, and what was made of both.

    Attributes:
        vectors: float32 (rows, dimensions).
        counts: Words of each row.
    """

    source: pl.DataFrame
    told: list[Standing]
    rows: pl.DataFrame
    vectors: NDArray[np.float32]
    counts: list[Counter[str]]


class FreshMemories:
    """Turns fresh episodes into candidates. Safe between threads.

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

    def candidates(
        self,
        episodes: pl.DataFrame,
        query: str,
        vector: NDArray[np.float32],
        scope: Scope,
        filters: Filters,
        count: int,
    ) -> Candidates | None:
        """Best ``count`` rows by cosine and by BM25 among themselves; None where none is served."""
        held = self._prepared(scope, episodes)
        places = held.rows.select(pl.arg_where(pl.all_horizontal(filters.kept()))).to_series().to_numpy()
        if not len(places):
            return None
        cosine = dots(held.vectors[places], vector)
        matched = bm25([held.counts[i] for i in places], query_text(query))
        names = np.array(held.rows["memory_id"].gather(places).to_list(), dtype=np.str_)
        by_words = [i for i in np.lexsort((names, -matched))[:count] if matched[i] > 0]
        best = np.unique([*np.lexsort((names, -cosine))[:count], *by_words])
        taken = places[best]
        shown = held.rows[taken].with_columns(pl.col(INSTANT).to_physical()).select(list(FRAME))
        found = np.where(matched[best] > 0, matched[best], np.nan)
        fresh = np.ones(len(best), np.bool_)
        return Candidates(shown.to_dicts(), held.vectors[taken], cosine[best], found, fresh)

    def _prepared(self, scope: Scope, episodes: pl.DataFrame) -> _Prepared:
        told = self._told(scope)
        with self._lock:
            held = self._held.get(scope)
            if held is None or held.source is not episodes or held.told != told:
                held = self._prepare(episodes, told)
                self._held[scope] = held
            self._held.move_to_end(scope)
            while len(self._held) > SCOPES_HELD:
                self._held.popitem(last=False)
            return held

    def _told(self, scope: Scope) -> list[Standing]:
        """What the people of a scope asked for, looked up with each call: it holds at once."""
        if self._lake is None:
            return []
        if scope.user is not None:
            return standing.of_rows(self._lake, scope.tenant, scope.user, scope.agent)
        return [one for one in standing.load_all(self._lake) if one.subject.tenant == scope.tenant]

    def _prepare(self, episodes: pl.DataFrame, told: list[Standing]) -> _Prepared:
        hashed = with_text_hash(episodes, self._policy.embed.max_text_chars)
        self._embed(hashed)
        nothing = pl.DataFrame(schema={"text_hash": pl.String, "vector": pl.List(pl.Float32)})
        wishes = Wishes(periods(told), pins(told))
        rows = memories(hashed, nothing, self._policy, _BEGINNING, wishes=wishes)
        order = rows.select("memory_id").join(
            hashed.select(memory_id="episode_id", text_hash="text_hash"),
            on="memory_id",
            how="left",
            maintain_order="left",
        )
        vectors = [self._vectors[name] for name in order["text_hash"]]
        matrix = np.array(vectors, np.float32).reshape(-1, self._embedder.dimensions)
        counts = [words(text) for text in rows["search_text"]]
        self._forget()
        return _Prepared(episodes, told, rows.drop("vector", "search_text"), matrix, counts)

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
