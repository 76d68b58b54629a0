"""Figures of scripted scenarios for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.present import folded, table


def scenarios_text(record: Mapping[str, Any], out: str | None) -> str:
    """The verdict, a row a measure, and what failed."""
    rows = [
        (
            told["meaning"],
            told["count"],
            told["of"],
            told["unit"],
            "-" if told["ratio"] is None else f"{told['ratio']:.3f}",
            verdict(told),
        )
        for told in record["metrics"].values()
    ]
    heads = ("measure", "count", "of", "unit", "ratio", "more is")
    parts = [
        "nothing leaked, nothing erased or expired was seen"
        if record["is_kept"]
        else "NOT KEPT: something leaked, or erased or expired content was seen",
        folded(
            f"{record['questions_asked']:,} questions in {len(record['stages'])} stages, top {record['k']}, "
            f"model {record['model_key']}"
        ),
        table("", heads, rows, wraps=("measure",)),
        *(folded(fault) for fault in record["faults"]),
    ]
    if out:
        parts.append(f"page and result: {out}")
    return "\n\n".join([*parts, f"{record['run_seconds']:,.0f} seconds"])


def verdict(told: Mapping[str, Any]) -> str:
    """How a count is to be read."""
    if told["must_be_none"]:
        return "FAILED" if told["count"] else "must be 0: kept"
    return str(told["more_is"])
