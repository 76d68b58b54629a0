"""A landed row or two to episodes without a frame: what ``normalise`` makes of them, in a tenth of the time.

Of a single row nearly all the time of ``normalise`` is the fixed cost of a hundred small steps of the
frame's engine. Here the ordinary row is read the plain way. Whatever is not ordinary (it might be refused,
its time is written otherwise, its text holds what two engines might read apart) is not judged at all: the
whole call goes to ``normalise``, which stays the one that decides. Both give the same row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from transforms import ids
from transforms.few_tags import tags_of
from transforms.injection import injection_reason
from transforms.normalise import content_hashes
from transforms.policy import Policy
from transforms.readers.batch import ID_COLUMNS
from transforms.readers.row_shape import TEXT_COLUMNS, shape_record
from transforms.readers.text import JsonFault
from transforms.redact import redact_text
from transforms.schemas import DRAFTS, EPISODES, KINDS, OUTCOMES, RETENTION_TIERS
from transforms.scopes import is_reserved
from transforms.validate import ROLES, Defaults

FEW = 8
"""Up to so many rows; more of them repay a frame."""
_LONGEST_CHARS = 20_000
"""Of all texts of a row: longer ones are searched sooner by the frame's engine."""
_SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")
_FREE_TEXTS = ("content", "speaker", "tool_name", "tool_arguments", "failure_reason", "feedback")
_REDACTED = (*_FREE_TEXTS, "metadata", "parent_id")
_SHOWN = ("content", "speaker", "tool_name", "failure_reason")
_OWN_ROLES = ("user", "assistant", "system")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)", re.ASCII)
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ud800-\udfff\U00010000-\U0001efff]")
"""Control characters, and planes whose newest letters two versions of Unicode compose differently."""
_CONTROL = re.compile("[\x00-\x1f\x7f]")


class _OddError(Exception):
    """A row that is not ordinary."""


@dataclass(frozen=True)
class _Rules:
    """What every row of a call is held to."""

    policy: Policy
    as_of: datetime
    defaults: Mapping[str, str | None]
    source: str
    file_name: str
    buckets: int


def episodes_of(
    records: Sequence[Mapping[str, Any]],
    *,
    source: str,
    file_name: str,
    defaults: Defaults,
    policy: Policy,
    as_of: datetime,
    buckets: int,
) -> list[dict[str, Any]] | None:
    """Episodes of a few records in the row shape, or None where one of them is not ordinary.

    Args:
        records: Parsed JSON objects.
        source: Name of the input format.
        file_name: For ``source_file``.
        defaults: Scope and zone for rows that name none.
        policy: Limits and weights.
        as_of: The instant the rows enter; becomes ``ingested_at``.
        buckets: Tenant buckets of the lake.

    Returns:
        Rows of ``schemas.EPISODES`` as plain values, in order: exactly those of ``normalise``.
    """
    is_plain = not (policy.redact.keep_restricted_tenants or defaults.only_tenant)
    if not 0 < len(records) <= FEW or not is_plain:
        return None
    scope = {name: getattr(defaults, name) or None for name in _SCOPE}
    rules = _Rules(policy, as_of, scope, source, file_name, buckets)
    try:
        return [_episode(record, line, rules) for line, record in enumerate(records, 1)]
    except (_OddError, JsonFault, ValueError, OverflowError):
        return None


def _episode(record: Mapping[str, Any], line: int, rules: _Rules) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(DRAFTS.names) | shape_record(record)
    _check_texts(row, rules)
    _fill(row, rules)
    _check_values(row, rules)
    row["redactions"] = _redact(row, rules.policy)
    _require(not _instructs(row))
    row |= tags_of(row, rules.policy)
    row |= {"source_line": line, "source_file": rules.file_name, "source": rules.source}
    _name(row, rules)
    return {name: row[name] for name in EPISODES.names}


def _require(is_ordinary: bool) -> None:
    if not is_ordinary:
        raise _OddError


def _check_texts(row: dict[str, Any], rules: _Rules) -> None:
    """No text is changed by cleaning, and none is long."""
    texts = [text for name in _REDACTED if (text := row[name]) is not None]
    _require(sum(map(len, texts)) <= _LONGEST_CHARS and not row["tags"])
    for text in texts:
        if not text.isascii():
            _require(unicodedata.is_normalized("NFC", text))
        _require(_ODD.search(text) is None)
    short = [name for name in TEXT_COLUMNS if name not in _FREE_TEXTS and row[name] is not None]
    _require(all(row[name].isascii() for name in short))
    named = [row[name] for name in ID_COLUMNS if row[name] is not None]
    longest = rules.policy.ingest.max_id_chars
    for name in named:
        _require(len(name) <= longest and not _CONTROL.search(name) and not _ODD.search(name))


