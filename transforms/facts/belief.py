"""What is believed: of facts as they stand, and exactly as of a past instant.

A fact has two times. Valid time, from ``valid_from`` to ``valid_until``, is when it holds in the world;
recorded time, from ``recorded_at`` to ``retired_at``, is when the lake held it and knew no end of it.
"""

from __future__ import annotations

from datetime import datetime

import polars as pl

from transforms.errors import UsageError
from transforms.facts.near import object_groups
from transforms.facts.reconcile import reconcile
from transforms.policy import Policy
from transforms.retention import instant


def current(facts: pl.DataFrame, at: datetime, valid_at: datetime | None = None) -> pl.DataFrame:
    """Facts that are held and valid at an instant; the rule of ``sql/facts_as_of.sql``.

    Held: recorded at or before ``at``. Valid: it holds from ``valid_at`` or before, and it either ends
    after that, or it has an end that was learned only after ``at``. Of a single-valued slot this is
    at most one fact, and never one that was retired by ``at`` where both instants are the same.

    Args:
        facts: ``schemas.FACTS``; those that stand.
        at: What was known at this instant counts.
        valid_at: For when it is asked; ``at`` where null, never after it.

    Returns:
        The rows, unchanged, in their order.

    Raises:
        UsageError: An instant has no time zone, or ``valid_at`` is after ``at``.
    """
    asked_at = at if valid_at is None else valid_at
    known, asked = instant(at), instant(asked_at)
    if asked_at > at:
        raise UsageError("belief is asked for an instant after what is known", "Let valid_at be at most at.")
    ends_later = pl.col("valid_until").is_null() | (pl.col("valid_until") > asked)
    is_unknown_end = (pl.col("retired_at") > known).fill_null(False)
    return facts.filter(
        (pl.col("recorded_at") <= known) & (pl.col("valid_from") <= asked) & (ends_later | is_unknown_end)
    )


def as_of(
    claims: pl.DataFrame,
    vectors: pl.DataFrame,
    policy: Policy,
    at: datetime,
    valid_at: datetime | None = None,
) -> pl.DataFrame:
    """Belief as it was at a past instant: what was claimed and recorded by then, folded anew.

    Exact where ``current`` of today's facts is not: a fact shows the phrasing, support and confidence it
    had, and claims that were recorded late, or merge others, do not reach back.

    Args:
        claims: ``schemas.CLAIMS`` of whole slots.
        vectors: As for ``near.object_groups``.
        policy: Section facts.
        at: Claims said and recorded at or before this instant count.
        valid_at: As for ``current``.

    Returns:
        ``schemas.FACTS`` without the columns of revisions, in its order.

    Raises:
        UsageError: As for ``current``.
    """
    known = instant(at)
    held = claims.filter((pl.col("recorded_at") <= known) & (pl.col("event_at") <= known))
    folded = reconcile(held, object_groups(held, vectors, policy), policy)
    return current(folded.facts, at, valid_at)
