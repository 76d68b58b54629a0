"""The engine: rows that belong together by average linkage, over k-means cells where the rows are many."""

from __future__ import annotations

import math

import numpy as np

from transforms.policy_sleep import TopicsPolicy
from transforms.topics.vectors import Floats, Integers, unit

_REFINEMENTS = 3
"""Passes of every row to its nearest cluster; a fourth moved under 0.1 % of planted rows."""
_BLOCK_ROWS = 16_384
_TILE_PRODUCTS = 2**18
"""Multiplications of a tile: of more OpenBLAS makes work for several threads."""
_TILED_ROWS = 512
"""Of more rows the product is worth the threads."""


def least_size(rows: int, rule: TopicsPolicy) -> int:
    """Rows a new topic needs: among more rows, more are alike by chance."""
    return max(rule.min_size, round(rule.size_root * math.sqrt(rows)))


def clusters(rows: Floats, least: int, rule: TopicsPolicy) -> Integers:
    """Number of the cluster of each row, from 0 by first row; -1 for a row that fits none.

    Args:
        rows: (n, dimensions) at length 1, in an order that their ids alone decide.
        least: Fewest rows of a cluster.
        rule: Thresholds.
    """
    if len(rows) < least:
        return np.full(len(rows), -1, np.int64)
    if len(rows) <= rule.direct_rows:
        found = linked(rows, rule.link_cosine)
    else:
        cells = _cells(rows, rule)
        found = linked(_means(rows, cells), rule.link_cosine)[cells]
    found = _numbered(found, least)
    for _ in range(_REFINEMENTS):
        if found.max() < 0:
            break
        place, cosine = nearest(rows, unit(_means(rows, found)))
        moved = _numbered(np.where(cosine >= rule.join_cosine, place, -1), least)
        if (moved == found).all():
            break
        found = moved
    return found


def linked(rows: Floats, cosine: float) -> Integers:
    """Average linkage: clusters merge while the mean product over their pairs is at least ``cosine``."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(rows) == 1:
        return np.zeros(1, np.int64)
    distances = 1.0 - products(rows).astype(np.float64)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False).clip(0.0), "average")
    return _cut(tree, len(rows), 1.0 - cosine)


def products(rows: Floats) -> Floats:
    """(n, n) products of the rows, in tiles that are too small for a library to set threads to them.

    For the hundred rows of an owner those take ten times as much of the processor as the products do.
    """
    count, width = rows.shape
    if count > _TILED_ROWS:
        return np.asarray(rows @ rows.T)
    side = max(int(math.sqrt(_TILE_PRODUCTS / max(width, 1))), 1)
    tiles = -(-count // side)
    padded = np.zeros((tiles, side, width), rows.dtype)
    padded.reshape(-1, width)[:count] = rows
    products = padded[:, None] @ padded.transpose(0, 2, 1)[None]
    return products.transpose(0, 2, 1, 3).reshape(tiles * side, tiles * side)[:count, :count]


def _cut(tree: Floats, rows: int, distance: float) -> Integers:
    """Clusters below a height. As scipy's fcluster, which takes ten times as long on fifty rows."""
    merged = int(np.searchsorted(tree[:, 2], distance, side="right"))  # heights of average linkage only rise
    above = list(range(rows + merged))
    for number, (one, other) in enumerate(tree[:merged, :2].astype(np.int64).tolist(), start=rows):
        above[one] = above[other] = number
    for node in range(rows + merged - 1, -1, -1):
        above[node] = above[above[node]]
    return np.asarray(above[:rows], np.int64)


def nearest(rows: Floats, centroids: Floats) -> tuple[Integers, Floats]:
    """Position of the nearest centroid of each row and the cosine to it, the first of equals.

    Args:
        rows: (n, dimensions) at length 1.
        centroids: (k, dimensions) at length 1, k at least 1.
    """
    place = np.empty(len(rows), np.int64)
    cosine = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS] @ centroids.T.astype(rows.dtype)
        at = block.argmax(axis=1)
        place[start : start + len(block)] = at
        cosine[start : start + len(block)] = np.take_along_axis(block, at[:, None], axis=1)[:, 0]
    return place, cosine


def _cells(rows: Floats, rule: TopicsPolicy) -> Integers:
    """Cell of each row by k-means: many more cells than topics, so that none spans two."""
    import faiss

    count = min(rule.max_cells, max(rule.direct_rows // rule.rows_per_cell, len(rows) // rule.rows_per_cell))
    means = faiss.Kmeans(
        rows.shape[1],
        count,
        niter=rule.cell_rounds,
        seed=rule.seed,
        spherical=True,
        min_points_per_centroid=1,
    )
    data = np.ascontiguousarray(rows, np.float32)
    means.train(data)
    return nearest(data, np.asarray(means.centroids))[0]


def sums_of(rows: Floats, places: Integers, count: int) -> tuple[Floats, Integers]:
    """(count, dimensions) float64 sums and (count) sizes of the rows at each place; -1 is none."""
    sums = np.zeros((count, rows.shape[1]), np.float64)
    sizes = np.bincount(places[places >= 0], minlength=count).astype(np.int64)
    order = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
    held = np.flatnonzero(sizes)
    if len(held):
        starts = np.cumsum(sizes)[held] - sizes[held]
        sums[held] = np.add.reduceat(rows[order], starts, axis=0, dtype=np.float64)
    return sums, sizes


def _means(rows: Floats, places: Integers) -> Floats:
    """(k, dimensions) mean of the rows of each cluster, not normalised; zero for an empty one."""
    sums, sizes = sums_of(rows, places, int(places.max()) + 1)
    return (sums / np.maximum(sizes, 1)[:, None]).astype(rows.dtype)


def _numbered(found: Integers, least: int) -> Integers:
    """Clusters of at least ``least`` rows, numbered anew by their first row; the others are -1."""
    kinds, first, inverse, counts = np.unique(
        found, return_index=True, return_inverse=True, return_counts=True
    )
    kept = (kinds >= 0) & (counts >= least)
    numbers = np.full(len(kinds), -1, np.int64)
    order = np.flatnonzero(kept)[np.argsort(first[kept])]
    numbers[order] = np.arange(len(order))
    return numbers[inverse]
