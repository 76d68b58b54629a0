"""slowwave beside mem0 and LangGraph's SQLite store: bulk add without a model call, and search; in one run.

``python -m benchmarks peers --sizes 100000``. The same texts, and the same vectors: each peer is handed the
embedder that slowwave has by default. Each is asked in one process, with one caller, on the same machine, one
after the other; what a peer needs is installed at pinned versions into an environment of its own below the
folder, and one that cannot be installed is skipped with the reason.

Why LangGraph's store as the second peer: it keeps the long-term memory of LangGraph and LangMem agents, has
a batch interface, installs from the package registry, and needs neither a server nor a language model. Letta
and Zep run as servers; Cognee, Graphiti and Hindsight have a model read what is added.

Settings. mem0: ``infer=False``, its default store, embedded Qdrant, on disk; messages of a person in calls of
up to 100, as its interface takes them. LangGraph: ``SqliteStore`` in a file, ``PutOp`` in batches of 1,000.
slowwave: ``ingest``, ``embed`` and ``publish`` of a file, until the rows are answered from; without
``consolidate``, for neither peer derives anything here. Every search is of one person, for ten rows.
``recall_at_10`` compares with brute force over the person's vectors. slowwave ranks by words and times
besides, so of its answers only the search for near vectors inside is compared; ``in_answer_at_10`` says how
many of the ten nearest its blended answer holds.

A peer that has not added all rows in ``SLOWWAVE_PEER_SECONDS`` (1,800) is stopped there: ``of_rows`` says how
many it was measured on, and ``extrapolated_seconds`` what all would take at its last speed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl

from benchmarks.recall_data import MadeScope, World, frames, scopes
from transforms.embedding import embedding_text
from transforms.schemas import INSTANT

Emit = Callable[[dict[str, Any]], None]
ASKED, WARM_UP, NEAREST = 240, 40, 10
LIMIT_SECONDS = float(os.environ.get("SLOWWAVE_PEER_SECONDS", "1800"))
INSTALL_SECONDS = 900
PYTHONS = (sys.executable, "/usr/bin/python3")
"""Interpreters that a peer's environment may be made of."""
LOADS_EXTENSIONS = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
"""Fails where SQLite was built without extensions: then it has no vectors."""


@dataclass(frozen=True)
class Peer:
    """What to install, and what its interpreter must be able to do."""

    name: str
    packages: tuple[str, ...]
    needs: str = "import ensurepip, sqlite3"


PEERS = (
    Peer("mem0", ("mem0ai==2.2.1", "qdrant-client==1.20.0", "wordllama==0.4.0.post1", "numpy==2.4.6")),
    Peer(
        "langgraph",
        (
            "langgraph-checkpoint-sqlite==3.1.2",
            "langgraph-checkpoint==4.3.2",
            "sqlite-vec==0.1.9",
            "wordllama==0.4.0.post1",
            "numpy==2.4.6",
        ),
        LOADS_EXTENSIONS,
    ),
)


def run(emit: Emit, folder: Path, rows: int) -> None:
    """Make the input, then measure each, one after the other, in processes of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "asked.jsonl").exists():
        make(folder, rows)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers_slowwave", str(folder)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    emit({"name": "peers slowwave", **json.loads(done.stdout.splitlines()[-1])})
    for peer in PEERS:
        emit({"name": f"peers {peer.name}", **_measured(peer, folder)})


def make(folder: Path, rows: int) -> None:
    """Write the rows for slowwave and, as JSON lines of user and text, for the others; and the questions.

    The text that the others hold is what slowwave embeds, with its date and speaker, so that vectors are
    the same.
    """
    world, made = World(), scopes(rows)
    (folder / "traces").mkdir(exist_ok=True)
    held = []
    with (folder / "traces" / "rows.jsonl").open("wb") as mine, (folder / "rows.jsonl").open("wb") as theirs:
        for frame in frames(world, made):
            texts = _embedded(frame)
            held.append(frame.select("tenant_id", "user_id", "text").with_columns(embedded=texts))
            for row, text in zip(frame.iter_rows(named=True), texts, strict=True):
                mine.write(orjson.dumps(_trace(row), option=orjson.OPT_APPEND_NEWLINE))
                told = {"user": row["user_id"], "role": row["role"], "text": text}
                theirs.write(orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE))
    all_rows = pl.concat(held)
    with (folder / "asked.jsonl").open("wb") as file:
        for question in _questions(world, made, all_rows):
            file.write(orjson.dumps(question, option=orjson.OPT_APPEND_NEWLINE))


def _embedded(frame: pl.DataFrame) -> pl.Series:
    speaking = frame.select("event_at", "speaker", "role", content="text")
    return speaking.with_columns(pl.col("event_at").cast(INSTANT)).select(embedding_text(8_000)).to_series()


def _trace(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: row[name] for name in ("tenant_id", "user_id", "session_id", "role")}
    return {
        **kept,
        "id": row["memory_id"],
        "content": row["text"],
        "event_at": row["event_at"].isoformat(),
        "retention_tier": "long_term",
    }


def _questions(world: World, made: list[MadeScope], rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Questions in scopes at random, with the texts of the ten rows that brute force finds nearest."""
    draw = np.random.default_rng(7)
    by_user = {str(user): part for (user,), part in rows.group_by("user_id", maintain_order=True)}
    for _ in range(ASKED):
        scope = made[int(draw.integers(len(made)))]
        question, here = world.question(draw), by_user[scope.user]
        vectors = world.embedder.embed(here["embedded"].to_list()).vectors
        cosine = vectors @ world.embedder.embed([question]).vectors[0]
        nearest = np.argsort(-cosine, kind="stable")[:NEAREST].tolist()
        yield {
            "tenant": scope.tenant,
            "user": scope.user,
            "text": question,
            "nearest": here["embedded"][nearest].to_list(),
            "nearest_plain": here["text"][nearest].to_list(),
        }


def _measured(peer: Peer, folder: Path) -> dict[str, Any]:
    """What a peer was measured at, or why it was not."""
    python = _environment(peer, folder / f"env-{peer.name}")
    if isinstance(python, dict):
        return python
    place = folder / f"store-{peer.name}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    script = Path(__file__).with_name("peers_stores.py")
    command = [str(python), str(script), peer.name, str(folder), str(place), str(LIMIT_SECONDS), str(WARM_UP)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        return {"skipped": f"it failed: {done.stderr.strip().splitlines()[-1][:200]}"}
    return {**json.loads(done.stdout.splitlines()[-1]), "peer": " ".join(peer.packages[:2])}


def _environment(peer: Peer, place: Path) -> Path | dict[str, Any]:
    """The interpreter of the peer's own environment, made where it is not there; or why there is none."""
    python = place / "bin" / "python"
    if (place / "ready").exists():
        return python
    able = [one for one in PYTHONS if Path(one).exists() and _can(one, peer.needs)]
    if not able:
        return {"skipped": "no Python here can load it (SQLite without extensions)"}
    steps = (
        [able[0], "-m", "venv", "--clear", str(place)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages],
    )
    for step in steps:
        try:
            done = subprocess.run(step, check=False, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            return {"skipped": f"installing it took more than {INSTALL_SECONDS} seconds"}
        if done.returncode != 0:
            told = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            return {"skipped": f"it could not be installed: {told[-1][:200]}"}
    (place / "ready").touch()
    return python


def _can(python: str, code: str) -> bool:
    return subprocess.run([python, "-c", code], check=False, capture_output=True).returncode == 0
