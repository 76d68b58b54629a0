"""mem0 with its embedded store on given rows: run by ``benchmarks.recall_beside`` in mem0's own environment.

``python mem0_search.py ROWS QUESTIONS FOLDER``: JSON lines in, one JSON object out. It needs ``mem0ai`` and
``wordllama`` there and nothing of this project: rows go in one by one as they are (``infer=False``), no model
but the same embedder is asked.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

CALLERS = 8


class SameEmbedder:
    """The embedder that the other measurements use, in the shape mem0 asks for."""

    def __init__(self) -> None:
        import wordllama

        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(dim=256, cache_dir=folder, disable_download=True)

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text."""
        found: list[float] = self._model.embed([text], norm=True)[0].tolist()
        return found

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """The vectors of texts."""
        found: list[list[float]] = self._model.embed(texts, norm=True).tolist()
        return found


def main(rows: str, questions: str, folder: str) -> None:
    """Write the rows, ask the questions, print what it took."""
    os.environ.update(MEM0_TELEMETRY="False", OPENAI_API_KEY="none", MEM0_DIR=f"{folder}/mem0")
    from mem0 import Memory

    store = {"path": f"{folder}/qdrant", "embedding_model_dims": 256, "on_disk": True}
    memory = Memory.from_config({"vector_store": {"provider": "qdrant", "config": store}})
    memory.embedding_model = SameEmbedder()
    held = [json.loads(line) for line in Path(rows).read_text("utf-8").splitlines()]
    asked = [json.loads(line) for line in Path(questions).read_text("utf-8").splitlines()]
    began = time.perf_counter()
    for row in held:
        memory.add(row["text"], user_id=row["user"], infer=False)
    written = time.perf_counter() - began

    def ask(question: dict[str, str]) -> float:
        start = time.perf_counter()
        memory.search(question["text"], filters={"user_id": question["user"]}, top_k=10)
        return (time.perf_counter() - start) * 1e3

    warm, measured = asked[: len(asked) // 5], asked[len(asked) // 5 :]
    for question in warm:
        ask(question)
    cpu = time.process_time()
    times = sorted(map(ask, measured))
    busy = (time.process_time() - cpu) / len(measured) * 1e3
    began = time.perf_counter()
    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(ask, measured))
    a_second = len(measured) / (time.perf_counter() - began)
    told = {
        "write_seconds": round(written, 1),
        "p50_ms": round(times[len(times) // 2], 1),
        "p99_ms": round(times[int(len(times) * 0.99)], 1),
        "cpu_ms": round(busy, 1),
        "callers_8_per_second": round(a_second),
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
