"""Input of the benchmark of replay, made by a seed: logged calls with candidates and labels, and policies."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl

from transforms.declarations import INSTANT
from transforms.policy import Policy
from transforms.policy_entries import MEMORY_TIERS
from transforms.replay.calls import Calls
from transforms.replay.changes import changed

CANDIDATES = 50
POLICIES = 1_000
KINDS = ("conversation", "action", "summary", "preference", "fact", "procedure")
KIND_SHARES = (0.5, 0.1, 0.1, 0.1, 0.15, 0.05)
_DAY_US = 86_400_000_000
_START_US = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


def logged_calls(count: int, seed: int = 7) -> Calls:
    """Calls of 90 days with 50 candidates each, of which one to three were of use, mostly relevant ones."""
    rng = np.random.default_rng(seed)
    at = _START_US + np.sort(rng.integers(0, 90 * _DAY_US, count))
    rows = count * CANDIDATES
    relevance = np.sort(rng.beta(2, 3, (count, CANDIDATES)), axis=1)[:, ::-1].ravel()
    seen = np.repeat(at, CANDIDATES) - (rng.exponential(20.0, rows) * _DAY_US).astype(np.int64)
    best = np.repeat(relevance[::CANDIDATES], CANDIDATES)
    rank = np.tile(np.arange(1, CANDIDATES + 1, dtype=np.int32), count)
    return Calls(_heads(at, rng), pl.DataFrame(
        {
            "memory_id": _ids(rng, rows),
            "kind": _names(rng, KINDS, KIND_SHARES, rows),
            "tier": _names(rng, MEMORY_TIERS, None, rows),
            "outcome": _names(rng, ("success", "failure"), None, rows),
            "rank": rank,
            "score": relevance,
            "relevance": relevance,
            "closeness": (relevance / best) ** Policy().recall.closeness_power,
            "memory_importance": rng.random(rows),
            "access_count": rng.geometric(0.2, rows) - 1,
            "last_accessed_at": pl.Series(seen).cast(INSTANT),
            "event_at": pl.Series(seen - rng.integers(0, 30 * _DAY_US, rows)).cast(INSTANT),
            "tokens": rng.integers(8, 400, rows).astype(np.int32),
            "is_returned": rank <= 10,
            "gain": _gains(rng, count),
        }
    ), np.arange(count + 1, dtype=np.int64) * CANDIDATES)  # fmt: skip


def _heads(at: np.ndarray, rng: np.random.Generator) -> pl.DataFrame:
    count = len(at)
    return pl.DataFrame(
        {
            "call_id": [f"c{i:07d}" for i in range(count)],
            "verb": "search",
            "agent_id": "desk",
            "route": _names(rng, ("semantic", "general"), (0.95, 0.05), count),
            "weighting": "five",
            "policy_hash": "p",
            "budget_tokens": pl.Series([None] * count, dtype=pl.Int32),
            "recalled_at": pl.Series(at).cast(INSTANT),
        }
    )


def _ids(rng: np.random.Generator, rows: int) -> pl.Series:
    numbers = pl.Series(rng.integers(0, max(1, rows // 5), rows))
    return pl.select(pl.lit("m") + numbers.cast(pl.String).str.zfill(8)).to_series()


def _names(
    rng: np.random.Generator, names: tuple[str, ...], shares: tuple[float, ...] | None, count: int
) -> pl.Series:
    codes = rng.choice(len(names), count, p=shares).astype(np.uint32)
    return pl.Series(list(names)).gather(codes)


def _gains(rng: np.random.Generator, count: int) -> np.ndarray:
    """One to three of a call: places fall off geometrically."""
    gains = np.zeros((count, CANDIDATES))
    for number in range(3):
        mine = np.flatnonzero(rng.random(count) < (1.0, 0.4, 0.2)[number])
        place = np.minimum(rng.geometric(0.12, len(mine)) - 1, CANDIDATES - 1)
        gains[mine, place] = rng.choice([0.5, 1.0], len(mine))
    return gains.ravel()


def policies(count: int, seed: int = 11) -> dict[str, list[Policy]]:
    """Half of them differ in weights alone, the other half in weights, half-lives and power."""
    rng, base = np.random.default_rng(seed), Policy()
    found: dict[str, list[Policy]] = {"weights": [], "weights x half-lives x power": []}
    for number in range(count):
        names = ("relevance", "recency", "importance", "frequency", "type")
        weights = dict(zip(names, rng.dirichlet(np.ones(5)).tolist(), strict=True))
        changes: dict[str, float] = {f"recall.weights.{name}": value for name, value in weights.items()}
        name = list(found)[number % 2]
        if number % 2:
            changes |= {
                f"decay.half_life_days.{kind}": float(np.exp(rng.uniform(0, np.log(365))))
                for kind in ("conversation", "action", "summary", "preference")
            }
            changes["recall.closeness_power"] = rng.uniform(0, 12)
        found[name].append(changed(base, changes))
    return found
