"""Candidates to claims: what an extractor read, checked, keyed and named, or refused with a reason.

Both extractors, rules and model, end here, so that their claims meet in the same slots.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from transforms.claims.aspects import aspect_of
from transforms.claims.keys import key_of
from transforms.claims.sentences import sentence_of
from transforms.declarations import INSTANT, SENSITIVITIES
from transforms.derived import CLAIMS, POLARITIES
from transforms.ids import row_ids
from transforms.injection import injection_reason
from transforms.owners import owner_expr
from transforms.policy import Policy
from transforms.predicates import BY_NAME, PREDICATES, REMEMBERED
from transforms.readers.memory_store import FORMATS

_CANDIDATE: dict[str, pl.DataType | type[pl.DataType]] = {
    "episode_id": pl.String,
    "operation": pl.String,
    "subject": pl.String,
    "predicate": pl.String,
    "aspect": pl.String,
    "object": pl.String,
    "polarity": pl.String,
    "confidence": pl.Float64,
    "span_start": pl.Int64,
    "span_end": pl.Int64,
    "valid_from": INSTANT,
    "valid_until": INSTANT,
    "is_inferred": pl.Boolean,
}
CANDIDATES = pl.Schema(_CANDIDATE)
"""What an extractor hands over: one candidate a row. ``subject`` is ``user`` for the speaker; spans are
code points of the episode's content; ``valid_from`` null means since it was said; ``is_inferred`` says
that the text does not say so itself."""

REFUSED = pl.Schema(
    {
        "tenant_id": pl.String,
        "episode_id": pl.String,
        "predicate": pl.String,
        "reason": pl.String,
        "span_start": pl.Int64,
        "span_end": pl.Int64,
    }
)
"""One refused candidate a row; ``tenant_id`` is null where the episode is not among those given."""

USER = "user"
CORRECTION = "correction"
"""``source`` of an episode that a correction made; nothing that is ingested can bear it."""
SHORT_LIVED = ("transient", "session")
"""Tiers of what is not to be remembered beyond the session."""
_SELF = ("user", "i", "me", "myself", "speaker", "users")
"""Keys by which an extractor may name the speaker."""
_OWN_ROLES = ("user", "assistant", "system")
_EPISODE = (
    "episode_id", "tenant_id", "tenant_bucket", "agent_id", "user_id", "session_id", "kind", "role",
    "speaker", "content", "content_chars", "tool_name", "importance", "trust", "sensitivity", "is_injected",
    "retention_tier", "expires_at", "event_at", "ingested_at",
)  # fmt: skip
_HEALTH = tuple(p.name for p in PREDICATES if p.area == "health")
_WITH_ASPECT = tuple(p.name for p in (*PREDICATES, REMEMBERED) if p.has_aspect)
_TEXTS = ("subject", "predicate", "aspect", "object")
_REFUSED_ORDER = ("tenant_id", "episode_id", "span_start", "span_end", "predicate", "reason")


@dataclass(frozen=True)
class Built:
    """What became of candidates: each ends in exactly one of the two.

    Attributes:
        claims: ``CLAIMS``, sorted by its ``sort_by``.
        refused: ``REFUSED``, sorted by all its columns.
    """

    claims: pl.DataFrame
    refused: pl.DataFrame


def build(candidates: pl.DataFrame, episodes: pl.DataFrame, extractor: str, policy: Policy) -> Built:
    """Claims from candidates.

    Args:
        candidates: ``CANDIDATES``; row order does not matter.
        episodes: ``schemas.EPISODES`` that they were read from; others may be among them.
        extractor: Rules or model, with version; part of each claim's id.
        policy: Sections claims and trust.

    Returns:
        Claims and refusals. Reasons: unknown_episode, unknown_operation, unknown_predicate,
        unknown_polarity, injected, no_owner, short_lived_tier, not_the_users_word,
        confidence_out_of_range, span_outside_content, no_subject, empty_object, too_long, low_confidence,
        time_reversed, instruction_in_untrusted_text, duplicate (the same claim of one episode twice: the
        surest, then first, stays).
    """
    rows = _completed(candidates, episodes, policy)
    rows = rows.with_columns(reason=pl.coalesce(_rules(policy)))
    rows = rows.with_columns(reason=pl.coalesce("reason", _instruction(rows)))
    good = rows.filter(pl.col("reason").is_null())
    good = good.with_columns(
        extractor=pl.lit(extractor),
        claim_id=row_ids(
            good, "tenant_id", "episode_id", pl.lit(extractor), "operation", "subject_key", "predicate",
            "aspect", "object_key", "polarity",
        ),
    )  # fmt: skip
    good = good.sort(
        "claim_id", "confidence", "span_start", "span_end", "object", "subject", "valid_from", "valid_until",
        descending=[False, True, False, False, False, False, False, False],
    )  # fmt: skip
    is_first = pl.col("claim_id").is_first_distinct()
    twice = good.filter(~is_first).with_columns(reason=pl.lit("duplicate"))
    claims = CLAIMS.conform(_named(good.filter(is_first))).sort(CLAIMS.sort_by)
    bad = pl.concat([rows.filter(pl.col("reason").is_not_null()), twice.select(rows.columns)])
    return Built(claims, bad.select(REFUSED.names()).sort(_REFUSED_ORDER))


def _completed(candidates: pl.DataFrame, episodes: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Candidates with tidied texts, their episode's columns, keys, source and capped confidence."""
    tidy = candidates.select(pl.col(n).cast(t) for n, t in CANDIDATES.items()).with_columns(
        pl.col(n).fill_null("").str.replace_all(r"\s+", " ").str.strip_chars() for n in _TEXTS
    )
    held = episodes.select(*_EPISODE, origin="source").join(
        tidy.select("episode_id").unique(), on="episode_id", how="semi"
    )
    rows = tidy.join(held, on="episode_id", how="left", maintain_order="left")
    rows = rows.with_columns(owner=owner_expr())
    keys = pl.DataFrame([key_of(rows["subject"]), key_of(rows["speaker"].fill_null("")).alias("name")])
    is_self = keys.select(
        pl.col("subject").is_in(_SELF)
        | ((pl.col("subject") == pl.col("name")) & (pl.col("name") != "") & (rows["role"] == "user"))
    ).to_series()
    rows = rows.with_columns(subject=pl.when(is_self).then(pl.lit(USER)).otherwise("subject"))
    rows = rows.with_columns(
        subject_key=key_of(rows["subject"]),
        object_key=key_of(rows["object"]),
        aspect=aspect_of(
            rows.select(pl.when(pl.col("predicate").is_in(_WITH_ASPECT)).then("aspect").otherwise(pl.lit("")))
            .to_series()
            .alias("aspect")
        ),
        valid_from=pl.coalesce("valid_from", "event_at"),
        is_inferred=pl.col("is_inferred").fill_null(False),
        is_tool=is_tool(),
        is_imported=pl.col("origin").is_in(FORMATS) & (pl.col("predicate") == REMEMBERED.name),
    )
    capped = pl.min_horizontal("confidence", pl.lit(policy.claims.max_tool_confidence))
    return rows.with_columns(
        confidence=pl.when(pl.col("is_tool") & ~pl.col("confidence").is_nan())
        .then(capped)
        .otherwise("confidence")
    )


