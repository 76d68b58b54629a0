"""Claims to facts, beside a plain Python loop and pandas on the same claims in the same run; near objects."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.data import WORDS
from benchmarks.facts import cpu_seconds, peak_mb
from benchmarks.facts_plain import plain_fold, plain_reconcile
from benchmarks.facts_reconcile_data import make_claims
from transforms.derived import CLAIM_SOURCES
from transforms.facts.agreement import agree, signature
from transforms.facts.near import near_pairs, object_groups
from transforms.facts.reconcile import Reconciled, reconcile
from transforms.policy import Policy
from transforms.predicates import SINGLE_VALUED

Emit = Callable[[dict[str, Any]], None]
CLAIMS_OF_USER = 100
NO_VECTORS = pl.DataFrame(schema={"fact": pl.String, "vector": pl.List(pl.Float32)})
PANDAS_CLAIMS = 10_000
"""Pandas takes milliseconds for each slot."""
NEAR_OF_OWNER = 50
DIMENSIONS = 256
ORDER = ["event_at", "weakness", "episode_id", "span_start", "span_end", "claim_id"]
SLOT = ["tenant_id", "owner", "subject_key", "predicate", "aspect", "slot_object"]


def timed(action: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, wall seconds and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = action()
    return result, time.perf_counter() - wall, cpu_seconds() - cpu


def measure_alone(folder: Path, rows: int, emit: Emit) -> None:
    """Groups of objects, then facts, in a process of its own: its peak memory, less that of the claims."""
    claims = make_claims(rows, rows // CLAIMS_OF_USER)
    before, policy = peak_mb(), Policy()
    groups, group_wall, group_cpu = timed(lambda: object_groups(claims, NO_VECTORS, policy))
    made, wall, cpu = timed(lambda: reconcile(claims, groups, policy))
    emit(
        {
            "claims_per_s": round(rows / wall),
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "facts": made.facts.height,
            "group_seconds": round(group_wall, 2),
            "group_cpu_seconds": round(group_cpu, 2),
            "peak_mb": peak_mb(),
            "peak_mb_of_making_the_claims": before,
        }
    )


def measure_loops(folder: Path, rows: int, emit: Emit) -> None:
    """The same claims through each way, from frame to frames; CPU seconds compare on a shared machine."""
    policy = Policy()
    claims = make_claims(rows, rows // CLAIMS_OF_USER)
    claims = claims.with_columns(object_group="object_key", similarity=pl.lit(None, pl.Float32))
    groups = claims.select("claim_id", "object_group", "similarity")
    plain_claims = claims.drop("object_group", "similarity")
    runs = [timed(lambda: reconcile(plain_claims, groups, policy)) for _ in range(3)]
    made, wall, cpu = min(runs, key=lambda run: run[2])
    counts = Counter(made.decisions["reason"].to_list())
    by_python = _by_python(claims, made, counts, policy, cpu)
    by_pandas = _by_pandas(claims, made, policy, cpu / rows)
    emit(
        {
            "claims_per_s": round(rows / wall),
            "cpu_seconds": round(cpu, 2),
            **{f"python_{name}": value for name, value in by_python.items()},
            **{f"pandas_{name}": value for name, value in by_pandas.items()},
        }
    )


def _by_python(
    claims: pl.DataFrame, made: Reconciled, counts: Counter[str], policy: Policy, cpu: float
) -> dict[str, Any]:
    """The plain loop, from frame to frames and by itself."""
    dicts, read_wall, read_cpu = timed(claims.to_dicts)
    (facts, decisions), loop_wall, loop_cpu = timed(lambda: plain_reconcile(dicts, policy))
    is_equal = [row["fact_id"] for row in facts] == made.facts["fact_id"].to_list()
    is_equal &= counts == Counter(row["reason"] for row in decisions)
    _, write_wall, write_cpu = timed(
        lambda: [pl.DataFrame(part, infer_schema_length=None) for part in (facts, decisions)]
    )
    return {
        "is_equal": is_equal,
        "claims_per_s": round(claims.height / (read_wall + loop_wall + write_wall)),
        "cpu_seconds": round(read_cpu + loop_cpu + write_cpu, 1),
        "cpu_seconds_of_the_loop_alone": round(loop_cpu, 1),
        "times_slower": round((read_cpu + loop_cpu + write_cpu) / cpu, 1),
        "times_slower_of_the_loop_alone": round(loop_cpu / cpu, 1),
    }


def _by_pandas(claims: pl.DataFrame, made: Reconciled, policy: Policy, cpu_of_claim: float) -> dict[str, Any]:
    """Pandas on the first owners only: it is too slow for all."""
    owners = claims["owner"].unique().sort().head(PANDAS_CLAIMS // CLAIMS_OF_USER)
    part = claims.filter(pl.col("owner").is_in(owners.implode()))
    found, wall, cpu = timed(lambda: pandas_reconcile(part, policy))
    expected = made.facts.filter(pl.col("owner").is_in(owners.implode()))["fact_id"].sort()
    return {
        "is_equal": sorted(found["fact_id"]) == expected.to_list(),
        "claims": part.height,
        "claims_per_s": round(part.height / wall),
        "cpu_seconds": round(cpu, 1),
        "times_slower": round(cpu / part.height / cpu_of_claim, 1),
    }


def pandas_reconcile(claims: pl.DataFrame, policy: Policy) -> Any:
    """Facts as a pandas frame: sorted, grouped by slot, each slot walked by the plain rules."""
    import pandas as pd

    weakness = pl.col("source").replace_strict({s: -n for n, s in enumerate(CLAIM_SOURCES)})
    is_single = pl.col("predicate").is_in(list(SINGLE_VALUED))
    table = claims.with_columns(
        weakness=weakness, slot_object=pl.when(is_single).then(pl.lit("")).otherwise("object_group")
    ).to_pandas()
    for name in ("valid_until", "expires_at"):
        table[name] = table[name].astype(object).where(table[name].notna(), None)
    decisions: dict[str, Any] = {}
    facts: list[dict[str, Any]] = []
    for slot, part in table.sort_values(ORDER).groupby(SLOT, sort=False):
        facts += plain_fold(part.to_dict("records"), slot[3] in SINGLE_VALUED, policy, decisions)
    pd.DataFrame(list(decisions.values()))
    return pd.DataFrame(facts)


def measure_near(folder: Path, rows: int, emit: Emit) -> None:
    """Near objects among facts, grouped first; recall against every pair inside the groups."""
    claims, vectors, matrix = _near_claims(rows)
    cosine = Policy().facts.merge_cosine
    pairs, wall, cpu = timed(lambda: near_pairs(claims, vectors, cosine))
    expected = set(_every_pair(claims, matrix, cosine))
    found = set(pairs.select("owner", "left", "right").rows())
    groups, group_wall, _ = timed(lambda: object_groups(claims, vectors, Policy()))
    emit(
        {
            "facts": claims.height,
            "owners": claims["owner"].n_unique(),
            "largest_group": claims.group_by("owner").len()["len"].max(),
            "pairs": len(found),
            "recall": round(len(found & expected) / len(expected), 4),
            "precision": round(len(found & expected) / len(found), 4),
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "groups_seconds": round(group_wall, 2),
            "groups": groups.select("object_group").n_unique(),
            "peak_mb": peak_mb(),
        }
    )


def _near_claims(count: int, seed: int = 11) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Claims of many owners and of one large one, a third of them a second phrasing of another."""
    rng = np.random.default_rng(seed)
    owner = np.sort(np.minimum(rng.integers(0, count // NEAR_OF_OWNER, count), count // NEAR_OF_OWNER - 1))
    owner[: count // 20] = 0
    words = rng.choice([w for w in WORDS if w.isalpha() and len(w) > 3], (count, 3))
    objects = [" ".join(row) for row in words.tolist()]
    matrix = rng.standard_normal((count, DIMENSIONS)).astype(np.float32)
    for place in range(1, count):
        if rng.random() < 0.33 and owner[place] == owner[place - 1]:
            objects[place] = f"{objects[place - 1]} with {rng.choice(['this', 'these', 'some'])}"
            noise = rng.standard_normal(DIMENSIONS).astype(np.float32) * rng.uniform(0.1, 0.6)
            matrix[place] = matrix[place - 1] + noise
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    names = [f"user:{n}" for n in owner.tolist()]
    shown = [f"{name} likes {thing}" for name, thing in zip(names, objects, strict=True)]
    claims = pl.DataFrame({"owner": names, "object": objects, "fact": shown}).with_columns(
        tenant_id=pl.lit("t"),
        subject_key=pl.lit("user"),
        predicate=pl.lit("likes"),
        aspect=pl.lit(""),
        polarity=pl.lit("positive"),
        object_key="object",
        claim_id="fact",
    )
    is_first = claims["fact"].is_first_distinct()
    vectors = pl.DataFrame({"fact": claims["fact"], "vector": pl.Series(matrix).cast(pl.List(pl.Float32))})
    return claims.filter(is_first), vectors.filter(is_first), matrix[is_first.to_numpy()]


def _every_pair(claims: pl.DataFrame, matrix: np.ndarray, cosine: float) -> list[tuple[str, str, str]]:
    """Every pair of an owner above the cosine, in float64, that agrees."""
    found = []
    bounds = np.append(
        np.flatnonzero(np.diff(claims["owner"].rle_id().to_numpy(), prepend=-1)), claims.height
    )
    owners, objects = claims["owner"].to_list(), claims["object"].to_list()
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        part = matrix[start:end].astype(np.float64)
        left, right = np.nonzero(np.triu(part @ part.T > cosine, 1))
        for i, j in zip((left + start).tolist(), (right + start).tolist(), strict=True):
            one, two = sorted((objects[i], objects[j]))
            if one != two and agree(signature(one), signature(two)):
                found.append((owners[i], one, two))
    return found


STEPS = {"alone": measure_alone, "loops": measure_loops, "near": measure_near}
