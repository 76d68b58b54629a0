"""What speaks against believing a result, beside chance, and what it is not about."""

from __future__ import annotations

import polars as pl

from transforms.policy import Policy
from transforms.tuning.spans import Spans
from transforms.tuning.trials import Trials, told_limits

_LOST = 0.01
"""Part of the memories of use that nobody wonders at: they went with the night after."""


def doubts(trials: Trials, spans: Spans) -> list[str]:
    """Warnings of a search."""
    told = []
    if not trials.is_feasible(0):
        told.append(
            f"The current policy does not keep the constraints itself ({told_limits(trials.limits)})."
        )
    if spans.straddling:
        told.append(
            f"{spans.straddling:,} later calls are of sessions that began in the earlier span. They were "
            "kept, as too few others are left: the later span is not quite unseen."
        )
    lost = trials.rows[0]["lost"]
    if lost is not None and lost > _LOST:
        told.append(
            f"Of the memories of use on the earlier span, {lost:.1%} would have been forgotten by then under "
            "the current policy, and yet they were recalled: the log was made under another policy, or the "
            "lifetimes of its memories are not known."
        )
    return told


def left_out(spans: Spans, heads: pl.DataFrame, policy: Policy) -> list[str]:
    """Calls that the search is not about.

    Args:
        spans: The cut.
        heads: ``calls.HEAD`` of the earlier span.
        policy: The current one.
    """
    notes = []
    if spans.left_out:
        notes.append(f"{spans.left_out:,} later calls of sessions that began in the earlier span: left out")
    own = int(heads["agent_id"].is_in(list(policy.recall.agents)).sum())
    if own:
        notes.append(
            f"{own:,} earlier calls are of agents whose own weights (recall.agents) no trial changes"
        )
    return notes
