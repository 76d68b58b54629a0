"""Recall in a lake of many memories: build time, latency end to end, recall against exact search, memory."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recall_data import AS_OF, MIDDLE, SMALL, MadeScope, World, frames, scopes
from transforms.policy import PublishPolicy

WARM_UP = 60
QUERIES = 400
COMPARED = 100
"""Questions whose answer is compared with exact search."""
REPEATED = 10
"""Scopes of a size that are asked again and again; their views are held."""
CALLERS = 8
GENERATION = "gen-000001"

Emit = Callable[[dict[str, Any]], None]


def run(emit: Emit, sizes: Sequence[int], folder: Path | None = None) -> None:
    """Build a lake of each size and measure it, each step in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="slowwave-recall-", dir=folder) as root:
        for rows in sizes:
            lake = str(Path(root) / str(rows))
            emit(_apart(build, lake, rows))
            emit(_apart(first_answer, lake, rows))
            for measured in _apart(searches, lake, rows):
                emit(measured)


def _apart(step: Callable[[str, int], Any], lake: str, rows: int) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(step, (lake, rows))


def build(uri: str, rows: int) -> dict[str, Any]:
    """Write, calibrate and check a generation; ``seconds`` leaves out the making of the data."""
    from lake.index import Generation, Manifest, Pointer, scope_hash, write_pointer
    from lake.index_build import Builder
    from lake.index_checks import calibrated, run_checks
    from lake.lake import init_lake
    from transforms.embedding import vector_space

    world, made, policy = World(), scopes(rows), PublishPolicy()
    lake = init_lake(uri)
    large = [scope_hash(s.tenant, s.user) for s in made if s.rows > policy.large_scope_rows]
    builder = Builder(lake, GENERATION, world.embedder.dimensions, large)
    spent = [0.0]
    began = time.perf_counter()
    entries = builder.write(_without_expired(_timed(frames(world, made), spent)))
    written = time.perf_counter() - began - spent[0]
    space = vector_space(world.embedder.model_key)
    inputs = {"episodes": -1, "vectors": -1}
    draft = Manifest(GENERATION, space, 256, builder.rows, AS_OF.isoformat(), tuple(entries), inputs, None)
    began = time.perf_counter()
    manifest = calibrated(Generation(lake, draft), policy, AS_OF)
    checks = run_checks(
        Generation(lake, manifest),
        policy=policy,
        as_of=AS_OF,
        expected_rows=builder.rows,
        expected_space=space,
    )
    checked = time.perf_counter() - began
    lake.storage.write(f"index/{GENERATION}/manifest.json", replace(manifest).dumps())
    write_pointer(lake, Pointer(GENERATION, (GENERATION,)))
    return {
        "name": "recall.publish",
        "rows": builder.rows,
        "write_seconds": round(written, 1),
        "check_seconds": round(checked, 1),
        "peak_rss_mb": _peak_mb(),
        "index_mb": round(sum(p.stat().st_size for p in Path(uri).rglob("*") if p.is_file()) / 1e6),
        "nprobes": {e.rows: e.nprobes for e in manifest.tables if e.nprobes},
        "failed_checks": [check.name for check in checks if not check.passed],
    }


def _timed(made: Iterator[Any], spent: list[float]) -> Iterator[Any]:
    """The frames, with the time of making them added up."""
    while True:
        began = time.perf_counter()
        frame = next(made, None)
        spent[0] += time.perf_counter() - began
        if frame is None:
            return
        yield frame


def _without_expired(made: Iterator[Any]) -> Iterator[Any]:
    """What publish leaves out. Those that expire half a year later stay, so the predicate has work."""
    for frame in made:
        yield frame.filter(frame["expires_at"] > AS_OF)


FIRST = """
import json, sys, time
began = time.perf_counter()
from lake.recall import Recall
imported = time.perf_counter()
from datetime import datetime
uri, tenant, user, as_of = sys.argv[1:]
instant = datetime.fromisoformat(as_of)
found = Recall(uri).search("the first question", tenant=tenant, user=user, as_of=instant)
answered = time.perf_counter()
print(json.dumps([imported - began, answered - imported, len(found)]))
"""


def first_answer(uri: str, rows: int) -> dict[str, Any]:
    """From a new process to the first answer; the least and the median of seven."""
    scope, runs = scopes(rows)[0], []
    for _ in range(7):
        began = time.perf_counter()
        command = [sys.executable, "-c", FIRST, uri, scope.tenant, scope.user, AS_OF.isoformat()]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        imported, answered, _ = json.loads(done.stdout)
        runs.append((time.perf_counter() - began, imported, answered))
    whole, imported, answered = (sorted(round(t * 1e3) for t in column) for column in zip(*runs, strict=True))
    return {
        "name": "recall.first_answer",
        "rows": rows,
        "import_p50_ms": imported[3],
        "import_least_ms": imported[0],
        "answer_p50_ms": answered[3],
        "process_p50_ms": whole[3],
    }


