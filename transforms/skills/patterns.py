"""Habits of an owner, read from the times, lengths and topics of many conversations."""

from __future__ import annotations

import polars as pl

from transforms.policy import Policy
from transforms.policy_sleep import SkillsPolicy
from transforms.schemas import PROCEDURES
from transforms.skills.attempts import PRIVACY
from transforms.skills.shape import one_agent, procedure_rows

OWNER = ("tenant_id", "owner")
_PARTS = ("night", "morning", "afternoon", "evening")
"""Quarters of the day, from midnight."""
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_STEPS = (1, 2, 5, 10)
"""Lengths are told as one of these times a power of ten, so that one more message seldom moves them."""


def patterns(
    conversations: pl.DataFrame, policy: Policy, offsets: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Read habits of owners with enough conversations: part of the day, message length, day of the week.

    Args:
        conversations: What stands of ``schemas.CONVERSATIONS``, all of each owner.
        policy: Section skills.
        offsets: ``tenant_id``, ``owner``, ``offset_minutes`` east of UTC of owners whose zone is known;
            the others' days and hours are those of UTC, and each sentence says which.

    Returns:
        ``schemas.PROCEDURES`` of kind pattern without the columns of the revision, sorted. ``trigger``
        is the habit; ``success_count`` counts conversations that fit, ``failure_count`` those that do
        not; ``source_refs`` are ids of conversations. The sentence holds no exact count, so it stays
        while the habit does.
    """
    rule = policy.skills
    is_enough = pl.len().over(OWNER) >= rule.min_conversations
    rows = _in_zone(conversations.filter(is_enough), offsets)
    by_topic = rows.explode("topics").drop_nulls("topics").unique(["conversation_id", "topics"])
    found = [
        _part_of_day(rows, rule),
        _length(rows, rule),
        _most_days(rows, rule),
        _weekday(rows.with_columns(trigger=pl.lit("day of the week"), of=pl.lit("Usually comes")), rule),
        _weekday(
            by_topic.with_columns(
                trigger=pl.format("topic: {}", "topics"), of=pl.format("Usually talks about {}", "topics")
            ),
            rule,
        ),
    ]
    return procedure_rows(_filled(pl.concat(found), rule), "pattern", "trigger")


def _in_zone(rows: pl.DataFrame, offsets: pl.DataFrame | None) -> pl.DataFrame:
    """Rows with their local hour, day and week as numbers, and the name of the zone."""
    if offsets is None:
        offsets = pl.DataFrame(
            schema={"tenant_id": pl.String, "owner": pl.String, "offset_minutes": pl.Int32}
        )
    minutes = pl.col("offset_minutes").cast(pl.Int64).fill_null(0)
    local = pl.col("started_at") + pl.duration(minutes=minutes)
    size = minutes.abs()
    named = pl.format(
        "UTC{}{}:{}",
        pl.when(minutes < 0).then(pl.lit("-")).otherwise(pl.lit("+")),
        (size // 60).cast(pl.String).str.zfill(2),
        (size % 60).cast(pl.String).str.zfill(2),
    )
    zone = pl.when(pl.col("offset_minutes").is_null() | (minutes == 0)).then(pl.lit("UTC")).otherwise(named)
    joined = rows.join(offsets, on=OWNER, how="left")
    days = local.dt.epoch("d").cast(pl.Int64)
    # 1970 began on a Thursday: weeks are counted from the Monday before it.
    return joined.with_columns(zone=zone, hour=local.dt.hour(), day=days, week=(days + 3) // 7)


def _figures(fits: pl.Expr) -> dict[str, pl.Expr]:
    """What a pattern of a group of conversations comes to, when ``fits`` says which show it."""
    return {
        "tenant_bucket": pl.col("tenant_bucket").first(),
        "user_id": pl.col("user_id").min(),
        "agent_id": one_agent(),
        "success_count": fits.sum().cast(pl.Int32),
        "failure_count": (~fits).sum().cast(pl.Int32),
        "sensitivity": pl.col("sensitivity").cast(PRIVACY).max(),
        "source_refs": pl.col("conversation_id").sort(),
        "session_count": pl.len().cast(pl.Int32),
        "first_event_at": pl.col("started_at").min(),
        "last_event_at": pl.col("ended_at").max(),
    }


_NAMES = ["tenant_id", "owner", "trigger", "policy", *_figures(pl.lit(True))]


def _holds(rule: SkillsPolicy) -> pl.Expr:
    return pl.col("success_count") >= rule.pattern_share * pl.col("session_count")


def _part_of_day(rows: pl.DataFrame, rule: SkillsPolicy) -> pl.DataFrame:
    """The quarter of the day in which most conversations begin."""
    placed = rows.with_columns(part=pl.col("hour") // 6)
    found = (
        placed.with_columns(usual=_most("part", OWNER))
        .group_by(*OWNER, "usual", "zone")
        .agg(**_figures(pl.col("part") == pl.col("usual")))
    )
    start = (pl.col("usual").cast(pl.Int32) * 6).cast(pl.String).str.zfill(2)
    end = (pl.col("usual").cast(pl.Int32) * 6 + 6).cast(pl.String).str.zfill(2)
    when = pl.col("usual").replace_strict(dict(enumerate(_PARTS)), return_dtype=pl.String)
    the = pl.when(pl.col("usual") == 0).then(pl.lit("at")).otherwise(pl.lit("in the"))
    said = pl.format("Usually talks {} {}, {}:00 to {}:00 {}", the, when, start, end, "zone")
    return found.filter(_holds(rule)).with_columns(trigger=pl.lit("time of day"), policy=said).select(_NAMES)


def _most(column: str, group: tuple[str, ...]) -> pl.Expr:
    """The most frequent value of a column in each group, the least of several."""
    return pl.col(column).mode().min().over(group)


def _length(rows: pl.DataFrame, rule: SkillsPolicy) -> pl.DataFrame:
    """Whether the user writes short, medium or long messages, and about how long."""
    wrote = rows.filter(pl.col("user_turn_count") > 0).with_columns(
        chars=pl.col("user_chars") / pl.col("user_turn_count")
    )
    usual = wrote.with_columns(usual_chars=pl.col("chars").median().over(OWNER))
    sized = usual.with_columns(size=_size("chars", rule), usual=_size("usual_chars", rule))
    found = sized.group_by(*OWNER, "usual", "usual_chars").agg(**_figures(pl.col("size") == pl.col("usual")))
    said = pl.format("Usually writes {} messages, about {} characters", "usual", _rounded("usual_chars"))
    return (
        found.filter(_holds(rule)).with_columns(trigger=pl.lit("message length"), policy=said).select(_NAMES)
    )


def _size(column: str, rule: SkillsPolicy) -> pl.Expr:
    is_short, is_long = pl.col(column) <= rule.short_message_chars, pl.col(column) > rule.long_message_chars
    return (
        pl.when(is_short).then(pl.lit("short")).when(is_long).then(pl.lit("long")).otherwise(pl.lit("medium"))
    )


def _rounded(column: str) -> pl.Expr:
    """The nearest of 1, 2, 5, 10, 20, 50 ..., at least 1."""
    value = pl.max_horizontal(pl.col(column), pl.lit(1.0))
    power = pl.lit(10.0).pow((value.log10() + 1e-9).floor())
    lead = value / power
    one, two, five, ten = _STEPS
    step = (
        pl.when(lead < (one + two) / 2)
        .then(one)
        .when(lead < (two + five) / 2)
        .then(two)
        .when(lead < (five + ten) / 2)
        .then(five)
        .otherwise(ten)
    )
    return (step * power).round().cast(pl.Int64)


def _most_days(rows: pl.DataFrame, rule: SkillsPolicy) -> pl.DataFrame:
    """Whether there is a conversation on most days between the first and the last."""
    found = rows.group_by(OWNER).agg(
        days=pl.col("day").n_unique(),
        span=pl.col("day").max() - pl.col("day").min() + 1,
        **_figures(pl.lit(True)),
    )
    often = found.filter((pl.col("days") >= rule.pattern_share * pl.col("span")) & (pl.col("span") >= 7))
    return often.with_columns(trigger=pl.lit("frequency"), policy=pl.lit("Comes on most days")).select(_NAMES)


def _weekday(rows: pl.DataFrame, rule: SkillsPolicy) -> pl.DataFrame:
    """One day of the week on which most of a group's conversations fall, in most weeks.

    Args:
        rows: With ``trigger``, which tells groups of an owner apart, and ``of``, how the sentence begins.
        rule: Least conversations and shares.
    """
    group = (*OWNER, "trigger")
    placed = rows.with_columns(weekday=(pl.col("day") + 3) % 7).with_columns(usual=_most("weekday", group))
    fits = pl.col("weekday") == pl.col("usual")
    found = placed.group_by(*group, "of", "usual", "zone").agg(
        weeks=pl.col("week").filter(fits).n_unique(),
        span=pl.col("week").max() - pl.col("week").min() + 1,
        **_figures(fits),
    )
    is_weekly = (pl.col("weeks") >= rule.min_weeks) & (pl.col("weeks") >= rule.pattern_share * pl.col("span"))
    day = pl.col("usual").replace_strict(dict(enumerate(_DAYS)), return_dtype=pl.String)
    said = pl.format("{} on {}s, most weeks ({})", "of", day, "zone")
    return found.filter(_holds(rule) & is_weekly).with_columns(policy=said).select(_NAMES)


def _filled(found: pl.DataFrame, rule: SkillsPolicy) -> pl.DataFrame:
    """The columns that all patterns share."""
    return found.with_columns(
        tool_sequence=pl.lit([], PROCEDURES.polars["tool_sequence"]),
        success_rate=pl.col("success_count") / pl.col("session_count"),
        average_reward=pl.lit(None, pl.Float32),
        helpful_count=pl.lit(0),
        wrong_count=pl.lit(0),
        fine_count=pl.lit(0),
        is_suggested=pl.lit(True),
        importance=pl.lit(rule.pattern_importance),
        trust=pl.lit(rule.pattern_trust),
        retention_tier=pl.lit(rule.pattern_tier),
    )
