"""Tokens that answers take: of a search its first rows, of a context the rows that its budget holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transforms.policy import Policy
from transforms.replay.arrays import Flags, Floats, Replay, Whole
from transforms.replay.blocks import Block


@dataclass(frozen=True)
class Limits:
    """What ends an answer.

    Attributes:
        rows: float64 (calls,): rows that the caller of a search was given; inf for a context.
        tokens: float64 (calls,): budget of a context; inf for a search.
        is_default: bool (calls,): whether that budget was the default of the policy of then.
        default_rows: float64 (P,): rows of a search under policies that changed them; NaN: as given.
        default_tokens: float64 (P,): default budget of policies that changed it; NaN: as it was.
    """

    rows: Floats
    tokens: Floats
    is_default: Flags
    default_rows: Floats
    default_tokens: Floats

    def of(self, calls: Whole, policies: Whole) -> tuple[Floats, Floats]:
        """Most rows and most tokens of answers, float64 (calls, policies) each."""
        rows, tokens = self.rows[calls][:, None], self.tokens[calls][:, None]
        changed, budget = self.default_rows[policies], self.default_tokens[policies]
        is_search = np.isinf(tokens)
        return (
            np.where(is_search & ~np.isnan(changed), changed, rows),
            np.where(self.is_default[calls][:, None] & ~np.isnan(budget), budget, tokens),
        )


def limits_of(replay: Replay, policies: Sequence[Policy]) -> Limits:
    """Limits of answers; without a ``current`` policy of the replay no policy changes any."""
    current, is_search = replay.current, np.isnan(replay.budget_tokens)
    own = None if current is None else current.context.default_budget_tokens
    most = None if current is None else current.recall.default_k
    rows = [float("nan") if most in (None, p.recall.default_k) else p.recall.default_k for p in policies]
    budgets = [p.context.default_budget_tokens for p in policies]
    return Limits(
        rows=np.where(is_search, replay.given, np.inf),
        tokens=np.where(is_search, np.inf, replay.budget_tokens),
        is_default=replay.budget_tokens == (-1 if own is None else own),
        default_rows=np.array(rows, np.float64),
        default_tokens=np.array([np.nan if own in (None, one) else one for one in budgets], np.float64),
    )


class Answers:
    """Tokens of the answers of a block, by policy.

    A search gives its best rows, as many as it may. A context takes the best rows one after the other until
    one does not fit. Near duplicates, the shares of tiers and rows that are cut to fit are not known to a
    replay, nor is what a context holds besides: facts it begins with, the open session, delimiters.

    Args:
        block: Of C calls.
        tokens: float64 (rows of the replay); NaN: not known at all.
        limits: Of all calls and policies.
        policies: int64 (P,): which of them.

    Attributes:
        tokens: float64 (C, P), once every part is filled; NaN where a candidate's are not known at all.
        rows: float64 (C, P), likewise: how many candidates the answer holds, of those that are there.
    """

    def __init__(self, block: Block, tokens: Floats, limits: Limits, policies: Whole) -> None:
        self._held = np.where(block.is_there, tokens[block.rows], 0.0)
        self._most_rows, self._most_tokens = limits.of(block.calls, policies)
        self.tokens = np.empty((len(block.calls), len(policies)))
        self.rows = np.empty_like(self.tokens)

    def fill(self, keys: Floats, part: slice) -> None:
        """See how long the answers of some calls of the block are.

        Args:
            keys: float64 (calls, n, P), see ``scores.Scorer.keys``.
            part: Which calls.
        """
        taken, most_tokens, held = self._most_rows[part], self._most_tokens[part], self._held[part]
        has_budget, count = bool(np.isfinite(most_tokens).any()), keys.shape[1]
        totals = _ordered(keys, held, count if has_budget else int(min(count, max(1, taken.max()))))
        np.cumsum(totals, axis=2, out=totals)
        if has_budget:
            taken = np.minimum(taken, (totals <= most_tokens[..., None]).sum(axis=2))
        last = np.clip(taken, 1, totals.shape[2]).astype(np.int64) - 1
        reached = np.take_along_axis(totals, last[..., None], axis=2)[..., 0]
        found = np.where(taken > 0, reached, 0.0)
        self.rows[part] = taken
        is_unknown: Flags = np.isnan(held.sum(axis=1))
        self.tokens[part] = np.where(is_unknown[:, None], np.nan, found)


def _ordered(keys: Floats, held: Floats, most: int) -> Floats:
    """Tokens of the best candidates, best first; float64 (C, P, most).

    The place of a candidate takes the last bits of its key, so that a plain sort of whole numbers, several
    times as fast as one of positions, brings it along. Keys are made to lie above 0, where floats and their
    bits sort alike; what is not there goes last, and has no tokens.
    """
    calls, count = keys.shape[:2]
    bits = max(1, int(count - 1).bit_length())
    above = np.ascontiguousarray(keys.transpose(0, 2, 1))
    above += 1.0
    codes = above.view(np.int64)
    codes >>= bits
    codes <<= bits
    codes |= np.arange(count - 1, -1, -1)
    codes.sort(axis=2)
    places = (count - 1) - (codes[..., : -most - 1 : -1] & ((1 << bits) - 1))
    places += (np.arange(calls) * count)[:, None, None]
    ordered: Floats = held.ravel()[places]
    return ordered