def _fill(row: dict[str, Any], rules: _Rules) -> None:
    """Scope, role, kind, and the text of a tool call without one."""
    for name in _SCOPE:
        row[name] = row[name] or rules.defaults[name]
    row["natural_id"] = row["natural_id"] or None
    if row["role"] is not None:
        row["role"] = ROLES.get(row["role"].strip().lower(), "other")
    tool, content = row["tool_name"], row["content"] or ""
    _require(content.isascii() or bool(content.strip()))
    if not content.strip():
        _require(tool is not None)
        content = f"{tool} {row['tool_arguments'] or ''}"
    row["content"] = content
    by_role = "action" if tool is not None else "observation" if row["role"] == "tool" else "conversation"
    row["kind"] = by_role if row["kind"] is None else row["kind"].lower()
    row["outcome"] = None if row["outcome"] is None else row["outcome"].lower()
    row["is_injected"] = bool(row["is_injected"])
    row["tags"] = []
    if row["retention_tier"] is None:
        row["retention_tier"] = rules.policy.retention.default_tier


def _check_values(row: dict[str, Any], rules: _Rules) -> None:
    """Times in range, closed lists, limits."""
    limits, content = rules.policy.ingest, row["content"]
    _require(row["tenant_id"] is not None and not is_reserved(row["tenant_id"], row["agent_id"]))
    _require(bool(content.strip()) and len(content) <= limits.max_content_chars)
    _require(row["kind"] in KINDS and row["retention_tier"] in RETENTION_TIERS)
    _require(row["outcome"] is None or row["outcome"] in OUTCOMES)
    _require(row["importance"] is None or 0.0 <= row["importance"] <= 1.0)
    row["event_at"] = _instant(row["event_at"])
    latest = rules.as_of + timedelta(seconds=limits.max_future_seconds)
    _require(limits.min_event_at <= row["event_at"] <= latest)
    if row["expires_at"] is not None:
        row["expires_at"] = _instant(row["expires_at"])


def _instant(text: str | None) -> datetime:
    _require(text is not None and _TIME.fullmatch(text) is not None)
    return datetime.fromisoformat(str(text)).astimezone(UTC)


def _redact(row: dict[str, Any], policy: Policy) -> list[str]:
    """Redact every free text in place. Returns the kinds found, sorted."""
    found: set[str] = set()
    if policy.redact.is_enabled:
        for name in _REDACTED:
            if row[name] is not None:
                row[name], kinds = redact_text(row[name], policy.redact.keep_kinds)
                found.update(kinds)
    return sorted(found)


def _instructs(row: Mapping[str, Any]) -> bool:
    """Whether a text of somebody other than user, assistant and system reads as an order."""
    if row["role"] in _OWN_ROLES and row["tool_name"] is None:
        return False
    texts = pl.Series([row[name] for name in _SHOWN if row[name] is not None], dtype=pl.String)
    nobody = pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))
    return injection_reason(texts, nobody, nobody).null_count() < len(texts)


def _name(row: dict[str, Any], rules: _Rules) -> None:
    """Hashes, ids, partitions."""
    content, at = row["content"], row["event_at"]
    row["content_hash"] = _content_hash(row["tenant_id"], content)
    scope = [row[name] or "" for name in _SCOPE]
    turn = "" if row["turn_index"] is None else str(row["turn_index"])
    told = at.isoformat(" ", "microseconds")
    anonymous = "\x1e".join([row["role"] or "", told, turn, row["content_hash"]])
    key = f"a{anonymous}" if row["natural_id"] is None else f"n{row['natural_id']}"
    row["episode_id"] = ids.row_id(*scope, key)
    row["tenant_bucket"] = ids.tenant_bucket(row["tenant_id"], rules.buckets)
    row["month"] = f"{at:%Y-%m}"
    row["content_chars"] = len(content)
    row["ingested_at"] = rules.as_of.astimezone(UTC)


def _content_hash(tenant: str, content: str) -> str:
    if content.isascii():
        return ids.row_id(tenant, " ".join(content.lower().split()))
    frame = pl.DataFrame({"tenant_id": [tenant], "content": [content]})
    return str(content_hashes(frame).item())
