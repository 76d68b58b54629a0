"""The quality gate of a generation: every check reads it the way recall does."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import orjson
import pyarrow.compute as pc
from numpy.typing import NDArray

from lake.index import PAYLOAD, Generation, Manifest, TableEntry, probes
from lake.index_scans import Check, check_placement, check_rows, check_vectors, is_covered
from lake.scope import Filters, Scope, predicate
from transforms.policy import PublishPolicy

__all__ = ["Check", "calibrated", "is_covered", "run_checks"]

PROBED_SIXTEENTHS = (1, 2, 3, 4, 6, 8, 10, 12, 14)
"""Shares of an approximate index's partitions that are tried, fewest first."""
CALIBRATED_RECALL = 0.995
"""Above the 0.99 that is promised, because it is measured on a sample."""
NEIGHBOURS = 10
TIE = 1e-3
"""Cosines this close are equal: vectors and query are rounded to half floats."""
_SCOPE_COLUMNS = ("tenant_id", "user_id", "agent_id", "session_id")
_SAMPLE_COLUMNS = ["memory_id", *_SCOPE_COLUMNS, "search_text", "vector"]


def calibrated(generation: Generation, policy: PublishPolicy, as_of: datetime) -> Manifest:
    """The manifest with the fewest probes of each approximate index that recall 0.995 of the exact top 10."""
    manifest = generation.manifest
    entries = tuple(_calibrate(generation, entry, policy, as_of) for entry in manifest.tables)
    return replace(manifest, tables=entries)


