"""Replay of logged calls: a thousand policies in one pass, against a loop over policies in Polars."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from benchmarks.facts import cpu_seconds, peak_mb
from benchmarks.replay_data import CANDIDATES, POLICIES, logged_calls, policies
from transforms.policy import Policy
from transforms.replay.arrays import Replay
from transforms.replay.calls import Calls
from transforms.replay.measures import MEASURES, replayed
from transforms.scoring import half_lives

METRIC_AT = 10
BLOCK_BYTES = 64_000_000
LOOPED = 3
"""Policies of each sort that the loop is timed on; its time for all of them is extrapolated."""
NDCG = ("ndcg",)

Emit = Callable[[dict[str, Any]], None]


def run(emit: Emit, calls: int, count: int = POLICIES) -> None:
    """Time both on the same calls and policies, and compare what they say."""
    logged, sorts = logged_calls(calls), policies(count)
    held_mb = peak_mb()
    began = time.perf_counter()
    replay = Replay.made(logged)
    made = time.perf_counter() - began
    found: dict[str, np.ndarray] = {}
    times: dict[str, float] = {}
    cpus: dict[str, float] = {}
    for name, mine in (*sorts.items(), ("all", [p for part in sorts.values() for p in part])):
        found[name], times[name], cpus[name] = _timed(replay, mine, NDCG)
        told = {**_speed(len(mine), calls, times[name]), "cpu_seconds": round(cpus[name], 2)}
        emit({"name": f"replay.kernel, {name}", **told})
    _, whole, _ = _timed(replay, sorts["weights"], MEASURES)
    emit({"name": "replay.kernel, weights, every measure", **_speed(len(sorts["weights"]), calls, whole)})
    kernel_mb = peak_mb()
    looped, looped_cpu = 0.0, 0.0
    for name, mine in sorts.items():
        said, seconds, cpu = _looped(logged, mine[:LOOPED], name == "weights")
        looped, looped_cpu = looped + seconds * len(mine), looped_cpu + cpu * len(mine)
        apart = float(np.abs(said - found[name][: len(said)]).max())
        told = {**_speed(1, calls, seconds), "cpu_seconds": round(cpu, 2), "most_apart": apart}
        emit({"name": f"replay.loop, {name}", "timed_policies": len(said), **told})
    emit(
        {
            "name": "replay.beside",
            "policies": count,
            "calls": calls,
            "candidates": CANDIDATES,
            "made_seconds": round(made, 2),
            "kernel_seconds": round(times["all"], 2),
            "loop_seconds_extrapolated": round(looped, 1),
            "ratio": round(looped / times["all"], 1),
            "ratio_of_cpu_seconds": round(looped_cpu / cpus["all"], 1),
            "ratio_with_making": round(looped / (times["all"] + made), 1),
            "input_peak_mb": held_mb,
            "kernel_peak_mb": kernel_mb,
            "loop_peak_mb": peak_mb(),
        }
    )


def _timed(replay: Replay, mine: list[Policy], names: tuple[str, ...]) -> tuple[np.ndarray, float, float]:
    wall, cpu = time.perf_counter(), cpu_seconds()
    told = replayed(replay, mine, metric_at=METRIC_AT, block_bytes=BLOCK_BYTES, measures=names)
    return told.metrics["ndcg"], time.perf_counter() - wall, cpu_seconds() - cpu


def _speed(count: int, calls: int, seconds: float) -> dict[str, float]:
    return {
        "policies": count,
        "seconds": round(seconds, 3),
        "policies_x_recalls_per_second": round(count * calls / seconds),
    }


def _looped(logged: Calls, mine: list[Policy], has_factors: bool) -> tuple[np.ndarray, float, float]:
    """Mean nDCG and seconds of policies one by one; where weights alone differ, their factors are ready."""
    rows = _plain(logged)
    if has_factors:
        rows = rows.with_columns(*_factors(Policy()))
    wall, cpu = time.perf_counter(), cpu_seconds()
    said = [_ndcg(rows if has_factors else rows.with_columns(*_factors(policy)), policy) for policy in mine]
    spent = time.perf_counter() - wall, cpu_seconds() - cpu
    return np.array(said), spent[0] / len(mine), spent[1] / len(mine)


def _plain(logged: Calls) -> pl.DataFrame:
    """What a policy does not change: age, share of the best relevance, best possible gain."""
    at = logged.heads["recalled_at"].gather(logged.call_of)
    is_blind = (logged.heads["route"] == "general").gather(logged.call_of)
    rows = logged.rows.with_columns(call=logged.call_of, at=at, is_blind=is_blind)
    ideal = pl.col("gain").rank("ordinal", descending=True).over("call")
    best = (
        pl.when("is_blind").then(1.0).otherwise(pl.col("relevance") / pl.col("relevance").max().over("call"))
    )
    return rows.select(
        "call", "relevance", "kind", "gain",
        age=(pl.col("at") - pl.col("last_accessed_at")).dt.total_microseconds() / 86_400_000_000,
        share=best,
        boosted=(pl.col("memory_importance") + 0.1 * (pl.col("outcome") == "success")).clip(0, 1),
        often=pl.col("access_count").log1p(),
        bonus=pl.col("tier").replace_strict(Policy().recall.type_bonus, return_dtype=pl.Float64),
        ideal=pl.when(ideal <= METRIC_AT).then(pl.col("gain") / (ideal + 1).log(2)).otherwise(0.0),
    )  # fmt: skip


def _factors(policy: Policy) -> list[pl.Expr]:
    near = pl.col("share") ** policy.recall.closeness_power
    days, _ = half_lives(policy.decay)
    life = pl.col("kind").replace_strict(days, return_dtype=pl.Float64)
    return [
        (near * 0.5 ** (pl.col("age") / life)).alias("recency"),
        (near * pl.col("boosted")).alias("importance"),
        (near * (pl.col("often") / float(np.log(policy.decay.frequency_scale))).clip(0, 1)).alias(
            "frequency"
        ),
        (near * pl.col("bonus")).alias("type"),
    ]


def _ndcg(rows: pl.DataFrame, policy: Policy) -> float:
    weights = policy.recall.weights_for(None).model_dump()
    scored = rows.with_columns(score=pl.sum_horizontal(pl.col(name) * w for name, w in weights.items()))
    ranked = scored.with_columns(rank=pl.col("score").rank("min", descending=True).over("call"))
    gained = pl.when(pl.col("rank") <= METRIC_AT).then(pl.col("gain") / (pl.col("rank") + 1).log(2))
    by_call = ranked.group_by("call").agg(ndcg=gained.sum() / pl.col("ideal").sum())
    return float(by_call["ndcg"].mean())  # type: ignore[arg-type]
