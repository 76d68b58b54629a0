"""Charts of the report on quality."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import polars as pl

from flows import charts
from flows.charts_plots import lines
from flows.report_quality_course import PERIOD
from transforms.health.audit import BINS

SHARE = "share, 0 to 1"
Lines = Mapping[str, tuple[str, str]]
"""By column: what its line is called, and its colour."""
OVER_TIME: dict[str, tuple[str, str, Lines]] = {
    "use": ("Answers and use", SHARE, {
        "answered_ratio": ("calls with an answer", "five"),
        "hit_ratio": ("calls with a used memory", "one"),
        "used_ratio": ("returned memories that were used", "six"),
    }),
    "calls": ("Calls", "calls", {
        "calls": ("calls", "one"),
        "misses": ("calls without an answer", "three"),
    }),
    "latency": ("Latency of calls", "seconds", {
        "seconds_p50": ("median", "six"),
        "seconds_p95": ("95th percentile", "one"),
        "seconds_p99": ("99th percentile", "three"),
    }),
    "context": ("How full contexts are", SHARE, {
        "filled_ratio": ("tokens packed, of the budget", "one"),
        "packed_used_ratio": ("packed memories that were used", "six"),
    }),
    "age": ("Age of what is served", "days", {
        "age_days_p50": ("median", "one"),
        "age_days_p90": ("90th percentile", "two"),
    }),
    "staleness": ("Out of date when served", SHARE, {
        "superseded_ratio": ("facts that had been retired", "two"),
        "outdated_ratio": ("facts that had ended, seen from today", "five"),
        "expired_ratio": ("rows past their expiry", "three"),
    }),
    "crowding": ("Crowding of answers", SHARE, {
        "crowded_ratio": ("answers with a near-identical pair", "one"),
        "repeated_ratio": ("rows that repeat a better one", "two"),
    }),
}  # fmt: skip
"""Charts of the course: title, unit, and the line of each column."""
_CALLS = OVER_TIME["calls"][2]
_NIGHTLY = {
    "answered_ratio": "calls with an answer",
    "hit_ratio": "calls with a used memory",
    "filled_ratio": "contexts filled",
    "crowded_ratio": "crowded answers",
}


def drawn(tables: Mapping[str, pl.DataFrame], period: str) -> dict[str, str]:
    """Every chart of the measures over time, as SVG; empty where there is nothing to show.

    Args:
        tables: Of the report.
        period: ``day`` or ``week``.
    """
    axis = f"{period} (UTC)"
    found = {
        name: _lines(tables["course"], told, f"{title}, by {period}", unit, axis)
        for name, (title, unit, told) in OVER_TIME.items()
    }
    return {
        **found,
        "kinds": _by_period(
            tables["course_kinds"], "kind", "rows", f"What is served, by {period} and kind", axis
        ),
        "removed": _by_period(
            tables["removed"], "reason", "removed", f"Taken out by retention, by {period} and reason", axis
        ),
        "scores_all": spread(
            tables["scores_all"], "Retention scores of all memories, by kind", "retention score"
        ),
        "nights": _nights(tables["nights"]),
    }


def drawn_audit(tables: Mapping[str, pl.DataFrame], period: str) -> dict[str, str]:
    """Every chart of the audit, by name with ``audit_`` before it."""
    room = tables["audit_capacity"].with_columns(_words("budget"))
    stale = tables["audit_stale_by_why"].with_columns(_words("why"))
    months = tables["audit_next_by_month"].with_columns(_words("why"))
    held, worth = tables["audit_importance"], tables["audit_scores"]
    return {
        "audit_importance": spread(held, "Importance of memories, by kind", "importance"),
        "audit_scores": spread(worth, "Retention scores of memories, by kind", "retention score"),
        "audit_capacity": charts.across(
            room, "budget", "held_ratio", title="How much of each budget is held", unit="held over budget"
        ),
        "audit_stale": charts.across(
            stale, "why", "rows", title="Stale memories, by why", unit="memories"
        ),
        "audit_next": charts.upright(
            charts.fewer(months, "why", "rows", ["month"]), "month", "rows", series="why",
            title="What goes next if nobody asks for it", unit="memories", axis="month (UTC)",
        ),
        "audit_activity": _lines(
            tables["audit_activity"], _CALLS, f"Calls in this scope, by {period}", "calls", f"{period} (UTC)"
        ),
    }  # fmt: skip


def spread(rows: pl.DataFrame, title: str, axis: str) -> str:
    """Bars of a spread (``audit.SPREAD_SCHEMA``), stacked by kind, the empty ones among them."""
    if rows.is_empty():
        return ""
    edges = [n / BINS for n in range(BINS + 1)]
    labels = [f"{low:.1f}–{high:.1f}" for low, high in itertools.pairwise(edges)]
    bars = rows.with_columns(
        bar=(pl.col("from") * BINS).round().cast(pl.Int64).replace_strict(dict(enumerate(labels)))
    )
    few = charts.fewer(bars.select("bar", "kind", "rows"), "kind", "rows", ["bar"])
    empty = pl.DataFrame({"bar": labels}).with_columns(kind=pl.lit(few["kind"][0]), rows=pl.lit(0, pl.Int64))
    return charts.upright(
        pl.concat([few.cast(empty.schema), empty]), "bar", "rows", series="kind", order=labels, title=title,
        unit="memories", axis=axis,
    )  # fmt: skip


def _lines(rows: pl.DataFrame, told: Lines, title: str, unit: str, axis: str) -> str:
    """A line for each of some columns of a table by period."""
    long = rows.unpivot(list(told), index=PERIOD, variable_name="name", value_name="value")
    names = {name: label for name, (label, _) in told.items()}
    shown = long.with_columns(pl.col("name").replace(names), pl.col("value").cast(pl.Float64))
    return lines(
        shown.drop_nulls("value"), PERIOD, "value", series="name", title=title, unit=unit, axis=axis,
        colours=dict(told.values()), is_from_zero=True,
    )  # fmt: skip


def _by_period(rows: pl.DataFrame, series: str, value: str, title: str, axis: str) -> str:
    """Stacked bars by period."""
    if rows.is_empty():
        return ""
    named = rows.with_columns(_words(series), period=pl.col(PERIOD).dt.strftime("%m-%d"))
    kept = named.sort(PERIOD)
    few = charts.fewer(kept.select("period", series, value), series, value, ["period"])
    order = kept["period"].unique(maintain_order=True).to_list()
    return charts.upright(
        few, "period", value, series=series, order=order, title=title, unit="rows", axis=f"{axis}, month-day"
    )


def _nights(rows: pl.DataFrame) -> str:
    """Shares as nights measured them, where there were two nights or more."""
    held = rows.filter(pl.col("name").is_in(list(_NIGHTLY)), pl.col("part") == "")
    if held["as_of_at"].n_unique() < 2:
        return ""
    return lines(
        held.with_columns(pl.col("name").replace(_NIGHTLY)), "as_of_at", "value", series="name",
        title="As nights measured it, each over its own window", unit=SHARE, axis="night (UTC)",
        is_from_zero=True,
    )  # fmt: skip


def _words(name: str) -> pl.Expr:
    return pl.col(name).str.replace_all("_", " ")
