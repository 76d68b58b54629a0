"""The answer to what-if as a page and as lines: what would go, and what would have been missed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from flows import charts, charts_plots
from flows.html_pages import duration, render, share, size
from flows.present import table
from transforms.forgetting.what_if import SIDES

if TYPE_CHECKING:
    from flows.what_if import WhatIf

MOST_ROWS = 50
"""Rows of a table that the page shows; the files hold all."""
MOST_KINDS = 6
FATES = {
    "both": ("goes under both", "five"),
    "more": ("only under the new policy", "two"),
    "fewer": ("only under the current one", "one"),
}
"""What becomes of a row that goes: name and colour."""
REASONS = {
    "expired": "two", "stale": "one", "decayed": "four", "cold": "six", "over capacity": "three",
    "summarised": "five",
}  # fmt: skip
"""Why a use would have been lost: colour."""
USES = {"given": "given to a caller", "used": "used, as the agent says"}
_LINES = {"given to a caller": "one", "used, as the agent says": "two"}


def what_if_html(answer: WhatIf) -> str:
    """One page that opens offline; every number on it stands in the answer's JSON."""
    tables = {name: rows.head(MOST_ROWS).to_dicts() for name, rows in _shown(answer).items()}
    values = {
        "r": answer.figures,
        "lost": _headline(answer),
        "changes": [_named(one) for one in answer.changes],
        "notes": answer.notes,
        "css": Markup(charts.CSS),  # noqa: S704 our own constant
        "charts": {name: Markup(svg) for name, svg in _charts(answer).items()},  # noqa: S704 drawn and escaped
        "tables": tables,
        "lengths": {name: rows.height for name, rows in answer.tables.items()},
        "most": MOST_ROWS,
        "uses": USES,
    }
    return render("what_if.html", values)


def what_if_text(answer: WhatIf) -> str:
    """The answer for a screen: counts only."""
    now, index = answer.figures["now"], answer.figures["index"]
    lines = [
        f"under the new policy {now['goes_new']:,} rows go now ({_size(now['goes_bytes_new'])} of text),"
        f" under the current one {now['goes_current']:,} ({_size(now['goes_bytes_current'])})",
        f"  only under the new one {now['more']:,}, only under the current one {now['fewer']:,}",
        f"  index: {index['rows']['new']:,} rows, under the current one {index['rows']['current']:,}",
    ]
    for use, told in answer.figures["regret"].items():
        if told["uses"]:
            lines.append(
                f"  {USES[use]}: {told['lost_new']:,} of {told['uses']:,} uses"
                f" ({share(told['lost_ratio_new'])}) would have been lost,"
                f" {told['lost_memories_new']:,} memories; under the current one {told['lost_current']:,}"
            )
    kinds = answer.tables["regret_by_kind"].filter(pl.col("lost_new") > 0)
    columns = ("use", "kind", "uses", "lost_new", "lost_current")
    rows = kinds.select(columns).rows()
    heads = ("use", "kind", "uses", "lost (new)", "lost (current)")
    return "\n".join(
        [*lines, *([table("", heads, rows)] if rows else []), *(f"note: {n}" for n in answer.notes)]
    )


def _size(value: int) -> str:
    return size(value).replace("\u00a0", " ")


def _named(change: dict[str, Any]) -> dict[str, str]:
    """A changed key with both values as a person reads them."""
    is_span = change["key"].endswith("_seconds") or ".by_kind_seconds." in change["key"]
    return {"key": change["key"], **{side: _value(change[side], is_span=is_span) for side in SIDES}}


def _value(value: Any, *, is_span: bool) -> str:
    if value is None:
        return "never"
    if is_span:
        return duration(value)
    return value if isinstance(value, str) else json.dumps(value)


def _headline(answer: WhatIf) -> dict[str, Any]:
    """The uses that matter most: those that the agent spoke of, else all that were given."""
    regret = answer.figures["regret"]
    use = "used" if regret["used"]["uses"] else "given"
    return {"use": use, **regret[use]}


