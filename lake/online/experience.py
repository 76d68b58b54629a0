"""Experience: what past attempts of a scope suggest for a task at hand."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from lake import arguments, revisions, tables
from lake.lake import Lake
from lake.online.asked import Asked
from lake.scope import EPOCH, Filters, Scope
from transforms.experience import Hint, by_episode, hints
from transforms.routing import Route
from transforms.schemas import ATTEMPTS

if TYPE_CHECKING:
    from lake.online.searcher import Searcher

SCOPES_HELD = 32
MOST_ATTEMPTS = 10_000
"""Attempts of one scope that are looked at, the newest."""
MOST_HINTS = 100
_READ = (
    "attempt_id", "tenant_id", "user_id", "agent_id", "session_id", "task_type", "tool_sequence", "outcome",
    "failure_reason", "is_transient", "reward", "fix", "sensitivity", "source_refs", "event_at",
)  # fmt: skip


class AttemptShelf:
    """Attempts of the scopes most recently asked for, by episode; read again after a night. Thread-safe.

    Args:
        lake: Whose.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._lock = threading.Lock()
        self._held: OrderedDict[Scope, tuple[int, Sequence[dict[str, Any]]]] = OrderedDict()

    def of(self, scope: Scope, filters: Filters) -> Mapping[str, Mapping[str, Any]]:
        """Attempts that a call may see, by the id of each episode they rest on."""
        version = tables.version(self._lake, ATTEMPTS)
        with self._lock:
            held = self._held.get(scope)
            if held is not None and held[0] == version:
                self._held.move_to_end(scope)
        if held is None or held[0] != version:
            held = version, _read(self._lake, scope)
            with self._lock:
                self._held[scope] = held
                while len(self._held) > SCOPES_HELD:
                    self._held.popitem(last=False)
        return by_episode([row for row in held[1] if _serves(filters, row)])


def _read(lake: Lake, scope: Scope) -> list[dict[str, Any]]:
    frame = tables.scan(lake, ATTEMPTS, buckets=[lake.bucket(scope.tenant)])
    fixed = [pl.col(name) == value for name, value in scope.columns().items()]
    rows = frame.filter(pl.all_horizontal(fixed)).collect()
    stood = revisions.alive(revisions.newest(ATTEMPTS, rows)).filter(scope.mine())
    newest = stood.sort("event_at", "attempt_id", descending=[True, False]).head(MOST_ATTEMPTS)
    return newest.select(_READ).to_dicts()


def _serves(filters: Filters, row: Mapping[str, Any]) -> bool:
    """The call's filters on an attempt, but for kinds."""
    happened = (row["event_at"] - EPOCH) // timedelta(microseconds=1)
    plain = {
        **row,
        "memory_id": row["attempt_id"],
        "kind": "outcome",
        "expires_at": None,
        "event_at": happened,
    }
    return replace(filters, kinds=None).serves(plain)


def experience(searcher: Searcher, shelf: AttemptShelf, asked: Asked, most: int) -> list[Hint]:
    """Hints for a task.

    Args:
        searcher: Finds memories like the task.
        shelf: Attempts.
        asked: The task as a search, whatever its limit.
        most: Most hints.

    Raises:
        UsageError: ``most`` is no count.
    """
    wanted = arguments.count("k", most, MOST_HINTS)
    found = searcher.ranked(replace(asked, limit=None, route=asked.route or Route()))
    kept, _ = found.frames()
    policy, best = asked.policy.recall, float(found.scores["relevance"].max(initial=0.0))
    floor = max(policy.derived_floor_ratio * best, policy.hint_relevance)
    like = kept.filter(pl.col("relevance") >= floor)
    attempts: dict[str, Mapping[str, Any]] = {}
    for scope in asked.scopes:
        attempts |= shelf.of(scope, asked.filters)
    rows = zip(like.to_dicts(), like["relevance"].to_list(), strict=True)
    return hints(rows, attempts, most=wanted)
