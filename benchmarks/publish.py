"""Publish beside its floor: LanceDB given the same rows from memory-mapped Arrow, and the same indexes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from benchmarks.data import AS_OF, WEIGHTS, WORDS, write_jsonl
from benchmarks.facts import cpu_seconds, peak_mb
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.publish import run_publish
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.index import MAIN, read_pointer
from lake.lake import init_lake
from lake.sources import open_sources
from transforms.policy import Policy
from transforms.validate import Defaults

Emit = Callable[[dict[str, Any]], None]
_SCOPES = (("tenant_id", "BTREE"), ("user_id", "BTREE"), ("agent_id", "BTREE"), ("session_id", "BTREE"))
_SECONDS_PER_ROW = 1.0


def _job(folder: Path, days: int = 0) -> Job:
    model = make_embedder(EmbedderConfig())
    return Job(init_lake(str(folder / "lake")), Policy(), AS_OF + timedelta(days=days), lambda: model)


def _timed(action: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    import time

    wall, cpu = time.perf_counter(), cpu_seconds()
    result = action()
    took = {
        "seconds": round(time.perf_counter() - wall, 2),
        "cpu_seconds": round(cpu_seconds() - cpu, 2),
        "peak_mb": peak_mb(),
    }
    return result, took


def _land(job: Job, path: Path) -> None:
    run_ingest(job, ((source, Defaults()) for source in open_sources(str(path))))
    path.unlink()
    run_embed(job)


def measure_setup(folder: Path, rows: int, emit: Emit) -> None:
    """The lake, embedded, not published; nothing is measured."""
    write_jsonl(folder / "traces.jsonl", rows)
    _land(_job(folder), folder / "traces.jsonl")
    emit({"of_rows": rows})


def measure_whole(folder: Path, rows: int, emit: Emit) -> None:
    """The first publish."""
    job = _job(folder)
    result, took = _timed(lambda: run_publish(job, force=True))
    emit({**took, "published": result.rows_out, "index_bytes": _size(folder / "lake" / "index")})


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure_rows(folder: Path, rows: int, emit: Emit) -> None:
    """The same rows as an Arrow file, for the floor; nothing is measured."""
    import lance

    job = _job(folder)
    pointer = read_pointer(job.lake)
    if pointer is None:
        raise FileNotFoundError("nothing is published")
    table = lance.dataset(f"{job.lake.index_uri(pointer.generation)}/{MAIN}.lance")
    path = str(folder / "rows.arrow")
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        for batch in table.to_batches(batch_size=20_000):
            writer.write_batch(batch)
    emit({"bytes": Path(path).stat().st_size, "of_rows": rows})


def measure_floor(folder: Path, rows: int, emit: Emit) -> None:
    """LanceDB's own create_table and the same indexes: no lake is read, nothing derived, nothing checked."""
    import lancedb

    def batches(held: Any) -> Iterator[pa.RecordBatch]:
        return (held.get_batch(number) for number in range(held.num_record_batches))

    def floor() -> None:
        with pa.memory_map(str(folder / "rows.arrow")) as source:
            held = pa.ipc.open_file(source)
            reader = pa.RecordBatchReader.from_batches(held.schema, batches(held))
            table = lancedb.connect(str(folder / "floor")).create_table("main", reader)
            for column, kind in _SCOPES:
                table.create_scalar_index(column, index_type=kind)
            table.create_fts_index("search_text", with_position=False, base_tokenizer="icu/split",
                                   stem=False, remove_stop_words=False)  # fmt: skip

    _, took = _timed(floor)
    shutil.rmtree(folder / "floor")
    emit({**took, "of_rows": rows})


def measure_add(folder: Path, rows: int, emit: Emit) -> None:
    """One percent more episodes, of the same people; nothing is measured."""
    rng = random.Random(11)
    path = folder / "more.jsonl"
    with path.open("wb") as file:
        for line in islice(_lines(rng, rows), max(rows // 100, 1)):
            file.write(line)
    _land(_job(folder, 1), path)
    emit({"of_rows": rows})


def _lines(rng: random.Random, rows: int) -> Iterator[bytes]:
    number, users = 0, max(8, rows // 250)
    while True:
        user = int(users * rng.random() ** 2)
        row = {
            "id": f"more-{number}",
            "tenant_id": f"tenant-{user % 200:03d}",
            "user_id": f"user-{user:06d}",
            "agent_id": "desk",
            "session_id": f"s-{user}-more",
            "role": "user" if number % 2 else "assistant",
            "content": " ".join(rng.choices(WORDS, WEIGHTS, k=rng.randrange(8, 38))),
            "event_at": (AS_OF + timedelta(seconds=_SECONDS_PER_ROW * (number % 80_000))).isoformat(),
            "retention_tier": "long_term",
        }
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        number += 1


def measure_one_percent(folder: Path, rows: int, emit: Emit) -> None:
    """The publish after that."""
    job = _job(folder, 1)
    result, took = _timed(lambda: run_publish(job))
    told = {name: result.detail.get(name) for name in ("built", "appended", "removed")}
    emit({**took, **told, "published": result.rows_out, "of_rows": rows})


def measure_unchanged(folder: Path, rows: int, emit: Emit) -> None:
    """A publish with nothing new."""
    job = _job(folder, 1)
    result, took = _timed(lambda: run_publish(job))
    emit({**took, "is_unchanged": result.state == "unchanged", "of_rows": rows})


STEPS = {
    "setup": measure_setup,
    "whole": measure_whole,
    "rows": measure_rows,
    "floor": measure_floor,
    "add": measure_add,
    "one_percent": measure_one_percent,
    "unchanged": measure_unchanged,
}
