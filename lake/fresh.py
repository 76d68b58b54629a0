"""The fresh tail: rows of a scope that landed or were ingested after the live generation was built."""

from __future__ import annotations

import os
import threading
from datetime import datetime
from pathlib import Path

import polars as pl

from lake import landing, tables
from lake.index import Scope
from lake.lake import Lake
from transforms.memories import live
from transforms.policy import Policy
from transforms.schemas import EPISODES


class FreshTail:
    """Reads the tail of one lake; keeps what has not changed since the last call. Safe between threads."""

    def __init__(self, lake: Lake, policy: Policy) -> None:
        self._lake = lake
        self._policy = policy
        self._lock = threading.Lock()
        self._segments: dict[str, tuple[str, pl.DataFrame]] = {}
        self._files: tuple[int, int, frozenset[str]] = (-2, -2, frozenset())

    def episodes(self, scope: Scope, since_version: int, as_of: datetime) -> pl.DataFrame:
        """The newest live rows of the scope that the index does not hold yet, at most ``recall.fresh_rows``.

        Args:
            scope: Whose.
            since_version: Version of episodes the live generation was built from; -1 for none.
            as_of: Rows after this instant or expired at it are left out.
        """
        bucket = self._lake.bucket(scope.tenant)
        with self._lock:
            landed = self._landed(bucket)
            files = self._added(since_version)
        mine = [pl.col(name) == value for name, value in scope.columns().items()]
        happened = pl.col("event_at") <= as_of
        parts = [frame.filter(*mine, happened) for frame in landed]
        here = [f for f in files if f"tenant_bucket={bucket}/" in f]
        if here:
            ingested = tables.scan(self._lake, EPISODES, files=here).filter(*mine, happened)
            parts.append(
                ingested.sort("event_at", descending=True).head(self._policy.recall.fresh_rows).collect()
            )
        if not parts:
            return EPISODES.empty()
        rows = pl.concat(parts).unique("episode_id", keep="any")
        ranked = live(rows, self._policy, as_of).sort(["event_at", "episode_id"], descending=[True, False])
        return ranked.head(self._policy.recall.fresh_rows)

    def _landed(self, bucket: int) -> list[pl.DataFrame]:
        """Rows of the bucket's segments, read again only where a segment has grown."""
        entries = self._lake.storage.entries(f"{landing.PREFIX}/{bucket:03d}")
        current = {entry.key for entry in entries}
        for key in [
            k for k in self._segments if k.startswith(f"{landing.PREFIX}/{bucket:03d}/") and k not in current
        ]:
            del self._segments[key]
        for entry in entries:
            held = self._segments.get(entry.key)
            if held is None or held[0] != entry.tag:
                data = self._lake.storage.read(entry.key) or b""
                rows, _ = landing.segment_rows(landing.lines_of(data, is_sealed=False), EPISODES)
                self._segments[entry.key] = (entry.tag, rows)
        return [self._segments[entry.key][1] for entry in entries]

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
