"""The capacity report as a page and as text: the picture first, then what it rests on; nothing is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flows import charts
from flows.charts_plots import lines
from flows.html_pages import count, duration, render, size
from flows.present import table
from transforms.planning.growth import ALL
from transforms.planning.scenarios import PLANNING

if TYPE_CHECKING:
    from flows.report_capacity import Report

MOST_ROWS = 40
"""Rows of a table that the page shows; the files hold all."""
SHOWN_TABLES = 9
"""Tables that the chart of bytes shows by themselves."""
GROUPS = {
    "vectors": "one",
    "text": "two",
    "ids and hashes": "six",
    "times": "four",
    "numbers and labels": "five",
    "file overhead": "three",
}
"""Groups of columns in the chart of bytes, with their colours."""
_TEXTS = (
    "content",
    "text",
    "fact",
    "sentences",
    "title",
    "summary",
    "policy",
    "trigger",
    "query",
    "answer",
    "raw",
    "evidence",
)
_VECTORS = ("vector", "centroid")
_MONEY = "a month"


def capacity_html(report: Report) -> str:
    """One page that opens offline; every number on it stands in the report's JSON."""
    steps = report.tables["steps"]
    values = {
        "r": report.figures,
        "notes": report.notes,
        "css": Markup(charts.CSS),  # noqa: S704 our own constant
        "charts": {name: Markup(svg) for name, svg in _charts(report).items()},  # noqa: S704 drawn and escaped
        "tables": {name: rows.head(MOST_ROWS).to_dicts() for name, rows in report.tables.items()},
        "lengths": {name: rows.height for name, rows in report.tables.items()},
        "most": MOST_ROWS,
        "whole": next((row for row in report.tables["tenants"].to_dicts() if row["tenant_id"] == ALL), None),
        "horizons": _horizons(report),
        "ahead": _by_tenant(report),
        "planning": _worked(steps.filter((pl.col("scenario") == PLANNING) & ~_is_graph())),
        "graph": _worked(steps.filter((pl.col("scenario") == PLANNING) & _is_graph())),
        "named": PLANNING,
        "assumed": [
            {**row, "shown": amount(row["value"], row["unit"])}
            for row in report.tables["assumptions"].to_dicts()
        ],
    }
    return render("capacity.html", values)


def _is_graph() -> pl.Expr:
    return pl.col("part").is_in(["graph", "stated"])


def amount(value: float, unit: str) -> str:
    """A number with its unit, as a person reads it."""
    if unit.startswith("bytes"):
        return size(value) + unit.removeprefix("bytes")
    if unit == "seconds":
        return f"{value * 1_000:.3g}\u00a0ms" if 0 < value < 1 else duration(value)
    if unit == "ratio":
        return f"{value:.3g}"
    if unit == _MONEY:
        return f"{count(value)} {unit}"
    figure = f"{value:.3g}" if abs(value) < 100 and value != round(value) else count(value)
    return f"{figure} {unit}"


def _worked(lines_of: pl.DataFrame) -> list[dict[str, Any]]:
    return [{**row, "shown": amount(row["value"], row["unit"])} for row in lines_of.to_dicts()]


def _horizons(report: Report) -> list[dict[str, Any]]:
    """The forecast of all at the horizons, the tenants' below it."""
    wanted = report.figures["horizons"]
    told = report.tables["forecast"].filter(pl.col("after_days").is_in(wanted))
    return told.filter(pl.col("tenant_id") == ALL).to_dicts()


def _by_tenant(report: Report) -> list[dict[str, Any]]:
    """The forecast of each tenant: one row each, with a cell a horizon; the most bytes to come first."""
    wanted = report.figures["horizons"]
    told = report.tables["forecast"].filter(pl.col("after_days").is_in(wanted) & (pl.col("tenant_id") != ALL))
    rows = [
        {"tenant_id": tenant, "cells": held.sort("after_days").to_dicts()}
        for (tenant,), held in told.group_by(["tenant_id"], maintain_order=True)
    ]
    return sorted(rows, key=lambda row: (-row["cells"][-1]["bytes"], row["tenant_id"]))


def _charts(report: Report) -> dict[str, str]:
    tables = report.tables
    grown = tables["forecast"].filter(pl.col("tenant_id") == ALL)
    beside = (
        tables["parts"]
        .group_by("part")
        .agg(pl.col("bytes").sum())
        .sort("bytes", "part", descending=[True, False])
    )
    return {
        "forecast": lines(
            grown, "after_days", "bytes", low="bytes_low", high="bytes_high", is_from_zero=True,
            title="Bytes to come: tables and index", unit="bytes", axis="days from now",
        ),
        "days": lines(
            tables["days"], "day_at", "rows", is_from_zero=True,
            title="Episodes a day, by when they happened", unit="episodes", axis="day (UTC)",
        ),
        "columns": charts.across(
            _grouped(tables["columns"]), "table", "bytes", series="group", colours=GROUPS,
            title="Bytes of the tables, by table and kind of column", unit="bytes",
        ),
        "rest": charts.across(
            _grouped(tables["columns"].filter(~pl.col("column").is_in(_VECTORS))), "table", "bytes",
            series="group", colours=GROUPS, title="The same without vectors", unit="bytes",
        ),
        "index": charts.across(
            tables["index"].sort("bytes", "name", descending=[True, False]).head(12).select("name", "bytes"),
            "name", "bytes", title="Bytes of the live index, by column and index", unit="bytes",
        ),
        "parts": charts.across(
            beside.filter(pl.col("bytes") > 0), "part", "bytes",
            title="Everything below the lake's root", unit="bytes",
        ),
        **_scenario_charts(tables["scenarios"], tables["steps"]),
    }  # fmt: skip


