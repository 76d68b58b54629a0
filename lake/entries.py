"""What a store says of the objects in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored object: key below the root, size, and a tag that changes with its content."""

    key: str
    size_bytes: int
    tag: str


@dataclass(frozen=True, slots=True)
class Dated:
    """An object as it was read: bytes, tag, and the instant at which the store wrote it by its own clock."""

    data: bytes
    tag: str
    modified_at: datetime
