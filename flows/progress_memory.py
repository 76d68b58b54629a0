"""Memory of this process and of those it started."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
FRESH_SECONDS = 1.0
"""How long a reading stands: bars are drawn ten times a second, and going through all processes of a
machine takes milliseconds."""


@dataclass(frozen=True)
class Memory:
    """Resident bytes now; pages that processes share are counted in each of them.

    Attributes:
        own_bytes: Of this process; None where the system does not tell (it is no Linux).
        children: Processes that this one started, and those that they did.
        children_bytes: Of all of them.
    """

    own_bytes: int | None = None
    children: int = 0
    children_bytes: int = 0

    @property
    def all_bytes(self) -> int | None:
        """Of this process and its children."""
        return None if self.own_bytes is None else self.own_bytes + self.children_bytes


class Gauge:
    """Reads memory, at most once in ``FRESH_SECONDS``."""

    def __init__(self) -> None:
        self._read_at = float("-inf")
        self._held = Memory()

    def read(self) -> Memory:
        """The newest reading."""
        now = time.monotonic()
        if now - self._read_at >= FRESH_SECONDS:
            self._held, self._read_at = read_memory(), now
        return self._held


def read_memory() -> Memory:
    """Memory of this process and of its descendants."""
    own = _resident(os.getpid())
    below = descendants(os.getpid())
    sizes = [size for size in map(_resident, below) if size]
    return Memory(own, len(sizes), sum(sizes))


def descendants(pid: int) -> list[int]:
    """Ids of the processes that one started, and those that they did; empty where the system hides them."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    found, waiting = list[int](), [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parents() -> list[tuple[int, int]]:
    """Every process that runs, and its parent."""
    if not _PROC.is_dir():
        return []
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name, in brackets, may itself hold brackets and spaces.
            fields = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if fields and fields[0] != "Z":
            found.append((int(entry.name), int(fields[1])))
    return found


def _resident(pid: int) -> int | None:
    try:
        pages = (_PROC / str(pid) / "statm").read_text("ascii").split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * _PAGE_BYTES
