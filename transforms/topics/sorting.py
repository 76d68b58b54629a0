"""One owner after the other: rows join the nearest topic, what is left is clustered, until nothing moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from transforms.policy_sleep import TopicsPolicy
from transforms.topics.clusters import clusters, least_size, nearest, sums_of
from transforms.topics.frames import OWNER
from transforms.topics.shape import background, mean_directions, off_background
from transforms.topics.vectors import Floats, Integers, unit, with_context


@dataclass(frozen=True)
class Sorted:
    """Where the rows of all owners ended.

    Attributes:
        place: (rows) number of the topic, -1 for none. Old topics come first, then the new ones.
        centroids: (topics, dimensions) float64 mean of the members, old and new.
        sizes: (topics).
        common: (owners + 1, dimensions) background of each owner; the last is zero.
        owner_of: (topics) number of the owner of each topic, -1 where none of its rows took part.
    """

    place: Integers
    centroids: Floats
    sizes: Integers
    common: Floats
    owner_of: Integers


def owner_slices(rows: pl.DataFrame, topics: pl.DataFrame) -> list[tuple[slice, slice]]:
    """Rows and topics of each owner that has rows; both frames sorted by owner."""
    ours = _bounds(rows)
    theirs = dict(_bounds(topics))
    return [(part, theirs.get(key, slice(0, 0))) for key, part in ours]


def _bounds(frame: pl.DataFrame) -> list[tuple[tuple[str, str], slice]]:
    counts = frame.group_by(OWNER, maintain_order=True).len()
    ends = counts["len"].cum_sum().to_list()
    keys = counts.select(OWNER).rows()
    return [(key, slice(a, b)) for key, a, b in zip(keys, [0, *ends], ends, strict=False)]


def sort_rows(
    owners: list[tuple[slice, slice]],
    vectors: Floats,
    sessions: Integers,
    centroids: Floats,
    sizes: Integers,
    rule: TopicsPolicy,
) -> Sorted:
    """Sort the rows of each owner into its old topics and new ones.

    Args:
        owners: Slice of rows and slice of old topics of each.
        vectors: (rows, dimensions) at length 1.
        sessions: (rows) equal inside a session.
        centroids: (old topics, dimensions) float64.
        sizes: (old topics).
        rule: Thresholds.
    """
    place = np.full(len(vectors), -1, np.int64)
    sums, sizes = centroids * sizes[:, None], sizes.copy()
    owner_of = np.full(len(sizes), -1, np.int64)
    common = np.zeros((len(owners) + 1, centroids.shape[1]))
    new_sums, new_sizes, new_owners = [], [], []
    count = len(sizes)
    for number, (rows, old) in enumerate(owners):
        found = _Owner(vectors[rows], sessions[rows], sums[old], sizes[old], rule)
        found.settle()
        known, shift = old.stop - old.start, count - (old.stop - old.start)
        place[rows] = np.where(found.place < known, found.place + old.start, found.place + shift)
        place[rows][found.place < 0] = -1
        sums[old], sizes[old] = found.sums[:known], found.sizes[:known]
        owner_of[old], common[number] = number, found.common
        new_sums.append(found.sums[known:])
        new_sizes.append(found.sizes[known:])
        new_owners.append(np.full(len(found.sizes) - known, number, np.int64))
        count += len(found.sizes) - known
    sums, sizes = np.concatenate([sums, *new_sums]), np.concatenate([sizes, *new_sizes])
    owner_of = np.concatenate([owner_of, *new_owners])
    return Sorted(place, sums / sizes[:, None], sizes, common, owner_of)


class _Owner:
    """The rows of one owner while they find their places."""

    def __init__(
        self, vectors: Floats, sessions: Integers, sums: Floats, sizes: Integers, rule: TopicsPolicy
    ) -> None:
        self.vectors, self.sessions, self.rule = vectors, sessions, rule
        self.sums, self.sizes = sums, sizes
        self.place = np.full(len(vectors), -1, np.int64)
        rows = int(sizes.sum()) + len(vectors)
        total = sums.sum(axis=0) + vectors.sum(axis=0, dtype=np.float64)
        self.common = background(total, rows, rule.background_share)
        self.least = least_size(rows, rule)
        self.directions = unit(vectors - self.common.astype(vectors.dtype))

    def settle(self) -> None:
        """Join and cluster until a round moves no row: then another night moves none either.

        In each round a row's context is what still waits of its session, as it will be another night.
        """
        waiting = np.arange(len(self.vectors))
        while len(waiting):
            rule = self.rule
            rows = with_context(
                self.directions[waiting], self.sessions[waiting], rule.context_share, rule.context_turns
            )
            found = self._nearest_old(rows)
            left = np.flatnonzero(found < 0)
            found[left] = self._linked(rows[left], clusters(rows[left], self.least, rule))
            moved = found >= 0
            if not moved.any():
                return
            self._add(waiting[moved], found[moved])
            waiting = waiting[~moved]

    def _nearest_old(self, rows: Floats) -> Integers:
        if not len(self.sizes):
            return np.full(len(rows), -1, np.int64)
        centroids = off_background(self.sums / self.sizes[:, None], self.common)
        place, cosine = nearest(rows, centroids)
        return np.where(cosine >= self.rule.join_cosine, place, -1)

    def _linked(self, rows: Floats, fresh: Integers) -> Integers:
        """Topic of each row of new clusters: an old one its cluster links with, else one of its own."""
        known, count = len(self.sizes), int(fresh.max(initial=-1)) + 1
        if not count:
            return fresh
        topic = known + np.arange(count)
        if known:
            sums, sizes = sums_of(rows, fresh, count)
            cosines = (sums / sizes[:, None]) @ mean_directions(
                self.sums / self.sizes[:, None], self.common
            ).T
            old = cosines.argmax(axis=1)
            links = np.take_along_axis(cosines, old[:, None], axis=1)[:, 0] >= self.rule.attach_cosine
            topic = np.where(links, old, known - 1 + np.cumsum(~links))
        return np.where(fresh >= 0, topic[fresh], -1)

    def _add(self, rows: Integers, places: Integers) -> None:
        count = max(len(self.sizes), int(places.max()) + 1)
        sums, sizes = sums_of(self.vectors[rows], places, count)
        sums[: len(self.sizes)] += self.sums
        sizes[: len(self.sizes)] += self.sizes
        self.sums, self.sizes = sums, sizes
        self.place[rows] = places
