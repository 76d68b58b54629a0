"""Measures in a new generation how near texts come that have nothing to do with each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from lake.embedders.protocol import Embedder, Vectors, embed_queries
from lake.index import PAYLOAD, Generation
from lake.index_checks import Check
from transforms.errors import EndpointError
from transforms.floor import CLEARED_AT, Background, Sampled, backgrounds
from transforms.scripts import script

ROWS = 400
"""Sampled; 40,000 pairs, of which the 0.95 is known to a hundredth."""
QUERIES = 100
"""Of them put as questions: as many texts are embedded at each publish."""
QUERY_CHARS = 200
"""A question is short."""
SEED = 3

Row = dict[str, Any]


def measured(generation: Generation, embedder: Embedder) -> tuple[dict[str, Background], Check]:
    """Cosines of texts, read as questions, to rows of other people, by script; and the same told as a check.

    The texts are embedded anew, without the day and the speaker that stand before a row: as vectors of rows,
    they would all be nearer to each other than any question is.

    Args:
        generation: Opened, of the embedder's space.
        embedder: An endpoint that fails leaves the floor out: no reason not to publish.
    """
    rows, following = _sampled(generation)
    try:
        found = backgrounds(_compared(rows, following, embedder)) if rows else {}
    except EndpointError as error:
        return {}, Check("background", True, f"no relevance floor: the embedder failed ({error.message})")
    if not found:
        return {}, Check("background", True, "no relevance floor: too few rows that can be told apart")
    told = "; ".join(
        f"{name} {one.at(CLEARED_AT):.3f} (of {one.pairs:,} pairs of {one.basis}; {one.cleared:.2f} of "
        "neighbours clear it)"
        for name, one in sorted(found.items())
    )
    return found, Check("background", True, f"unrelated texts at {CLEARED_AT}: {told}")


def _sampled(generation: Generation) -> tuple[list[Row], list[Row | None]]:
    """Rows of all tables by their share, those that are asked first; and the rows that follow these."""
    whole = max(1, generation.manifest.rows)
    asked: list[Row] = []
    others: list[Row] = []
    following: list[Row | None] = []
    for entry in generation.manifest.tables:
        count = min(-(-ROWS * entry.rows // whole), entry.rows)
        queries = min(-(-QUERIES * entry.rows // whole), count)
        places = random.Random(SEED).sample(range(entry.rows), count)  # noqa: S311
        after = [place + 1 for place in places[:queries] if place + 1 < entry.rows]
        wanted = sorted({*places, *after})
        if not wanted:
            continue
        taken = generation.dataset(entry.name).take(wanted, columns=[PAYLOAD, "vector"]).to_pylist()
        rows = {
            place: {**orjson.loads(row[PAYLOAD]), "vector": row["vector"]}
            for place, row in zip(wanted, taken, strict=True)
        }
        asked += [rows[place] for place in places[:queries]]
        following += [rows.get(place + 1) for place in places[:queries]]
        others += [rows[place] for place in places[queries:]]
    return [*asked, *others], following


def _compared(rows: list[Row], following: list[Row | None], embedder: Embedder) -> Sampled:
    texts = [row["text"][:QUERY_CHARS] for row in rows]
    asked = _without_zeros(embed_queries(embedder, texts[: len(following)]).vectors)
    held = _without_zeros(np.array([row["vector"] for row in rows], np.float32))
    nothing = np.full(held.shape[1], np.nan, np.float32)
    pairs = zip(rows, following, strict=False)
    after = np.array(
        [row["vector"] if row is not None and _is_next(one, row) else nothing for one, row in pairs],
        np.float32,
    )
    session = _codes([(row["tenant_id"], row["user_id"], row["session_id"]) for row in rows])
    has_session = np.array([row["session_id"] is not None for row in rows])
    return Sampled(
        np.einsum("qd,rd->qr", asked, held),
        np.einsum("qd,qd->q", asked, _without_zeros(after)),
        _codes([(row["tenant_id"], row["user_id"] or row["agent_id"]) for row in rows]),
        np.where(has_session, session, -1),
        np.array([script(text) for text in texts]),
    )


def _is_next(one: Row, row: Row) -> bool:
    """Whether a row goes on with the session of another."""
    if one["session_id"] is None:
        return False
    return all(one[name] == row[name] for name in ("tenant_id", "user_id", "session_id"))


def _without_zeros(vectors: Vectors) -> Vectors:
    """Zeros, which stand for no vector, as NaN: a cosine of 0 to them would be made up."""
    return np.where(vectors.any(axis=1, keepdims=True), vectors, np.float32(np.nan))


def _codes(names: Sequence[tuple[str | None, ...]]) -> NDArray[np.int64]:
    known: dict[tuple[str | None, ...], int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)
