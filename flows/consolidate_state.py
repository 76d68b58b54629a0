"""What consolidation has been through, as noted below ``state``: bucket by bucket, where some lag behind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from flows.job import Job
from flows.notes import hint, mark_of
from lake import lineage
from transforms import ids
from transforms.claims.extract import EXTRACTOR
from transforms.schemas import DERIVED, EPISODES, LINEAGE, MODEL_RESULTS

STATE = "state/consolidated.json"
RULES_VERSION = 1
"""Raise it when the transforms come to other rows of the same episodes: all is derived anew then."""
SECTIONS = ("topics", "summaries", "claims", "facts", "conversations", "skills", "embed")
WRITTEN = [LINEAGE, *(t for t in DERIVED if t not in (LINEAGE, MODEL_RESULTS))]
"""In the order of their commits: a derived row is never without its lineage."""


@dataclass(frozen=True)
class Seen:
    """What the last run saw: episodes of a version, at an instant."""

    version: int
    as_of: datetime


@dataclass(frozen=True)
class State:
    """How far each bucket is.

    Attributes:
        seen: What was seen of all buckets but those behind; None: nothing by this method.
        behind: What was seen of buckets whose work failed, waits for a model or was broken off.
        is_reclaimed: Whether what a complete run leaves to be removed was, and what one that broke off
            leaves: lineage of rows that it did not come to write.
    """

    seen: Seen | None = None
    behind: Mapping[int, Seen | None] = field(default_factory=dict)
    is_reclaimed: bool = True

    def of(self, bucket: int) -> Seen | None:
        """What was seen of a bucket; None: all of it is to be derived."""
        return self.behind.get(bucket, self.seen)


def load(job: Job) -> State:
    """The state that the last run by this method noted; empty where none that holds is known."""
    record = hint(job, STATE)
    try:
        if record["method"] != method_of(job):
            return State()
        marks = {t: mark_of(record["marks"][t.name]) for t in (EPISODES, *WRITTEN)}
        seen = Seen(marks[EPISODES][0], datetime.fromisoformat(record["as_of"]))
        behind = {int(bucket): _seen_of(told) for bucket, told in record.get("behind", {}).items()}
        is_reclaimed = record.get("reclaimed", True) is True
    except (KeyError, TypeError, ValueError, AttributeError):
        return State()
    if not all(lineage.holds(job.lake, t, mark) for t, mark in marks.items()):
        return State()
    return State(seen, behind, is_reclaimed)


def _seen_of(told: object) -> Seen | None:
    """Raises ValueError or TypeError where it is none."""
    if told is None:
        return None
    if isinstance(told, list) and len(told) == 2 and type(told[0]) is int:
        return Seen(told[0], datetime.fromisoformat(told[1]))
    raise ValueError("no state of a bucket")


def save(job: Job, episodes: lineage.Mark, state: State) -> None:
    """Note a state; the derived tables are as they stand now.

    Args:
        job: The run.
        episodes: Mark of the version that ``state.seen`` is of.
        state: Must have seen something.
    """
    if state.seen is None:
        return
    marks = {table.name: lineage.mark(job.lake, table) for table in WRITTEN}
    behind = {
        str(bucket): None if seen is None else [seen.version, seen.as_of.isoformat()]
        for bucket, seen in sorted(state.behind.items())
    }
    record = {
        "method": method_of(job),
        "as_of": state.seen.as_of.isoformat(),
        "marks": {**marks, EPISODES.name: episodes},
        "behind": behind,
        "reclaimed": state.is_reclaimed,
    }
    job.lake.storage.write(STATE, json.dumps(record).encode())


def begin(job: Job) -> None:
    """Note that a run writes, for the one after it, should this one break off."""
    record = hint(job, STATE)
    if record:
        job.lake.storage.write(STATE, json.dumps({**record, "reclaimed": False}).encode())


def method_of(job: Job) -> str:
    """Names everything that changes what is derived of the same episodes, but for the episodes."""
    policy = {name: getattr(job.policy, name).model_dump(mode="json") for name in SECTIONS}
    model = None if job.model is None else job.model.key
    told = {"policy": policy, "rules": [RULES_VERSION, EXTRACTOR], "model": model, "space": job.space}
    return ids.digest(json.dumps(told, sort_keys=True))
