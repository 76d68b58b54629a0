"""Measures in a new generation how near texts come that have nothing to do with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from lake.embedders.protocol import Embedder, embed_queries
from lake.index import PAYLOAD, Generation
from lake.index_checks import Check, sample
from transforms.errors import EndpointError
from transforms.floor import Background, background

ROWS = 400
"""Sampled; 160,000 pairs at most, of which the 0.95 is known to a hundredth."""
QUERIES = 100
"""Of them put as questions: as many texts are embedded at each publish."""
QUERY_CHARS = 200
"""A question is short."""
SEED = 3


def measured(generation: Generation, embedder: Embedder) -> tuple[Background | None, Check]:
    """Cosines of texts, read as questions, to rows of other people; and the same told as a check.

    The texts are embedded anew, without the day and the speaker that stand before a row: as vectors of rows,
    they would all be nearer to each other than any question is.

    Args:
        generation: Opened, of the embedder's space.
        embedder: An endpoint that fails leaves the floor out: no reason not to publish.
    """
    rows = _sampled(generation)
    found, why = None, "too few rows of different people or sessions"
    if rows:
        try:
            found = _background(rows, embedder)
        except EndpointError as error:
            why = f"the embedder failed ({error.message})"
    if found is None:
        return None, Check("background", True, f"no relevance floor: {why}")
    told = f"unrelated texts ({found.pairs:,} pairs of {found.basis}) reach {found.at(0.95):.3f} at 0.95"
    return found, Check("background", True, told)


def _sampled(generation: Generation) -> list[dict[str, Any]]:
    """Rows of all tables by their share, in an order that a seed gives."""
    entries, rows = generation.manifest.tables, max(1, generation.manifest.rows)
    taken: list[dict[str, Any]] = []
    for entry in entries:
        count = -(-ROWS * entry.rows // rows)
        taken += sample(generation, entry, count, SEED, columns=[PAYLOAD, "vector"])
    order = np.random.default_rng(SEED).permutation(len(taken))
    return [taken[i] for i in order[:ROWS].tolist()]


def _background(rows: list[dict[str, Any]], embedder: Embedder) -> Background | None:
    told = [orjson.loads(row[PAYLOAD]) for row in rows]
    asked = embed_queries(embedder, [row["text"][:QUERY_CHARS] for row in told[:QUERIES]]).vectors
    held = np.array([row["vector"] for row in rows], np.float32)
    # Of zeros, which stand for no vector, a cosine of 0 would be made up.
    cosines: NDArray[np.float32] = np.einsum("qd,rd->qr", _without_zeros(asked), _without_zeros(held))
    owner = _codes([(row["tenant_id"], row["user_id"] or row["agent_id"]) for row in told])
    sessions = [(row["tenant_id"], row["user_id"], row["session_id"]) for row in told]
    named = np.array([row["session_id"] is not None for row in told])
    return background(cosines, owner, np.where(named, _codes(sessions), -1))


def _without_zeros(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(vectors.any(axis=1, keepdims=True), vectors, np.float32(np.nan))


def _codes(names: Sequence[tuple[str | None, ...]]) -> NDArray[np.int64]:
    known: dict[tuple[str | None, ...], int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)
