"""Checks of what comes into the lake and what stays: growth, untrusted rows, one writer, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from transforms.health.thresholds import Measure

WRITER_KINDS = ("agent_id", "session_id", "source")
"""Columns of ``schemas.CLAIMS`` that name a writer of claims; every session is new once."""
_WRITERS: dict[str, pl.DataType | type[pl.DataType]] = {
    "tenant_id": pl.String,
    "kind": pl.String,
    "writer": pl.String,
    "claims": pl.Int64,
    "claims_before": pl.Int64,
    "share_ratio": pl.Float64,
    "share_before_ratio": pl.Float64,
    "rise_ratio": pl.Float64,
}
WRITERS_SCHEMA = pl.Schema(_WRITERS)
OWN_ROLES = ("assistant", "system")
"""Roles whose texts may repeat: greetings and instructions of the agent's own."""


@dataclass(frozen=True, slots=True)
class Came:
    """Rows that came before the window and in it.

    Attributes:
        before: Rows before the window.
        new: Rows in it.
    """

    before: int
    new: int


def net_growth(
    landed: int, removed: int, held: int, first_at: datetime | None, since: datetime, as_of: datetime
) -> Measure:
    """Episodes that came in the window less those that retention took out, over those now held.

    A lake at an even rate from which nothing has had to go yet grows by a half in its second window and by a
    third in its third: of one that is younger than three windows nothing is said.

    Args:
        landed: Episodes that came, those that are gone by now counted.
        removed: Episodes that went, whenever they had come.
        held: Episodes.
        first_at: When the oldest of them came; None of none.
        since: When the window began.
        as_of: When it ended.
    """
    told = f"{landed:,} came, {removed:,} went, {held:,} are held"
    if first_at is None or first_at > since - 2 * (as_of - since):
        return Measure("net_growth_ratio", None, f"the lake is younger than three windows: {told}")
    return Measure("net_growth_ratio", max((landed - removed) / held, 0.0) if held else 0.0, told)


def bytes_per_row(size_bytes: int, rows: int, earlier: pl.DataFrame, min_rows: int) -> Measure:
    """Bytes an episode takes, over what it took at the first night of the window.

    Args:
        size_bytes: Bytes of the tables.
        rows: Episodes.
        earlier: ``part``, ``value`` and ``as_of_at`` of measures ``lake_bytes`` and ``lake_rows``, of nights
            of the earlier half of the window.
        min_rows: With fewer episodes at either time nothing is said.
    """
    wide = earlier.filter(pl.col("part").is_in(["lake_bytes", "lake_rows"])).pivot(
        "part", index="as_of_at", values="value", aggregate_function="last"
    )
    if not {"lake_bytes", "lake_rows"} <= set(wide.columns):
        return Measure("bytes_per_row_ratio", None, "no night of the earlier half of the window measured it")
    enough = wide.filter(pl.col("lake_rows") >= min_rows, pl.col("lake_bytes") > 0).sort("as_of_at")
    if enough.is_empty() or rows < min_rows:
        return Measure("bytes_per_row_ratio", None, f"too few: {rows:,} episodes")
    first = enough.row(0, named=True)
    ratio = (size_bytes / rows) / (first["lake_bytes"] / first["lake_rows"])
    return Measure("bytes_per_row_ratio", ratio, f"against {first['as_of_at']:%Y-%m-%d}")


def fullest(counts: Sequence[int], budget: int) -> Measure:
    """Rows of the fullest owner over the budget of one."""
    most = max(counts, default=0)
    return Measure("fullest_user_ratio", most / budget, f"{most:,} episodes, the budget is {budget:,}")


def low_trust_rise(came: Came, low: Came, min_rows: int) -> Measure:
    """Share of rows of low trust among the new ones, less the same share before.

    Args:
        came: All rows.
        low: Those of low trust.
        min_rows: With fewer rows on a side nothing is said.
    """
    told = f"{low.new:,} of {came.new:,} new rows, {low.before:,} of {came.before:,} before"
    if min(came.before, came.new) < min_rows:
        return Measure("low_trust_rise_ratio", None, f"too few: {told}")
    rise = low.new / came.new - low.before / came.before
    return Measure("low_trust_rise_ratio", max(rise, 0.0), told)


def injection(instructions: int, landed: int, min_rows: int) -> Measure:
    """Rows that were refused because they read as an instruction, of all rows that came in the window."""
    came = instructions + landed
    told = f"{instructions:,} of {came:,} rows that came"
    if came < min_rows:
        return Measure("injection_ratio", None, f"too few: {told}")
    return Measure("injection_ratio", instructions / came, told)