def searches(uri: str, rows: int) -> list[dict[str, Any]]:
    """``Recall.search`` end to end by size of scope: in a few asked again and again, and in any at random."""
    from lake.recall import Recall

    world, made, recall = World(), scopes(rows), Recall(uri)
    largest = max(s.rows for s in made)
    groups = {
        f"scope of {largest}": [s for s in made if s.rows == largest],
        f"scopes of {MIDDLE}": [s for s in made if s.rows == MIDDLE],
        f"scopes up to {SMALL}": [s for s in made if s.rows <= SMALL],
    }
    before = {"rows": rows, "rss_mb_before": _rss_mb()}  # Python, Polars, and the makers of questions
    found = []
    for name, group in groups.items():
        if not group:
            continue
        warm = _questions(world, group[:REPEATED])
        found.append({**before, **_timed_searches(recall, warm), "name": f"recall.search, {name}, repeated"})
        if len(group) > REPEATED:
            cold = _questions(world, group)
            timed = _timed_searches(recall, cold)
            found.append({**before, **timed, "name": f"recall.search, {name}, at random"})
    found += [{**before, "name": "recall.callers", **_callers(recall, world, groups)}]
    found += [{**before, "name": "recall.context", **_contexts(recall, world, groups)}]
    # Compared last: it reads whole scopes into memory.
    for name, group in groups.items():
        if group:
            ratio = _recall_at_10(recall, _questions(world, group)[WARM_UP : WARM_UP + COMPARED])
            found.append({**before, "name": f"recall.exactness, {name}", "recall_at_10": ratio})
    return found


def _callers(recall: Any, world: World, groups: dict[str, list[MadeScope]]) -> dict[str, Any]:
    """Eight threads asking at once, in scopes of all sizes up to 5,000 rows that were asked before."""
    from concurrent.futures import ThreadPoolExecutor

    small = [scope for group in groups.values() for scope in group[:REPEATED] if scope.rows <= MIDDLE]
    asked = _questions(world, small) * 4

    def ask(pair: tuple[MadeScope, str]) -> float:
        began = time.perf_counter()
        recall.search(pair[1], tenant=pair[0].tenant, user=pair[0].user, as_of=AS_OF)
        return (time.perf_counter() - began) * 1e3

    for pair in asked[:WARM_UP]:
        ask(pair)
    began, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(CALLERS) as pool:
        times = list(pool.map(ask, asked))
    seconds = time.perf_counter() - began
    return {
        "callers": CALLERS,
        "searches_per_second": round(len(asked) / seconds),
        "cpu_ms": round((time.process_time() - cpu) / len(asked) * 1e3, 2),
        "p50_ms": round(float(np.percentile(times, 50)), 1),
        "p99_ms": round(float(np.percentile(times, 99)), 1),
    }


def _contexts(recall: Any, world: World, groups: dict[str, list[MadeScope]]) -> dict[str, Any]:
    """``Recall.context`` of the default budget in scopes up to 5,000 rows."""
    small = [scope for group in groups.values() for scope in group[:REPEATED] if scope.rows <= MIDDLE]
    times = []
    for scope, question in _questions(world, small):
        began = time.perf_counter()
        recall.context(question, tenant=scope.tenant, user=scope.user, as_of=AS_OF)
        times.append((time.perf_counter() - began) * 1e3)
    warm = times[WARM_UP:]
    return {
        "p50_ms": round(float(np.percentile(warm, 50)), 1),
        "p99_ms": round(float(np.percentile(warm, 99)), 1),
    }


def _questions(world: World, group: list[MadeScope]) -> list[tuple[MadeScope, str]]:
    draw = np.random.default_rng(7)
    return [(group[int(draw.integers(len(group)))], world.question(draw)) for _ in range(WARM_UP + QUERIES)]


def _timed_searches(recall: Any, asked: list[tuple[MadeScope, str]]) -> dict[str, Any]:
    times, busy = [], []
    for scope, question in asked:
        began, cpu = time.perf_counter(), time.process_time()
        recall.search(question, tenant=scope.tenant, user=scope.user, as_of=AS_OF)
        times.append((time.perf_counter() - began) * 1e3)
        busy.append((time.process_time() - cpu) * 1e3)
    warm = times[WARM_UP:]
    return {
        "p50_ms": round(float(np.percentile(warm, 50)), 1),
        "p99_ms": round(float(np.percentile(warm, 99)), 1),
        "least_ms": round(min(warm), 1),
        "cpu_p50_ms": round(float(np.percentile(busy[WARM_UP:], 50)), 1),
        "rss_mb": _rss_mb(),
    }


def _recall_at_10(recall: Any, asked: list[tuple[MadeScope, str]]) -> float:
    """The ten nearest of a scope, by the store's index or by its view, against brute force; no ties.

    Brute force reads the scope's stored vectors by themselves and compares every one.
    """
    from lake.index_checks import exact_ids, nearest_ids, recall_ratio
    from lake.online.held_views import TooLarge
    from lake.scope import Filters, Scope

    generation = recall._searcher.index.live(None)
    filters = Filters(AS_OF, is_replay=True, max_sensitivity="restricted")
    found, exact = [], []
    for made, question in asked:
        scope = Scope(made.tenant, made.user)
        [entry] = generation.tables_of(scope)
        query = recall._model().embed([question]).vectors[0]
        held = recall._searcher._views.of(generation, scope)
        if isinstance(held, TooLarge):
            found.append(nearest_ids(generation, entry, scope, query, filters))
        else:
            cosine = held[0].columns.vectors.dots(query)
            nearest = np.argsort(-cosine, kind="stable")[:10]
            found.append({name.decode() for name in held[0].columns.ids[nearest].tolist()})
        exact.append(exact_ids(generation, entry, scope, query, filters, slack=0.0))
    return round(recall_ratio(found, exact), 4)


def _peak_mb() -> int:
    """Peak of this process; ``ru_maxrss`` would count the parent's, too."""
    return _status_mb("VmHWM")


def _rss_mb() -> int:
    return _status_mb("VmRSS")


def _status_mb(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"{name}:")]
    return round(int(line.split()[1]) * 1024 / 1e6)


os.environ.setdefault("RUST_LOG", "error")
