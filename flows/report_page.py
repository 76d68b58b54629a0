"""The compliance report as a page: verdict, then what it rests on, with charts; nothing is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flows import charts
from flows.html_pages import render
from flows.markdown import escaped
from transforms.compliance.requests import LONGEST, SPANS
from transforms.declarations import RETENTION_TIERS

if TYPE_CHECKING:
    from flows.report_compliance import Report

MOST_ROWS = 100
"""Rows of a table that the page shows; the files hold all."""
HEADS = {
    "due": "due",
    "done": "removed",
    "late": "of these late",
    "waiting": "waiting",
    "held": "held",
    "pending": "next run",
    "overdue": "overdue",
}
"""Columns of rows by tier and what they are called, as on the page."""
OUTCOMES = {
    "done": ("removed in time", "six"),
    "late": ("removed late", "two"),
    "pending": ("due, goes with the next run", "one"),
    "waiting": ("waits for its summary", "five"),
    "held": ("under legal hold", "four"),
    "overdue": ("overdue", "three"),
}
"""What becomes of a row that is due: name and colour."""
STANDING = {
    "done in time": "six",
    "done late": "two",
    "in progress": "one",
    "held": "four",
    "failed": "five",
    "overdue": "three",
}


def compliance_html(report: Report) -> str:
    """One page that opens offline; every number on it stands in the report's JSON.

    Tables longer than ``MOST_ROWS`` are cut, worst first, and say so.
    """
    values = {
        "r": report.figures,
        "is_kept": report.is_kept,
        "faults": [f for f in report.findings if f.is_fault],
        "remarks": [f for f in report.findings if not f.is_fault],
        "css": Markup(charts.CSS),  # noqa: S704 our own constant
        "charts": {name: Markup(svg) for name, svg in _charts(report).items()},  # noqa: S704 drawn and escaped
        "tables": {name: _shown(name, rows) for name, rows in report.tables.items()},
        "lengths": {name: rows.height for name, rows in report.tables.items()},
        "most": MOST_ROWS,
    }
    return render("compliance.html", values)


def compliance_markdown(report: Report) -> str:
    """Verdict, findings and the tiers as Markdown, for an artifact of Prefect; counts only, escaped."""
    verdict = "All obligations are met." if report.is_kept else "**Not all obligations are met.**"
    lines = [f"{verdict} As of {escaped(report.figures['as_of'])}.", ""]
    lines += [f"- {escaped(f.text)} {escaped(', '.join(f.where))}".rstrip() for f in report.findings]
    heads = ("tier", *HEADS.values())
    lines += ["", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in report.tables["retention_by_tier"].iter_rows(named=True):
        cells = [escaped(row["tier"] or "no tier"), *(f"{row[name]:,}" for name in HEADS)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


_WORST = {
    "retention": (("overdue", "late", "due"), (True, True, True)),
    "retention_by_tenant": (("overdue", "late", "due"), (True, True, True)),
    "certificates": (("completed_at",), (True,)),
    "requests": (("requested_at",), (True,)),
}
"""Order of tables that may be cut."""


def _shown(name: str, rows: pl.DataFrame) -> list[dict[str, Any]]:
    by, descending = _WORST.get(name, ((), ()))
    ordered = rows.sort(by, descending=descending, maintain_order=True, nulls_last=True) if by else rows
    return ordered.head(MOST_ROWS).to_dicts()


def _charts(report: Report) -> dict[str, str]:
    tables = report.tables
    removals = charts.fewer(tables["removals"], "reason", "rows", ["month"])
    redactions = charts.fewer(tables["redactions"], "kind", "found", ["month"])
    return {
        "due": _due(tables["retention_by_tier"]),
        "removals": charts.upright(
            removals.with_columns(pl.col("reason").str.replace_all("_", " ")),
            "month", "rows", series="reason", title="Rows removed, by month and reason", unit="rows",
            axis="month of the run (UTC)",
        ),
        "requests": charts.across(
            tables["requests_by_kind"].with_columns(pl.col("kind").str.replace_all("_", " ")),
            "kind", "requests", series="standing", colours=STANDING, title="Requests, by kind and standing",
            unit="requests",
        ),
        "time_to_erase": charts.upright(
            tables["time_to_erase"], "span", "requests", order=[*(n for _, n in SPANS), LONGEST],
            title="Time from request to proven erasure", unit="requests", axis="time taken",
        ),
        "redactions": charts.upright(
            redactions.with_columns(pl.col("kind").str.replace_all("_", " ")),
            "month", "found", series="kind", title="Secrets and private data recognised, by month and kind",
            unit="times found", axis="month of the event (UTC)",
        ),
        "quarantine": charts.across(
            tables["quarantine"].head(12).with_columns(pl.col("reason").str.replace_all("_", " ")),
            "reason", "rows", title="Refused rows, by reason", unit="rows",
        ),
    }  # fmt: skip


def _due(tiers: pl.DataFrame) -> str:
    """Rows that were due, by tier, split by what became of them; ``done`` without those that went late."""
    parts = tiers.with_columns(pl.col("done") - pl.col("late"), tier=_named("tier").str.replace_all("_", " "))
    long = parts.unpivot(list(OUTCOMES), index="tier", variable_name="outcome", value_name="rows")
    named = long.with_columns(pl.col("outcome").replace({k: name for k, (name, _) in OUTCOMES.items()}))
    return charts.across(
        named.filter(pl.col("rows") > 0), "tier", "rows", order=_TIERS, series="outcome",
        colours=dict(OUTCOMES.values()),
        title="Rows past their time, by retention tier and what became of them", unit="rows",
    )  # fmt: skip


_TIERS = tuple(tier.replace("_", " ") for tier in (*RETENTION_TIERS, "no_tier"))


def _named(column: str) -> pl.Expr:
    return pl.when(pl.col(column) == "").then(pl.lit("no tier")).otherwise(column)
