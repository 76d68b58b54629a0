"""A small lake for tests of recall: a model of words, rows with known texts, and the jobs run on it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.publish import run_publish
from lake import landing
from lake.embedders.protocol import Embedded, normalised
from lake.lake import Lake, init_lake
from lake.recall import Recall
from transforms.policy import Policy, PublishPolicy
from transforms.policy_recall import RecallPolicy

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
DIMENSIONS = 32


class WordEmbedder:
    """Sum of one random direction a word; texts without common words are about orthogonal."""

    dimensions = DIMENSIONS

    def __init__(self, name: str = "words") -> None:
        self.model_key = f"{name}@1/{DIMENSIONS}/v1"

    def embed(self, texts: Sequence[str]) -> Embedded:
        raw = np.zeros((len(texts), DIMENSIONS), np.float32)
        for i, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                raw[i] += direction(word)
        vectors, refused = normalised(raw)
        return Embedded(vectors, refused)


def direction(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)


def policy(*, large_scope_rows: int = 20_000, **recall: Any) -> Policy:
    return Policy(publish=PublishPolicy(large_scope_rows=large_scope_rows), recall=RecallPolicy(**recall))


def make_lake(folder: Path) -> Lake:
    return init_lake(str(folder / "lake"), buckets=2)


def job(lake: Lake, with_policy: Policy | None = None, *, as_of: datetime = NOW) -> Job:
    return Job(lake, with_policy or Policy(), as_of, WordEmbedder)


def reader(lake: Lake, with_policy: Policy | None = None) -> Recall:
    return Recall(lake, policy=with_policy or Policy(), embedder=WordEmbedder())


def land(lake: Lake, *rows: Mapping[str, Any], with_policy: Policy | None = None) -> list[str]:
    """Land rows (a day old where they do not say, roles alternate not) and return their ids."""
    plain = {
        "tenant_id": "t",
        "user_id": "u",
        "role": "user",
        "event_at": (NOW - timedelta(days=1)).isoformat(),
    }
    receipt = landing.append(lake, [{**plain, **row} for row in rows], policy=with_policy, now=NOW)
    assert not receipt.refused, receipt.refused
    return receipt.landed


def ingest(run: Job) -> None:
    run_ingest(run, [])


def publish(run: Job) -> str | None:
    run_ingest(run, [])
    run_embed(run)
    return run_publish(run).generation
