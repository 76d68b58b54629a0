"""A tuning as a page: whether to change the policy, and everything that this rests on; nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from markupsafe import Markup

from flows import charts, charts_plots
from flows.html_pages import render
from flows.tune_record import tune_record
from transforms.tuning.result import Tuning

MOST_ROWS = 100
"""Rows of a table that the page shows; the files hold all."""
QUERY_CHARS, TEXT_CHARS = 300, 160
"""Where a query and a memory are cut."""
MEASURES = {
    "ndcg": "nDCG", "recall": "recall", "mrr": "MRR", "hit": "hit rate",
    "tokens": "tokens an answer takes", "lost": "used memories forgotten by then",
}  # fmt: skip
"""What the measures are called."""
POLICIES = {"best": "one", "current": "two"}
_GROUPS = {
    "on the front": "one",
    "other trials": "five",
    "beyond a limit": "three",
    "current": "two",
    "best": "six",
}
"""Trials on a chart: group and colour."""


def tune_html(result: Tuning, changes: Sequence[Mapping[str, Any]]) -> str:
    """One page that opens offline; every number on it stands in ``tune_record``, which is ``tune.json``.

    Args:
        result: The search.
        changes: Answers before and after, from ``tune_changes.changed_answers``.
    """
    return record_html(tune_record(result, changes))


def record_html(record: Mapping[str, Any]) -> str:
    """The page of a record."""
    values = {
        "r": record,
        "css": Markup(charts.CSS),  # noqa: S704 our own constant
        "charts": {name: Markup(svg) for name, svg in _charts(record).items()},  # noqa: S704 drawn and escaped
        "measures": MEASURES,
        "sweeps": _sweeps(record["sweep"]),
        "grouped": _grouped,
        "most": MOST_ROWS,
        "dot": Markup(".<wbr>"),  # a long key may break after a dot
        "cut": {"query": QUERY_CHARS, "text": TEXT_CHARS},
    }
    return render("tune.html", values)


def _charts(record: Mapping[str, Any]) -> dict[str, str]:
    return {
        "heat": _heat(record),
        "knobs": _knobs(record),
        "tokens": _front(record, "tokens", "tokens an answer takes (mean)"),
        "bytes": _front(record, "index_bytes", "size of the index (bytes)"),
        "weeks": _weeks(record),
    }


def _heat(record: Mapping[str, Any]) -> str:
    if not record["heat"]:
        return ""
    name = record["metric_name"]
    best, current = record["heat_best"], record["heat_current"]
    return charts_plots.heat(
        pl.DataFrame(record["heat"], infer_schema_length=None),
        "half_life_days", "recency_weight", "quality",
        title=f"{name} by half-life and weight of recency, earlier span", unit=name,
        x_axis=f"half-life of kind {record['heat_kind']} (days)", y_axis="weight of recency", form=".3f",
        mark=tuple(best.values()) if best else None, dashed=tuple(current.values()) if current else None,
    )  # fmt: skip


def _knobs(record: Mapping[str, Any]) -> str:
    if not record["knobs"]:
        return ""
    return charts.across(
        pl.DataFrame(record["knobs"][:MOST_ROWS], infer_schema_length=None), "key", "range",
        title="What each key can move, all others as in the best policy",
        unit=f"{record['metric_name']}, highest less lowest",
    )  # fmt: skip


def _front(record: Mapping[str, Any], cost: str, unit: str) -> str:
    """Quality against a cost; nothing where the cost is not known or the same for all."""
    rows = [row for row in record["drawn"] if row[cost] is not None and row["quality"] is not None]
    if len({row[cost] for row in rows}) < 2:
        return ""
    front = _undominated(rows, cost)
    drawn = [{"x": row[cost], "y": row["quality"], "group": _group(row, front), "label": ""} for row in rows]
    drawn.sort(key=lambda row: row["group"] == "on the front")  # what comes last lies on top
    for name in ("current", "best"):
        marked = [row for row in rows if (row["trial"] == 0 if name == "current" else row["is_best"])]
        drawn += [{"x": row[cost], "y": row["quality"], "group": name, "label": name} for row in marked]
    return charts_plots.points(
        pl.DataFrame(drawn, infer_schema_length=None), "x", "y", series="group", label="label",
        title=f"{record['metric_name']} against {unit.partition(' (')[0]}, earlier span", x_unit=unit,
        y_unit=record["metric_name"], colours=_GROUPS, is_joined=True,
    )  # fmt: skip


def _group(row: Mapping[str, Any], front: set[int]) -> str:
    if row["trial"] in front:
        return "on the front"
    return "other trials" if row["is_feasible"] else "beyond a limit"


def _undominated(rows: Sequence[Mapping[str, Any]], cost: str) -> set[int]:
    """Trials within the limits that no cheaper one equals: the front of two, of the front of all three."""
    found, highest = set(), float("-inf")
    kept = [row for row in rows if row["is_feasible"]]
    for row in sorted(kept, key=lambda row: (row[cost], -row["quality"], row["trial"])):
        if row["quality"] > highest:
            highest = row["quality"]
            found.add(row["trial"])
    return found


def _weeks(record: Mapping[str, Any]) -> str:
    if not record["weeks"]:
        return ""
    weeks = pl.DataFrame(record["weeks"], infer_schema_length=None)
    long = weeks.with_columns(pl.col("week_at").str.to_datetime(time_zone="UTC")).unpivot(
        ["current", "best"], index="week_at", variable_name="policy", value_name="quality"
    )
    name = record["metric_name"]
    return charts_plots.lines(
        long, "week_at", "quality", series="policy", colours=POLICIES, title=f"{name} by week", unit=name,
        axis="week of the call, from Monday (UTC)",
    )  # fmt: skip


def _sweeps(sweep: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Values of each key and what each gives, in the order of the record."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in sweep:
        found.setdefault(row["key"], []).append(row)
    return found


def _grouped(changes: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Changes by the section of their keys, so that a row names each section once."""
    found: dict[str, dict[str, str]] = {}
    for key, value in changes.items():
        section, _, name = key.rpartition(".")
        found.setdefault(section, {})[name] = value
    return found
