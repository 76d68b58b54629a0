"""Drafts to episodes: validate, redact, tag, name. What may not land comes back with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from transforms import ids
from transforms.exported import restored
from transforms.policy import Policy
from transforms.quarantine import confined
from transforms.redact import redact
from transforms.schemas import EPISODES, INSTANT, TEXTS
from transforms.tagging import injection_reason, tag
from transforms.validate import Defaults, as_refusals, clean, refuse

_REDACTED = ("content", "tool_arguments", "failure_reason", "feedback", "metadata", "parent_id")
_REDACTED_LABELS = ("speaker", "tool_name", "source_file")
"""Columns of few distinct values: each value is read once."""
_SHOWN = ("content", "speaker", "tool_name", "failure_reason")
"""Texts of a row that a recall shows or acts on: none may carry an order."""
RESTRICTED_KINDS = ("card", "government_id", "iban")
"""What a tenant of ``redact.keep_restricted_tenants`` keeps readable; credentials never are."""


@dataclass(frozen=True)
class Normalised:
    """What became of a batch.

    Attributes:
        episodes: ``schemas.EPISODES``.
        refusals: ``schemas.REFUSALS``.
        claimed: Ids of episodes that named theirs themselves, as rows of an export do.
    """

    episodes: pl.DataFrame
    refusals: pl.DataFrame
    claimed: pl.Series


def normalise(
    drafts: pl.DataFrame,
    *,
    source: str,
    defaults: Defaults,
    policy: Policy,
    as_of: datetime,
    buckets: int,
    is_shared: bool = False,
) -> Normalised:
    """Turn a reader's drafts into episodes.

    Args:
        drafts: ``schemas.DRAFTS``.
        source: Name of the input format.
        defaults: Scope and zone for rows that name none.
        policy: Limits and weights.
        as_of: The instant the rows enter; becomes ``ingested_at``.
        buckets: Tenant buckets of the lake.
        is_shared: Whether the rows were put into a shared scope, whose ids are refused otherwise.

    Returns:
        Episodes and refusals; together as many rows as drafts.
    """
    only = defaults.confined_to
    told = clean(drafts, defaults)
    checked = refuse(told, policy, as_of, defaults.timezone, is_shared=is_shared, only_tenant=only)
    valid = redacted(checked.filter(pl.col("reason").is_null()), policy)
    reasons = _injection_reasons(valid)
    valid = valid.with_columns(
        reason=reasons,
        detail=pl.when(reasons.is_not_null()).then(pl.lit("Text of a tool reads as an order.")),
    )
    refused = pl.concat(
        [
            as_refusals(checked.filter(pl.col("reason").is_not_null())),
            as_refusals(valid.filter(pl.col("reason").is_not_null())),
        ]
    )
    kept = tag(valid.filter(pl.col("reason").is_null()), policy)
    episodes = restored(_named(kept, source, policy, as_of, buckets), kept["exported"])
    return Normalised(
        episodes, confined(refused, only), episodes["episode_id"].filter(kept["exported"].is_not_null())
    )


def _injection_reasons(frame: pl.DataFrame) -> pl.Series:
    """Reason of each row, null for none: every text that is shown is held to the rule."""
    held = [name for name in _SHOWN if name == "content" or frame[name].null_count() < frame.height]
    found = [injection_reason(frame[name], frame["role"], frame["tool_name"]) for name in held]
    return pl.DataFrame([part.alias(f"{n}") for n, part in enumerate(found)]).select(
        reason=pl.coalesce(pl.all())
    )["reason"]


def redacted(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Every free-text column redacted, and ``redactions`` with the kinds found in any of them."""
    if not policy.redact.is_enabled:
        return frame.with_columns(redactions=pl.lit([], EPISODES.polars["redactions"]))
    tenants = policy.redact.keep_restricted_tenants
    opted_in = pl.col("tenant_id").is_in(list(tenants))
    if tenants and frame.filter(opted_in).height:
        numbered = frame.with_row_index("row")
        keep_more = (*policy.redact.keep_kinds, *RESTRICTED_KINDS)
        parts = [
            _without(numbered.filter(~opted_in), policy.redact.keep_kinds),
            _without(numbered.filter(opted_in), keep_more),
        ]
        return pl.concat(parts).sort("row").drop("row")
    return _without(frame, policy.redact.keep_kinds)


