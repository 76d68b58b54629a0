"""Which logged calls were answered newest first: the log names their route, and their rows tell the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from transforms.replay.calls import Calls

TIMED_ROUTES = ("recency", "temporal")
"""Routes whose rows stand by time, unless the question asks for something besides."""


def is_newest_first(calls: Calls) -> NDArray[np.bool_]:
    """Calls whose order no policy changes: time gave it.

    Such an answer is the newest of what is shown, then the newest of the rest; one by score is the best of
    what is shown, then the best of the rest (``transforms.diversity``). So the rows of the first fall in
    time, those of the second in score, with one step up at most, behind those that were returned; a context
    has none. A search by time that lacked rows to show, so that the rest made up among the returned, goes for
    one by score. Where both hold (a few rows), a call of route recency counts as by time, one of route
    temporal as by score.

    Returns:
        bool (calls).
    """
    is_timed = calls.heads["route"].is_in(TIMED_ROUTES).to_numpy()
    by_time = _falls(calls, calls.rows["event_at"].to_physical().to_numpy().astype(np.int64))
    by_score = _falls(calls, calls.rows["score"].to_numpy())
    is_recency = (calls.heads["route"] == "recency").to_numpy()
    found: NDArray[np.bool_] = is_timed & by_time & (is_recency | ~by_score)
    return found


def _falls(calls: Calls, values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.bool_]:
    """By call, whether values fall from row to row but for the one step."""
    if not len(calls):
        return np.zeros(0, np.bool_)
    starts, call = calls.starts[:-1], calls.call_of
    is_up = np.zeros(len(values), np.bool_)
    is_up[1:] = values[1:] > values[:-1]
    is_up[starts] = False
    returned = np.add.reduceat(calls.rows["is_returned"].to_numpy().astype(np.int64), starts)
    is_early = is_up & (np.arange(len(values)) - starts[call] < returned[call])
    most = (calls.heads["verb"] == "search").to_numpy().astype(np.int64)
    ups, early = (np.add.reduceat(flags.astype(np.int64), starts) for flags in (is_up, is_early))
    found: NDArray[np.bool_] = (ups <= most) & (early == 0)
    return found
