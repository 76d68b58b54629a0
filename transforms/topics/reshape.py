"""Where a topic is two, and where two are one. Everything here is about the topics of one owner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transforms.policy_sleep import TopicsPolicy
from transforms.topics.clusters import clusters, nearest, sums_of
from transforms.topics.shape import cohesion, off_background
from transforms.topics.vectors import Floats, Integers, unit, with_context

Figures = dict[str, float | list[int]]


@dataclass(frozen=True)
class Split:
    """A topic that is more than one.

    Attributes:
        parts: (rows of the topic) part of each, 0 for the one that keeps the id: the largest, of equals
            that with the first row.
        figures: What the decision rests on.
    """

    parts: Integers
    figures: Figures


@dataclass(frozen=True)
class Merge:
    """Two topics that are one: positions, and the figures the decision rests on."""

    gone: int
    into: int
    figures: Figures


def split(
    vectors: Floats, sessions: Integers, common: Floats, least: int, rule: TopicsPolicy
) -> Split | None:
    """The parts of one topic, where it is wide and its parts lie apart; else None.

    Args:
        vectors: (rows, dimensions) of its episodes, at length 1, by session and time.
        sessions: (rows) equal inside a session.
        common: (dimensions) background of the owner.
        least: Fewest rows of a part.
        rule: Thresholds.
    """
    if len(vectors) < 2 * least:
        return None
    whole = np.array([len(vectors)])
    tight = float(cohesion(vectors.mean(axis=0, dtype=np.float64)[None], whole, common)[0])
    if tight >= rule.wide_cosine:
        return None
    own = unit(vectors - common.astype(vectors.dtype))
    parts = clusters(with_context(own, sessions, rule.context_share, rule.context_turns), least, rule)
    if parts.max() < 1:
        return None
    left = parts < 0
    if left.any():  # every episode stays in a part: a split sends none back to wait
        parts[left] = nearest(own[left], _directions(vectors, parts, common).astype(own.dtype))[0]
    parts, closest = _apart(vectors, parts, common, rule.split_cosine)
    sizes = np.bincount(parts)
    if len(sizes) < 2:
        return None
    figures: Figures = {
        "mean_pair_cosine": tight,
        "wide_cosine": rule.wide_cosine,
        "closest_parts_cosine": closest,
        "split_cosine": rule.split_cosine,
        "sizes": [int(size) for size in sizes],
    }
    return Split(parts, figures)


def _directions(vectors: Floats, parts: Integers, common: Floats) -> Floats:
    sums, sizes = sums_of(vectors, parts, int(parts.max()) + 1)
    return off_background(sums / sizes[:, None], common)


def _apart(vectors: Floats, parts: Integers, common: Floats, cosine: float) -> tuple[Integers, float]:
    """Parts of which no two are as close as ``cosine``, largest first; and the closest cosine left."""
    while True:
        directions = _directions(vectors, parts, common)
        cosines = directions @ directions.T
        np.fill_diagonal(cosines, -2.0)
        one, other = np.unravel_index(cosines.argmax(), cosines.shape)
        if cosines[one, other] < cosine:
            break
        parts = np.unique(np.where(parts == other, one, parts), return_inverse=True)[1]
        if parts.max() == 0:
            return parts, 1.0
    _, first, sizes = np.unique(parts, return_index=True, return_counts=True)
    rank = np.empty(len(sizes), np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return rank[parts], float(cosines[one, other])


def merges(sums: Floats, sizes: Integers, ages: Integers, common: Floats, rule: TopicsPolicy) -> list[Merge]:
    """Topics that are one, the closest pair first; the older one stays.

    Args:
        sums: (topics, dimensions) float64 sums of their members' vectors.
        sizes: (topics).
        ages: (topics) rank by age, 0 the oldest.
        common: (dimensions) background of the owner.
        rule: Thresholds.
    """
    sums, sizes, found = sums.copy(), sizes.copy(), []
    alive = np.ones(len(sizes), np.bool_)
    while alive.sum() > 1:
        here = np.flatnonzero(alive)
        directions = off_background(sums[here] / sizes[here, None], common)
        cosines = directions @ directions.T
        np.fill_diagonal(cosines, -2.0)
        one, other = (int(here[at]) for at in np.unravel_index(cosines.argmax(), cosines.shape))
        if cosines.max() < rule.merge_cosine:
            break
        into, gone = (one, other) if ages[one] < ages[other] else (other, one)
        figures: Figures = {
            "cosine": float(cosines.max()),
            "merge_cosine": rule.merge_cosine,
            "sizes": [int(sizes[into]), int(sizes[gone])],
        }
        found.append(Merge(gone, into, figures))
        sums[into] += sums[gone]
        sizes[into] += sizes[gone]
        alive[gone] = False
    return found
