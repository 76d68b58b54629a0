"""How well logged calls would have been answered under many policies: places of what was of use.

A place is 1 + the candidates that are better, counted; nothing is sorted but for the tokens of an answer.
Blocks of calls are measured beside each other in threads, and their sums are added in a fixed order, so the
result does not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.replay.answer_tokens import Answers, Limits, limits_of
from transforms.replay.arrays import Floats, Replay, Whole
from transforms.replay.blocks import block_of, blocks, by_weights, slices, width_of
from transforms.replay.places import Labels, Places, ideal_gains, labels_of, lost_of
from transforms.replay.scores import TIE, Scorer, Scratch
from transforms.replay.settings import Group, groups_of, settings_of
from transforms.replay.survival import Masks

MEASURES = ("ndcg", "recall", "mrr", "hit", "tokens", "lost")
_PLACED = {"ndcg", "recall", "mrr", "hit"}
_LANES = 8
"""Parts of the calls that are summed up each by itself."""


@dataclass(frozen=True)
class Replayed:
    """Measures of policies.

    Attributes:
        metrics: float64 (policies,) by name: means over the labelled calls; NaN where there are none.
        per_call: float64 (calls, policies) by name, NaN of calls without labels; empty unless asked for.
    """

    metrics: dict[str, Floats]
    per_call: dict[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class _Task:
    """What every block is measured by."""

    replay: Replay
    labels: Labels
    ideal: Floats
    limits: Limits
    metric_at: int
    measures: tuple[str, ...]
    block_bytes: int
    is_cut: bool


def replayed(
    replay: Replay,
    policies: Sequence[Policy],
    *,
    metric_at: int,
    masks: Masks | None = None,
    per_call: bool = False,
    block_bytes: int,
    measures: Collection[str] = MEASURES,
    threads: int = 2,
    is_cut: bool = False,
) -> Replayed:
    """Measures of policies on the labelled calls of a replay.

    Of a call, with the gain g of each candidate and its place p among those that are there under the policy:

    - ``ndcg``: sum of g / log2(1 + p) over p up to ``metric_at``, over that of the best order of all gains
      (Jarvelin and Kekalainen 2002): what is forgotten lowers it.
    - ``recall``: share of the candidates with a gain that stand at p up to ``metric_at``.
    - ``mrr``: 1 / p of the first of them, 0 beyond ``metric_at``.
    - ``hit``: whether one of them stands there.
    - ``tokens``: of the answer; see ``answer_tokens``.
    - ``lost``: share of all gain that belongs to forgotten candidates.

    Args:
        replay: The calls.
        policies: One or more.
        metric_at: Places of an answer that count, from 1.
        masks: Candidates that policies would have forgotten.
        per_call: Whether to give the measures of each call as well: calls x policies x 8 bytes a measure.
        block_bytes: Most memory that a block works in; each thread holds one.
        measures: Which of ``MEASURES``; ``tokens`` costs about as much as all others together.
        threads: Blocks measured at a time.
        is_cut: Whether no place counts either that lies beyond the answer: its rows, or its budget. For
            policies that change these, which would cost nothing otherwise.

    Raises:
        UsageError: ``metric_at`` is below 1, or a measure is unknown.
        ConfigError: A half-life is not above 0 days or a frequency scale not above 1.
    """
    _check(metric_at, measures)
    calls = np.flatnonzero(replay.is_labelled)
    names = tuple(name for name in MEASURES if name in measures)
    whole = {name: np.full((len(replay), len(policies)), np.nan) for name in names if per_call}
    sums = {name: np.zeros(len(policies)) for name in names}
    if not len(calls) or not len(policies):
        return Replayed({name: np.full(len(policies), np.nan) for name in names}, whole)
    settings, agents = settings_of(replay, policies)
    labels = labels_of(replay)
    limits = limits_of(replay, policies)
    ideal = ideal_gains(replay, metric_at)
    task = _Task(replay, labels, ideal, limits, metric_at, names, block_bytes, is_cut)
    portions = by_weights(replay, calls, agents)
    width = width_of(replay, calls, block_bytes)
    with ThreadPoolExecutor(threads) as pool:
        for together in groups_of(replay, policies, settings, masks):
            for group in together.parts(width):
                parts = [
                    (agent, part) for agent, mine in portions for part in blocks(replay, mine, block_bytes)
                ]
                lanes = [parts[i::_LANES] for i in range(_LANES)]
                for found in pool.map(_lane(task, group, whole), lanes):
                    for name in names:
                        sums[name][group.places] += found[name]
    return Replayed({name: values / len(calls) for name, values in sums.items()}, whole)


def _check(metric_at: int, measures: Collection[str]) -> None:
    if metric_at < 1:
        raise UsageError(f"measures at {metric_at} places", "Give a number from 1.")
    unknown = sorted(set(measures) - set(MEASURES))
    if unknown:
        raise UsageError(f"no measure is called {', '.join(unknown)}", f"Known are {', '.join(MEASURES)}.")


Lane = Callable[[Sequence[tuple[int, Whole]]], dict[str, Floats]]


def _lane(task: _Task, group: Group, whole: dict[str, Floats]) -> Lane:
    """Sums over some blocks; where ``whole`` is wanted, each call's values go there."""

    def summed(parts: Sequence[tuple[int, Whole]]) -> dict[str, Floats]:
        sums, scratch = {name: np.zeros(len(group.places)) for name in task.measures}, Scratch()
        for agent, part in parts:
            for name, values in _measured(task, group, agent, part, scratch).items():
                sums[name] += values.sum(axis=0)
                if whole:
                    whole[name][np.ix_(part, group.places)] = values
        return sums

    return summed


def _measured(task: _Task, group: Group, agent: int, calls: Whole, scratch: Scratch) -> dict[str, Floats]:
    """Measures of some calls: float64 (calls, policies) by name."""
    replay, width = task.replay, len(group.places)
    block = block_of(replay, calls, group.state, group.alive)
    scorer = Scorer(block, group, agent, TIE)
    places = Places(block, task.labels, width, task.metric_at) if set(task.measures) & _PLACED else None
    has_answers = "tokens" in task.measures or (task.is_cut and places is not None)
    answers = Answers(block, replay.tokens, task.limits, group.places) if has_answers else None
    for part in slices(block, width, task.block_bytes) if places or answers else ():
        keys = scorer.keys(part, scratch)
        if places:
            places.count(keys, part)
        if answers:
            answers.fill(keys, part)
    found = places.measures(answers.rows if answers and task.is_cut else None) if places else {}
    if places:
        found["ndcg"] /= task.ideal[calls][:, None]
    if answers:
        found["tokens"] = answers.tokens
    if "lost" in task.measures:
        found["lost"] = np.broadcast_to(lost_of(replay, block)[:, None], (len(calls), width))
    return {name: found[name] for name in task.measures}
