"""The fresh tail: rows of a scope that landed or were ingested after the live generation was built."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

from lake import landed_lines, landing, tables
from lake.lake import Lake
from lake.rights.tombstones import Tombstones, load
from lake.scope import Scope
from lake.storage import Entry, LocalStorage
from transforms.errors import LakeError
from transforms.policy import Policy
from transforms.schemas import EPISODES, LINEAGE

_T = TypeVar("_T")
SCOPES_HELD = 64
"""Scopes whose tail is kept between calls, the most recently asked ones."""
ATTEMPTS = 20
"""Looks at a folder of segments that changes while it is looked at."""
_TICK_NS = 20_000_000
"""Above the tick of any kernel's file times (1 to 10 ms)."""
FRAMES_HELD = 16
"""Portions of a growing segment that are kept apart before they are put together."""


@dataclass
class _Segment:
    """What has been read of one landed file: its tag, bytes parsed, and rows."""

    tag: str = ""
    parsed_bytes: int = 0
    frames: list[pl.DataFrame] = field(default_factory=list)


class FreshTail:
    """Reads the tail of one lake; keeps what has not changed since the last call. Safe between threads."""

    def __init__(self, lake: Lake, policy: Policy) -> None:
        self._lake = lake
        self._newest = policy.recall.fresh_rows
        self._lock = threading.Lock()
        self._segments: dict[str, _Segment] = {}
        self._files: tuple[int, int, frozenset[str]] = (-2, -2, frozenset())
        self._replaced_at: tuple[int, int] = (-2, -2)
        self._replaced: dict[int, frozenset[str]] = {}
        self._held: OrderedDict[Scope, tuple[object, pl.DataFrame]] = OrderedDict()

    def episodes(
        self, scope: Scope, since_version: int, tombstones: Tombstones | None = None
    ) -> pl.DataFrame | None:
        """The scope's newest rows that the index does not hold yet, at most ``recall.fresh_rows``.

        Args:
            scope: Whose.
            since_version: Version of episodes the live generation was built from; -1 for none.
            tombstones: Whose rows are left out; looked up where None.

        Returns:
            ``schemas.EPISODES``, the very same frame while nothing changes; None where there is
            nothing fresh. Expired rows are among them.
        """
        bucket = self._lake.bucket(scope.tenant)
        refusing = load(self._lake) if tombstones is None else tombstones
        with self._lock:
            entries = self._entries(bucket)
            files = self._files_of(bucket, since_version)
            if not entries and not files:
                self._segments = {
                    k: v for k, v in self._segments.items() if not k.startswith(_folder(bucket))
                }
                return None
            state = (tuple((entry.key, entry.tag) for entry in entries), self._files[:2], refusing)
            held = self._held.get(scope)
            if held is None or held[0] != state:
                read = partial(self._read, scope, bucket, entries)
                frame = self._of_files(bucket, since_version, read)
                frame = frame.filter(~refusing.is_refused(frame)) if refusing else frame
                if held is not None and frame.equals(held[1]):
                    frame = held[1]
                self._held[scope] = (state, frame)
            self._held.move_to_end(scope)
            while len(self._held) > SCOPES_HELD:
                self._held.popitem(last=False)
            frame = self._held[scope][1]
        return frame if frame.height else None

    def replaced(self, scope: Scope, since_version: int) -> frozenset[str]:
        """Ids of episodes, of any tenant of the bucket, that edits since a version have replaced."""
        bucket = self._lake.bucket(scope.tenant)
        with self._lock:
            if not self._files_of(bucket, since_version):
                return frozenset()
            if self._replaced_at != self._files[:2]:
                self._replaced_at, self._replaced = self._files[:2], {}
            if bucket not in self._replaced:
                read = partial(self._replaced_by, bucket)
                self._replaced[bucket] = self._of_files(bucket, since_version, read)
            return self._replaced[bucket]

    def _replaced_by(self, bucket: int, files: list[str]) -> frozenset[str]:
        """What lineage says that rows of some files replace: it lands before them."""
        rows = tables.scan(self._lake, LINEAGE, buckets=[bucket]).filter(derived_kind=EPISODES.name)
        links = rows.select("derived_id", "source_id").collect()
        if links.is_empty():
            return frozenset()
        landed = tables.scan(self._lake, EPISODES, files=files).select(derived_id="episode_id")
        return frozenset(links.join(landed.collect(), on="derived_id", how="semi")["source_id"])

    def _entries(self, bucket: int) -> list[Entry]:
        """Segments of a bucket, all of them read.

        Ingest renames a segment, commits its rows and removes it. Rows of one that went while it was being
        listed or read would be met nowhere: not here any more, and not yet in a table whose version was
        looked at before. So it is read at once, and looked for again where the folder has changed.
        """
        prefix = f"{landing.PREFIX}/{bucket:03d}"
        for _ in range(ATTEMPTS):
            before = self._stamp(prefix)
            entries = self._lake.storage.entries(prefix)
            is_whole = all(self._is_read(entry) for entry in entries)
            if is_whole and before == self._stamp(prefix):
                break
        return entries

    def _stamp(self, prefix: str) -> object:
        """Changes when a segment comes, is renamed or goes; on an object store nothing is renamed."""
        if not isinstance(self._lake.storage, LocalStorage):
            return None
        try:
            changed_ns = self._lake.storage.path(prefix).stat().st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return None
        if time.time_ns() - changed_ns < _TICK_NS:  # it may change again within the same tick of the clock
            return changed_ns, tuple(sorted(os.listdir(self._lake.storage.path(prefix))))  # noqa: PTH208
        return changed_ns

    def _is_read(self, entry: Entry) -> bool:
        """Read what is new of a segment; False where it has gone."""
        segment = self._segments.setdefault(entry.key, _Segment())
        return segment.tag == entry.tag or self._extend(segment, entry)

    def _files_of(self, bucket: int, since_version: int) -> list[str]:
        return [f for f in self._added(since_version) if f"tenant_bucket={bucket}/" in f]

    def _of_files(self, bucket: int, since_version: int, read: Callable[[list[str]], _T]) -> _T:
        try:
            return read(self._files_of(bucket, since_version))
        except (LakeError, OSError, pl.exceptions.PolarsError):
            if _log_version(self._lake) == self._files[1]:
                raise
            # An erasure has put other files in their place meanwhile, and removed these.
            return read(self._files_of(bucket, since_version))

    def _read(self, scope: Scope, bucket: int, entries: list[Entry], files: list[str]) -> pl.DataFrame:
        parts = [frame.filter(scope.mine()) for frame in self._landed(bucket, entries)]
        if files:
            ingested = tables.scan(self._lake, EPISODES, files=files).filter(scope.mine())
            parts.append(ingested.sort("event_at", descending=True).head(self._newest).collect())
        rows = pl.concat([EPISODES.empty(), *parts]).unique("episode_id", keep="any")
        return rows.sort(["event_at", "episode_id"], descending=[True, False]).head(self._newest)

    def _landed(self, bucket: int, entries: list[Entry]) -> list[pl.DataFrame]:
        """Rows of the bucket's segments; of one that has grown only what is new is parsed."""
        current = {entry.key for entry in entries}
        for key in [k for k in self._segments if k.startswith(_folder(bucket)) and k not in current]:
            del self._segments[key]
        return [frame for entry in entries for frame in self._segments[entry.key].frames]

    def _extend(self, segment: _Segment, entry: Entry) -> bool:
        data = self._lake.storage.read(entry.key)
        if data is None:
            return False
        # A failed append is cut off again, but never a whole line that was acknowledged.
        end = data.rfind(b"\n") + 1
        lines = landed_lines.lines_of(data[segment.parsed_bytes : end], is_sealed=False)
        # A torn line is ingest's to quarantine.
        rows, _ = landed_lines.segment_rows(lines, EPISODES, self._lake)
        if rows.height:
            segment.frames.append(rows)
        if len(segment.frames) > FRAMES_HELD:
            segment.frames = [pl.concat(segment.frames)]
        segment.tag, segment.parsed_bytes = entry.tag, max(end, segment.parsed_bytes)
        return True

    def _added(self, since_version: int) -> frozenset[str]:
        """Data files of episodes that came after the version; looked up again only after a commit."""
        now = _log_version(self._lake)
        if self._files[:2] != (since_version, now):
            added = (
                frozenset()
                if now == since_version
                else tables.added_files(self._lake, EPISODES, since_version)
            )
            self._files = (since_version, now, added)
        return self._files[2]


def _folder(bucket: int) -> str:
    return f"{landing.PREFIX}/{bucket:03d}/"


def _log_version(lake: Lake) -> int:
    """The table's version: a directory listing locally, which is far cheaper than opening the table."""
    if not lake.is_local:
        return tables.version(lake, EPISODES)
    log = Path(lake.table_uri(EPISODES)) / "_delta_log"
    try:
        names = os.listdir(log)  # noqa: PTH208 names only, on the hot path
    except FileNotFoundError:
        return -1
    return max(
        (int(name[:20]) for name in names if name.endswith(".json") and name[:20].isdigit()), default=-1
    )