def _shown(answer: WhatIf) -> dict[str, pl.DataFrame]:
    """Tables in the order in which they may be cut: the most concerned first."""
    tables = dict(answer.tables)
    by_loss = {"regret_by_tenant": "tenant_id", "regret_by_kind": "kind"}
    for name, key in by_loss.items():
        tables[name] = tables[name].sort(
            ["use", "lost_new", "uses", key], descending=[True, True, True, False], nulls_last=True
        )
    for name in ("rows_by_tenant", "rows_by_kind"):
        tables[name] = tables[name].sort(["more", "goes_new", "rows"], descending=True, maintain_order=True)
    tables["reasons"] = tables["reasons"].sort(
        ["rows_new", "rows_current"], descending=True, maintain_order=True
    )
    return tables


def _charts(answer: WhatIf) -> dict[str, str]:
    return {
        "going": _going(answer.tables["rows_by_kind"]),
        "regret": _regret(answer.tables["regret_by_reason"]),
        **{name: _threshold(answer, name) for name in _AXES},
        **{f"{name}_kinds": _threshold_of_kinds(answer, name) for name in ("age_days", "idle_days")},
    }


def _going(rows: pl.DataFrame) -> str:
    """Rows that go now, by table and kind."""
    kind = pl.when(pl.col("kind") != "").then("kind")
    named = rows.with_columns(
        what=pl.concat_str("table", kind, separator=": ", ignore_nulls=True).str.replace_all("_", " "),
        both=pl.col("goes_new") - pl.col("more"),
    )  # fmt: skip
    long = named.unpivot(list(FATES), index="what", variable_name="fate", value_name="count")
    told = long.with_columns(pl.col("fate").replace({key: name for key, (name, _) in FATES.items()}))
    return charts.across(
        told.filter(pl.col("count") > 0), "what", "count", series="fate", colours=dict(FATES.values()),
        title="Rows that go now, by table and kind", unit="rows",
    )  # fmt: skip


def _regret(rows: pl.DataFrame) -> str:
    """Given memories that the new policy would have lost, by kind and reason."""
    lost = rows.filter((pl.col("use") == "given") & (pl.col("lost_new") > 0))
    return charts.across(
        lost.with_columns(pl.col("reason").str.replace_all("_", " ")), "kind", "lost_new", series="reason",
        colours=REASONS, title="Uses that the new policy would have lost, by kind and reason", unit="uses",
    )  # fmt: skip


_AXES = {
    "age_days": (
        "Uses that a lifetime alone would have lost",
        "lifetime: days from the event (logarithmic)",
    ),
    "idle_days": (
        "Uses that would have been lost if idle memories went",
        "days without an access (logarithmic)",
    ),
    "score": ("Uses that a threshold of the score alone would have lost", "retention score before the use"),
}
_FIRST_DAY = 1.0
"""Shorter times are in the files; drawn, they would take half of the chart."""


def _drawn(rows: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Thresholds as a chart shows them: in percent, up to the first that loses nothing any more."""
    mine = rows.filter(pl.col("measure") == measure)
    named = mine.with_columns(percent=pl.col("lost_ratio") * 100)
    if measure == "score":
        return named
    free = mine.group_by("threshold").agg(pl.col("lost").sum()).filter(pl.col("lost") == 0)["threshold"].min()
    last = pl.col("threshold") <= free if free is not None else pl.lit(True)
    return named.filter(pl.col("threshold") >= _FIRST_DAY, last)


def _threshold(answer: WhatIf, measure: str) -> str:
    named = _drawn(answer.tables["thresholds_of_all"], measure).with_columns(pl.col("use").replace(USES))
    title, axis = _AXES[measure]
    return charts_plots.lines(
        named, "threshold", "percent", title=title, unit="share of uses lost, %", axis=axis, series="use",
        colours=_LINES, is_log_x=measure != "score", is_from_zero=True,
    )  # fmt: skip


def _threshold_of_kinds(answer: WhatIf, measure: str) -> str:
    """The same for given memories of each kind: the kinds with most uses."""
    rows = _drawn(answer.tables["thresholds"].filter(pl.col("use") == "given"), measure)
    most = rows.group_by("kind").agg(pl.col("uses").max()).sort(["uses", "kind"], descending=[True, False])
    named = rows.filter(pl.col("kind").is_in(most.head(MOST_KINDS)["kind"].implode()))
    title, axis = _AXES[measure]
    return charts_plots.lines(
        named, "threshold", "percent",
        title=f"{title}, by kind", unit="share of given uses lost, %", axis=axis, series="kind",
        is_log_x=True, is_from_zero=True,
    )  # fmt: skip
