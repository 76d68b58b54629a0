"""Ways of working that several tenants share, with nothing of any tenant in them.

A shape is the kind of a skill with its task and its sequence of tools, or a habit in the words that the
project itself gave it. It is told where at least ``sharing.min_tenants`` tenants show it; no text of
theirs, no id, no name and no exact count goes into the row. Tasks and tools are names that all of these
tenants use for themselves, and only where they look like names.
"""

from __future__ import annotations

from datetime import datetime

import polars as pl

from transforms import ids
from transforms.injection import injection_reason
from transforms.policy import Policy
from transforms.redact import redact
from transforms.schemas import INSTANT, PROCEDURES
from transforms.scopes import PATTERNS_OWNER, SYSTEM_AGENT, SYSTEM_TENANT

HABITS = ("time of day", "message length", "frequency", "day of the week")
"""Triggers of patterns whose sentence is made of the project's own words; topics are the owner's words."""
NAME = r"^[a-z][a-z0-9]*(?:[_.:/ -][a-z0-9]+){0,5}$"
"""What a task or a tool looks like: a few short words, without regard to case; what else it may be stays."""
NUMBER = r"\d{4}"
"""So many digits are somebody's: an order, a ticket, a year of birth."""
MOST_NAME_CHARS = 48
_KEY = ["kind", "trigger", "steps", "habit"]
UNSTABLE = ("first_event_at", "last_event_at")
"""Columns that tell when a row was worked out: what else is the same is no change."""


def global_patterns(procedures: pl.DataFrame, policy: Policy, as_of: datetime, bucket: int) -> pl.DataFrame:
    """Skills that enough tenants share, as rows of the system.

    Args:
        procedures: What stands of ``schemas.PROCEDURES`` of tenants that contribute.
        policy: Sections sharing and skills.
        as_of: When.
        bucket: Tenant bucket of the system.

    Returns:
        ``schemas.PROCEDURES`` without the columns of the revision, sorted by id; they name no source.
    """
    shaped = _shaped(procedures)
    by_tenant = shaped.group_by("tenant_id", *_KEY).agg(
        pl.col("success_count", "failure_count").sum(),
        sessions=pl.col("session_count").sum(),
    )
    found = by_tenant.group_by(_KEY).agg(
        tenants=pl.col("tenant_id").n_unique(),
        successes=pl.col("success_count").sum(),
        failures=pl.col("failure_count").sum(),
        sessions=pl.col("sessions").sum(),
        # A tenant counts once, however much it does: the mean of their rates, not the rate of all.
        rate=_rate(pl.col("success_count"), pl.col("failure_count")).sort().mean(),
    )
    enough = found.filter(pl.col("tenants") >= policy.sharing.min_tenants)
    told = enough.with_columns(
        success_count=rounded("successes"),
        failure_count=rounded("failures"),
        session_count=rounded("sessions"),
        success_rate=pl.col("rate").round(1),
        tool_sequence=pl.when(pl.col("steps") == "")
        .then(pl.lit([], pl.List(pl.String)))
        .otherwise(pl.col("steps").str.split(ids.SEPARATOR)),
    ).with_columns(policy=_sentence())
    return _rows(told, policy, as_of, bucket)


def _shaped(procedures: pl.DataFrame) -> pl.DataFrame:
    """Rows that may be told of, with ``steps`` and ``habit``; what looks like no name is left out."""
    steps = pl.col("tool_sequence").list.eval(pl.element().str.to_lowercase()).list.join(ids.SEPARATOR)
    is_habit = pl.col("kind") == "pattern"
    rows = procedures.filter(pl.col("sensitivity") == "normal").with_columns(
        trigger=pl.col("trigger").str.to_lowercase(),
        steps=pl.when(is_habit).then(pl.lit("")).otherwise(steps),
        habit=pl.when(is_habit).then(pl.col("policy")).otherwise(pl.lit("")),
    )
    rows = rows.filter(
        ~is_habit | pl.col("trigger").is_in(HABITS), (pl.col("kind") != "procedure") | (steps != "")
    )
    names = pl.concat([rows["trigger"], rows["steps"].str.split(ids.SEPARATOR).explode()])
    safe = _names(names.drop_nulls().unique())
    all_safe = (
        pl.col("steps").str.split(ids.SEPARATOR).list.eval(pl.element().is_in(safe.to_list())).list.all()
    )
    return rows.filter(pl.col("trigger").is_in(safe.implode()), (pl.col("steps") == "") | all_safe)