def is_tool() -> pl.Expr:
    """Whether the words are a tool's or the web's rather than those of someone in the conversation."""
    role = pl.col("role").fill_null("other")
    is_foreign = ~role.is_in(_OWN_ROLES) & (
        (pl.col("kind") == "observation").fill_null(False) | (pl.col("kind") == "action").fill_null(False)
    )
    has_tool = pl.col("tool_name").is_not_null() & ~role.is_in(("assistant", "system"))
    return role.is_in(("tool", "web")) | is_foreign | has_tool


def _when(condition: pl.Expr, reason: str) -> pl.Expr:
    return pl.when(condition.fill_null(False)).then(pl.lit(reason))


def _rules(policy: Policy) -> list[pl.Expr]:
    """Reasons to refuse, the first that holds counts."""
    limit = policy.claims.max_object_chars
    is_imported = pl.col("is_imported").fill_null(False)
    is_remembered = pl.col("predicate") == REMEMBERED.name
    is_corrected = is_remembered & (pl.col("origin") == CORRECTION)
    is_known = pl.col("predicate").is_in(list(BY_NAME)) | is_imported | is_corrected
    longest = pl.when(is_remembered).then(policy.claims.max_statement_chars).otherwise(limit)
    is_user = (pl.col("role") == "user").fill_null(False) & ~pl.col("is_tool")
    speaks_for_another = ~is_user & ~pl.col("is_tool") & ~is_imported
    is_fine = pl.col("confidence").is_between(0, 1).fill_null(False) & ~pl.col("confidence").is_nan()
    inside = (
        (pl.col("span_start") >= 0)
        & (pl.col("span_start") < pl.col("span_end"))
        & (pl.col("span_end") <= pl.col("content_chars"))
    )
    return [
        _when(pl.col("tenant_id").is_null(), "unknown_episode"),
        _when(~pl.col("operation").is_in(("assert", "retract")).fill_null(False), "unknown_operation"),
        _when(~is_known, "unknown_predicate"),
        _when(~pl.col("polarity").is_in(POLARITIES).fill_null(False), "unknown_polarity"),
        _when(pl.col("is_injected") & ~is_imported, "injected"),
        _when(pl.col("owner").is_null(), "no_owner"),
        _when(pl.col("retention_tier").is_in(SHORT_LIVED), "short_lived_tier"),
        _when(
            speaks_for_another & (~pl.col("is_inferred") | (pl.col("subject") == USER)), "not_the_users_word"
        ),
        _when(~is_fine, "confidence_out_of_range"),
        _when(~inside.fill_null(False), "span_outside_content"),
        _when(pl.col("subject_key") == "", "no_subject"),
        _when((pl.col("object_key") == "") & (pl.col("operation") == "assert"), "empty_object"),
        _when(pl.max_horizontal(pl.col("subject", "aspect", "object").str.len_chars()) > longest, "too_long"),
        _when(is_user & (pl.col("confidence") < policy.claims.min_confidence), "low_confidence"),
        _when(pl.col("valid_until") <= pl.col("valid_from"), "time_reversed"),
    ]


