"""Drafts in, valid rows and refusals out: ids, times, closed lists, sizes. Pure and vectorised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import polars as pl

from transforms.errors import UsageError
from transforms.policy import IngestPolicy, Policy
from transforms.schemas import DRAFTS, INSTANT, KINDS, OUTCOMES, REFUSALS, RETENTION_TIERS
from transforms.scopes import RESERVED_REASON, reserved_expr

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
OTHER_TENANT = "other_tenant"
_IDS = ("tenant_id", "user_id", "agent_id", "session_id")
_FREE_TEXTS = ("content", "speaker", "tool_name", "tool_arguments", "failure_reason", "feedback")
_ISO = "%Y-%m-%dT%H:%M:%S%.f%:z"
_ZONED = r"(?i)(?:z|t.*[+-]\d{2}(?::?\d{2})?)$"
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_CONTROL_IN_ID = r"[\x00-\x1f\x7f]"


@dataclass(frozen=True)
class Defaults:
    """Scope for rows that name none, the zone of naive times, and the time of rows that bear none.

    A row that names a scope keeps its own, of whatever tenant, unless ``only_tenant`` is set.

    Args:
        tenant_id: Customer.
        user_id: Person.
        agent_id: Agent.
        session_id: Conversation.
        timezone: IANA zone; None refuses naive times.
        event_at: ISO 8601; None refuses rows without a time.
        only_tenant: Whether rows that name another tenant are refused.

    Raises:
        UsageError: Other tenants are refused, and none is named.
    """

    tenant_id: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    timezone: str | None = None
    event_at: str | None = None
    only_tenant: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.only_tenant and not self.tenant_id:
            raise UsageError("only_tenant needs a tenant", "Name it: --tenant ID, or tenant of the source.")

    @property
    def confined_to(self) -> str | None:
        """The only tenant that rows may be of; None: any."""
        return self.tenant_id if self.only_tenant else None


def clean(drafts: pl.DataFrame, defaults: Defaults) -> pl.DataFrame:
    """Fill scopes, drop control characters, bring text to NFC, map roles, parse times.

    Args:
        drafts: ``schemas.DRAFTS``.
        defaults: Scope and zone for rows without.

    Returns:
        DRAFTS columns with ``event_at`` and ``expires_at`` as instants (null where not readable),
        plus the raw strings as ``event_text`` and ``expires_text``.

    Raises:
        UsageError: A time needs the default zone, and there is no such zone.
    """
    scopes = [
        # A row of an export is of the scope that it names: its id is.
        pl.when(pl.col(name).str.len_chars() > 0)
        .then(pl.col(name))
        .fill_null(pl.when(pl.col("exported").is_null()).then(pl.lit(value, pl.String)))
        for name, value in zip(_IDS, _scope_values(defaults), strict=True)
    ]
    role = pl.col("role").str.strip_chars().str.to_lowercase()
    if defaults.event_at is not None:
        drafts = drafts.with_columns(pl.col("event_at").fill_null(pl.lit(defaults.event_at)))
    frame = drafts.with_columns(
        *(plain_text(drafts[name]) for name in _FREE_TEXTS),
        *scopes,
        role=pl.when(pl.col("role").is_not_null()).then(role.replace_strict(ROLES, default="other")),
        event_text="event_at",
        expires_text="expires_at",
        event_at=parse_instants(drafts["event_at"], defaults.timezone),
        expires_at=parse_instants(drafts["expires_at"], defaults.timezone),
        tags=_clean_tags(drafts["tags"]),
    )
    return _fill(frame)


def plain_text(texts: pl.Series) -> pl.Series:
    """Text without control characters, in NFC; only rows that need it are touched."""
    if texts.null_count() == texts.len():
        return texts
    bare = _patched(texts, texts.str.contains(_CONTROL), lambda t: t.str.replace_all(_CONTROL, ""))
    # ASCII is NFC already, and normalising is by far the dearest step of cleaning.
    return _patched(bare, bare.str.len_bytes() != bare.str.len_chars(), lambda t: t.str.normalize("NFC"))


def _patched(texts: pl.Series, mask: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """The series with ``change`` applied to the rows of the mask."""
    rows = mask.fill_null(False).arg_true()
    return texts if rows.is_empty() else texts.clone().scatter(rows, change(texts.gather(rows)))


def _clean_tags(tags: pl.Series) -> pl.Series:
    held = tags.fill_null(pl.Series([[]], dtype=tags.dtype)).list.drop_nulls()
    if held.list.len().sum() == 0:
        return held
    return held.list.eval(pl.element().str.replace_all(_CONTROL_IN_ID, "").str.normalize("NFC"))


def _scope_values(defaults: Defaults) -> list[str | None]:
    """The default of each id column; an empty id is none."""
    values = (defaults.tenant_id, defaults.user_id, defaults.agent_id, defaults.session_id)
    return [value or None for value in values]


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


def parse_instants(texts: pl.Series, timezone: str | None) -> pl.Series:
    """ISO 8601 texts to UTC instants; a naive time needs ``timezone``, else it gives null.

    A naive time that its zone has twice is taken as the earlier one; one that it skips gives null.

    Raises:
        UsageError: There is no such zone.
    """
    quick = texts.str.to_datetime(_ISO, time_unit="us", time_zone="UTC", strict=False).cast(INSTANT)
    rest = (quick.is_null() & texts.is_not_null()).arg_true()
    if rest.is_empty():
        return quick
    try:
        slow = pl.DataFrame({"text": texts.gather(rest)}).select(_parsed(pl.col("text"), timezone))
    except pl.exceptions.ComputeError as error:
        raise UsageError(f"no time zone {timezone}", "Use an IANA name such as Europe/Berlin.") from error
    return quick.clone().scatter(rest, slow.to_series())


def _parsed(raw: pl.Expr, timezone: str | None) -> pl.Expr:
    """What is written otherwise: a blank for the T, Z, an offset without colon or minutes, no seconds."""
    text = raw.str.strip_chars().str.replace(r"^(\d{4}-\d{2}-\d{2})[ t](\d)", "${1}T${2}")
    text = text.str.replace(r"(?i)z$", "+00:00").str.replace(r"(T.*[+-]\d{2})(\d{2})$", "${1}:${2}")
    text = text.str.replace(r"(T.*[+-]\d{2})$", "${1}:00")
    is_zoned = text.str.contains(r"T.*[+-]\d{2}:\d{2}$")
    zoned = [
        pl.when(is_zoned).then(text).str.to_datetime(f, time_unit="us", time_zone="UTC", strict=False)
        for f in (_ISO, "%Y-%m-%dT%H:%M%:z")
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


def refuse(
    frame: pl.DataFrame,
    policy: Policy,
    as_of: datetime,
    timezone: str | None = None,
    *,
    is_shared: bool = False,
    only_tenant: str | None = None,
) -> pl.DataFrame:
    """Add ``reason`` and ``detail``: the first rule that a cleaned row breaks, null where none.

    Args:
        frame: From ``clean``.
        policy: Limits.
        as_of: Events far after this instant are refused.
        timezone: The zone that naive times were read in, if any.
        is_shared: Whether the rows were put into a shared scope (``transforms.scopes``), whose ids are
            refused otherwise.
        only_tenant: The only tenant that rows may be of; None: any.
    """
    rules = [rule for rule in _rules(policy, as_of, timezone) if not is_shared or rule[0] != RESERVED_REASON]
    if only_tenant is not None:
        rules.insert(0, (OTHER_TENANT, pl.col("tenant_id") != only_tenant, "The row names another tenant."))
    first = pl.coalesce(pl.when(broken).then(pl.lit(i, pl.Int8)) for i, (_, broken, _) in enumerate(rules))
    numbers = list(range(len(rules)))
    return (
        frame.with_columns(rule=first)
        .with_columns(
            reason=pl.col("rule").replace_strict(numbers, [r[0] for r in rules], return_dtype=pl.String),
            detail=pl.col("rule").replace_strict(numbers, [r[2] for r in rules], return_dtype=pl.String),
        )
        .drop("rule")
    )


Rule = tuple[str, pl.Expr, str]
"""Reason, condition that breaks it, and a sentence for a person."""


def _rules(policy: Policy, as_of: datetime, timezone: str | None) -> list[Rule]:
    """All rules, in the order in which they name a row's fault."""
    limits = policy.ingest
    blank = pl.col("content").is_null() | (pl.col("content").str.strip_chars() == "")
    is_long = pl.col("content").str.len_chars() > limits.max_content_chars
    too_long = f"The text exceeds ingest.max_content_chars = {limits.max_content_chars}."
    return [
        *_id_rules(limits.max_id_chars),
        ("no_content", blank, "The row has no text and no tool call."),
        ("content_too_long", is_long, too_long),
        *_time_rules(limits, as_of, timezone),
        *_value_rules(),
    ]


