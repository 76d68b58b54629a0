"""What the tests of the recall log share: a lake of now, whose calls are logged, and its logged rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.publish import run_publish
from lake import landing, recall_segments, tables
from lake.lake import Lake
from lake.recall import Recall
from tests.lake.recalled import WordEmbedder, make_lake
from transforms.policy import Policy
from transforms.policy_recall import RecallLogPolicy
from transforms.schemas import RECALLS

ME: dict[str, Any] = {"tenant": "t", "user": "u"}
SLOW = RecallLogPolicy(flush_seconds=3_600)
"""Nothing is written but by ``flush``."""


def job_now(lake: Lake, policy: Policy | None = None, at: datetime | None = None) -> Job:
    return Job(lake, policy or Policy(), at or datetime.now(UTC), WordEmbedder)


def logging(lake: Lake, policy: Policy | None = None, **log: Any) -> Recall:
    """A reader that writes its log when it is flushed."""
    held = policy or Policy()
    rule = SLOW.model_copy(update=log)
    return Recall(lake, policy=held.model_copy(update={"recall_log": rule}), embedder=WordEmbedder())


def say(lake: Lake, *rows: Mapping[str, Any]) -> list[str]:
    plain = {"tenant_id": "t", "user_id": "u", "role": "user"}
    receipt = landing.append(lake, [{**plain, **row} for row in rows])
    assert not receipt.refused, receipt.refused
    return receipt.landed


def own_words(number: int) -> str:
    """Words that no other row has: no date, which is embedded with them, makes two rows near-duplicates."""
    return " ".join(f"{word}{number}" for word in ("pier", "lamp", "rope", "tern"))


def notes(count: int = 12) -> list[dict[str, Any]]:
    return [
        {"content": f"the violin of harbour number {i}, {own_words(i)}", "session_id": f"s{i % 2}"}
        for i in range(count)
    ]


def published(folder: Path, rows: list[dict[str, Any]] | None = None) -> Lake:
    lake = make_lake(folder)
    say(lake, *(notes() if rows is None else rows))
    publish_now(lake)
    return lake


def publish_now(lake: Lake, policy: Policy | None = None) -> None:
    job = job_now(lake, policy)
    run_ingest(job, [])
    run_embed(job)
    run_publish(job)


def lines(lake: Lake) -> list[dict[str, Any]]:
    """Every line that waits."""
    found = []
    for entry in lake.storage.entries(recall_segments.PREFIX):
        found += [orjson.loads(line) for line in (lake.storage.read(entry.key) or b"").splitlines()]
    return found


def recalls(lake: Lake) -> pl.DataFrame:
    return tables.scan(lake, RECALLS).collect().sort("recalled_at", "call_id", "rank")


def fold(lake: Lake, policy: Policy | None = None) -> dict[str, Any]:
    """What ingest tells of the log."""
    result, _ = run_ingest(job_now(lake, policy), [])
    told: dict[str, Any] = result.detail.get("recall_log", {})
    return told
