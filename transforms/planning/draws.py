"""Days drawn in blocks: futures made of the days that were, with their rhythm of weekdays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transforms.policy_plan import PlanPolicy


def day_draws(days: int, horizon: int, plan: PlanPolicy) -> npt.NDArray[np.int64]:
    """Draw days to come from days that were: the circular block bootstrap (Politis and Romano 1992).

    Args:
        days: How many days there are to draw from.
        horizon: How many are drawn.
        plan: Length of the blocks, number of futures, seed.

    Returns:
        int64 (resamples, horizon), each a day from 0.
    """
    length = min(plan.block_days, days)
    blocks = -(-horizon // length)
    random = np.random.default_rng(plan.seed)
    starts = random.integers(0, days, (plan.resamples, blocks, 1))
    drawn = (starts + np.arange(length)) % days
    return drawn.reshape(plan.resamples, -1)[:, :horizon].astype(np.int64)