def _id_rules(max_chars: int) -> list[Rule]:
    names = (*_IDS, "natural_id")
    is_long = pl.any_horizontal(pl.col(c).str.len_chars().fill_null(0) > max_chars for c in names)
    is_odd = pl.any_horizontal(pl.col(c).str.contains(_CONTROL_IN_ID).fill_null(False) for c in names)
    no_tenant = "The row names no tenant; pass --tenant as the default."
    return [
        (RESERVED_REASON, reserved_expr(), "The tenant or agent is reserved for shared memory."),
        ("no_tenant", pl.col("tenant_id").is_null(), no_tenant),
        ("bad_id", is_long, f"An id is longer than {max_chars} characters."),
        ("bad_id", is_odd, "An id holds a control character."),
    ]


def _time_rules(limits: IngestPolicy, as_of: datetime, timezone: str | None) -> list[Rule]:
    event, text = pl.col("event_at"), pl.col("event_text")
    latest = as_of + timedelta(seconds=limits.max_future_seconds)
    is_date = text.str.contains(r"^\s*\d{4}-\d") & ~text.str.strip_chars().str.contains(_ZONED)
    is_naive = event.is_null() & is_date & pl.lit(timezone is None)
    is_strange = (event < limits.min_event_at) | (event > latest)
    bad_expiry = pl.col("expires_text").is_not_null() & pl.col("expires_at").is_null()
    window = f"The time is before {limits.min_event_at.date()} or after {latest.date()}."
    return [
        ("missing_time", text.is_null(), "The row has no event time; name one (event_at, --event-at)."),
        ("naive_time", is_naive, "The time has no zone; name one (timezone, --timezone)."),
        ("bad_time", event.is_null(), "The time is not ISO 8601, or its zone skips it."),
        ("time_out_of_range", is_strange, window),
        ("bad_time", bad_expiry, "The expiry is not ISO 8601 with a zone."),
    ]


def _value_rules() -> list[Rule]:
    lists = (("kind", KINDS), ("outcome", OUTCOMES), ("retention_tier", RETENTION_TIERS))
    closed = [
        ("bad_value", ~pl.col(name).is_in(allowed), f"{name} is none of {', '.join(allowed)}.")
        for name, allowed in lists
    ]
    off = ~pl.col("importance").is_between(0.0, 1.0)
    return [*closed, ("bad_value", off, "importance is not between 0 and 1.")]


def as_refusals(frame: pl.DataFrame) -> pl.DataFrame:
    """Cleaned rows with ``reason`` and ``detail`` as ``schemas.REFUSALS``; raw is the row as JSON."""
    shown = [n for n in DRAFTS.names if n not in ("event_at", "expires_at", "source_file", "source_line")]
    columns = [pl.col("event_text").alias("event_at"), pl.col("expires_text").alias("expires_at")]
    raw = pl.struct(*shown, *columns).struct.json_encode()
    return frame.with_columns(raw=raw).select(REFUSALS.names)
