"""Drafts in, valid rows and refusals out: ids, times, closed lists, sizes. Pure and vectorised."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from transforms.policy import Policy
from transforms.schemas import DRAFTS, INSTANT, KINDS, OUTCOMES, REFUSALS, RETENTION_TIERS

ROLES = {
    "user": "user",
    "human": "user",
    "customer": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}
_IDS = ("tenant_id", "user_id", "agent_id", "session_id")
_ZONED = r"(?i)(?:z|[+-]\d{2}:?\d{2})$"
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_CONTROL_IN_ID = r"[\x00-\x1f\x7f]"


@dataclass(frozen=True)
class Defaults:
    """Scope for rows that name none, and the zone of naive times (None refuses them)."""

    tenant_id: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    timezone: str | None = None


def clean(drafts: pl.DataFrame, defaults: Defaults) -> pl.DataFrame:
    """Fill scopes, drop control characters, bring text to NFC, map roles, parse times.

    Args:
        drafts: ``schemas.DRAFTS``.
        defaults: Scope and zone for rows without.

    Returns:
        DRAFTS columns with ``event_at`` and ``expires_at`` as instants (null where not readable),
        plus the raw strings as ``event_text`` and ``expires_text``.
    """
    texts = [
        pl.col(name).str.replace_all(_CONTROL, "").str.normalize("NFC")
        for name in ("content", "speaker", "tool_name", "tool_arguments", "failure_reason", "feedback")
    ]
    scopes = [
        pl.when(pl.col(name).str.len_chars() > 0).then(pl.col(name)).fill_null(pl.lit(value, pl.String))
        for name, value in zip(_IDS, _scope_values(defaults), strict=True)
    ]
    role = pl.col("role").str.strip_chars().str.to_lowercase()
    frame = drafts.with_columns(*texts, *scopes, role=role.replace_strict(ROLES, default="other"))
    frame = frame.with_columns(
        role=pl.when(drafts["role"].is_null()).then(None).otherwise(pl.col("role")),
        event_text="event_at",
        expires_text="expires_at",
        event_at=parse_instant("event_at", defaults.timezone),
        expires_at=parse_instant("expires_at", defaults.timezone),
        tags=pl.col("tags").fill_null([]).list.drop_nulls(),
    )
    return _fill(frame)


def _scope_values(defaults: Defaults) -> list[str | None]:
    return [defaults.tenant_id, defaults.user_id, defaults.agent_id, defaults.session_id]


def _fill(frame: pl.DataFrame) -> pl.DataFrame:
    """Kind from role, and a text for a tool call that came without one."""
    blank = pl.col("content").fill_null("").str.strip_chars() == ""
    call = pl.concat_str([pl.col("tool_name"), pl.col("tool_arguments").fill_null("")], separator=" ")
    by_role = (
        pl.when(pl.col("tool_name").is_not_null())
        .then(pl.lit("action"))
        .when(pl.col("role") == "tool")
        .then(pl.lit("observation"))
        .otherwise(pl.lit("conversation"))
    )
    return frame.with_columns(
        content=pl.when(blank & pl.col("tool_name").is_not_null()).then(call).otherwise(pl.col("content")),
        kind=pl.coalesce(pl.col("kind").str.to_lowercase(), by_role),
        outcome=pl.col("outcome").str.to_lowercase(),
        is_injected=pl.col("is_injected").fill_null(False),
    )


def parse_instant(name: str, timezone: str | None) -> pl.Expr:
    """ISO 8601 text to a UTC instant; a naive time needs ``timezone``, else it gives null."""
    text = pl.col(name).str.strip_chars().str.replace(r"^(\d{4}-\d{2}-\d{2})[ t](\d)", "${1}T${2}")
    text = text.str.replace(r"(?i)z$", "+00:00").str.replace(r"([+-]\d{2})(\d{2})$", "${1}:${2}")
    is_zoned = text.str.contains(r"T.*[+-]\d{2}:\d{2}$")
    zoned = [
        pl.when(is_zoned).then(text).str.to_datetime(f, time_unit="us", time_zone="UTC", strict=False)
        for f in ("%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M%:z")
    ]
    if timezone is None:
        return pl.coalesce(zoned).cast(INSTANT)
    naive = pl.coalesce(
        pl.when(~is_zoned).then(text).str.to_datetime(f, time_unit="us", strict=False)
        for f in ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M")
    )
    day = pl.when(~is_zoned).then(text).str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    local = pl.coalesce(naive, day).dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
    return pl.coalesce(*zoned, local.dt.convert_time_zone("UTC")).cast(INSTANT)


def refuse(frame: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Add ``reason`` and ``detail``: the first rule that a cleaned row breaks, null where none."""
    rules = _rules(policy, as_of)
    reason = pl.coalesce(pl.when(broken).then(pl.lit(name)) for name, broken, _ in rules)
    detail = pl.coalesce(pl.when(broken).then(pl.lit(text)) for _, broken, text in rules)
    return frame.with_columns(reason=reason, detail=detail)


