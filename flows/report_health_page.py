"""The health report as a page: verdict and what to do, each check, and how they stood night by night."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flows import charts, charts_plots
from flows.html_pages import render
from flows.markdown import escaped
from transforms.health.checks import Check, shown_as
from transforms.health.remedies import MEASURES, TITLES
from transforms.health.thresholds import FAIL, OK, UNKNOWN, WARN

if TYPE_CHECKING:
    from flows.report_health import Report

MOST_ROWS = 50
"""Rows of a table that the page shows; the files hold all."""
MOST_LINES = 12
"""Measures whose course is drawn."""
FULL = 100.0
"""Percent of the value from which on a check fails; longer bars are cut at twice as much."""
TREND = (
    "lake_rows", "lake_bytes", "bytes_per_row_ratio", "quarantine_ratio", "stale_served_ratio",
    "similar_pairs_ratio", "weak_ratio", "low_trust_served_ratio", "mean_shift", "unpublished_hours",
    "superseded_ratio", "failed_run_ratio",
)  # fmt: skip
"""Measures whose course is drawn where nothing is amiss, in this order."""
_MAY_LACK = ("overdue", "writers", "refused", "steps", "tables")
"""Tables that are not there where what they are made of cannot be read."""
_STATES = {OK: ("ok", "six"), WARN: ("warns", "two"), FAIL: ("fails", "three")}
_CLASSES = {"ok": "good", "warn": "warn", "fail": "bad", "unknown": "soft"}
_WORDS = {"ok": "✔ ok", "warn": "▲ warns", "fail": "✘ fails", "unknown": "– not known"}


def health_html(report: Report) -> str:
    """One page that opens offline; every number on it stands in the report's JSON."""
    tables = report.tables
    shown = {name: rows.head(MOST_ROWS).to_dicts() for name, rows in tables.items()}
    values = {
        "r": report.figures,
        "counts": report.counts,
        "checks": [_shown(check) for check in report.checks],
        "totals": {word: sum(check.state == word for check in report.checks) for word in _WORDS},
        "words": _WORDS,
        "css": Markup(charts.CSS),  # noqa: S704 our own constant
        "bars": Markup(strains(tables["measures"])),  # noqa: S704 drawn and escaped
        "grid": grid(report),
        "classes": _CLASSES,
        "lines": [Markup(svg) for svg in courses(report)],  # noqa: S704 drawn and escaped
        "tables": {**dict.fromkeys(_MAY_LACK, ()), **shown},
        "lengths": {name: rows.height for name, rows in tables.items()},
        "most": MOST_ROWS,
    }
    return render("health.html", values)


def _shown(check: Check) -> dict[str, Any]:
    """A check as the page tells it, figures with their units."""
    told = check.as_dict()
    measures = [
        {
            **one,
            "word": _WORDS[one["state"]],
            "kind": _CLASSES[one["state"]],
            **{f"{name}_shown": _figure(one[name], one["unit"]) for name in ("value", "warn_at", "fail_at")},
        }
        for one in told["measures"]
    ]
    name = {"word": _WORDS[check.state], "kind": _CLASSES[check.state]}
    return {**told, **name, "measures": measures}


def _figure(value: float | None, unit: str) -> str:
    return "–" if value is None else shown_as(value, unit)


def strains(measures: pl.DataFrame) -> str:
    """Each measure that is not 0 as a part of the value from which on its check fails."""
    judged = measures.filter(pl.col("value") > 0, pl.col("fail_at") > 0)
    part = (FULL * pl.col("value") / pl.col("fail_at")).clip(upper_bound=2 * FULL)
    rows = judged.select(
        "measure",
        percent=part,
        label=_replaced("measure", {name: name.replace("_", " ") for name in MEASURES}),
        state=_replaced("state", {state: word for state, (word, _) in _STATES.items()}),
    ).sort(["percent", "measure"], descending=[True, False])
    return charts.across(
        rows.head(20),
        "label",
        "percent",
        series="state",
        colours=dict(_STATES.values()),
        title="Measures against the value from which they fail",
        unit="percent of the failing value; cut at 200",
    )


def _replaced(column: str, names: dict[str, str]) -> pl.Expr:
    return pl.col(column).replace_strict(list(names), list(names.values()), return_dtype=pl.String)


def grid(report: Report) -> dict[str, Any]:
    """How each check stood at the last nights, the last column now: ``nights`` and ``rows`` of states."""
    now = {(report.as_of, check.name): check.state for check in report.checks}
    past = report.tables["states"].iter_rows() if "states" in report.tables else ()
    held = {(at, name): state for at, name, state in past} | now
    nights = sorted({at for at, _ in held})[-report.nights :]
    rows = [
        {"title": TITLES[check.name], "states": [held.get((night, check.name), UNKNOWN) for night in nights]}
        for check in report.checks
    ]
    return {"nights": nights, "rows": rows}


def courses(report: Report) -> list[str]:
    """The course of measures that warn or fail, then of some others, where more than one night measured."""
    if "trend" not in report.tables:
        return []
    now = report.tables["measures"].select(
        "check",
        "measure",
        "value",
        "unit",
        as_of_at=pl.lit(report.as_of, report.tables["trend"]["as_of_at"].dtype),
    )
    past = report.tables["trend"].filter(pl.col("as_of_at") != report.as_of)
    both = pl.concat([past.select(now.columns), now]).drop_nulls("value").sort("as_of_at")
    amiss = report.tables["measures"].filter(pl.col("state").is_in([WARN, FAIL]))["measure"].to_list()
    names = [*amiss, *(name for name in TREND if name not in amiss)]
    drawn = [_course(both.filter(pl.col("measure") == name), name, report) for name in names]
    return [svg for svg in drawn if svg][:MOST_LINES]


def _course(rows: pl.DataFrame, name: str, report: Report) -> str:
    if rows["as_of_at"].n_unique() < 2 or (rows["value"] == 0).all():
        return ""
    kind = MEASURES[name]
    lines = [rows.select("as_of_at", "value", line=pl.lit("measured"))]
    found = report.tables["measures"].filter(pl.col("measure") == name)
    limits = found.row(0, named=True) if found.height else {}  # its check has broken off this time
    most = float(rows["value"].max() or 0.0)  # type: ignore[arg-type]
    for key, word in (("warn_at", "warns from"), ("fail_at", "fails from")):
        limit = limits.get(key)
        if limit is not None and most >= limit / 2:  # else the course would be a line along the bottom
            lines.append(rows.select("as_of_at", value=pl.lit(float(limit)), line=pl.lit(word)))
    return charts_plots.lines(
        pl.concat(lines), "as_of_at", "value", series="line" if len(lines) > 1 else None, title=kind.label,
        unit=kind.unit, axis="as of (UTC)", is_from_zero=True, wide=470,  # two of them stand side by side
        colours={"measured": "one", "warns from": "two", "fails from": "three"},
    )  # fmt: skip


def health_markdown(report: Report) -> str:
    """Verdict and checks as Markdown, for an artifact of Prefect; counts and names only, escaped."""
    told = report.counts
    lines = [f"**Health: {told['state']}.** As of {escaped(report.figures['as_of'])}.", ""]
    lines += ["| check | state | measure | value | warns from | fails from |", f"|{'---|' * 6}"]
    for check in report.checks:
        first = check.leading
        shown = ["–"] * 4
        if first is not None:
            figures = (_figure(v, first.unit) for v in (first.value, first.warn_at, first.fail_at))
            shown = [first.measure, *figures]
        cells = (check.name, check.state, *shown)
        lines.append(f"| {' | '.join(escaped(cell) for cell in cells)} |")
    return "\n".join(lines)
