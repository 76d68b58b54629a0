"""Trials as they come: what was changed, what it measured, which is best, and what of it matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from transforms.policy import Policy
from transforms.replay.changes import Changes, told_apart
from transforms.tuning.knobs import value_of
from transforms.tuning.pareto import is_front
from transforms.tuning.result import FINALISTS
from transforms.tuning.sensitivity import taken_back
from transforms.tuning.space import policy_of
from transforms.tuning.tried import COSTS, QUALITY, Limits, Measure


@dataclass
class Trials:
    """Every policy that was measured in a search, in order; the first is the current one.

    Attributes:
        policy: The current policy.
        measure: Measures changes of it.
        limits: The most that a trial may come to.
        changes: Of each trial.
        rows: Measures of each trial.
        known: Number of each by what tells its policy apart.
    """

    policy: Policy
    measure: Measure
    limits: Limits
    changes: list[Changes] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)

    def add(self, changes: Sequence[Changes], measured: pl.DataFrame | None = None) -> list[int]:
        """Take in trials, measured here where that was not done; returns their numbers.

        A policy that was tried before keeps its number: it is neither measured nor counted again.
        """
        names = [told_apart(policy_of(self.policy, one)) for one in changes]
        fresh = {name: place for place, name in reversed(list(enumerate(names))) if name not in self.known}
        places = sorted(fresh.values())
        if places:
            found = self.measure([changes[i] for i in places]) if measured is None else measured[places]
            self.known |= {names[i]: len(self.changes) + n for n, i in enumerate(places)}
            self.changes += [changes[i] for i in places]
            self.rows += list(found.iter_rows(named=True))
        return [self.known[name] for name in names]

    def quality(self, trial: int) -> float:
        """The metric of a trial on the earlier span."""
        return float(self.rows[trial][QUALITY])

    def is_feasible(self, trial: int) -> bool:
        """Whether it keeps the limits."""
        found = ((self.rows[trial][name], most) for name, most in self.limits.items())
        return all(value is not None and value <= most for value, most in found)

    def ranked(self) -> list[int]:
        """Feasible trials, best first; of equals the earlier."""
        feasible = [trial for trial in range(len(self.changes)) if self.is_feasible(trial)]
        return sorted(feasible, key=lambda trial: (-self.quality(trial), trial))

    def best(self) -> int | None:
        """The best feasible trial; None where there is none."""
        return next(iter(self.ranked()), None)

    def top(self, best: int, count: int) -> list[int]:
        """The best trial and those that follow it, without the current policy."""
        others = [trial for trial in self.ranked() if trial not in (0, best)]
        return ([best, *others] if best else others)[:count]

    def simplified(self, trial: int, tolerance: float) -> int:
        """A trial with those changes taken back that matter to nothing, one after the other.

        A search moves every knob, also those that change no answer. What is taken back each time costs
        least of the metric; it ends where every further one would come to more than the tolerance in all.
        """
        least = self.quality(trial) - tolerance
        held, seen = trial, {trial}  # a change to the value in force takes nothing back
        while self.changes[held]:
            every = taken_back(self.changes[held], list(self.changes[held]))
            options = self.add([each for each in every if each])
            options += [0] * any(not each for each in every)
            further = sorted(set(options) - seen)
            good = [each for each in further if self.is_feasible(each) and self.quality(each) >= least]
            if not good:
                break
            held = min(good, key=lambda each: (-self.quality(each), each))
            seen.add(held)
        return held

    def ahead(self, trials: Sequence[int]) -> pl.DataFrame:
        """``trial``, ``train`` and ``train_gain`` of some, for ``verdict.finalists``."""
        rows = [(t, self.quality(t), self.quality(t) - self.quality(0)) for t in trials]
        schema = {name: FINALISTS[name] for name in ("trial", "train", "train_gain")}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def frame(self, keys: Sequence[str], best: int) -> pl.DataFrame:
        """The ``trials`` of a ``Tuning``."""
        policies = [policy_of(self.policy, changes) for changes in self.changes]
        values = [_column(key, [value_of(policy, key) for policy in policies]) for key in keys]
        measured = pl.DataFrame(self.rows, infer_schema_length=None)
        feasible = [self.is_feasible(trial) for trial in range(len(self.rows))]
        return (
            pl.DataFrame(values)
            .with_columns(
                *measured,
                trial=pl.int_range(len(self.rows), dtype=pl.Int64),
                is_feasible=pl.Series(feasible),
                is_pareto=pl.Series(self._front(measured, feasible)),
                is_best=pl.Series([trial == best for trial in range(len(self.rows))]),
            )
            .select("trial", *keys, *measured.columns, "is_feasible", "is_pareto", "is_best")
        )

    def _front(self, measured: pl.DataFrame, feasible: Sequence[bool]) -> np.ndarray[Any, Any]:
        """Feasible trials that no feasible one beats; a cost that is not known is left out of it."""
        known = [name for name in COSTS if measured[name].null_count() == 0]
        costs = measured.select(-pl.col(QUALITY), *known).cast(pl.Float64).to_numpy()
        return is_front(np.where(np.array(feasible)[:, None], costs, np.nan))


def _column(key: str, values: Sequence[Any]) -> pl.Series:
    """Values of a key: numbers with null for "never", or names."""
    if any(isinstance(value, str) for value in values):
        return pl.Series(key, [None if value is None else str(value) for value in values], pl.String)
    return pl.Series(key, values, pl.Float64, strict=False)


def told_limits(limits: Mapping[str, float]) -> str:
    """Constraints in words."""
    names = {"tokens": "tokens of an answer", "index_bytes": "bytes of the index"}
    return ", ".join(f"at most {most:,.0f} {names.get(name, name)}" for name, most in limits.items())
