"""A tuning as the one record that its JSON is and that its page is drawn from: so each says the same."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from flows.html_pages import UNKNOWN, duration
from flows.report_files import plain_rows
from transforms.tuning.knobs import HALF_LIVES, WEIGHTS, told
from transforms.tuning.result import METRICS, Gain, Measured, Span, Tuning

MOST_POINTS = 400
"""Trials that a chart shows; Parquet holds all."""
MEASURES = (*METRICS, "tokens", "lost")
_LIFETIMES = "retention.by_kind_seconds."
_SHOWN = ("trial", "quality", "tokens", "index_rows", "index_bytes")


def tune_record(result: Tuning, changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What ``tune.json`` holds: all but the trials, of which it has the front and those that are drawn.

    Args:
        result: The search.
        changes: Answers before and after, from ``tune_changes.changed_answers``.

    Returns:
        Plain values: instants in ISO 8601, policy values as numbers or text, "never" for none.
    """
    trials = result.trials
    return {
        "verdict": result.verdict,
        "is_recommended": result.is_recommended,
        "warnings": list(result.warnings),
        "notes": list(result.notes),
        "metric": result.metric,
        "metric_at": result.metric_at,
        "metric_name": result.metric_name,
        "search": result.search,
        "seed": result.seed,
        "as_of": result.as_of.isoformat(),
        "label": result.label,
        "keys": list(result.keys),
        "tried": trials.height,
        "feasible": int(trials["is_feasible"].sum()),
        "constraints": dict(result.constraints),
        "gain": _gain(result.gain),
        "spans": {"train": _span(result.train), "test": _span(result.test)},
        "current": _measured(result.current),
        "best": _measured(result.best),
        "changes": _changes(result),
        "measures": _measures(result),
        "finalists": _with_changes(result, result.finalists),
        "pareto": _with_changes(result, _front(result)),
        "drawn": plain_rows(drawn_trials(trials)),
        "knobs": _retold(result.knobs, ("at_most", "held")),
        "sweep": _retold(result.sweep, ("told",)),
        "heat": plain_rows(result.heat),
        "heat_kind": result.heat_kind,
        "heat_best": _place(result, result.best.trial),
        "heat_current": _place(result, result.current.trial),
        "weeks": plain_rows(by_week(result.weeks)),
        "slices": plain_rows(result.slices),
        "answers": [dict(change) for change in changes],
        "policy_file": result.policy_file,
    }


def drawn_trials(trials: pl.DataFrame) -> pl.DataFrame:
    """The front, the current and the best, and of the others every so many: what a chart can show."""
    columns = [*_SHOWN, "is_feasible", "is_pareto", "is_best"]
    is_kept = pl.col("is_pareto") | pl.col("is_best") | (pl.col("trial") == 0)
    kept, others = trials.filter(is_kept), trials.filter(~is_kept).sort("trial")
    step = max(1, math.ceil(others.height / MOST_POINTS))
    return pl.concat([kept, others.gather_every(step)]).select(columns).sort("trial")


def by_week(weeks: pl.DataFrame) -> pl.DataFrame:
    """One row a week, also where the earlier span ends in the midst of it; means weighted by calls."""
    means = (
        ((pl.col(name) * pl.col("calls")).sum() / pl.col("calls").sum()).alias(name)
        for name in ("current", "best")
    )
    spans = pl.col("span").unique().sort(descending=True).str.join(" and ")
    return weeks.group_by("week_at").agg(spans, *means, pl.col("calls").sum()).sort("week_at")


def _front(result: Tuning) -> pl.DataFrame:
    """Trials of the front, each policy once, the cheapest answers first."""
    front = result.trials.filter("is_pareto").sort("tokens", "trial")
    return front.unique(list(result.keys), keep="first", maintain_order=True).select(_SHOWN)


def _gain(gain: Gain) -> dict[str, Any]:
    return {
        "mean": gain.mean, "low": gain.low, "high": gain.high, "level": gain.level, "train": gain.train,
        "optimism": gain.optimism, "clusters": gain.clusters, "clustered_by": gain.clustered_by,
    }  # fmt: skip


def _span(span: Span) -> dict[str, Any]:
    return {
        "from_at": span.from_at.isoformat(), "to_at": span.to_at.isoformat(), "calls": span.calls,
        "sessions": span.sessions, "users": span.users,
    }  # fmt: skip


def _measured(policy: Measured) -> dict[str, Any]:
    return {
        "trial": policy.trial,
        "changes": {key: _told(key, value) for key, value in policy.changes.items()},
        "train": _finite(policy.train),
        "test": _finite(policy.test),
        "index_rows": policy.index_rows,
        "index_bytes": policy.index_bytes,
    }


def _changes(result: Tuning) -> list[dict[str, str]]:
    """What the best policy changes, key by key."""
    now = result.trials.row(by_predicate=pl.col("trial") == result.current.trial, named=True)
    return [
        {"key": key, "current": _told(key, now[key]) if key in now else UNKNOWN, "best": _told(key, value)}
        for key, value in sorted(result.best.changes.items())
    ]


def _told(key: str, value: Any) -> str:
    """A value as text; a lifetime in days or hours instead of millions of seconds."""
    is_lifetime = key.endswith("_seconds") or key.startswith(_LIFETIMES)
    return duration(value).replace("\u00a0", " ") if is_lifetime and value is not None else told(value)


def _retold(rows: pl.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Rows by key whose values are text already: lifetimes of them in days or hours."""
    found = plain_rows(rows)
    for row in found:
        for name in columns:
            is_number = row[name] is not None and re.fullmatch(r"[\d.e+-]+", row[name])
            row[name] = _told(row["key"], float(row[name])) if is_number else row[name]
    return found


def _measures(result: Tuning) -> list[dict[str, Any]]:
    """Both policies on both spans, a row a measure; one that was not taken is null."""
    found = []
    for name in MEASURES:
        row: dict[str, Any] = {"measure": name}
        for policy, held in (("current", result.current), ("best", result.best)):
            for span, means in (("train", held.train), ("test", held.test)):
                row[f"{policy}_{span}"] = _finite(means).get(name)
        found.append(row)
    return found


def _with_changes(result: Tuning, rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of trials, each with what it changes of the current policy."""
    values = {row["trial"]: row for row in result.trials.select("trial", *result.keys).iter_rows(named=True)}
    now = values[result.current.trial]
    found = []
    for row in plain_rows(rows):
        mine = values[row["trial"]]
        found.append(row | {"changes": {k: _told(k, mine[k]) for k in result.keys if mine[k] != now[k]}})
    return found


def _place(result: Tuning, trial: int) -> dict[str, Any] | None:
    """The cell of the heat map that comes nearest to a trial; None where either key was not tried."""
    keys = (f"{HALF_LIVES}{result.heat_kind}", f"{WEIGHTS}recency")
    if result.heat.is_empty() or not set(keys) <= set(result.keys):
        return None
    row = result.trials.row(by_predicate=pl.col("trial") == trial, named=True)
    life, weight = row[keys[0]], row[keys[1]]
    lives, weights = (result.heat[name].unique().to_list() for name in ("half_life_days", "recency_weight"))
    return {
        "half_life_days": min(lives, key=lambda place: (_apart(place, life), place or 0.0)),
        "recency_weight": min(weights, key=lambda place: (abs(place - weight), place)),
    }


def _apart(place: float | None, life: float | None) -> float:
    """How far two half-lives lie apart, as a ratio's logarithm; "never" is nearest to itself only."""
    if place is None or life is None:
        return 0.0 if place == life else math.inf
    return abs(math.log(place / life))


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """Measures as JSON has them: null for what is no number."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