def writers(claims: pl.DataFrame, min_rows: int, min_writers: int) -> pl.DataFrame:
    """Each writer's share of the new claims of its tenant, and how much that is above its share before.

    A tenant with fewer new claims, or fewer writers among whom one could stand out, is left out. An agent
    or kind of source is compared with its own past, so a tenant without a past is left out for these; a
    session has none, and its share is its rise.

    Args:
        claims: ``tenant_id``, ``kind`` (one of ``WRITER_KINDS``), ``writer``, ``claims``, ``claims_before``.
        min_rows: Fewest claims.
        min_writers: Fewest agents or sessions.

    Returns:
        ``WRITERS_SCHEMA``, the steepest rise first.
    """
    group = ["tenant_id", "kind"]
    known = claims.filter(pl.col("writer").is_not_null())
    summed = known.with_columns(
        all_new=pl.col("claims").sum().over(group),
        all_before=pl.col("claims_before").sum().over(group),
        writers=(pl.col("claims") > 0).sum().over(group),
    )
    is_session = pl.col("kind") == "session_id"
    enough = summed.filter(
        pl.col("all_new") >= min_rows,
        (pl.col("writers") >= min_writers) | (pl.col("kind") == "source"),
        is_session | (pl.col("all_before") >= min_rows),
    )
    before = pl.when(pl.col("all_before") > 0).then(pl.col("claims_before") / pl.col("all_before"))
    shares = enough.with_columns(
        share_ratio=pl.col("claims") / pl.col("all_new"), share_before_ratio=before.fill_null(0.0)
    ).with_columns(rise_ratio=pl.col("share_ratio") - pl.col("share_before_ratio"))
    ordered = shares.sort(["rise_ratio", *group, "writer"], descending=[True, False, False, False])
    return ordered.select(WRITERS_SCHEMA.names()).cast(WRITERS_SCHEMA)


def writer_rise(found: pl.DataFrame) -> Measure:
    """The steepest rise among ``writers``."""
    if found.is_empty():
        return Measure("writer_rise_ratio", None, "too few claims or writers of one tenant")
    first = found.row(0, named=True)
    kind, part = first["kind"].removesuffix("_id"), f"{100 * first['share_ratio']:.0f} %"
    told = f"one {kind} wrote {first['claims']:,} claims, {part} of its tenant's"
    return Measure("writer_rise_ratio", max(first["rise_ratio"], 0.0), told)


def flood(texts: pl.DataFrame, sessions: pl.DataFrame, min_sessions: int) -> Measure:
    """The largest share of a tenant's sessions that one text came in.

    Args:
        texts: ``tenant_id`` and ``sessions`` of each text that came in more than one session.
        sessions: ``tenant_id`` and ``all_sessions`` of each tenant in the window.
        min_sessions: Of tenants with fewer sessions nothing is said.
    """
    enough = sessions.filter(pl.col("all_sessions") >= min_sessions)
    if enough.is_empty():
        return Measure("flood_ratio", None, "too few sessions of one tenant")
    both = enough.join(texts, on="tenant_id", how="left").with_columns(pl.col("sessions").fill_null(0))
    worst = both.with_columns(ratio=pl.col("sessions") / pl.col("all_sessions")).sort(
        ["ratio", "all_sessions", "tenant_id"], descending=[True, True, False]
    )
    first = worst.row(0, named=True)
    told = f"{first['sessions']:,} of {first['all_sessions']:,} sessions"
    return Measure("flood_ratio", first["ratio"], told)


def quarantine(refused: Came, landed: Came, min_rows: int, usual_ratio: float) -> list[Measure]:
    """Refused rows, of all rows that came, and the same against the time before the window.

    Args:
        refused: Rows in quarantine.
        landed: Episodes that are held.
        min_rows: With fewer rows on a side nothing is said.
        usual_ratio: A share that is usual whatever it was before: from nearly none, any rise is steep.
    """
    new, before = refused.new + landed.new, refused.before + landed.before
    told = f"{refused.new:,} of {new:,} rows"
    if new < min_rows:
        few = f"too few: {told}"
        return [Measure("quarantine_ratio", None, few), Measure("quarantine_rise", None, few)]
    ratio = Measure("quarantine_ratio", refused.new / new, told)
    told = f"{told}, {refused.before:,} of {before:,} before"
    if before < min_rows:
        return [ratio, Measure("quarantine_rise", None, f"too few: {told}")]
    usual = max(refused.before / before, usual_ratio)
    return [ratio, Measure("quarantine_rise", refused.new / new / usual, told)]


def hours_since(name: str, oldest_at: datetime | None, as_of: datetime) -> Measure:
    """How long something has been waiting, in hours; none where nothing waits."""
    if oldest_at is None:
        return Measure(name, 0.0, "nothing waits")
    hours = max((as_of - oldest_at) / timedelta(hours=1), 0.0)
    return Measure(name, hours, f"since {oldest_at:%Y-%m-%d %H:%M} UTC")


def failed_runs(steps: pl.DataFrame) -> list[Measure]:
    """Failed steps of the window, and steps whose newest run failed.

    Args:
        steps: ``sql/runs_by_step.sql``.
    """
    runs, failed = int(steps["runs"].sum()), int(steps["failed"].sum())
    told = f"{failed:,} of {runs:,} runs that changed something"
    failing = steps.filter(pl.col("last_state") == "failed")["step"].to_list()
    return [
        Measure("failed_run_ratio", failed / runs if runs else None, told),
        Measure("failing_steps", len(failing), ", ".join(failing)),
    ]
