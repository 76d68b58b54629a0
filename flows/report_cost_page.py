"""The cost report as a page, and as a few lines of text; nothing is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flows import charts, charts_plots
from flows.html_pages import render
from flows.present import table

if TYPE_CHECKING:
    from flows.report_cost import CostReport

MOST_ROWS = 50
"""Rows of a table that the page shows, the dearest or newest first; the files hold all."""
MOST_TENANTS = 12
"""Tenants of the chart."""
_NOT_KNOWN = "–"
_MODES = {"live": "one", "batch": "six", "local": "five"}


def cost_html(report: CostReport) -> str:
    """One page that opens offline; every number on it stands in the report's JSON."""
    values = {
        "r": report.figures,
        "css": Markup(charts.CSS),  # noqa: S704 our own constant
        "charts": {name: Markup(svg) for name, svg in _charts(report).items()},  # noqa: S704 drawn and escaped
        "tables": {name: _shown(name, rows) for name, rows in report.tables.items()},
        "lengths": {name: rows.height for name, rows in report.tables.items()},
        "most": MOST_ROWS,
        "money": money,
        "short": short,
        "percent": percent,
    }
    return render("cost.html", values)


def cost_text(report: CostReport) -> str:
    """Sums, and each month and model, for a terminal."""
    r, rows = report.figures, report.tables["by_month"]
    total = r["total"]
    heads = ("month", "model", "task", "mode", "requests", "cached", "tokens in", "tokens out", "money")
    shown = [
        (
            row["month"], short(row["model_key"]), row["task"], row["mode"],
            *(f"{row[n]:,}" for n in ("requests", "cached", "input_tokens", "output_tokens")),
            money(row["money"]),
        )
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip
    lines = [
        f"{r['runs']:,} runs in {r['days']:g} days: {total['input_tokens']:,} tokens sent,"
        f" {total['output_tokens']:,} received, money {money(total['money'])}",
        *([table("", heads, shown)] if shown else ["no model was asked in this time"]),
    ]
    coming = r["next_run"]
    if coming:
        lines.append(
            f"next run: {coming['requests']:,} requests, at most {money(coming['live_money'])} live,"
            f" {money(coming['batch_money'])} by batch"
        )
    month = r["month"]
    if month["projected"] is not None:
        lines.append(
            f"{month['month']}: {money(month['spent'])} so far, {money(month['projected'])} at its end"
            f" ({money(month['low'])} to {money(month['high'])})"
        )
    return "\n".join(lines)


def money(value: float | None) -> str:
    """An amount: two decimals, of a small one two digits that count."""
    if value is None:
        return _NOT_KNOWN
    if value == 0 or abs(value) >= 0.1:
        return f"{value:,.2f}"
    return f"{value:.2g}" if abs(value) >= 0.0001 else f"{value:.1e}"


def percent(ratio: float | None) -> str:
    """A part of a limit, which may be above it."""
    return _NOT_KNOWN if ratio is None else f"{ratio:.0%}"


def short(model_key: str) -> str:
    """A model's name without what follows it."""
    return model_key.split("@", 1)[0]


def _shown(name: str, rows: pl.DataFrame) -> list[dict[str, Any]]:
    if name == "by_run":
        rows = rows.sort("as_of_at", "run_id", "model_key", descending=[True, False, False])
    elif name == "by_month":
        rows = rows.sort(
            "month", "money", "model_key", "task", "mode", descending=[True, True, False, False, False]
        )
    elif "money" in rows.columns and name != "by_day":
        keys = [n for n in rows.columns if rows[n].dtype == pl.String]
        rows = rows.sort(
            "money", "input_tokens", *keys, descending=[True, True, *([False] * len(keys))], nulls_last=True
        )
    return rows.head(MOST_ROWS).to_dicts()


def _charts(report: CostReport) -> dict[str, str]:
    months = report.tables["by_month"].with_columns(
        tokens=pl.col("input_tokens") + pl.col("output_tokens"),
        model=pl.col("model_key").str.split("@").list.first(),
    )
    by_mode = months.group_by("month", "mode").agg(pl.col("tokens").sum()).sort("month", "mode")
    paid = months.filter(pl.col("money") > 0)
    by_model = paid.group_by("month", "model").agg(pl.col("money").sum()).sort("month", "model")
    compared = report.figures["live_against_batch"]
    ways = pl.DataFrame(
        {
            "way": ["as it was spent", "all of it live", "all of it by batch"],
            "money": [compared[n] for n in ("spent_money", "live_money", "batch_money")],
        }
    )
    colours = {mode: colour for mode, colour in _MODES.items() if mode in by_mode["mode"].to_list()}
    return {
        "tokens": charts.upright(
            by_mode, "month", "tokens", title="Tokens by month and how the model was asked", unit="tokens",
            axis="month", series="mode", colours=colours or None,
        ),
        "money": charts.upright(
            charts.fewer(by_model, "model", "money", ["month"]), "month", "money",
            title="Money by month and model", unit="money", axis="month",
            series="model" if by_model["model"].n_unique() > 1 else None,
        ),
        "days": charts_plots.lines(
            report.days, "day", "money", title="Money by day", unit="money", axis="day", is_from_zero=True
        )
        if report.days["money"].sum()
        else "",
        "tenants": _tenants(report.tables["by_tenant"]),
        "ways": charts.across(ways, "way", "money", title="The same tokens, live and by batch", unit="money"),
    }  # fmt: skip


def _tenants(rows: pl.DataFrame) -> str:
    """The tenants that cost most: by money, or by tokens where nothing costs money."""
    is_paid = bool(rows["money"].sum())
    value = pl.col("money") if is_paid else pl.col("input_tokens") + pl.col("output_tokens")
    name = pl.when(pl.col("tenant") != "").then("tenant").otherwise(pl.col("tenant_hash").str.head(8))
    shown = (
        rows.select(name=name, value=value).sort("value", "name", descending=[True, False]).head(MOST_TENANTS)
    )
    unit = "money" if is_paid else "tokens"
    return charts.across(shown, "name", "value", title=f"Tenants by {unit}", unit=unit)
