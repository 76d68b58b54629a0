"""The peers' side of ``benchmarks.peers``, run in a peer's own environment: nothing of this project is there.

``python peers_stores.py NAME FOLDER PLACE LIMIT_SECONDS WARM_UP`` reads ``rows.jsonl`` and ``asked.jsonl`` of
FOLDER, keeps the store in PLACE, and prints one JSON object.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

MESSAGES_A_CALL, PUTS_A_BATCH = 100, 1_000


class Store(Protocol):
    """A peer as it is measured."""

    def add(self, rows: Sequence[dict[str, str]]) -> None:
        """Add some rows."""

    def search(self, text: str, user: str) -> list[str]:
        """Texts of the ten rows that answer best."""


class SameEmbedder:
    """The embedder that slowwave has by default."""

    def __init__(self) -> None:
        import wordllama

        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(dim=256, cache_dir=folder, disable_download=True)

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text, as mem0 asks for it."""
        del memory_action
        return self.texts([text])[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """The vectors of texts, as mem0 asks for them."""
        del memory_action
        return self.texts(texts)

    def texts(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts."""
        found: list[list[float]] = self._model.embed(texts, norm=True).tolist()
        return found


class Mem0:
    """mem0 with its embedded store on disk, rows as they are."""

    portion, is_by_user = MESSAGES_A_CALL, True

    def __init__(self, place: Path) -> None:
        os.environ.update(MEM0_TELEMETRY="False", OPENAI_API_KEY="none", MEM0_DIR=str(place / "mem0"))
        from mem0 import Memory

        store = {"path": str(place / "qdrant"), "embedding_model_dims": 256, "on_disk": True}
        config = {
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(place / "history.db"),
        }
        self._memory = Memory.from_config(config)
        self._memory.embedding_model = SameEmbedder()

    def add(self, rows: Sequence[dict[str, str]]) -> None:
        """See ``Store.add``."""
        # It takes the roles of a chat; another one counts as the assistant's.
        roles = {"user": "user", "assistant": "assistant"}
        messages = [{"role": roles.get(r["role"], "assistant"), "content": r["text"]} for r in rows]
        self._memory.add(messages, user_id=rows[0]["user"], infer=False)

    def search(self, text: str, user: str) -> list[str]:
        """See ``Store.search``."""
        found = self._memory.search(text, filters={"user_id": user}, top_k=10)
        return [one["memory"] for one in found["results"]]


class LangGraph:
    """The SQLite store of LangGraph, with vectors by sqlite-vec."""

    portion, is_by_user = PUTS_A_BATCH, False

    def __init__(self, place: Path) -> None:
        import sqlite3

        from langgraph.store.sqlite import SqliteStore

        file = sqlite3.connect(place / "store.db", check_same_thread=False, isolation_level=None)
        index: Any = {"dims": 256, "embed": SameEmbedder().texts, "fields": ["text"]}
        self._store = SqliteStore(file, index=index)
        self._store.setup()
        self._count = 0

    def add(self, rows: Sequence[dict[str, str]]) -> None:
        """See ``Store.add``."""
        from langgraph.store.base import PutOp

        puts = []
        for row in rows:
            self._count += 1
            puts.append(PutOp(("memories", row["user"]), f"m{self._count}", {"text": row["text"]}))
        self._store.batch(puts)

    def search(self, text: str, user: str) -> list[str]:
        """See ``Store.search``."""
        found = self._store.search(("memories", user), query=text, limit=10)
        return [one.value["text"] for one in found]


STORES = {"mem0": Mem0, "langgraph": LangGraph}


def main(name: str, folder: Path, place: Path, limit_seconds: float, warm_up: int) -> None:
    """Add the rows, ask the questions, print what it took."""
    store = STORES[name](place)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text("utf-8").splitlines()]
    began, busy, added, last = time.perf_counter(), time.process_time(), 0, (0.0, 0)
    for portion in _portions(rows, store.portion, is_by_user=store.is_by_user):
        store.add(portion)
        added += len(portion)
        spent = time.perf_counter() - began
        if added - last[1] >= max(len(rows) // 10, 1):
            speed = (added - last[1]) / (spent - last[0])
            last = (spent, added)
        if spent > limit_seconds:
            break
    seconds, cpu = time.perf_counter() - began, time.process_time() - busy
    told: dict[str, Any] = {
        "rows_added": added,
        "add_seconds": round(seconds, 1),
        "add_cpu_seconds": round(cpu, 1),
        "rows_per_second": round(added / seconds),
        "rows_per_second_last_tenth": round(speed),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
        "disk_mb": round(bytes_below(place) / 1e6),
    }
    if added < len(rows):
        rest = (len(rows) - added) / speed
        told |= {"of_rows": len(rows), "extrapolated_seconds": round(seconds + rest)}
    held = {row["user"] for row in rows[:added]} - {row["user"] for row in rows[added:]}
    asked = [question for question in asked_in(folder) if question["user"] in held]
    sys.stdout.write(json.dumps({**told, **_asked(store, asked, warm_up, limit_seconds)}) + "\n")


def _portions(
    rows: Sequence[dict[str, str]], size: int, *, is_by_user: bool
) -> Iterator[Sequence[dict[str, str]]]:
    """Rows that lie together."""
    start = 0
    for place in range(1, len(rows) + 1):
        is_full = place - start == size
        is_at_end = place == len(rows) or (is_by_user and rows[place]["user"] != rows[start]["user"])
        if is_full or is_at_end:
            yield rows[start:place]
            start = place


def _asked(
    store: Store, asked: Sequence[dict[str, Any]], warm_up: int, limit_seconds: float
) -> dict[str, Any]:
    times, busy, shares, began = [], [], [], time.perf_counter()
    for question in asked:
        start, cpu = time.perf_counter(), time.process_time()
        found = store.search(question["text"], question["user"])
        times.append((time.perf_counter() - start) * 1e3)
        busy.append((time.process_time() - cpu) * 1e3)
        shares.append(share_of(found, question["nearest"]))
        if time.perf_counter() - began > limit_seconds:
            break
    measured = percentiles(times[warm_up:] or times, busy[warm_up:] or busy)
    return {**measured, "recall_at_10": round(sum(shares) / len(shares), 4)}


def asked_in(folder: Path) -> list[dict[str, Any]]:
    """The questions, with what brute force finds."""
    return [json.loads(line) for line in (folder / "asked.jsonl").read_text("utf-8").splitlines()]


def share_of(found: Sequence[str], nearest: Sequence[str]) -> float:
    """Part of the nearest that was found."""
    return len(set(found) & set(nearest)) / len(set(nearest))


def percentiles(times: Sequence[float], busy: Sequence[float]) -> dict[str, Any]:
    """Of searches: wall time, and the mean time of the processor, in milliseconds."""
    ordered = sorted(times)
    return {
        "searches": len(ordered),
        "p50_ms": round(ordered[len(ordered) // 2], 1),
        "p99_ms": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 1),
        "cpu_ms": round(sum(busy) / len(busy), 1),
    }


def bytes_below(place: Path) -> int:
    """Of all files of a folder."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
