"""Which topics must be looked at whole."""

from __future__ import annotations

import numpy as np

from transforms.policy_sleep import TopicsPolicy
from transforms.topics.shape import cohesion, off_background
from transforms.topics.sorting import Sorted
from transforms.topics.vectors import Flags, Integers


def grown(before: Integers, after: Integers, growth: float) -> Flags:
    """Whether a size passed a power of ``growth``; from 0 it always did."""
    steps = [np.floor(np.log(np.maximum(size, 0.5)) / np.log(growth) + 1e-9) for size in (before, after)]
    return np.asarray((steps[0] != steps[1]) | (before == 0))


def to_review(found: Sorted, before: Integers, rule: TopicsPolicy) -> Flags:
    """(topics) whether a topic that rows joined is new, grown, too wide, or too close to another.

    Of two that are too close both are named, also where only one was joined.

    Args:
        found: Old and new topics after the rows joined.
        before: (topics) sizes before, 0 for a new one.
        rule: Thresholds.
    """
    changed = found.sizes != before
    flags = changed & grown(before, found.sizes, rule.relabel_growth)
    common = found.common[found.owner_of]
    flags |= changed & (cohesion(found.centroids, found.sizes, common) < rule.wide_cosine)
    directions = off_background(found.centroids, common)
    order = np.argsort(found.owner_of, kind="stable")
    starts = np.flatnonzero(np.diff(found.owner_of[order], prepend=-2))
    for topics in np.split(order, starts[1:]):
        if changed[topics].any():
            near = directions[topics] @ directions[topics].T >= rule.merge_cosine
            np.fill_diagonal(near, False)
            flags[topics] |= (near & (changed[topics][:, None] | changed[topics])).any(axis=1)
    return np.asarray(flags)
