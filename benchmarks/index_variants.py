"""Measures the figures of ADR 0004: ``python -m benchmarks.index_variants`` (about two minutes on two cores).

100,000 vectors of 256 dimensions in 300 clusters, made from a seed; half of the queries lie in one
cluster, half between two. First as one scope, then as 200 scopes of 500 rows in one table, each query
asked in one of them. Prints Markdown tables.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ROWS, DIMENSIONS, CLUSTERS, QUERIES, K = 100_000, 256, 300, 60, 10
SCOPE_ROWS = 500
SPREAD = 0.1
PARTITIONS = 126
EXACT = {"use_index": False}


def main() -> None:
    """Measure searches, then imports."""
    rng = np.random.default_rng(4)
    centres = unit(rng.standard_normal((CLUSTERS, DIMENSIONS)))
    rows = clustered(rng, centres, ROWS)
    queries = clustered(rng, centres, QUERIES)
    queries[QUERIES // 2 :] = unit(queries[QUERIES // 2 :] + queries[: QUERIES - QUERIES // 2])
    exact = [set(np.argsort(-(rows @ q))[:K].tolist()) for q in queries]
    print("| index | CPU ms | p50 ms | recall@10 |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, dtype, kind, options, near in plans():
            table = written(Path(folder) / f"{name}.lance", rows.astype(dtype))
            if kind:
                table.create_index("vector", kind, metric="dot", num_partitions=PARTITIONS, **options)
                table = lance.dataset(table.uri)
            print(measured(name, table, queries, exact, near), flush=True)
        print("\n| one of 200 scopes | CPU ms | p50 ms | recall@10 |\n|---|---|---|---|")
        shared(Path(folder) / "shared.lance", rows, queries)
    print("\n| import | CPU s, median of 5 |\n|---|---|")
    for module in ("lance", "lancedb", "lake.recall"):
        print(f"| {module} | {import_seconds(module):.2f} |")


def shared(path: Path, rows: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    """Search one scope of a shared table: exactly, and through an index over everybody."""
    table = written(path, rows.astype(np.float16))
    table.create_scalar_index("scope", "BTREE")
    table = lance.dataset(table.uri)
    exact = []
    for i, query in enumerate(queries):
        mine = np.flatnonzero(np.arange(len(rows)) // SCOPE_ROWS == i)
        exact.append(set(mine[np.argsort(-(rows[mine] @ query))[:K]].tolist()))
    print(measured("exact float16", table, queries, exact, EXACT, is_scoped=True))
    table.create_index("vector", "IVF_FLAT", metric="dot", num_partitions=PARTITIONS)
    table = lance.dataset(table.uri)
    for n in (8, 16, 32):
        print(measured(f"IVF_FLAT float16, {n} probes", table, queries, exact, probes(n), is_scoped=True))


def plans() -> list[tuple[str, Any, str | None, dict[str, Any], dict[str, Any]]]:
    """Name, type of the vectors, index, its options, and what a query asks."""
    flat = [(f"IVF_FLAT float16, {n} probes", np.float16, "IVF_FLAT", {}, probes(n)) for n in (8, 16, 32, 64)]
    quantised = (
        "IVF_PQ float16, 32 parts, 16 probes",
        np.float16,
        "IVF_PQ",
        {"num_sub_vectors": 32},
        probes(16),
    )
    return [
        ("exact float32", np.float32, None, {}, EXACT),
        ("exact float16", np.float16, None, {}, EXACT),
        *flat,
        quantised,
    ]


def probes(count: int) -> dict[str, Any]:
    """Exactly so many partitions are read."""
    return {"minimum_nprobes": count, "maximum_nprobes": count}


def unit(matrix: NDArray[Any]) -> NDArray[np.float32]:
    """Rows scaled to length 1."""
    scaled: NDArray[np.float32] = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def clustered(rng: np.random.Generator, centres: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Unit vectors around random centres."""
    chosen = centres[rng.integers(0, len(centres), count)]
    return unit(chosen + rng.standard_normal((count, DIMENSIONS)) * SPREAD)


def written(path: Path, vectors: NDArray[Any]) -> Any:
    """A Lance table of ``n``, ``scope`` and ``vector``."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS)
    numbers = np.arange(len(vectors))
    held = pa.table({"n": numbers, "scope": numbers // SCOPE_ROWS, "vector": lists})
    return lance.write_dataset(held, str(path))


def measured(
    name: str,
    table: Any,
    queries: NDArray[np.float32],
    exact: list[set[int]],
    near: dict[str, Any],
    *,
    is_scoped: bool = False,
) -> str:
    """A row of the table: CPU time and median of a query, recall of the exact top 10; five warm up."""
    seconds, cpu, found = [], [], []
    for i in (*range(5), *range(len(queries))):
        query, where = queries[i], f"scope = {i}" if is_scoped else None
        start, began = time.perf_counter(), time.process_time()
        nearest = {"column": "vector", "q": query, "k": K, "metric": "dot", **near}
        answer = table.scanner(
            columns=["n", "_distance"], filter=where, prefilter=True, nearest=nearest
        ).to_table()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - began)
        found.append(set(answer["n"].to_pylist()))
    shares = [len(f & e) / K for f, e in zip(found[5:], exact, strict=True)]
    spent, p50 = 1e3 * np.mean(cpu[5:]), 1e3 * np.median(seconds[5:])
    return f"| {name} | {spent:.1f} | {p50:.1f} | {np.mean(shares):.3f} |"


def import_seconds(module: str) -> float:
    """Median CPU seconds of importing a module in a new process."""
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(5)]
    return float(np.median([float(run.stdout) for run in runs]))


if __name__ == "__main__":
    main()
