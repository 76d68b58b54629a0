"""Which topics must be looked at whole."""

from __future__ import annotations

import numpy as np

from transforms.policy_sleep import TopicsPolicy
from transforms.topics.shape import cohesion, off_background
from transforms.topics.sorting import Sorted
from transforms.topics.vectors import Flags, Floats, Integers


def grown(before: Integers, after: Integers, growth: float) -> Flags:
    """Whether a size passed a power of ``growth``; from 0 it always did."""
    steps = [np.floor(np.log(np.maximum(size, 0.5)) / np.log(growth) + 1e-9) for size in (before, after)]
    return np.asarray((steps[0] != steps[1]) | (before == 0))


def to_review(found: Sorted, centroids: Floats, before: Integers, rule: TopicsPolicy) -> Flags:
    """(topics) whether a topic that rows joined is new, has grown, or now is too wide or close to another.

    Of two that came too close both are named, also where only one was joined. A topic that was wide or
    close already was looked at then; it is again once it has grown, or every night would read it whole.

    Args:
        found: Old and new topics after the rows joined.
        centroids: (old topics, dimensions) before they did.
        before: (topics) sizes before, 0 for a new one.
        rule: Thresholds.
    """
    changed = found.sizes != before
    flags = changed & grown(before, found.sizes, rule.relabel_growth)
    common = found.common[found.owner_of]
    old = np.concatenate([centroids, found.centroids[len(centroids) :]])
    wide_before = cohesion(old, np.maximum(before, 1), common) < rule.wide_cosine
    flags |= changed & (cohesion(found.centroids, found.sizes, common) < rule.wide_cosine) & ~wide_before
    directions, directions_before = off_background(found.centroids, common), off_background(old, common)
    order = np.argsort(found.owner_of, kind="stable")
    starts = np.flatnonzero(np.diff(found.owner_of[order], prepend=-2))
    for topics in np.split(order, starts[1:]):
        if changed[topics].any():
            stood = before[topics] > 0
            near = _near(directions[topics], rule) & ~(
                _near(directions_before[topics], rule) & stood[:, None] & stood
            )
            flags[topics] |= near.any(axis=1)
    return np.asarray(flags)


def _near(directions: Floats, rule: TopicsPolicy) -> Flags:
    near = np.asarray(directions @ directions.T >= rule.merge_cosine)
    np.fill_diagonal(near, False)
    return near
