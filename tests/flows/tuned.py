"""A tuning made up with a seed, for tests of what is told of one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from transforms.tuning import result
from transforms.tuning.result import METRICS, Gain, Measured, Span, Tuning

START = datetime(2026, 3, 2, tzinfo=UTC)
LIFE, RECENCY, NEAR = "decay.half_life_days.conversation", "recall.weights.recency", "recall.closeness_power"
KEYS = (RECENCY, NEAR, LIFE)
LIVES = (3.0, 7.0, 14.0, 30.0, 60.0, 120.0, None)
WEIGHTS = (0.0, 0.05, 0.15, 0.3, 0.5)


def quality(life: float | None, weight: float) -> float:
    """Best at 30 days and a weight of 0.15."""
    days = 240.0 if life is None else life
    return float(0.62 - 0.02 * abs(np.log(days / 30.0)) - 0.3 * abs(weight - 0.15))


def trials(count: int = 300, *, has_bytes: bool = True) -> pl.DataFrame:
    """Trials; 0 is the current policy, 1 the best."""
    random = np.random.default_rng(4)
    rows: list[dict[str, Any]] = []
    for trial in range(count):
        life, weight, near, noise = 7.0, 0.3, 6.0, 0.0
        if trial == 1:
            life, weight = 30.0, 0.15
        elif trial:
            life, weight = float(random.choice(LIVES[:-1])), float(random.choice(WEIGHTS))  # type: ignore[arg-type]
            near, noise = float(random.integers(1, 12)), float(random.random())
        tokens = 420.0 + 18 * life**0.5 + 60 * noise
        value = quality(life, weight) - 0.004 * noise
        rows.append(
            {
                "trial": trial, RECENCY: weight, NEAR: near, LIFE: None if trial % 11 == 5 else life,
                "quality": value, **dict.fromkeys(METRICS, value), "tokens": tokens, "lost": 0.01 * noise,
                "index_rows": 9_000 + trial, "index_bytes": int(7_000_000 + 9e5 * life**0.5),
                "is_feasible": tokens < 600, "is_pareto": False, "is_best": trial == 1,
            }
        )  # fmt: skip
    made = pl.DataFrame(rows, infer_schema_length=None)
    if not has_bytes:
        made = made.with_columns(index_rows=pl.lit(None, pl.Int64), index_bytes=pl.lit(None, pl.Int64))
    held = made.filter("is_feasible").sort(["tokens", "quality"], descending=[False, True])
    front = held.filter(pl.col("quality") > pl.col("quality").cum_max().shift(1, fill_value=0.0))["trial"]
    return made.with_columns(is_pareto=pl.col("trial").is_in(front.implode()))


def span(first: int, days: int, calls: int) -> Span:
    """Days from the first."""
    start = START + timedelta(days=first)
    return Span(start, start + timedelta(days=days), calls, calls // 5, calls // 25)


def weeks() -> pl.DataFrame:
    """Twelve weeks; in the ninth the earlier span ends."""
    rows = []
    for week in range(12):
        for part in ("train", "test") if week == 8 else ("train",) if week < 8 else ("test",):
            now = 0.55 + 0.02 * np.sin(week)
            rows.append((START + timedelta(days=7 * week), part, 90 + week, now, now + 0.03))
    return pl.DataFrame(rows, schema=result.WEEKS, orient="row")


def tuning(*, is_recommended: bool = True, has_bytes: bool = True, **other: Any) -> Tuning:
    """One with all parts; ``other`` replaces fields."""
    low = 0.0121 if is_recommended else -0.0121
    now, best = dict.fromkeys(METRICS, 0.5512), dict.fromkeys(METRICS, 0.5874)
    held = ((9_000, 9_381_176), (9_001, 11_929_503)) if has_bytes else ((None, None), (None, None))
    fields: dict[str, Any] = {
        "metric": "ndcg", "metric_at": 10, "search": "guided", "seed": 7, "as_of": START + timedelta(days=84),
        "label": "used", "keys": KEYS, "trials": trials(has_bytes=has_bytes),
        "train": span(0, 58, 2_400), "test": span(58, 26, 1_030),
        "current": Measured(
            0, {}, now | {"tokens": 520.4, "lost": 0.0}, now | {"tokens": 531.2, "lost": 0.0213}, *held[0]
        ),
        "best": Measured(
            1, {LIFE: 30.0, RECENCY: 0.15}, best | {"tokens": 519.6, "lost": 0.0},
            best | {"tokens": 533.9, "lost": 0.0107}, *held[1],
        ),
        "gain": Gain(0.0362, low, 0.0604, 0.95, 206, "session", 0.0481),
        "heat_kind": "conversation", "weeks": weeks(), **tables(low, is_better=is_recommended),
        "constraints": {"tokens": 600.0}, "is_recommended": is_recommended,
        "verdict": "Recommended: it gains +0.036." if is_recommended else "Not recommended: no gain.",
        "warnings": ("300 policies were tried: the best of many looks better than it is.",),
        "notes": ("12 calls were left out: nothing is known of what was of use.",),
        "policy_file": "[decay.half_life_days]\nconversation = 30.0\n" if is_recommended else None,
    }  # fmt: skip
    return Tuning(**(fields | other))


def tables(low: float, *, is_better: bool) -> dict[str, pl.DataFrame]:
    """The tables of a tuning."""
    sweep = [
        (key, value, "never" if value is None else f"{value:g}", 0.6 - 0.01 * i, i == 2)
        for key, values in ((LIFE, LIVES), (RECENCY, WEIGHTS))
        for i, value in enumerate(values)
    ]
    rows: dict[str, list[tuple[Any, ...]]] = {
        "finalists": [
            (1, 0.5874, 0.0481, 0.5874, 0.0362, low, 0.0604, 0.002, 0.01, is_better),
            (9, 0.5861, 0.0469, 0.58, 0.0288, None, None, 0.03, 0.12, False),
        ],
        "sweep": sweep,
        "knobs": [
            (LIFE, 0.0612, 0.5391, 0.6003, "30", "30"),
            (RECENCY, 0.0417, 0.5586, 0.6003, "0.15", "0.15"),
            (NEAR, 0.0092, 0.5911, 0.6003, "6", "6"),
        ],
        "heat": [
            (life, "never" if life is None else f"{life:g}", weight, quality(life, weight))
            for life in LIVES
            for weight in WEIGHTS
        ],
        "slices": [
            ("tenant", "acme", 640, 0.55, 0.6, 0.05, 0.02, 0.08),
            ("tenant", "<b>zeta</b>", 390, 0.56, 0.53, -0.03, -0.05, -0.01),
            ("route", "general", 12, 0.5, 0.5, 0.0, None, None),
        ],
    }
    return {name: pl.DataFrame(rows[name], getattr(result, name.upper()), orient="row") for name in rows}


def answers(count: int = 3) -> list[dict[str, Any]]:
    """Answers before and after, with text that a page must not take for its own."""
    found: list[dict[str, Any]] = []
    for n in range(count):
        memories: list[dict[str, Any]] = [
            {
                "memory_id": f"mem-{n}-{i}", "kind": "conversation", "score": 0.9 - 0.07 * i,
                "is_used": i == 2, "event_at": (START + timedelta(days=i)).isoformat(), "logged_rank": i + 1,
                "text": None if i == 4 else f"<img src=x> note {'abcd'[i]} {'of the long meeting ' * 20}",
            }
            for i in range(5)
        ]  # fmt: skip
        after = [memories[2], *memories[:2], *memories[3:]]
        gain = 0.5 - 0.4 * n
        found.append(
            {
                "call_id": f"call-{n}", "query": "<script>alert()</script> where is the plan",
                "tenant_id": "acme", "user_id": "ann", "agent_id": None, "verb": "search",
                "recalled_at": START.isoformat(), "current": 0.3, "best": 0.3 + gain, "gain": gain,
                "before": memories, "after": after,
            }
        )  # fmt: skip
    return found
