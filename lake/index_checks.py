"""The quality gate of a generation: every check reads it the way recall does."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from lake.index import Generation, Manifest, Scope, TableEntry
from transforms.policy import PublishPolicy

NPROBES = (8, 16, 32, 64, 128)
CALIBRATED_RECALL = 0.99
NEIGHBOURS = 10
_SAMPLE_COLUMNS = ["memory_id", "tenant_id", "user_id", "agent_id", "session_id", "text", "vector"]


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it held, and the figures behind that."""

    name: str
    passed: bool
    detail: str


def calibrated(generation: Generation, policy: PublishPolicy, as_of: datetime) -> Manifest:
    """The manifest with the fewest probes of each approximate index that recall 0.99 of the exact top 10."""
    manifest = generation.manifest
    entries = tuple(_calibrate(generation, entry, policy, as_of) for entry in manifest.tables)
    return replace(manifest, tables=entries)


def _calibrate(
    generation: Generation, entry: TableEntry, policy: PublishPolicy, as_of: datetime
) -> TableEntry:
    if entry.nprobes is None:
        return entry
    samples = sample(generation, entry, min(policy.check_queries, 25), seed=1)
    queries = [(scope_of(row), _between(row, samples[i - 1])) for i, row in enumerate(samples)]
    exact = [_exact_ids(generation, entry, scope, query, as_of) for scope, query in queries]
    for nprobes in (n for n in NPROBES if n < entry.nprobes):
        tried = replace(entry, nprobes=nprobes)
        found = [_ids(generation, tried, scope, query, as_of) for scope, query in queries]
        if _recall(found, exact) >= CALIBRATED_RECALL:
            return tried
    return entry


def _between(row: dict[str, Any], other: dict[str, Any]) -> NDArray[np.float32]:
    """A query between two rows: harder than one that is a row, as real questions are."""
    mixed = np.asarray(row["vector"], np.float32) * 0.6 + np.asarray(other["vector"], np.float32) * 0.4
    norm = float(np.linalg.norm(mixed))
    return (mixed / norm).astype(np.float32) if norm else mixed


def sample(generation: Generation, entry: TableEntry, count: int, seed: int) -> list[dict[str, Any]]:
    """Rows of a table, the same for the same table and seed."""
    if entry.rows == 0:
        return []
    positions = sorted(random.Random(seed).sample(range(entry.rows), min(count, entry.rows)))  # noqa: S311
    taken = generation.dataset(entry.name).take(positions, columns=_SAMPLE_COLUMNS)
    rows: list[dict[str, Any]] = taken.to_pylist()
    return rows


def scope_of(row: dict[str, Any]) -> Scope:
    """The narrowest user, agent or session scope that holds a row."""
    user, agent = row["user_id"], row["agent_id"]
    if user or agent or row["session_id"]:
        return Scope(
            row["tenant_id"], user, None if user else agent, None if user or agent else row["session_id"]
        )
    return Scope(row["tenant_id"], is_tenant_wide=True)


def _ids(
    generation: Generation, entry: TableEntry, scope: Scope, query: NDArray[np.float32], as_of: datetime
) -> set[str]:
    near: dict[str, Any] = {"column": "vector", "q": query, "k": NEIGHBOURS, "metric": "dot"}
    near |= (
        {"minimum_nprobes": entry.nprobes, "maximum_nprobes": entry.nprobes}
        if entry.nprobes
        else {"use_index": False}
    )
    table = generation.dataset(entry.name).scanner(
        columns=["memory_id", "_distance"], filter=scope.predicate(as_of), prefilter=True, nearest=near
    )
    return set(table.to_table()["memory_id"].to_pylist())


def _exact_ids(
    generation: Generation, entry: TableEntry, scope: Scope, query: NDArray[np.float32], as_of: datetime
) -> list[tuple[str, float]]:
    """Top 10 by brute force over every vector of the scope, with ties at the tenth place, by numpy."""
    table = generation.dataset(entry.name).to_table(
        columns=["memory_id", "vector"], filter=scope.predicate(as_of)
    )
    if table.num_rows == 0:
        return []
    flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    scores = flat.reshape(table.num_rows, -1).astype(np.float32) @ query
    order = np.lexsort((np.arange(len(scores)), -scores))
    names = table["memory_id"].to_pylist()
    least = scores[order[min(NEIGHBOURS, len(order)) - 1]]
    # A tie at the tenth place, or one within half-float rounding, is as good an answer.
    return [(names[i], float(scores[i])) for i in order if scores[i] >= least - 1e-3]


