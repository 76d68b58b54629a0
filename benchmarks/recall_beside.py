"""The same questions asked of plain LanceDB with a filter and, where it is installed, of mem0; in one run.

``python -m benchmarks recall_beside --sizes 10000`` measures LanceDB only. For mem0, which is no dependency
of this project, make it an environment of its own and name its interpreter::

    python -m venv /tmp/mem0 && /tmp/mem0/bin/pip install mem0ai wordllama
    SLOWWAVE_MEM0_PYTHON=/tmp/mem0/bin/python python -m benchmarks recall_beside --sizes 10000

mem0 takes rows one by one, and its embedded store goes through all rows for each question: 10,000 is a
size it bears.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.recall import GENERATION, Emit, build
from benchmarks.recall_data import AS_OF, World, frames, scopes
from lake.lake import as_lake

MEM0_PYTHON = "SLOWWAVE_MEM0_PYTHON"
ASKED, WARM_UP, CALLERS = 250, 50, 8
Ask = Callable[[str, str, str], Any]
"""Tenant, user, question."""


def run(emit: Emit, folder: Path, rows: int) -> None:
    """Build one lake and ask the same questions three ways."""
    uri = str(folder / "lake")
    if not Path(uri).exists():
        build(uri, rows)
    world, made, draw = World(), scopes(rows), np.random.default_rng(7)
    picks = draw.integers(len(made), size=ASKED)
    asked = [(made[i].tenant, made[i].user, world.question(draw)) for i in picks.tolist()]
    emit({"name": "recall.beside slowwave", **_timed(_slowwave(uri), asked)})
    emit({"name": "recall.beside LanceDB, vectors", **_timed(_lancedb(uri, world, is_hybrid=False), asked)})
    emit({"name": "recall.beside LanceDB, hybrid", **_timed(_lancedb(uri, world, is_hybrid=True), asked)})
    python = os.environ.get(MEM0_PYTHON)
    if python is None:
        return
    _export(folder, world, rows, asked)
    command = [python, str(Path(__file__).with_name("mem0_search.py"))]
    command += [str(folder / "rows.jsonl"), str(folder / "asked.jsonl"), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    emit({"name": "recall.beside mem0", **json.loads(done.stdout.splitlines()[-1])})


def _export(folder: Path, world: World, rows: int, asked: list[tuple[str, str, str]]) -> None:
    held = pl.concat(frames(world, scopes(rows))).select("text", user="user_id")
    held.write_ndjson(folder / "rows.jsonl")
    lines = [json.dumps({"user": user, "text": text}) for _, user, text in asked]
    (folder / "asked.jsonl").write_text("\n".join(lines), "utf-8")


def _slowwave(uri: str) -> Ask:
    from lake.recall import Recall

    recall = Recall(uri)
    return lambda tenant, user, text: recall.search(text, tenant=tenant, user=user, as_of=AS_OF)


def _lancedb(uri: str, world: World, *, is_hybrid: bool) -> Ask:
    """LanceDB's own client on the very table: a filter on scalar indexes, hybrid by its own rank fusion."""
    import lancedb

    table = lancedb.connect(as_lake(uri).index_uri(GENERATION)).open_table("main")

    def ask(tenant: str, user: str, text: str) -> Any:
        where = f"tenant_id = '{tenant}' AND user_id = '{user}'"
        vector = world.embedder.embed([text]).vectors[0]
        search = (
            table.search(query_type="hybrid").vector(vector).text(text) if is_hybrid else table.search(vector)
        )
        return search.where(where, prefilter=True).select(["memory_id", "payload"]).limit(10).to_list()

    return ask


def _timed(ask: Ask, asked: list[tuple[str, str, str]]) -> dict[str, Any]:
    for question in asked[:WARM_UP]:
        ask(*question)
    times = []
    cpu = time.process_time()
    for question in asked[WARM_UP:]:
        began = time.perf_counter()
        ask(*question)
        times.append((time.perf_counter() - began) * 1e3)
    busy = (time.process_time() - cpu) / len(times) * 1e3
    began = time.perf_counter()
    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(lambda question: ask(*question), asked[WARM_UP:]))
    a_second = len(times) / (time.perf_counter() - began)
    return {
        "p50_ms": round(float(np.percentile(times, 50)), 1),
        "p99_ms": round(float(np.percentile(times, 99)), 1),
        "cpu_ms": round(busy, 1),
        "callers_8_per_second": round(a_second),
    }