def _rules(policy: Policy, as_of: datetime) -> list[tuple[str, pl.Expr, str]]:
    """Reason, condition that breaks it, and a sentence for a person."""
    limits = policy.ingest
    latest = as_of + timedelta(seconds=limits.max_future_seconds)
    event, text = pl.col("event_at"), pl.col("event_text")
    blank = pl.col("content").is_null() | (pl.col("content").str.strip_chars() == "")
    long_id = pl.any_horizontal(
        pl.col(c).str.len_chars().fill_null(0) > limits.max_id_chars for c in (*_IDS, "natural_id")
    )
    odd_id = pl.any_horizontal(
        pl.col(c).str.contains(_CONTROL_IN_ID).fill_null(False) for c in (*_IDS, "natural_id")
    )
    naive = event.is_null() & ~text.str.strip_chars().str.contains(_ZONED)
    return [
        (
            "no_tenant",
            pl.col("tenant_id").is_null(),
            "The row names no tenant; pass --tenant as the default.",
        ),
        ("bad_id", long_id, f"An id is longer than {limits.max_id_chars} characters."),
        ("bad_id", odd_id, "An id holds a control character."),
        ("no_content", blank, "The row has no text and no tool call."),
        (
            "content_too_long",
            pl.col("content").str.len_chars() > limits.max_content_chars,
            f"The text exceeds ingest.max_content_chars = {limits.max_content_chars}.",
        ),
        ("missing_time", text.is_null(), "The row has no event time."),
        ("naive_time", naive & text.str.contains(r"^\s*\d{4}-\d"), "The time has no zone; pass --timezone."),
        ("bad_time", event.is_null(), "The time is not ISO 8601."),
        (
            "time_out_of_range",
            (event < limits.min_event_at) | (event > latest),
            f"The time is before {limits.min_event_at.date()} or after {latest.date()}.",
        ),
        (
            "bad_time",
            pl.col("expires_text").is_not_null() & pl.col("expires_at").is_null(),
            "The expiry is not ISO 8601 with a zone.",
        ),
        ("bad_value", ~pl.col("kind").is_in(KINDS), f"kind is none of {', '.join(KINDS)}."),
        ("bad_value", ~pl.col("outcome").is_in(OUTCOMES), f"outcome is none of {', '.join(OUTCOMES)}."),
        (
            "bad_value",
            ~pl.col("retention_tier").is_in(RETENTION_TIERS),
            f"retention_tier is none of {', '.join(RETENTION_TIERS)}.",
        ),
        (
            "bad_value",
            ~pl.col("importance").is_between(0.0, 1.0),
            "importance is not between 0 and 1.",
        ),
    ]


def as_refusals(frame: pl.DataFrame) -> pl.DataFrame:
    """Cleaned rows with ``reason`` and ``detail`` as ``schemas.REFUSALS``; raw is the row as JSON."""
    shown = [n for n in DRAFTS.names if n not in ("event_at", "expires_at")]
    columns = [pl.col("event_text").alias("event_at"), pl.col("expires_text").alias("expires_at")]
    raw = pl.struct(*shown, *columns).struct.json_encode()
    return frame.with_columns(raw=raw).select(REFUSALS.names)
