"""Summaries beside what they sum up: a summary repeats its turns, so it comes after those that answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from transforms.policy_recall import RecallPolicy
from transforms.scope_columns import Positions, ScopeColumns

Floats = NDArray[np.float64]
Cited = Callable[[Positions], Sequence[Sequence[str]]]
"""Ids of the rows that summaries rest on, by position of the summary."""


def digest_shares(ranks: Floats, columns: ScopeColumns, cited: Cited, policy: RecallPolicy) -> Floats | None:
    """What rows keep of their relevance; below 1 for summaries whose turns answer themselves.

    A summary is long and holds many words, so it looks relevant to much; but where the turns it cites are
    there, it tells nothing that they do not, and takes the place of other answers. So it is at most
    ``digest_share`` as relevant as the least of those that are at least ``digest_turns_ratio`` as relevant
    as the best row. Without such a turn, as when they were forgotten, it stands as it is.

    Args:
        ranks: Relevance of all rows, float64 (rows,); below 0 for those that are left out.
        columns: Of the rows.
        cited: Is asked once, for the summaries that are about the question.
        policy: Shares.

    Returns:
        float64 (rows,); None where no row loses anything.
    """
    best = float(ranks.max(initial=0.0))
    about = ranks >= policy.derived_floor_ratio * best
    digests = np.flatnonzero(columns.is_digest & about & (ranks > 0))
    if not len(digests):
        return None
    turns = np.flatnonzero(~columns.is_derived & (ranks >= policy.digest_turns_ratio * best) & (ranks > 0))
    by_id = dict(zip(columns.ids[turns].tolist(), ranks[turns].tolist(), strict=True))
    shares = np.ones(len(ranks))
    for place, names in zip(digests.tolist(), cited(digests), strict=True):
        held = [by_id[name.encode()] for name in names if name.encode() in by_id]
        if held:
            shares[place] = min(1.0, policy.digest_share * min(held) / float(ranks[place]))
    return shares
