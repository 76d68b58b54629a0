"""Temporary lakes for evaluation, through the real pipeline: land, ingest, embed, consolidate, publish."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.nightly import run_nightly
from flows.publish import run_publish
from lake import landing, tables
from lake.lake import init_lake
from transforms.evaluation.labelled import LabelledSet
from transforms.memories import live
from transforms.policy import Policy
from transforms.policy_entries import CENTURY_SECONDS
from transforms.policy_retention import CapacityPolicy, RetentionPolicy
from transforms.schemas import EPISODES

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder

PREFIX = "slowwave-evaluate-"
"""Of the folder of a run's lakes, below the system's folder for temporary files; removed at the end."""
MOST_LAKES = 20
"""A lake costs seconds; questions of more instants than this share one."""
_PORTION = 20_000


@dataclass
class Built:
    """A lake with the episodes of a set.

    Attributes:
        job: Its job.
        names: Id in the set of each episode that landed, by its id in the lake.
        refused: Count of rows that were not landed, by reason.
    """

    job: Job
    names: dict[str, str] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder for lakes, removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        yield Path(folder)


def unforgetting(policy: Policy) -> Policy:
    """The policy with retention off: no lifetime below a century, and no capacity that is ever reached."""
    endless = {f"{tier}_seconds": None for tier in RetentionPolicy().tier_seconds()}
    retention: dict[str, Any] = {**endless, "user_cap_seconds": CENTURY_SECONDS, "by_kind_seconds": {}}
    most = dict.fromkeys(CapacityPolicy.model_fields, 1_000_000_000)
    sections = {
        "retention": policy.retention.model_copy(update=retention),
        "capacity": policy.capacity.model_copy(update=most),
        "staleness": policy.staleness.model_copy(update={"is_enabled": False}),
        "decay": policy.decay.model_copy(update={"forget_below": 0.0}),
        # The gate of the index is not what is measured.
        "publish": policy.publish.model_copy(update={"check_queries": 5}),
    }
    return unlogged(policy).model_copy(update=sections)


def unlogged(policy: Policy) -> Policy:
    """The policy without the trace of recalls, which nobody reads in a lake that is thrown away."""
    return policy.model_copy(
        update={"recall_log": policy.recall_log.model_copy(update={"sample_ratio": 0.0})}
    )


def landed(
    folder: Path, policy: Policy, embedder: Embedder, rows: Sequence[dict[str, Any]], as_of: datetime
) -> Built:
    """A new lake with the rows landed, not yet ingested."""
    lake = init_lake(str(folder), 1)
    built = Built(Job(lake, policy, as_of, lambda: embedder))
    land(built, rows)
    return built


def land(built: Built, rows: Sequence[dict[str, Any]]) -> None:
    """Land more rows; ids and refusals are added to the lake's."""
    job = built.job
    for start in range(0, len(rows), _PORTION):
        portion = rows[start : start + _PORTION]
        receipt = landing.append(job.lake, portion, policy=job.policy, now=job.as_of)
        refused = {fault.index for fault in receipt.refused}
        taken = [row["id"] for i, row in enumerate(portion) if i not in refused]
        built.names |= dict(zip(receipt.landed, taken, strict=True))
        for fault in receipt.refused:
            built.refused[fault.reason] = built.refused.get(fault.reason, 0) + 1


def built_episodes(
    folder: Path, policy: Policy, embedder: Embedder, rows: Sequence[dict[str, Any]], as_of: datetime
) -> Built:
    """A lake whose index holds some episodes and nothing derived of them."""
    built = landed(folder, policy, embedder, rows, as_of)
    run_ingest(built.job, [])
    run_embed(built.job)
    run_publish(built.job)
    return built


def consolidate(built: Built) -> None:
    """Derive facts, summaries and skills by rule, and publish them beside the episodes."""
    run_consolidate(built.job)
    run_publish(built.job, force=True)


def forget(built: Built, policy: Policy) -> int:
    """A night of another policy, which takes out what it does not keep.

    Args:
        built: A lake that forgot nothing so far; its job is left as it is.
        policy: Of the night.

    Returns:
        How many episodes are left and served.
    """
    job = replace(built.job, policy=policy)
    run_nightly(job, [], publish=False)
    run_publish(job, force=True)
    held = tables.scan(job.lake, EPISODES).collect()
    return live(held, policy, job.as_of).height


@dataclass(frozen=True)
class Batch:
    """Questions that are put to one lake, and its episodes.

    Attributes:
        as_of: When its nights are run, and its questions asked unless they name an earlier instant.
        questions: Their positions in the set.
        rows: Episodes of their scopes that had happened by then.
    """

    as_of: datetime
    questions: list[int]
    rows: list[dict[str, Any]]


def batches(data: LabelledSet) -> list[Batch]:
    """A lake for each instant at which questions are asked, so that its index is as old as they are.

    With more than ``MOST_LAKES`` instants it is one lake of the last of them, and earlier questions are
    answered as of the past.
    """
    by_instant: dict[datetime, list[int]] = {}
    for at, question in enumerate(data.questions):
        by_instant.setdefault(question.as_of, []).append(at)
    if len(by_instant) > MOST_LAKES:
        by_instant = {max(by_instant): list(range(len(data.questions)))}
    return [Batch(as_of, asked, _rows_of(data, asked, as_of)) for as_of, asked in sorted(by_instant.items())]


def _rows_of(data: LabelledSet, asked: Sequence[int], as_of: datetime) -> list[dict[str, Any]]:
    """Episodes that lie in the scope of one of the questions."""
    scopes = {tuple(sorted(data.questions[at].scope.items())) for at in asked}
    by_names: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for scope in scopes:
        by_names.setdefault(tuple(n for n, _ in scope), set()).add(tuple(v for _, v in scope))
    return [
        row
        for row in data.rows
        if row["event_at"] <= as_of
        and any(tuple(row.get(f"{n}_id") for n in names) in held for names, held in by_names.items())
    ]