def _scenario_charts(scenarios: pl.DataFrame, steps: pl.DataFrame) -> dict[str, str]:
    parts = ("cost of nodes", "cost of disks of readers", "cost of object store", "cost of requests")
    costs = steps.filter((pl.col("part") == "cost") & pl.col("name").is_in(parts)).with_columns(
        pl.col("name").str.replace("cost of ", "")
    )
    both = pl.concat(
        [
            scenarios.select(
                scenario=pl.lit(f"{name}: ") + pl.col("scenario"), nodes=column, place=pl.int_range(pl.len())
            )
            for name, column in (("here", "nodes"), ("graph", "graph_nodes"))
        ]
    ).sort("place", maintain_order=True)
    return {
        "cost": charts.across(
            costs, "scenario", "value", series="name", title="Cost of a month, by scenario; prices are yours",
            unit="in the currency of the prices",
            colours={"nodes": "one", "disks of readers": "two", "object store": "six", "requests": "four"},
        ),
        "nodes": charts.across(
            both, "scenario", "nodes", unit="nodes",
            title="Nodes, beside an index that holds a graph in memory",
        ),
    }  # fmt: skip


def _grouped(columns: pl.DataFrame) -> pl.DataFrame:
    """Bytes by table and group of columns; the smaller tables as one."""
    sums = columns.group_by("table").agg(all_bytes=pl.col("bytes").sum())
    largest = sums.sort(["all_bytes", "table"], descending=[True, False])["table"].to_list()[:SHOWN_TABLES]
    name = pl.col("column")
    group = (
        pl.when(name == "file overhead")
        .then(pl.lit("file overhead"))
        .when(name.is_in(_VECTORS))
        .then(pl.lit("vectors"))
        .when(name.is_in(_TEXTS))
        .then(pl.lit("text"))
        .when(name.str.ends_with("_at"))
        .then(pl.lit("times"))
        .when(name.str.contains("(_id|_ids|_hash|_refs|_key)$"))
        .then(pl.lit("ids and hashes"))
        .otherwise(pl.lit("numbers and labels"))
    )
    table = pl.when(pl.col("table").is_in(largest)).then("table").otherwise(pl.lit("other tables"))
    told = columns.select(table.alias("table"), group.alias("group"), "bytes")
    summed = told.group_by("table", "group").agg(pl.col("bytes").sum())
    order = {name: place for place, name in enumerate([*largest, "other tables"])}
    place = pl.col("table").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    shown = pl.col("table").str.replace_all("_", " ")
    return summed.sort(place, "group").with_columns(shown)


def capacity_text(report: Report) -> str:
    """What the command says."""
    figures = report.figures
    ahead = [
        (f"{row['after_days']} days", *(count(row[n]) for n in ("rows", "rows_low", "rows_high")),
         *(size(row[n]) for n in ("bytes", "bytes_low", "bytes_high")))
        for row in _horizons(report)
    ]  # fmt: skip
    plans = [
        (row["scenario"], count(row["memories"]), size(row["object_store_bytes"]), size(row["memory_bytes"]),
         count(row["nodes"]), count(row["cost"]), count(row["graph_nodes"]))
        for row in report.tables["scenarios"].to_dicts()
    ]  # fmt: skip
    ever = figures["episodes_ever"]
    served = f", {count(figures['index_rows'] / ever * 1_000)} a thousand episodes" if ever else ""
    held = f"{count(figures['episodes'])} episodes, {size(figures['bytes'])} in all: tables"
    each = f"bytes of an episode with all that comes of it {size(figures['bytes_per_episode'])}"
    parts = [
        f"{held} {size(figures['table_bytes'])}, live index {size(figures['index_bytes'])}",
        f"{each}, of a memory in the index {size(figures['index_bytes_per_row'])}",
        f"{count(figures['index_rows'])} memories served{served}",
        *report.notes,
    ]
    if ahead:
        heads = ("after", "episodes", "from", "to", "bytes", "from ", "to ")
        parts.append(table("", heads, ahead))
    if plans:
        heads = ("scenario", "memories", "stored", "memory", "nodes", "cost a month", "graph nodes")
        parts.append(table("", heads, plans, wraps=("scenario",)))
    return "\n".join(parts)
