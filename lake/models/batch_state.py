"""What the lake remembers of batches that were sent: ids only, no text.

A record is written before anything is sent and again after each step, so that a run which is killed at any
instant leaves a record from which the next run can tell what there is: a record without a batch's id may
have a batch at the endpoint, which is found by the record's key.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Any

from lake.lake import Lake
from lake.models.wire import AnswerForm
from transforms.errors import LakeError

FOLDER = "state/batches"


@dataclass(frozen=True)
class Record:
    """One batch.

    Attributes:
        key: Random; marks the batch and its file at the endpoint.
        model_key: Of the model it was sent to.
        form: Form of answer that its requests ask for.
        submitted_unix: When it was sent, seconds.
        items: Result ids of its requests.
        left: Those of them whose outcome was not taken yet.
        file_id: Of its uploaded requests; None until known.
        batch_id: None until known.
    """

    key: str
    model_key: str
    form: AnswerForm
    submitted_unix: float
    items: tuple[str, ...]
    left: tuple[str, ...]
    file_id: str | None = None
    batch_id: str | None = None

    @property
    def file_name(self) -> str:
        """Name of its uploaded requests."""
        return f"slowwave-{self.key}.jsonl"

    def without(self, taken: Collection[str]) -> Record:
        """The record after the outcomes of some requests were taken."""
        return replace(self, left=tuple(name for name in self.left if name not in taken))


class Records:
    """The records of one model in a lake, by key."""

    def __init__(self, lake: Lake, model_key: str) -> None:
        self._storage = lake.storage
        self._model_key = model_key

    def load(self) -> dict[str, Record]:
        """All records of this model, oldest first.

        Raises:
            LakeError: One is damaged.
        """
        found = []
        for entry in self._storage.entries(FOLDER):
            raw = self._storage.read(entry.key)
            if raw is not None:
                found.append(_parsed(raw, entry.key))
        mine = [record for record in found if record.model_key == self._model_key]
        return {record.key: record for record in sorted(mine, key=lambda r: (r.submitted_unix, r.key))}

    def save(self, record: Record) -> None:
        """Write the record; durable when it returns."""
        self._storage.write(f"{FOLDER}/{record.key}.json", json.dumps(asdict(record)).encode())

    def drop(self, record: Record) -> None:
        """Forget the record."""
        self._storage.delete(f"{FOLDER}/{record.key}.json")


def _parsed(raw: bytes, key: str) -> Record:
    try:
        told: dict[str, Any] = json.loads(raw)
        return Record(**{**told, "items": tuple(told["items"]), "left": tuple(told["left"])})
    except (ValueError, TypeError, KeyError) as error:
        raise LakeError(
            f"{key} is damaged", "Remove it; the requests of that batch are then sent again."
        ) from error
