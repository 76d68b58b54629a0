"""Measures the figures of ADR 0004: ``python docs/adr/measure_0004.py`` (about two minutes on two cores).

100,000 vectors of 256 dimensions in 300 clusters, one scope, made from a seed. Half of the queries
lie in one cluster, half between two. Prints a Markdown table.
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
    print("| index | p50 ms | recall@10 | build s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, dtype, kind, options, near in plans():
            start = time.perf_counter()
            table = written(Path(folder) / f"{name}.lance", rows.astype(dtype))
            if kind:
                table.create_index("vector", kind, metric="dot", num_partitions=PARTITIONS, **options)
                table = lance.dataset(table.uri)
            built = time.perf_counter() - start
            p50, recall = measured(table, queries, exact, near)
            print(f"| {name} | {p50:.1f} | {recall:.3f} | {built:.1f} |", flush=True)
    print("\n| import | s, median of 5 |\n|---|---|")
    for module in ("lance", "lancedb", "lake.recall"):
        print(f"| {module} | {import_seconds(module):.2f} |")


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
    """A Lance table of ``n`` and ``vector``."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS)
    return lance.write_dataset(pa.table({"n": np.arange(len(vectors)), "vector": lists}), str(path))


def measured(
    table: Any, queries: NDArray[np.float32], exact: list[set[int]], near: dict[str, Any]
) -> tuple[float, float]:
    """Median milliseconds of a query, and recall of the exact top 10; the first five warm up."""
    seconds, found = [], []
    for query in (*queries[:5], *queries):
        start = time.perf_counter()
        nearest = {"column": "vector", "q": query, "k": K, "metric": "dot", **near}
        answer = table.scanner(columns=["n", "_distance"], nearest=nearest).to_table()
        seconds.append(time.perf_counter() - start)
        found.append(set(answer["n"].to_pylist()))
    shares = [len(f & e) / K for f, e in zip(found[5:], exact, strict=True)]
    return float(np.median(seconds[5:])) * 1e3, sum(shares) / len(shares)


def import_seconds(module: str) -> float:
    """Median seconds of importing a module in a new process, the interpreter's own start taken off."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own words
        return time.perf_counter() - start

    return float(np.median([run(f"import {module}") - run("pass") for _ in range(5)]))


if __name__ == "__main__":
    main()