def _names(texts: pl.Series) -> pl.Series:
    """Those that look like names of tasks or tools: short, no secret, no number of somebody, no order."""
    shaped = texts.filter(
        texts.str.contains(NAME) & ~texts.str.contains(NUMBER) & (texts.str.len_chars() <= MOST_NAME_CHARS)
    )
    spoken = shaped.str.replace_all(r"[_.:/-]", " ")
    nobody = pl.Series([None], dtype=pl.String).new_from_index(0, shaped.len())
    is_order = injection_reason(spoken, nobody, nobody).is_not_null()
    is_secret = redact(shaped)["redactions"].list.len() > 0
    return shaped.filter(~is_order & ~is_secret)


def _rate(successes: pl.Expr, failures: pl.Expr) -> pl.Expr:
    runs = successes + failures
    return pl.when(runs > 0).then(successes / runs)


def rounded(column: str) -> pl.Expr:
    """A count as the greatest of 0, 1, 2, 5, 10, 20, 50 ... that it reaches: no tenant is told from it."""
    value = pl.col(column).cast(pl.Float64)
    power = pl.lit(10.0).pow((pl.max_horizontal(value, pl.lit(1.0)).log10() + 1e-9).floor())
    lead = value / power
    step = pl.when(lead >= 5).then(5.0).when(lead >= 2).then(2.0).when(lead >= 1).then(1.0).otherwise(0.0)
    return (step * power).round().cast(pl.Int32)


def _sentence() -> pl.Expr:
    """What a row says; made of the shape and of rounded figures alone."""
    tools = pl.col("tool_sequence").list.join(" → ")
    tenth = (pl.col("success_rate").fill_null(0) * 10).round().cast(pl.Int64)
    works = pl.format(
        "For {}: {} works about {} of 10 times in several organisations", "trigger", tools, tenth
    )
    fails = pl.format(
        "{}: fails for reasons that last in several organisations; look for what is known of it first",
        "trigger",
    )
    return (
        pl.when(pl.col("kind") == "procedure")
        .then(works)
        .when(pl.col("kind") == "lesson")
        .then(fails)
        .otherwise(pl.format("In several organisations: {}", pl.col("habit")))
    )


def _rows(told: pl.DataFrame, policy: Policy, as_of: datetime, bucket: int) -> pl.DataFrame:
    """Rows of ``schemas.PROCEDURES`` without the columns of the revision."""
    rule, when = policy.skills, pl.lit(as_of.replace(day=1, hour=0, minute=0, second=0, microsecond=0))
    is_offered = (pl.col("kind") != "procedure") | (pl.col("success_rate") > rule.min_success_rate)
    named = told.with_columns(
        procedure_id=ids.row_ids(told, pl.lit(SYSTEM_TENANT), pl.lit(PATTERNS_OWNER), *_KEY),
        tenant_id=pl.lit(SYSTEM_TENANT),
        tenant_bucket=pl.lit(bucket),
        owner=pl.lit(PATTERNS_OWNER),
        user_id=pl.lit(None, pl.String),
        agent_id=pl.lit(SYSTEM_AGENT),
        average_reward=pl.lit(None, pl.Float32),
        **{f"{word}_count": pl.lit(0) for word in ("helpful", "wrong", "fine")},
        is_suggested=is_offered.fill_null(False),
        importance=pl.lit(rule.pattern_importance),
        trust=pl.lit(policy.sharing.pattern_trust),
        sensitivity=pl.lit("normal"),
        source_refs=pl.lit([], PROCEDURES.polars["source_refs"]),
        first_event_at=when.cast(INSTANT),
        last_event_at=when.cast(INSTANT),
        retention_tier=pl.lit(rule.retention_tier),
    )
    names = [name for name in PROCEDURES.names if name not in ("revision", "is_removed")]
    return named.select(pl.col(n).cast(PROCEDURES.polars[n]) for n in names).sort("procedure_id")


def settled(rows: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """The rows, with the times of those that stood with the same words and figures.

    Args:
        rows: From ``global_patterns``.
        before: What stands of them.
    """
    same = [
        name for name in rows.columns if name not in UNSTABLE and name not in ("source_refs", "tool_sequence")
    ]
    held = before.select(*same, *(pl.col(name).alias(f"old {name}") for name in UNSTABLE))
    both = rows.join(held, on=same, how="left", nulls_equal=True, maintain_order="left")
    kept = both.with_columns(pl.coalesce(f"old {name}", name).alias(name) for name in UNSTABLE)
    return kept.select(rows.columns)
