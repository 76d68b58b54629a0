"""Standing instructions: one file a subject, named by its salted hash; it holds ids while it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lake.lake import Lake
from lake.rights.subjects import salt, subject_hash
from lake.rights.watched import Place, Watched, place_of
from transforms.errors import LakeError
from transforms.standing import Standing
from transforms.subjects import Subject

PREFIX = "standing"


@dataclass(frozen=True)
class _Held:
    """Everything that stands, and the same by subject."""

    source: Mapping[str, Standing]
    by_subject: dict[Subject, Standing]


def load_all(lake: Lake) -> list[Standing]:
    """Every standing instruction, in the order of its subject.

    Raises:
        LakeError: One of them is damaged: nothing may land or be removed against it.
    """
    return sorted(_watched.read(lake).values(), key=lambda one: one.subject.parts)


def load(lake: Lake, subject: Subject) -> Standing:
    """What stands of one subject; an empty one where nothing does."""
    return _by_subject(lake).get(subject) or Standing(subject)


def save(lake: Lake, standing: Standing) -> None:
    """Replace what stands of its subject; nothing left removes the file."""
    key = key_of(lake, standing.subject)
    if standing.is_empty:
        lake.storage.delete(key)
    else:
        lake.storage.write(key, json.dumps(_record(standing), sort_keys=True).encode())


def of_rows(lake: Lake, tenant: str, user: str | None, agent: str | None) -> list[Standing]:
    """What stands of a row's tenant, user and agent, for the online path."""
    held = _by_subject(lake)
    if not held:
        return []
    subjects = [Subject(tenant)]
    if user:
        subjects.append(Subject(tenant, user=user))
    if agent:
        subjects.append(Subject(tenant, agent=agent))
    return [held[subject] for subject in subjects if subject in held]


def key_of(lake: Lake, subject: Subject) -> str:
    """Where a subject's instructions lie."""
    return f"{PREFIX}/{subject_hash(salt(lake), subject)}.json"


def _by_subject(lake: Lake) -> dict[Subject, Standing]:
    source = _watched.read(lake)
    where = place_of(lake)
    held = _indexed.get(where)
    if held is None or held.source is not source:
        held = _Held(source, {one.subject: one for one in source.values()})
        _indexed[where] = held
    return held.by_subject


def _record(standing: Standing) -> dict[str, Any]:
    at = standing.opted_out_at
    return {
        "subject": standing.subject.as_dict(),
        "is_held": standing.is_held,
        "is_opted_out": standing.is_opted_out,
        "opted_out_at": None if at is None else at.isoformat(),
        "period_seconds": standing.period_seconds,
        "forbidden_topics": list(standing.forbidden_topics),
        "pinned": list(standing.pinned),
    }


def _parsed(key: str, data: bytes) -> Standing:
    """One file.

    Raises:
        LakeError: It is damaged.
    """
    try:
        record = json.loads(data)
        at, period = record["opted_out_at"], record["period_seconds"]
        return Standing(
            Subject(**{str(k): str(v) for k, v in record["subject"].items()}),
            is_held=record["is_held"] is True,
            is_opted_out=record["is_opted_out"] is True,
            opted_out_at=None if at is None else datetime.fromisoformat(at),
            period_seconds=None if period is None else int(period),
            forbidden_topics=tuple(str(topic) for topic in record["forbidden_topics"]),
            pinned=tuple(str(memory) for memory in record["pinned"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LakeError(
            f"{key} is damaged", "Restore it from a backup: somebody's wish stands in it."
        ) from error


_watched = Watched(PREFIX, _parsed)
_indexed: dict[Place, _Held] = {}