def _instruction(rows: pl.DataFrame) -> pl.Series:
    """Reason of the rows whose untrusted episode, or the claim itself, instructs the agent."""
    held = rows.with_row_index("row").filter(pl.col("reason").is_null() & (pl.col("role") != "user"))
    reasons = pl.Series("instructs", [None], dtype=pl.String).new_from_index(0, rows.height)
    if held.is_empty():
        return reasons
    said = held.select(
        "row", pl.concat_str(["subject", "aspect", "object"], separator="\n"), "content", "role", "tool_name"
    )
    found = pl.coalesce(
        injection_reason(said["content"], said["role"], said["tool_name"]),
        injection_reason(said["subject"], said["role"], said["tool_name"]),
    )
    return reasons.scatter(said["row"], said.select(found).to_series())


def _named(good: pl.DataFrame) -> pl.DataFrame:
    """Kept candidates with the columns of ``CLAIMS`` that follow from the others."""
    privacy = pl.max_horizontal(
        pl.col("sensitivity").replace_strict(list(SENSITIVITIES), list(range(3)), return_dtype=pl.Int8),
        pl.when(pl.col("predicate").is_in(_HEALTH)).then(pl.lit(2, pl.Int8)),
    )
    source = (
        pl.when("is_inferred")
        .then(pl.lit("inferred"))
        .when("is_imported")
        .then(pl.lit("imported"))
        .when("is_tool")
        .then(pl.lit("tool_result"))
        .otherwise(pl.lit("user_said"))
    )
    return good.with_columns(
        fact=sentence_of(good),
        sensitivity=privacy.replace_strict(list(range(3)), list(SENSITIVITIES), return_dtype=pl.String),
        source=source,
        recorded_at=pl.col("ingested_at"),
    )
