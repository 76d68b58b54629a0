"""One row of a session's window, read from an episode as plain values, and until when it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from transforms.policy_recall import WorkingPolicy
from transforms.policy_retention import RetentionPolicy
from transforms.schemas import RETENTION_TIERS, SENSITIVITIES

ROLES = ("user", "assistant", "system", "tool", "other")
"""Who may speak in a session; a third party is ``other``."""
CALL_ID = "tool_call_id"
"""Field of an episode's metadata that names a tool call; its result names it as its parent."""
_ROW_TOKENS = 4
"""What a message costs beside its text."""
_TOKEN_BYTES = 4
"""Of UTF-8: prose of most languages takes 3.5 to 5 a token. Exact counting costs a cold process a second."""


@dataclass(frozen=True)
class Row:
    """One row of a session.

    Attributes:
        id: Of its episode.
        at: When it happened, UTC.
        role: user, assistant, tool, system or other; None where the source named none.
        content: Redacted text.
        tool_name: Tool that was called, or answered.
        arguments: Of a call, JSON.
        link: Id of the call that it makes or answers; None where it names none.
        raw: All columns of ``schemas.EPISODES``, instants as datetimes.
    """

    id: str
    at: datetime
    role: str | None
    content: str
    tool_name: str | None
    arguments: str | None
    link: str | None
    raw: Mapping[str, Any]

    @property
    def sensitivity(self) -> str:
        """One of ``SENSITIVITIES``."""
        return str(self.raw["sensitivity"])

    @property
    def is_result(self) -> bool:
        """Whether a tool says it."""
        return self.role == "tool"

    @property
    def is_call(self) -> bool:
        """Whether it calls a tool."""
        return self.tool_name is not None and not self.is_result

    @property
    def is_answered(self) -> bool:
        """Whether a call brings its own result, as rows of formats that keep both as one do."""
        plain = f"{self.tool_name} {self.arguments or ''}"
        return self.is_call and self.link is None and self.content.strip() != plain.strip()

    @property
    def is_opening(self) -> bool:
        """Whether a turn begins with it."""
        return self.role == "user" and self.tool_name is None

    @property
    def tokens(self) -> int:
        """About how many tokens it takes, rather too many than too few."""
        texts = (self.content, self.arguments or "", self.tool_name or "")
        return _ROW_TOKENS + sum(-(-len(text.encode()) // _TOKEN_BYTES) for text in texts)


def most_private(levels: Iterable[str]) -> str:
    """The most private of some sensitivities; the least where there is none."""
    return max(levels, key=SENSITIVITIES.index, default=SENSITIVITIES[0])


def row_of(raw: Mapping[str, Any]) -> Row:
    """A row from the columns of an episode.

    Args:
        raw: ``schemas.EPISODES``; instants as datetimes or as ISO text with an offset.

    Raises:
        ValueError: A value is none of its column.
        KeyError: A column is missing.
    """
    row = dict(raw)
    for name in ("event_at", "ingested_at", "expires_at"):
        if isinstance(row[name], str):
            row[name] = datetime.fromisoformat(row[name]).astimezone(UTC)
    return Row(
        row["episode_id"],
        row["event_at"],
        row["role"],
        row["content"] or "",
        row["tool_name"],
        row["tool_arguments"],
        _link(row),
        row,
    )


def _link(row: Mapping[str, Any]) -> str | None:
    if row["role"] == "tool" and row["parent_id"]:
        return str(row["parent_id"])
    try:
        told = json.loads(row["metadata"] or "{}")
    except (ValueError, RecursionError):
        return None
    named = told.get(CALL_ID) if isinstance(told, dict) else None
    return named if isinstance(named, str) and named else None


def due_at(
    raw: Mapping[str, Any], policy: RetentionPolicy, period_seconds: int | None = None
) -> datetime | None:
    """First instant at which a row is no longer served: ``retention.expiry_expr`` of one row, pins apart.

    Args:
        raw: Columns of an episode, instants as datetimes.
        policy: Lifetimes.
        period_seconds: What the row's person asked for; the policy's where None.
    """
    tier = raw["retention_tier"]
    spans = [
        getattr(policy, f"{tier if tier in RETENTION_TIERS else policy.default_tier}_seconds"),
        policy.by_kind_seconds.get(raw["kind"]),
        policy.user_cap_seconds if period_seconds is None else period_seconds,
    ]
    ends = [raw["event_at"] + timedelta(seconds=span) for span in spans if span is not None]
    own = raw["expires_at"]
    return min([*ends, *([own] if own is not None else [])], default=None)


def shown_until(
    raw: Mapping[str, Any],
    policy: WorkingPolicy,
    retention: RetentionPolicy,
    period_seconds: int | None = None,
) -> datetime:
    """First instant at which a row is in no window: its own end, or that of the window."""
    window: datetime = raw["event_at"] + timedelta(hours=policy.window_hours)
    due = due_at(raw, retention, period_seconds)
    return window if due is None else min(window, due)


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Rows by time; of one time in the order they came, and each once."""
    once: dict[str, Row] = {}
    for row in rows:
        once.setdefault(row.id, row)
    return sorted(once.values(), key=lambda row: row.at)
