"""How tight topics are and how close to each other, from their centroids alone."""

from __future__ import annotations

import numpy as np

from transforms.topics.vectors import Floats, Integers, unit


def background(sums: Floats, rows: int, share: float) -> Floats:
    """What the texts of an owner have in common: ``share`` of their mean vector.

    Dates, roles and the language put most of their vectors on one side: in Chinese two unrelated texts
    have cosine 0.57. All cosines of topics are taken after this is subtracted.

    Args:
        sums: (dimensions) sum of the vectors of all rows.
        rows: How many they are.
        share: 0 to 1. Not all of the mean, or an owner with one topic would be left with none.
    """
    return share * sums / max(rows, 1)


def off_background(centroids: Floats, common: Floats) -> Floats:
    """Centroids less the background, at length 1."""
    return unit(centroids - common)


def mean_directions(centroids: Floats, common: Floats) -> Floats:
    """Mean direction of the members of each topic, off the background; not of length 1.

    For members v of length 1 with mean c, and background b: mean |v - b|^2 = 1 - 2 bc + |b|^2, by whose root
    c - b is divided. Exact where all |v - b| are equal, which they are nearly.

    Args:
        centroids: (topics, dimensions).
        common: (dimensions) background of their owner, or (topics, dimensions) of the owner of each.
    """
    squares = 1 - 2 * (centroids * common).sum(axis=-1) + (common * common).sum(axis=-1)
    return np.asarray((centroids - common) / np.sqrt(np.maximum(squares, 1e-12))[:, None])


def cohesion(centroids: Floats, sizes: Integers, common: Floats) -> Floats:
    """Mean cosine over the pairs of members of each topic, off the background; a pair is of two members."""
    all_pairs = (mean_directions(centroids, common) ** 2).sum(axis=1)
    return np.asarray((sizes * all_pairs - 1) / np.maximum(sizes - 1, 1))


def closest(directions: Floats) -> tuple[Integers, Floats]:
    """For each of k directions of length 1 the position of the nearest other one, and the cosine to it."""
    if len(directions) < 2:
        return np.full(len(directions), -1, np.int64), np.full(len(directions), -1.0)
    cosines = directions @ directions.T
    np.fill_diagonal(cosines, -2.0)
    place = cosines.argmax(axis=1)
    return place, np.take_along_axis(cosines, place[:, None], axis=1)[:, 0]