def _recall(found: list[set[str]], exact: list[list[tuple[str, float]]]) -> float:
    """Mean share of the exact top 10 (ties count) that was found."""
    pairs = [(f, e) for f, e in zip(found, exact, strict=True) if e]
    if not pairs:
        return 1.0
    shares = [len(f & {name for name, _ in e}) / min(NEIGHBOURS, len(e)) for f, e in pairs]
    return sum(min(share, 1.0) for share in shares) / len(shares)


def run_checks(
    generation: Generation, *, policy: PublishPolicy, as_of: datetime, expected_rows: int, expected_space: str
) -> list[Check]:
    """All checks, each run to its end whatever the others say."""
    samples = [
        (entry, row)
        for entry in generation.manifest.tables
        for row in sample(generation, entry, _share(policy, generation.manifest, entry), seed=2)
    ]
    return [
        _check_rows(generation, expected_rows),
        _check_space(generation, expected_space),
        _check_expiry(generation, as_of),
        _check_recall(generation, samples, policy, as_of),
        _check_isolation(generation, samples, as_of),
        _check_vectors(generation),
        _check_lancedb(generation),
    ]


def _share(policy: PublishPolicy, manifest: Manifest, entry: TableEntry) -> int:
    """Queries for one table: by its share of the rows, at least two."""
    return max(2, round(policy.check_queries * entry.rows / max(1, manifest.rows)))


def _check_rows(generation: Generation, expected: int) -> Check:
    held = 0
    distinct: set[str] = set()
    for entry in generation.manifest.tables:
        names = generation.dataset(entry.name).to_table(columns=["memory_id"])["memory_id"]
        held += len(names)
        distinct.update(names.to_pylist())
    passed = held == expected == len(distinct)
    return Check("row_counts", passed, f"{held} rows, {len(distinct)} distinct, {expected} live in the lake")


def _check_space(generation: Generation, expected: str) -> Check:
    held = generation.manifest.space
    return Check("one_model", held == expected, f"vector space {held}, expected {expected}")


def _check_expiry(generation: Generation, as_of: datetime) -> Check:
    expired = pc.field("expires_at") <= pc.scalar(as_of)
    late = sum(generation.dataset(e.name).count_rows(filter=expired) for e in generation.manifest.tables)
    return Check("expiry", late == 0, f"{late} rows past their expiry")


def _check_recall(
    generation: Generation,
    samples: list[tuple[TableEntry, dict[str, Any]]],
    policy: PublishPolicy,
    as_of: datetime,
) -> Check:
    found, exact = [], []
    for i, (entry, row) in enumerate(samples):
        scope, query = scope_of(row), _between(row, samples[i - 1][1])
        found.append(_ids(generation, entry, scope, query, as_of))
        exact.append(_exact_ids(generation, entry, scope, query, as_of))
    ratio = _recall(found, exact)
    text = f"recall@{NEIGHBOURS} {ratio:.4f} over {len(samples)} queries, least {policy.min_recall_ratio}"
    return Check("recall", ratio >= policy.min_recall_ratio, text)


def _check_isolation(
    generation: Generation, samples: list[tuple[TableEntry, dict[str, Any]]], as_of: datetime
) -> Check:
    """Each sampled row's vector and text, asked in the next row's scope: only that scope may answer."""
    strangers = 0
    for i, (_, row) in enumerate(samples):
        scope = scope_of(samples[i - 1][1])
        predicate, query = scope.predicate(as_of), np.asarray(row["vector"], np.float32)
        tables = [
            generation.vectors(scope, query, NEIGHBOURS, predicate),
            generation.texts(scope, row["text"][:200], NEIGHBOURS, predicate),
        ]
        for name, value in scope.columns().items():
            strangers += sum(1 for t in tables for held in t[name].to_pylist() if held != value)
    return Check("isolation", strangers == 0, f"{strangers} rows out of scope in {2 * len(samples)} searches")


def _check_vectors(generation: Generation) -> Check:
    """Every vector is finite, and of length 1 or empty (a text without a vector)."""
    bad = 0
    for entry in generation.manifest.tables:
        for batch in generation.dataset(entry.name).to_batches(columns=["vector"], batch_size=8192):
            flat = batch["vector"].flatten().to_numpy(zero_copy_only=False).astype(np.float32)
            norms = np.linalg.norm(flat.reshape(batch.num_rows, -1), axis=1)
            bad += int((~(np.isclose(norms, 1, atol=5e-3) | (norms == 0))).sum())
    return Check("vectors", bad == 0, f"{bad} vectors not of unit length")


def _check_lancedb(generation: Generation) -> Check:
    """LanceDB itself opens the generation, so any client of it can."""
    import lancedb

    database = lancedb.connect(generation.root)
    held = sum(database.open_table(entry.name).count_rows() for entry in generation.manifest.tables)
    return Check("lancedb", held == generation.manifest.rows, f"LanceDB counts {held} rows")