def _calibrate(
    generation: Generation, entry: TableEntry, policy: PublishPolicy, as_of: datetime
) -> TableEntry:
    if entry.nprobes is None:
        return entry
    samples = sample(generation, entry, policy.check_queries, seed=1)
    queries = [(scope_of(row), _between(row, samples[i - 1])) for i, row in enumerate(samples)]
    exact = [exact_ids(generation, entry, scope, query, Filters(as_of)) for scope, query in queries]
    for share in PROBED_SIXTEENTHS:
        tried = replace(entry, nprobes=-(-entry.nprobes * share // 16))
        found = [nearest_ids(generation, tried, scope, query, Filters(as_of)) for scope, query in queries]
        if recall_ratio(found, exact) >= CALIBRATED_RECALL:
            return tried
    return entry


def _between(row: dict[str, Any], other: dict[str, Any]) -> NDArray[np.float32]:
    """A query between two rows: harder than one that is a row, as real questions are."""
    mixed = np.asarray(row["vector"], np.float32) * 0.6 + np.asarray(other["vector"], np.float32) * 0.4
    norm = float(np.linalg.norm(mixed))
    return (mixed / norm).astype(np.float32) if norm else mixed


def sample(
    generation: Generation,
    entry: TableEntry,
    count: int,
    seed: int,
    columns: Sequence[str] = _SAMPLE_COLUMNS,
    last: int | None = None,
) -> list[dict[str, Any]]:
    """Rows of a table, or of its last ones, the same for the same table and seed."""
    if entry.rows == 0:
        return []
    places = range(0 if last is None else max(entry.rows - last, 0), entry.rows)
    positions = sorted(random.Random(seed).sample(places, min(count, len(places))))  # noqa: S311
    taken = generation.dataset(entry.name).take(positions, columns=list(columns))
    rows: list[dict[str, Any]] = taken.to_pylist()
    return rows


def scope_of(row: dict[str, Any]) -> Scope:
    """The narrowest user, agent, session or shared scope that holds a row."""
    return Scope.of_row(row)


def nearest_ids(
    generation: Generation, entry: TableEntry, scope: Scope, query: NDArray[np.float32], filters: Filters
) -> set[str]:
    """Top 10 of one table the way recall searches it."""
    near: dict[str, Any] = {"column": "vector", "q": query, "k": NEIGHBOURS, "metric": "dot"}
    near |= probes(entry)
    table = generation.dataset(entry.name).scanner(
        columns=["memory_id", "_distance"], filter=predicate(scope, filters), prefilter=True, nearest=near
    )
    return set(table.to_table()["memory_id"].to_pylist())


def exact_ids(
    generation: Generation,
    entry: TableEntry,
    scope: Scope,
    query: NDArray[np.float32],
    filters: Filters,
    slack: float = TIE,
) -> list[str]:
    """Top 10 by brute force over every vector of the scope, by numpy, and all that tie with the tenth.

    Args:
        generation: Opened.
        entry: The table.
        scope: Whose.
        query: float32 (dimensions,).
        filters: Which rows.
        slack: Cosine below the tenth that still counts as a tie.
    """
    table = generation.dataset(entry.name).to_table(
        columns=["memory_id", "vector"], filter=predicate(scope, filters)
    )
    if table.num_rows == 0:
        return []
    flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    scores = flat.reshape(table.num_rows, -1).astype(np.float32) @ query
    order = np.argsort(-scores, kind="stable")
    names = table["memory_id"].to_pylist()
    least = scores[order[min(NEIGHBOURS, len(order)) - 1]]
    return [names[i] for i in order if scores[i] >= least - slack]


def recall_ratio(found: list[set[str]], exact: list[list[str]]) -> float:
    """Mean share of the exact top 10 (ties count) that was found."""
    pairs = [(f, e) for f, e in zip(found, exact, strict=True) if e]
    shares = [len(f & set(e)) / min(NEIGHBOURS, len(e)) for f, e in pairs]
    return sum(min(share, 1.0) for share in shares) / len(shares) if shares else 1.0


def run_checks(
    generation: Generation,
    *,
    policy: PublishPolicy,
    as_of: datetime,
    expected_rows: int,
    expected_space: str,
    fresh: Mapping[str, int] | None = None,
) -> list[Check]:
    """All checks, each run to its end whatever the others say.

    Args:
        generation: Which.
        policy: Section publish.
        as_of: The instant it is built at.
        expected_rows: Rows that it must hold.
        expected_space: Vector space it must be in.
        fresh: Of one that was made from another, the rows that came, by table: the last ones. The others
            lie in files that were checked whole when they were written and that nothing changes: ids and
            expiry of all rows are looked at, vectors and placement of the new ones and of a sample, and
            half of the searches start from new ones. None: all of all rows.
    """
    samples = [
        (entry, row)
        for entry in generation.manifest.tables
        for row in _sampled(generation, entry, _share(policy, generation.manifest, entry), fresh)
    ]
    return [
        check_rows(generation, expected_rows),
        _check_space(generation, expected_space),
        _check_expiry(generation, as_of),
        _check_recall(generation, samples, policy, as_of),
        _check_isolation(generation, samples, as_of),
        check_placement(generation, fresh),
        *check_vectors(generation, policy, fresh),
        # Importing it takes a second, and files of the form that it opened before are all there is.
        *([_check_lancedb(generation)] if fresh is None else []),
    ]


def _sampled(
    generation: Generation, entry: TableEntry, count: int, fresh: Mapping[str, int] | None
) -> list[dict[str, Any]]:
    """Rows that searches start from; of a table with new rows, half of them new."""
    new = 0 if fresh is None else fresh.get(entry.name, 0)
    if not new:
        return sample(generation, entry, count, seed=2)
    half = -(-count // 2)
    behind = sample(generation, entry, half, seed=2, last=new)
    return [*sample(generation, entry, count - half, seed=2), *behind]


def _share(policy: PublishPolicy, manifest: Manifest, entry: TableEntry) -> int:
    """Queries for one table: by its share of the rows, at least two."""
    return max(2, round(policy.check_queries * entry.rows / max(1, manifest.rows)))


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
        found.append(nearest_ids(generation, entry, scope, query, Filters(as_of)))
        exact.append(exact_ids(generation, entry, scope, query, Filters(as_of)))
    ratio = recall_ratio(found, exact)
    text = f"recall@{NEIGHBOURS} {ratio:.4f} over {len(samples)} queries, least {policy.min_recall_ratio}"
    return Check("recall", ratio >= policy.min_recall_ratio, text)


def _check_isolation(
    generation: Generation, samples: list[tuple[TableEntry, dict[str, Any]]], as_of: datetime
) -> Check:
    """Each sampled row's vector and text, asked in the next row's scope: only that scope may answer."""
    strangers = 0
    columns = ("memory_id", *_SCOPE_COLUMNS, PAYLOAD)
    for i, (_, row) in enumerate(samples):
        scope = scope_of(samples[i - 1][1])
        where, query = predicate(scope, Filters(as_of)), np.asarray(row["vector"], np.float32)
        tables = [
            generation.vectors(scope, query, NEIGHBOURS, where, columns),
            generation.texts(scope, row["search_text"][:200], NEIGHBOURS, where, columns),
        ]
        strangers += sum(_is_strange(held, scope) for table in tables for held in table.to_pylist())
    return Check("isolation", strangers == 0, f"{strangers} rows out of scope in {2 * len(samples)} searches")


def _is_strange(row: dict[str, Any], scope: Scope) -> bool:
    """Whether a row, or the payload that is shown of it, is not of the scope."""
    shown = orjson.loads(row[PAYLOAD])
    wanted = scope.columns().items()
    return any(row[n] != v for n, v in wanted) or any(
        row[name] != shown[name] for name in ("memory_id", *_SCOPE_COLUMNS)
    )


def _check_lancedb(generation: Generation) -> Check:
    """LanceDB itself opens the generation, so any client of it can."""
    import lancedb

    database = lancedb.connect(generation.root)
    held = sum(database.open_table(entry.name).count_rows() for entry in generation.manifest.tables)
    return Check("lancedb", held == generation.manifest.rows, f"LanceDB counts {held} rows")
