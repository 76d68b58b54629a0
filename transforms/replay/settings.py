"""What scores read of policies, as arrays: a column a policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from transforms.policy import Policy
from transforms.replay.arrays import Flags, Floats, Replay, Whole
from transforms.replay.survival import Masks
from transforms.scoring import check_decay, half_lives
from transforms.weights import Weights

SHARED_LEAST = 8
"""So many policies that differ in weights alone are one matrix product; fewer cost less beside others."""


@dataclass(frozen=True)
class Settings:
    """Numbers of P policies.

    Attributes:
        weights: float64 (agents + 1, 5, P): of the factors, for agents that some policy gives their own, and
            at last for all others.
        power: float64 (P,).
        half_life_days: float64 (kinds, P), inf for never.
        boost: float64 (P,).
        scale: float64 (P,).
        bonus: float64 (tiers + 1, P), at last 0 for rows without a tier.
    """

    weights: Floats
    power: Floats
    half_life_days: Floats
    boost: Floats
    scale: Floats
    bonus: Floats

    def by_factor(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What recency, importance, frequency and type are made with."""
        return self.half_life_days, self.boost, self.scale, self.bonus

    def folded(self) -> Settings:
        """The same, with one column where all policies have the same; weights apart."""
        return Settings(self.weights, _folded(self.power), *map(_folded, self.by_factor()))

    def some(self, places: Whole | slice) -> Settings:
        """Those of some of the policies."""
        return Settings(
            np.ascontiguousarray(self.weights[..., places]),
            self.power[places],
            self.half_life_days[:, places],
            self.boost[places],
            self.scale[places],
            self.bonus[:, places],
        )


def settings_of(replay: Replay, policies: Sequence[Policy]) -> tuple[Settings, Whole]:
    """Settings of policies, and of each call the place of its weights in them.

    Raises:
        ConfigError: A half-life is not above 0 days or a frequency scale not above 1.
    """
    for policy in policies:
        check_decay(policy.decay)
    own = {name for policy in policies for name in policy.recall.agents}
    named = [name for name in replay.agents if name in own]
    weights = np.empty((len(named) + 1, len(Weights.model_fields), len(policies)))
    for place, agent in enumerate((*named, None)):
        weights[place] = np.array([policy.recall.weights_for(agent).values() for policy in policies]).T
    lives = [half_lives(policy.decay) for policy in policies]
    of: dict[str | None, int] = {name: place for place, name in enumerate(named)}
    places = np.array([of.get(name, len(named)) for name in (*replay.agents, None)])  # -1: named no agent
    settings = Settings(
        weights,
        np.array([policy.recall.closeness_power for policy in policies], np.float64),
        np.array([[days.get(kind, other) for kind in replay.kinds] for days, other in lives]).T,
        np.array([policy.recall.success_boost for policy in policies], np.float64),
        np.array([policy.decay.frequency_scale for policy in policies], np.float64),
        np.array([[p.recall.type_bonus.get(t, 0.0) for t in (*replay.tiers, "")] for p in policies]).T,
    )
    return settings, places[replay.agent].astype(np.int64)


@dataclass(frozen=True)
class Group:
    """Policies that are scored together.

    Attributes:
        places: int64 (P,): which of the policies.
        settings: Theirs.
        state: Of the accesses that they read.
        alive: bool (rows): candidates that they would not have forgotten; None: all.
        is_shared: Whether they differ in weights alone.
    """

    places: Whole
    settings: Settings
    state: str
    alive: Flags | None
    is_shared: bool

    def parts(self, most: int) -> Iterator[Group]:
        """The same policies, at most so many together."""
        for first in range(0, len(self.places), most):
            part = slice(first, first + most)
            settings = self.settings.some(part)
            yield Group(self.places[part], settings, self.state, self.alive, self.is_shared)


def groups_of(
    replay: Replay, policies: Sequence[Policy], settings: Settings, masks: Masks | None
) -> Iterator[Group]:
    """Each policy once, beside those that forget and refresh alike; what differs in weights alone apart."""
    states = np.array([replay.state_of(policy) for policy in policies])
    forgetting = [(np.arange(len(policies)), None)] if masks is None else masks.groups
    for places, alive in forgetting:
        held = np.asarray(places, np.int64)
        for state in np.unique(states[held]).tolist():
            mine = held[states[held] == state]
            for part, is_shared in _alike(mine, settings):
                yield Group(part, settings.some(part), state, alive, is_shared)


def _alike(places: Whole, settings: Settings) -> Iterator[tuple[Whole, bool]]:
    """Policies with all but the weights the same, group by group, and the rest together."""
    rows = (settings.power, settings.half_life_days, settings.boost, settings.scale, settings.bonus)
    columns = np.vstack([np.atleast_2d(values)[:, places] for values in rows]).T
    _, of, counts = np.unique(columns, axis=0, return_inverse=True, return_counts=True)
    for number in np.flatnonzero(counts >= SHARED_LEAST).tolist():
        yield places[of == number], True
    rest = counts[of] < SHARED_LEAST
    if rest.any():
        yield places[rest], int(rest.sum()) == 1


def _folded(values: Floats) -> Floats:
    return values[..., :1] if (values == values[..., :1]).all() else values
