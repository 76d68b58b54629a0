"""Runs of agents whose files name neither themselves nor their messages."""

from __future__ import annotations

import math

from transforms.ids import digest
from transforms.readers.text import dump_json

_DIGITS = 16


def run_id(*values: object) -> str:
    """An id of a run from what it began with: the same whatever its file is called and however it grew.

    Raises:
        JsonFault: ``too_deeply_nested``.
    """
    return digest(dump_json(list(values)))[:_DIGITS]


def reward_outcome(reward: object) -> str | None:
    """Outcome of a reward: 1 or more is a success, 0 or less a failure; null for anything but a number."""
    if isinstance(reward, bool) or not isinstance(reward, int | float) or math.isnan(reward):
        return None
    return "success" if reward >= 1 else "failure" if reward <= 0 else "partial"
