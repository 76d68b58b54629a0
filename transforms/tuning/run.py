"""A whole search: cut by time, search the earlier span, judge on the later one, and see what matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.replay.calls import Calls, some
from transforms.replay.changes import Changes, changed, differences
from transforms.replay.measures import MEASURES
from transforms.tuning import sensitivity
from transforms.tuning.bench import Bench, Held, Numbers, World
from transforms.tuning.doubts import doubts, left_out
from transforms.tuning.knobs import KNOBS, LENGTHS, WEIGHTS
from transforms.tuning.result import HEAT, Gain, Measured, Tuning
from transforms.tuning.search import guided_search, random_search
from transforms.tuning.slices import slices, weeks
from transforms.tuning.space import Space, policy_of
from transforms.tuning.spans import Spans, clusters_of, evenly, span, spans_of
from transforms.tuning.trials import Trials
from transforms.tuning.tried import Limits
from transforms.tuning.verdict import Drawn, finalists, gain_of, verdict


@dataclass(frozen=True)
class Wanted:
    """What is searched for.

    Attributes:
        search: ``guided``, ``random`` or ``grid``.
        space: Where.
        trials: Policies to try, but for a grid.
        limits: The most that a policy may come to, by ``tokens`` and ``index_bytes``.
        label: Where labels come from.
        notes: What is known of the traces.
    """

    search: str
    space: Space
    trials: int
    limits: Limits = field(default_factory=dict)
    label: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Later:
    """The later span, for looking at single answers.

    Attributes:
        bench: Its calls.
        current: float64 (calls): metric under the current policy.
        best: The same under the best one.
        policies: The current one, and the best.
    """

    bench: Bench
    current: Numbers
    best: Numbers
    policies: tuple[Policy, Policy]


def tuned(
    calls: Calls,
    world: World,
    policy: Policy,
    wanted: Wanted,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[Tuning, Later]:
    """Search, and judge what was found.

    Args:
        calls: Labelled calls: ``gain`` among their rows.
        world: What else is known of the window.
        policy: The current one; its section ``tune`` rules the search.
        wanted: What is searched for.
        advance: Told how many policies were measured, each time.

    Raises:
        CheckError: Too few labelled calls in either span.
        UsageError: What is limited is not known of the current policy.
        ConfigError: A grid of too many policies.
    """
    tune = policy.tune
    calls = some(calls, _is_labelled(calls))
    spans = spans_of(calls.heads, tune)
    is_cut = not set(LENGTHS).isdisjoint(wanted.space.keys)
    searched = evenly(spans.train, tune.search_calls)
    train = Bench.made(some(calls, searched), world, policy, is_cut=is_cut)
    test = Bench.made(some(calls, spans.test), world, policy, is_cut=is_cut)
    held = Held.made(world)

    def measure(changes: Sequence[Changes]) -> pl.DataFrame:
        policies = [policy_of(policy, each) for each in changes]
        measured = train.means(policies).hstack(held.sizes(policies))
        advance(len(policies))
        return measured

    trials = Trials(policy, measure, wanted.limits)
    trials.add([{}])
    _check(trials, [*wanted.limits, *(["tokens"] if is_cut else [])])
    notes = _sampled(spans.train, searched) + _search(trials, wanted, policy)
    best = _best(trials, tune.tolerance)
    found = _Found(trials, best, policy_of(policy, trials.changes[best]), train, test, spans)
    return _judged(found, calls, world, wanted, notes)


def _sampled(every: NDArray[np.bool_], searched: NDArray[np.bool_]) -> list[str]:
    count, of = int(searched.sum()), int(every.sum())
    told = f"searched on {count:,} of {of:,} earlier calls, evenly over their time (tune.search_calls)"
    return [told] * (count < of)


def _is_labelled(calls: Calls) -> NDArray[np.bool_]:
    """Calls of which a candidate was of use: of others no order is better than another."""
    useful = np.flatnonzero((calls.rows["gain"] > 0).fill_null(value=False).to_numpy())
    return np.isin(np.arange(len(calls)), calls.call_of[useful])


@dataclass(frozen=True)
class _Found:
    """Where a search ended, before it is judged."""

    trials: Trials
    best: int
    policy: Policy
    train: Bench
    test: Bench
    spans: Spans

    @property
    def current(self) -> Policy:
        return self.trials.policy

    @property
    def drawn(self) -> Drawn:
        return Drawn(*clusters_of(self.test.calls.heads, self.current.tune.min_clusters))


def _check(trials: Trials, needed: Sequence[str]) -> None:
    unknown = sorted({name for name in needed if trials.rows[0][name] is None})
    if unknown:
        raise UsageError(
            f"{', '.join(unknown)} of the current policy cannot be told from the log",
            "Leave out what limits or changes it, or replay recalls that say how long memories are.",
        )


def _search(trials: Trials, wanted: Wanted, policy: Policy) -> list[str]:
    """Try policies; returns what was left out."""
    tune, space = policy.tune, wanted.space
    if wanted.search == "grid":
        changes, left_out = space.grid(tune.grid_limit)
        trials.add(changes)
        return [f"{left_out:,} policies of the grid have weights above 1 in all: left out"] * (left_out > 0)
    if wanted.search == "random":
        trials.add(random_search(space, wanted.trials, tune.seed))
        return []
    start = space.point(policy), trials.rows[0]
    found, measured = guided_search(
        space,
        trials.measure,
        start,
        count=wanted.trials,
        batch=tune.batch,
        seed=tune.seed,
        limits=wanted.limits,
    )
    trials.add(found, pl.concat(measured))
    return []


def _best(trials: Trials, tolerance: float) -> int:
    """The trial to judge: the best of those that keep the limits, less what of it does not matter."""
    best = trials.best()
    if best is None or (trials.is_feasible(0) and trials.quality(best) <= trials.quality(0)):
        return 0
    return trials.simplified(best, tolerance)


def _judged(
    found: _Found, calls: Calls, world: World, wanted: Wanted, notes: Sequence[str]
) -> tuple[Tuning, Later]:
    tune, trials, best = found.current.tune, found.trials, found.best
    top = trials.top(best, tune.finalists)
    by_call = found.test.by_call([found.current, *(policy_of(found.current, trials.changes[t]) for t in top)])
    current, served = by_call[:, 0], by_call[:, 1 if best else 0]
    drawn = found.drawn
    gain = gain_of(served - current, drawn, trials.quality(best) - trials.quality(0), tune)
    train, test = span(calls.heads, found.spans.train), span(calls.heads, found.spans.test)
    judged = verdict(
        gain, best > 0, trials.best() is not None, len(trials.changes), test, tune, _order_gain(found, gain)
    )
    kind = sensitivity.commonest_kind(found.train.calls.rows["kind"])
    sweep, keys = _sweep(found, wanted.space), _keys(wanted.space)
    result = Tuning(
        **_asked(found.current, world, wanted),
        keys=keys,
        trials=trials.frame(keys, best),
        current=_measured(found, 0, found.current),
        best=_measured(found, best, found.policy),
        gain=gain,
        train=train,
        test=test,
        finalists=finalists(trials.ahead(top), by_call[:, 1:], current, drawn, tune),
        sweep=sweep,
        knobs=sensitivity.knobs_of(sweep),
        heat=_heat(found, kind),
        heat_kind=kind,
        weeks=_weeks(found, current, served),
        slices=slices(found.test.calls, current, served, drawn, tune),
        is_recommended=judged.is_recommended,
        verdict=judged.told,
        warnings=(*judged.warnings, *doubts(found.trials, found.spans)),
        notes=(*wanted.notes, *notes, *left_out(found.spans, found.train.calls.heads, found.current)),
    )
    return result, Later(found.test, current, served, (found.current, found.policy))


def _order_gain(found: _Found, gain: Gain) -> Gain:
    """The gain without memories that the current policy is only taken to have forgotten."""
    policies = [found.current, found.policy]
    served = found.test.by_call(policies, recalled=found.current)
    return gain_of(served[:, 1] - served[:, 0], found.drawn, gain.train, found.current.tune)


def _asked(policy: Policy, world: World, wanted: Wanted) -> dict[str, Any]:
    """What the search was told to do."""
    return {
        "metric": policy.tune.metric,
        "metric_at": policy.tune.metric_at,
        "seed": policy.tune.seed,
        "search": wanted.search,
        "as_of": world.as_of,
        "label": wanted.label,
        "constraints": wanted.limits,
    }


def _keys(space: Space) -> tuple[str, ...]:
    """Keys whose values trials have; one weight changes all others, that make up the sum."""
    weights = [key for key in KNOBS if key.startswith(WEIGHTS)]
    others = [key for key in weights if key not in space.keys]
    return (*space.keys, *others) if len(others) < len(weights) else space.keys


def _measured(found: _Found, trial: int, policy: Policy) -> Measured:
    row = found.trials.rows[trial]
    changes = {key: new for key, (_, new) in differences(found.current, policy).items()}
    later = found.test.means([policy]).row(0, named=True)
    return Measured(
        trial,
        changes,
        {name: row[name] for name in MEASURES if row[name] is not None},
        {name: later[name] for name in MEASURES if later[name] is not None},
        row["index_rows"],
        row["index_bytes"],
    )


def _sweep(found: _Found, space: Space) -> pl.DataFrame:
    """Each knob of the best policy moved alone."""
    moved = sensitivity.sweep_changes(space, found.policy, found.current.tune.sweep_steps)
    policies = [changed(found.policy, {key: value}) for key, value in moved]
    return sensitivity.sweep_of(found.policy, moved, found.train.quality(policies))


def _heat(found: _Found, kind: str) -> pl.DataFrame:
    if not kind:
        return pl.DataFrame(schema=HEAT)
    moved = sensitivity.heat_changes(kind, found.current.tune.sweep_steps)
    quality = found.train.quality([changed(found.policy, each) for each in moved])
    return sensitivity.heat_of(kind, moved, quality)


def _weeks(found: _Found, current: Numbers, best: Numbers) -> pl.DataFrame:
    """Quality over both spans."""
    early = found.train.by_call([found.current, found.policy])
    heads = pl.concat([found.train.calls.heads, found.test.calls.heads])
    is_train = np.arange(heads.height) < len(early)
    return weeks(heads, is_train, np.concatenate([early[:, 0], current]), np.concatenate([early[:, 1], best]))
