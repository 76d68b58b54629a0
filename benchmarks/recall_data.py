"""Memories made by a seed, published straight as a generation: what recall is measured on.

Vectors are a mixture: real embeddings of texts of 300 topics are the centres, rows lie around
them with noise (cosine to the centre about 0.82, between two rows of one centre about 0.67).
Questions are texts of the same topics, embedded when they are asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lake.embedders.local import LocalEmbedder
from transforms.schemas import INSTANT, MEMORIES

AS_OF = datetime(2026, 6, 30, tzinfo=UTC)
LARGE, MIDDLE, SMALL = 100_000, 5_000, 500
TOPICS, CENTRES_A_TOPIC, TOPIC_WORDS = 300, 16, 60
VOCABULARY = 50_000
TENANTS = 200
NOISE = 0.7
FRAME_ROWS = 20_000
YEAR_SECONDS = 365 * 86_400


@dataclass(frozen=True)
class MadeScope:
    """One person's memories: how many, and the seed that makes them."""

    tenant: str
    user: str
    rows: int


def scopes(rows: int) -> list[MadeScope]:
    """Scopes of a lake of ``rows`` memories, sorted: one of 100k, forty of 5k, the rest at most 500.

    A smaller lake has them in proportion: a tenth of its rows in the large one, a fifth in middle ones.
    """
    draw = np.random.default_rng(rows)
    large = min(LARGE, rows // 10)
    middle = [MIDDLE] * (rows // 25_000)
    rest = rows - large - sum(middle)
    sizes = [large, *middle]
    while rest > 0:
        size = min(rest, SMALL, max(5, int(draw.lognormal(5.3, 0.6))))
        sizes.append(size)
        rest -= size
    names = [(f"tenant-{int(draw.integers(TENANTS)):04d}", f"user-{i:06d}") for i in range(len(sizes))]
    made = [MadeScope(tenant, user, n) for (tenant, user), n in zip(names, sizes, strict=True)]
    return sorted(made, key=lambda scope: (scope.tenant, scope.user))


class World:
    """Vocabulary, topics and centres; the same for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        draw = np.random.default_rng(seed)
        syllables = np.array([c + v for c in "bdfgklmnprstvz" for v in "aeiou"])
        picked = draw.integers(0, len(syllables), (VOCABULARY, 3))
        self.words = np.array(
            [f"{''.join(syllables[row])}{i % 7 or ''}" for i, row in enumerate(picked)], dtype=object
        )
        shares = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
        self._cumulated = np.cumsum(shares / shares.sum())
        self.topics = draw.integers(200, VOCABULARY, (TOPICS, TOPIC_WORDS))
        self.embedder = LocalEmbedder()
        texts = self.texts(draw, np.repeat(np.arange(TOPICS), CENTRES_A_TOPIC))
        self.centres: NDArray[np.float32] = self.embedder.embed(texts).vectors

    def texts(self, draw: np.random.Generator, topics: NDArray[np.int64]) -> list[str]:
        """A text a topic, of 20 to 40 words: a third of the topic's own, the others by their frequency."""
        lengths = draw.integers(20, 41, len(topics))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        words = self._common(draw, int(starts[-1]))
        is_own = draw.random(len(words)) < 1 / 3
        whose = np.repeat(topics, lengths)[is_own]
        words[is_own] = self.words[self.topics[whose, draw.integers(0, TOPIC_WORDS, len(whose))]]
        return [" ".join(words[a:b]) for a, b in pairwise(starts.tolist())]

    def question(self, draw: np.random.Generator) -> str:
        """Seven words: three of a topic and four by their frequency."""
        topic = self.topics[draw.integers(TOPICS)]
        own = self.words[topic[draw.integers(0, TOPIC_WORDS, 3)]]
        return " ".join([*own, *self._common(draw, 4)])

    def _common(self, draw: np.random.Generator, count: int) -> NDArray[np.object_]:
        picked = np.searchsorted(self._cumulated, draw.random(count)).clip(0, VOCABULARY - 1)
        words: NDArray[np.object_] = self.words[picked]
        return words

    def vectors(self, draw: np.random.Generator, centres: NDArray[np.int64]) -> NDArray[np.float32]:
        """Float32 (rows, dimensions) around the centres, of length 1."""
        dimensions = self.centres.shape[1]
        noise = draw.standard_normal((len(centres), dimensions), dtype=np.float32)
        rows = self.centres[centres] + noise * np.float32(NOISE / dimensions**0.5)
        moved: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return moved


def frames(world: World, made: list[MadeScope]) -> Iterator[pl.DataFrame]:
    """``schemas.MEMORIES`` of all scopes in the builder's order, about 20,000 rows a frame."""
    held: list[pl.DataFrame] = []
    for number, scope in enumerate(made):
        for start in range(0, scope.rows, FRAME_ROWS):
            held.append(_part(world, scope, number, start, min(FRAME_ROWS, scope.rows - start)))
            if sum(frame.height for frame in held) >= FRAME_ROWS:
                yield pl.concat(held)
                held = []
    if held:
        yield pl.concat(held)


def _part(world: World, scope: MadeScope, number: int, start: int, rows: int) -> pl.DataFrame:
    """Rows ``start`` and on of a scope, oldest first; one in twenty expired before ``AS_OF``."""
    draw = np.random.default_rng([number, start])
    centres = draw.integers(0, len(world.centres), rows)
    seconds = YEAR_SECONDS * (start + np.sort(draw.random(rows)) * rows) / scope.rows
    ends = pl.Series(seconds.astype(np.int64)) * 1_000_000
    times = (ends + int((AS_OF - timedelta(days=365)).timestamp()) * 1_000_000).cast(INSTANT)
    is_expired = draw.random(rows) < 0.05
    texts = world.texts(draw, centres // CENTRES_A_TOPIC)
    names = [f"{number:016x}{start + i:016x}" for i in range(rows)]
    vectors = pl.Series(world.vectors(draw, centres)).cast(pl.List(pl.Float32))  # an array series, as rows
    columns: dict[str, Any] = {
        **{column.name: [None] * rows for column in MEMORIES.columns if column.is_nullable},
        "memory_id": names,
        "tenant_id": [scope.tenant] * rows,
        "user_id": [scope.user] * rows,
        "agent_id": [f"agent-{i}" for i in draw.integers(0, 4, rows)],
        "session_id": [f"{scope.user}-{(start + i) // 20}" for i in range(rows)],
        "kind": np.array(["conversation", "observation", "outcome"])[draw.integers(0, 3, rows)],
        "tier": ["episodic"] * rows,
        "role": np.array(["user", "assistant", "tool"])[draw.integers(0, 3, rows)],
        "speaker": [None] * rows,
        "text": texts,
        "search_text": texts,
        "content_hash": names,
        "outcome": [None] * rows,
        "failure_reason": [None] * rows,
        "importance": draw.random(rows, dtype=np.float32),
        "access_count": [0] * rows,
        "sensitivity": draw.choice(["normal", "personal", "restricted"], rows, p=[0.7, 0.25, 0.05]),
        "trust": [1.0] * rows,
        "source_refs": [[name] for name in names],
        "event_at": times,
        "last_accessed_at": times,
        "expires_at": [AS_OF if gone else AS_OF + timedelta(days=90) for gone in is_expired],
        "vector": vectors,
    }
    return pl.DataFrame(columns, schema=MEMORIES.polars)
