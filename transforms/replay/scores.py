"""Scores of logged candidates under many policies at once: a block of calls by a group of policies.

What policies agree on is reckoned once, and their weighted sums of it are one product of matrices; the rest
is reckoned by policy, by the formulas that recall itself goes by (``transforms.factors``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from transforms.factors import bonus_of, closeness_of, frequency_of, importance_of, recency_of
from transforms.policy import Policy
from transforms.replay.arrays import LOGGED, Floats, Replay, Whole
from transforms.replay.blocks import Block, block_of, blocks, by_weights, slices, width_of
from transforms.replay.settings import Group, Settings, groups_of, settings_of
from transforms.replay.survival import Masks
from transforms.weights import told_weights

TIE = 1e-13
"""Scores nearer than this times the places between them in ``Replay.layout`` are the same, and the layout
decides: far above the rounding of a sum of five products, far below what a score means."""
GONE = -8.0
"""Key of a candidate that is not there: below every score."""


class Scratch:
    """Arrays that are written over again and again; of one thread."""

    def __init__(self) -> None:
        self._held: list[Floats] = [np.empty(0)] * 3

    def room(self, number: int, shape: tuple[int, ...]) -> Floats:
        """Array 0, 1 or 2 in a shape; what stands in it is of no meaning."""
        size = math.prod(shape)
        if len(self._held[number]) < size:
            self._held[number] = np.empty(size)
        return self._held[number][:size].reshape(shape)


def _closeness(block: Block, settings: Settings, part: slice, out: Floats | None = None) -> Floats:
    return closeness_of(block.near[part, :, None], block.best[part, :, None], settings.power, out)


def _recency(block: Block, settings: Settings, part: slice, out: Floats | None = None) -> Floats:
    lives = settings.half_life_days[block.kind[part]]
    return recency_of(block.age_days[part, :, None], lives, out)


def _importance(block: Block, settings: Settings, part: slice, out: Floats | None = None) -> Floats:
    boost = np.multiply(block.is_success[part, :, None], settings.boost, out=out)
    return importance_of(block.importance[part, :, None], boost, out)


def _frequency(block: Block, settings: Settings, part: slice, out: Floats | None = None) -> Floats:
    return frequency_of(block.accesses[part, :, None], settings.scale, out)


def _bonus(block: Block, settings: Settings, part: slice, out: Floats | None = None) -> Floats:
    return bonus_of(settings.bonus[block.tier[part]], out)


_FACTORS = (_recency, _importance, _frequency, _bonus)
"""The factors that closeness multiplies, as (calls, n, P), or (calls, n, 1) where all policies agree."""
_ALL = slice(None)


class Scorer:
    """Weighted sums of the factors of a block under a group of policies.

    Args:
        block: Of calls whose weights are at ``agent`` of the settings (``settings.settings_of``).
        group: The policies.
        agent: Which weights.
        tie: What a place of the layout takes from a sum; 0 for the scores themselves.
    """

    def __init__(self, block: Block, group: Group, agent: int, tie: float = 0.0) -> None:
        self._block, self._settings = block, group.settings.folded()
        relevance, *others = group.settings.weights[agent]
        self._others = list(zip(_FACTORS, others, strict=True))
        is_alike = [group.is_shared or values.shape[-1] == 1 for values in self._settings.by_factor()]
        alike = [factor for factor, is_so in zip(self._others, is_alike, strict=True) if is_so]
        self._varied = [factor for factor, is_so in zip(self._others, is_alike, strict=True) if not is_so]
        columns = [factor(block, self._settings, _ALL)[..., 0] for factor, _ in alike]
        places = np.broadcast_to(np.arange(block.rows.shape[1], dtype=np.float64), block.rows.shape)
        above, weights = [block.relevance, places], [relevance, np.full_like(relevance, -tie)]
        self._is_shared = group.is_shared
        if group.is_shared:
            near = _closeness(block, self._settings, _ALL)[..., 0]
            above += [near * values for values in columns]
            weights += others
            columns = []
        self._above, self._weights = np.stack(above, axis=2), np.stack(weights)
        self._alike = np.stack(columns, axis=2) if columns else np.zeros((*block.rows.shape, 0))
        self._held = np.array([weight for _, weight in alike]).reshape(-1, len(relevance))
        self._is_whole = bool(block.is_there.all()) and not block.is_kept.any()

    def sums(self, part: slice, scratch: Scratch) -> Floats:
        """Of some calls of the block, float64 (calls, n, P), in the scratch: valid until the next."""
        shape = (*self._above[part].shape[:2], self._weights.shape[1])
        total = np.matmul(self._above[part], self._weights, out=scratch.room(0, shape))
        if self._is_shared:
            return total
        inner = np.matmul(self._alike[part], self._held, out=scratch.room(1, shape))
        room = scratch.room(2, shape)
        for factor, weight in self._varied:
            values = factor(self._block, self._settings, part, room)
            values *= weight
            inner += values
        is_alike = self._settings.power.shape[-1] == 1
        inner *= _closeness(self._block, self._settings, part, None if is_alike else room)
        total += inner
        return total

    def keys(self, part: slice, scratch: Scratch) -> Floats:
        """What ranks candidates, highest first, no two of a call the same; as ``sums``.

        Scores with ties resolved (``TIE``); of calls in ``is_kept`` the places of the layout alone. A sum
        that lies above 1 by the rounding of its weights is not cut to 1.
        """
        keys = self.sums(part, scratch)
        if not self._is_whole:
            keys[self._block.is_kept[part]] = -TIE * np.arange(keys.shape[1])[:, None]
            keys[~self._block.is_there[part]] = GONE
        return keys


def scored(
    replay: Replay, policies: Sequence[Policy], *, masks: Masks | None = None, block_bytes: int
) -> Iterator[tuple[Whole, Whole, Floats]]:
    """The score of every candidate under every policy, block by block.

    Args:
        replay: The calls.
        policies: Any number.
        masks: Candidates that policies would have forgotten.
        block_bytes: Most memory that a block works in.

    Yields:
        Positions of rows (int64), positions of policies (int64), and scores, float64 (rows, policies), 0 to
        1; NaN of what the policy had forgotten. Each row meets each policy once.

    Raises:
        ConfigError: A half-life is not above 0 days or a frequency scale not above 1.
    """
    settings, agents = settings_of(replay, policies)
    calls, scratch = np.arange(len(replay)), Scratch()
    width = width_of(replay, calls, block_bytes)
    for whole in groups_of(replay, policies, settings, masks):
        for group in whole.parts(width):
            for agent, mine in by_weights(replay, calls, agents):
                for some in blocks(replay, mine, block_bytes):
                    block = block_of(replay, some, group.state, group.alive)
                    scorer = Scorer(block, group, agent)
                    for part in slices(block, len(group.places), block_bytes):
                        scores = np.clip(scorer.sums(part, scratch), 0.0, 1.0)
                        scores[~block.is_there[part]] = np.nan
                        is_row = block.is_row[part]
                        yield block.rows[part][is_row], group.places, scores[is_row]


def logged_scores(replay: Replay, policy: Policy, *, block_bytes: int) -> Floats:
    """The score of every candidate as it was answered: each call under its own logged weights.

    Args:
        replay: The calls.
        policy: Everything but the weights; the one that the calls were answered under gives their ``score``.
        block_bytes: Most memory that a block works in.

    Returns:
        float64 (rows).

    Raises:
        UsageError: A logged call names no weights.
        ConfigError: As ``scored``.
    """
    settings, _ = settings_of(replay, [policy])
    told = replay.calls.heads["weighting"]
    names = told.unique().sort()
    weights = np.array([told_weights(name).values() for name in names])
    of = told.replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()
    found = np.empty(len(replay.relevance))
    for some in blocks(replay, np.arange(len(replay)), block_bytes):
        block = block_of(replay, some, LOGGED, None)
        near = _closeness(block, settings, _ALL)
        factors = [block.relevance[..., None], *(near * factor(block, settings, _ALL) for factor in _FACTORS)]
        scores = np.einsum("cnf,cf->cn", np.concatenate(factors, axis=2), weights[of[some]])
        found[block.rows[block.is_row]] = np.clip(scores, 0.0, 1.0)[block.is_row]
    return found


def ranking(replay: Replay, policy: Policy, call: int, masks: Masks | None = None) -> tuple[Whole, Floats]:
    """Candidates of one call under a policy, best first, without those that it had forgotten.

    Args:
        replay: The calls.
        policy: One.
        call: Position of the call.
        masks: Of this one policy.

    Returns:
        Positions among the rows of the replay, and the score of each, 0 to 1.
    """
    settings, agents = settings_of(replay, [policy])
    (group,) = groups_of(replay, [policy], settings, masks)
    block = block_of(replay, np.array([call]), group.state, group.alive)
    keys = Scorer(block, group, agents[call], TIE).keys(_ALL, Scratch())[0, :, 0]
    scores = np.clip(Scorer(block, group, agents[call]).sums(_ALL, Scratch())[0, :, 0], 0.0, 1.0)
    order = np.argsort(-keys, kind="stable")[: int(block.is_there.sum())]
    return block.rows[0, order], scores[order]
