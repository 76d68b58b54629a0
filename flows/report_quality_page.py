"""The report on quality as a page and as lines for a terminal: charts first, nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from flows import charts
from flows.html_pages import render
from flows.present import one_line, table
from flows.report_quality_charts import drawn, drawn_audit

if TYPE_CHECKING:
    import polars as pl

    from flows.report_quality import Report

MOST_ROWS = 25
"""Rows of a table that the page shows; the files hold all."""
TILES = (
    ("answered_ratio", "share", "of calls had an answer"),
    ("hit_ratio", "share", "of calls had a memory that was used, where that is told"),
    ("used_ratio", "share", "of the returned memories were used, where that is told"),
    ("seconds_p95", "duration", "latency, 95th percentile"),
    ("filled_ratio", "share", "of a context’s token budget is filled, mean"),
    ("age_days_p50", "days", "median age of what is served"),
    ("superseded_ratio", "share", "of served facts had been retired"),
    ("expired_ratio", "share", "of served rows were past their expiry; must be 0"),
    ("crowded_ratio", "share", "of answers say one thing twice"),
)
"""Measure, how it is shown, and what it is."""
NAMES = {
    "never_asked_for": "never asked for",
    "not_asked_for": "not asked for",
    "superseded": "superseded",
}


def quality_html(report: Report) -> str:
    """One page that opens offline; every number on it stands in the report's JSON.

    Tables longer than ``MOST_ROWS`` are cut and say so.
    """
    figures = report.figures
    svgs = drawn(report.tables, str(figures["period"]))
    audit: dict[str, Any] | None = None
    if report.audit is not None:
        svgs |= drawn_audit(report.tables, str(figures["period"]))
        audit = dict(report.audit.figures)
    values = {
        "r": figures,
        "m": figures["measures"],
        "audit": audit,
        "tiles": TILES,
        "faults": report.faults,
        "remarks": report.remarks,
        "css": Markup(charts.CSS),  # noqa: S704 our own constant
        "charts": {name: Markup(svg) for name, svg in svgs.items()},  # noqa: S704 drawn and escaped
        "tables": {name: _first(name, rows).to_dicts() for name, rows in report.tables.items()},
        "lengths": {name: rows.height for name, rows in report.tables.items()},
        "most": MOST_ROWS,
    }
    return render("quality.html", values)


def _first(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that are shown: of the course the latest, of all other tables the first."""
    return rows.tail(MOST_ROWS) if name == "course" else rows.head(MOST_ROWS)


def quality_text(report: Report, out: Path) -> str:
    """The main numbers as lines, and where the page is."""
    measures = report.figures["measures"]
    shown = [(label, _shown(measures[name], form)) for name, form, label in TILES]
    told = [
        f"{measures['calls']:,} calls in {report.figures['window_days']:g} days",
        *(f"  {remark}" for remark in report.remarks),
        *(f"NOT AS IT MUST BE: {fault}" for fault in report.faults),
        table("", ("value", "measure"), [(value, label) for label, value in shown]),
    ]
    if report.audit is not None:
        told += _audit_lines(report.audit.figures)
    return "\n".join([*told, f"page: {out / 'quality.html'}"])


def _audit_lines(told: Mapping[str, Any]) -> list[str]:
    who = " ".join(f"{name} {one_line(value, 80)}" for name, value in told["subject"].items())
    stale = ", ".join(f"{count:,} {NAMES[why]}" for why, count in told["stale"].items())
    return [
        f"audit of {who}: {told['memories']:,} memories, {told['used_memories']:,} of use, "
        f"{told['never_served']:,} never served",
        f"  {told['near_pairs']:,} near-duplicate pairs, {told['contradictions']:,} contradictions, "
        f"{told['due']:,} due to be forgotten, {told['pinned']:,} pinned, {told['held']:,} held",
        *([f"  stale: {stale}"] if stale else []),
    ]


def _shown(value: float | None, form: str) -> str:
    if value is None:
        return "not known"
    if form == "share":
        return f"{value:.1%}"
    return f"{value * 1_000:.1f} ms" if form == "duration" else f"{value:.1f} days"
