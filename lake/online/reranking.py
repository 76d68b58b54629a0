"""The configured second opinion on the best rows of a search, where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from lake.candidates import Floats
from lake.online.asked import Asked
from lake.scope import EPOCH
from transforms.reranking import mixed, top_positions
from transforms.scope_columns import Positions

ANSWERED = "answered"
Read = Callable[[Positions], list[dict[str, Any]]]


def reordered(asked: Asked, relevance: Floats, read: Read) -> tuple[Floats, str | None]:
    """Relevance with the best rows put in the reranker's order, and what became of that.

    Args:
        asked: The search; without a reranker nothing is read.
        relevance: By row.
        read: Payloads of rows by position; they are of the scope.

    Returns:
        Relevance; and ``answered``, the reason why the order is as it was, or None where nothing was asked.
    """
    policy = asked.policy.recall
    if asked.reranker is None or policy.rerank_rows < 2 or len(relevance) < 2:
        return relevance, None
    best = top_positions(relevance, policy.rerank_rows)
    rows = read(best)
    # What is not served is not sent anywhere, either.
    served = [place for place, row in enumerate(rows) if asked.filters.serves(row)]
    if len(served) < 2:
        return relevance, None
    told = asked.reranker.rerank(asked.text, [_told(rows[place]) for place in served])
    if told.scores is None:
        return relevance, told.failure
    positions = best[np.array(served, np.int64)]
    return mixed(relevance, positions, told.scores, policy.rerank_share), ANSWERED


def _told(row: Mapping[str, Any]) -> str:
    """A memory as it is embedded: an episode with its day and speaker; a derived row names its own."""
    if row["source_refs"] != [row["memory_id"]]:
        return str(row["text"])
    day = EPOCH + timedelta(microseconds=row["event_at"])
    who = row["speaker"] or row["role"]
    return f"[{day.day} {day:%B %Y}] {f'{who}: ' if who else ''}{row['text']}"
