"""Readers beside writers: each answer is held against what had happened before it was asked for.

Run as a process of its own: ``python -m benchmarks.concurrency_readers LAKE BOARD THREADS USERS PAUSE``.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lake.embedders.protocol import Embedded, normalised
from lake.recall import Recall
from transforms.errors import SlowwaveError
from transforms.policy import Policy
from transforms.policy_recall import RecallLogPolicy, RecallPolicy

TENANT = "acme"
MOST = 1_000
DIMENSIONS = 32


class HashedEmbedder:
    """A direction for each word: cheap, so that the store is what is measured."""

    dimensions = DIMENSIONS
    model_key = f"hashed@1/{DIMENSIONS}/v1"

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Sum of the directions of a text's words."""
        raw = np.zeros((len(texts), DIMENSIONS), np.float32)
        for place, text in enumerate(texts):
            for word in text.lower().split():
                seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
                raw[place] += np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
        vectors, refused = normalised(raw)
        return Embedded(vectors, refused)


def text_of(user: str, number: int) -> str:
    """A text that says whose it is and whether all of it is there."""
    start = f"violin of {user} number{number}"
    return f"{start} {hashlib.blake2b(start.encode(), digest_size=6).hexdigest()}"


def is_whole(text: str, user: str) -> bool:
    """Whether a text is one of the user's, unharmed."""
    start, _, end = text.rpartition(" ")
    return start.startswith(f"violin of {user} number") and (
        hashlib.blake2b(start.encode(), digest_size=6).hexdigest() == end
    )


@dataclass
class Board:
    """What has happened, as the writers told it: a file that grows, one event a line.

    ``there``: a row has landed and must be found. ``leaving``: its removal has begun. ``gone``: its removal,
    or the switch to an index without it, is over: nobody may be shown it again. ``over``: all of it is.
    """

    path: Path
    users: dict[str, str] = field(default_factory=dict)
    there: set[str] = field(default_factory=set)
    leaving: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    _read: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, what: str, rows: Sequence[tuple[str, str]]) -> None:
        """Tell of rows (id, user); it counts for every search that begins after this returns."""
        with self._lock, self.path.open("a") as file:
            file.write("".join(f"{what} {row} {user}\n" for row, user in rows))

    def now(self, user: str) -> tuple[set[str], set[str]]:
        """Rows of a user that must be found from now on, unless they begin to leave; all that are gone."""
        with self._lock:
            with self.path.open() as file:
                file.seek(self._read)
                news = file.read()
                end = news.rfind("\n") + 1
                self._read += len(news[:end].encode())
            for line in news[:end].splitlines():
                what, row, owner = line.split(" ")
                getattr(self, what).add(row)
                self.users[row] = owner
            mine = {row for row, owner in self.users.items() if owner == user}
            return (self.there & mine) - self.leaving, set(self.gone)


@dataclass
class Reading:
    """What one process of readers saw."""

    searches: int = 0
    rows: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For the process that started this one."""
        times = sorted(self.milliseconds) or [0.0]
        return {
            "searches": self.searches,
            "rows": self.rows,
            "faults": dict(self.faults),
            "p50_ms": round(times[len(times) // 2], 1),
            "p99_ms": round(times[int(len(times) * 0.99)], 1),
        }


def faults_of(board: Board, reader: Recall, user: str) -> tuple[list[str], int, float]:
    """One search: what is wrong with its answer, rows in it, and how long it took."""
    must, gone = board.now(user)
    began = time.perf_counter()
    try:
        found = reader.search("violin", tenant=TENANT, user=user, k=MOST)
    except SlowwaveError as error:
        return [f"error: {type(error).__name__}: {error.message}"], 0, time.perf_counter() - began
    took = time.perf_counter() - began
    still, _ = board.now(user)  # what began to leave meanwhile need not be there
    names = [memory.id for memory in found]
    wrong = []
    if len(names) != len(set(names)):
        wrong.append("a row twice")
    if not all(is_whole(memory.text, user) and memory.user_id == user for memory in found):
        wrong.append("a row that is torn or somebody else's")
    if not gone.isdisjoint(names):
        wrong.append("a row that was gone before")
    if not (must & still) <= set(names):
        wrong.append(f"a row missed ({len((must & still) - set(names))} of {len(must & still)})")
    return wrong, len(names), took


def read(lake: str, board: Path, threads: int, users: int, pause_seconds: float) -> Reading:
    """Search with many threads over one reader, with a pause after each, until the writers are done."""
    policy = Policy(
        recall=RecallPolicy(duplicate_cosine=1.0, candidates=MOST),
        recall_log=RecallLogPolicy(sample_ratio=0.2, flush_seconds=0.2),
    )
    reader, told, seen = Recall(lake, policy=policy, embedder=HashedEmbedder()), Board(board), Reading()
    lock = threading.Lock()

    def search(number: int) -> None:
        turn = number
        while not told.over:
            turn += 1
            try:
                wrong, rows, took = faults_of(told, reader, f"u{turn % users}")
            except Exception:  # noqa: BLE001 whatever it is, it is what is looked for
                wrong, rows, took = [traceback.format_exc(limit=-3)], 0, 0.0
            with lock:
                seen.searches += 1
                seen.rows += rows
                seen.faults.update(wrong)
                seen.milliseconds.append(took * 1000)
            time.sleep(pause_seconds)

    started = [threading.Thread(target=search, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    reader.close()
    return seen


def main() -> None:
    """The process: arguments in, one JSON document out."""
    lake, board, threads, users, pause = sys.argv[1:]
    print(json.dumps(read(lake, Path(board), int(threads), int(users), float(pause)).as_dict()))


if __name__ == "__main__":
    main()