def _without(frame: pl.DataFrame, keep: tuple[str, ...]) -> pl.DataFrame:
    """Redacted but for the kept kinds."""
    held = [name for name in _REDACTED if frame[name].null_count() < frame.height]
    done = {name: redact(frame[name], keep_kinds=keep) for name in held}
    labels = [name for name in _REDACTED_LABELS if frame[name].null_count() < frame.height]
    done |= {name: _redacted_labels(frame[name], keep) for name in labels}
    if frame["tags"].list.len().sum():
        done["tags"] = _redacted_tags(frame["tags"], keep)
    columns = {name: part["text"] for name, part in done.items()}
    return frame.with_columns(**columns, redactions=_kinds_found(done, frame.height))


def _redacted_labels(labels: pl.Series, keep: tuple[str, ...]) -> pl.DataFrame:
    """``redact`` of a series that repeats few values."""
    values = labels.unique()
    read = redact(values, keep_kinds=keep).with_columns(label=values)
    rows = labels.to_frame("label").join(
        read, on="label", how="left", nulls_equal=True, maintain_order="left"
    )
    return rows.select("text", "redactions")


def _redacted_tags(tags: pl.Series, keep: tuple[str, ...]) -> pl.DataFrame:
    """Each tag by itself, so that no tag hides its neighbour; ``text`` is a list as ``tags`` is."""
    rows = (tags.list.len() > 0).fill_null(False).arg_true()
    flat = pl.DataFrame({"row": rows, "tag": tags.gather(rows)}).explode("tag")
    read = _redacted_labels(flat["tag"], keep).with_columns(row=flat["row"])
    held = read.group_by("row", maintain_order=True).agg(
        "text", pl.col("redactions").list.explode(keep_nulls=False, empty_as_null=False).unique().sort()
    )
    numbered = tags.to_frame("tags").with_row_index("row")
    joined = numbered.join(held, on="row", how="left", maintain_order="left")
    none = pl.lit([], TEXTS)
    return joined.select(
        text=pl.coalesce("text", "tags"), redactions=pl.col("redactions").fill_null(none).cast(TEXTS)
    )


def _kinds_found(done: dict[str, pl.DataFrame], height: int) -> pl.Series:
    """Sorted distinct kinds of each row over all columns; most rows have none."""
    parts = [part["redactions"].alias(name) for name, part in done.items()]
    parts = [part for part in parts if part.list.len().sum()]
    none = pl.Series([[]], dtype=TEXTS)
    if not parts:
        return none.new_from_index(0, height)
    kinds = pl.DataFrame(parts)
    rows = kinds.select(pl.any_horizontal(pl.all().list.len() > 0)).to_series().arg_true()
    union = kinds[rows].select(pl.concat_list(pl.all()).list.unique().list.sort()).to_series()
    position = pl.zeros(height, pl.UInt32, eager=True).scatter(
        rows, pl.int_range(1, rows.len() + 1, eager=True)
    )
    return pl.concat([none, union]).gather(position)


def _named(frame: pl.DataFrame, source: str, policy: Policy, as_of: datetime, buckets: int) -> pl.DataFrame:
    """Ids, hashes, partitions and defaults of valid rows."""
    frame = frame.with_columns(content_hash=content_hashes(frame))
    natural = pl.col("natural_id").is_not_null()
    scope = ("tenant_id", "user_id", "agent_id", "session_id")
    anonymous = pl.concat_str(
        [pl.col(c).cast(pl.String).fill_null("") for c in ("role", "event_at", "turn_index", "content_hash")],
        separator="\x1e",
    )
    key = pl.when(natural).then("n" + pl.col("natural_id")).otherwise("a" + anonymous)
    return frame.with_columns(
        episode_id=ids.row_ids(frame, *scope, key),
        tenant_bucket=ids.tenant_buckets(frame["tenant_id"], buckets),
        month=pl.col("event_at").dt.strftime("%Y-%m"),
        content_chars=pl.col("content").str.len_chars().cast(pl.Int64),
        source=pl.lit(source),
        retention_tier=pl.col("retention_tier").fill_null(policy.retention.default_tier),
        ingested_at=pl.lit(as_of).cast(INSTANT),
    ).select(EPISODES.names)


def content_hashes(frame: pl.DataFrame) -> pl.Series:
    """Hash of tenant and text, blind to case and to the amount of white space."""
    folded = frame["content"].str.to_lowercase().str.strip_chars()
    spaced = folded.str.contains(r"\s\s|[^\S ]").fill_null(False).arg_true()
    if spaced.len():  # the replacement is dear, and most texts have single blanks only
        folded = folded.scatter(spaced, folded.gather(spaced).str.replace_all(r"\s+", " "))
    return ids.row_ids(frame.select("tenant_id").with_columns(folded=folded), "tenant_id", "folded")
