"""What a plan rests on: what the lake measures and what the policy assumes, each with where it is from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from transforms.planning.curves import Curve
from transforms.policy import Policy
from transforms.policy_plan import PlanPolicy

Origin = Literal["measured", "policy", "assumed"]
"""``measured`` in this lake; ``policy``: a key of it; ``assumed``: neither, see its note."""
ASSUMPTIONS_SCHEMA = pl.Schema(
    {"name": pl.String, "value": pl.Float64, "unit": pl.String, "origin": pl.String, "note": pl.String}
)


@dataclass(frozen=True)
class Figure:
    """One number of a plan, its unit, and where it is from."""

    value: float
    unit: str
    origin: Origin
    note: str = ""


@dataclass(frozen=True)
class Basis:
    """Everything that scenarios are worked out from.

    Args:
        policy: Every number that nothing measured.
        columns: ``sizes.COLUMNS_SCHEMA`` of the lake.
        files: ``sizes.FILES_SCHEMA`` of it.
        curves: How bytes grow with the rows of a file.
        figures: By name; see ``figures_of``.
    """

    policy: Policy
    columns: pl.DataFrame
    files: pl.DataFrame
    curves: Mapping[tuple[str, str], Curve]
    figures: Mapping[str, Figure] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        """Value of a figure."""
        return self.figures[name].value


def assumptions(basis: Basis) -> pl.DataFrame:
    """Every figure with its origin (``ASSUMPTIONS_SCHEMA``), measured ones first."""
    rows = [(name, f.value, f.unit, f.origin, f.note) for name, f in basis.figures.items()]
    order = {"measured": 0, "assumed": 1, "policy": 2}
    told = pl.DataFrame(rows, schema=ASSUMPTIONS_SCHEMA, orient="row")
    return told.sort(pl.col("origin").replace_strict(order, default=4, return_dtype=pl.Int8), "name")


def policy_figures(policy: Policy) -> dict[str, Figure]:
    """Figures that are keys of the policy; a measurement of the same name takes their place."""
    plan = policy.plan
    told: dict[str, tuple[float, str, str]] = {
        "search_cpu_seconds": (plan.search_cpu_seconds, "seconds", "plan.search_cpu_seconds, by benchmarks"),
        "large_search_cpu_seconds": (plan.large_search_cpu_seconds, "seconds", "by benchmarks"),
        "search_dimensions": (plan.search_dimensions, "dimensions", "of those measurements of searches"),
        "large_scope_rows": (policy.publish.large_scope_rows, "rows", "publish.large_scope_rows"),
        "reader_bytes": (plan.reader_bytes, "bytes", "plan.reader_bytes, by benchmarks"),
        "reader_callers": (plan.reader_callers, "searches at once", "plan.reader_callers"),
        "view_bytes": (plan.view_bytes, "bytes", "plan.view_bytes: scopes that one reader holds"),
        "held_row_bytes": (plan.held_row_bytes, "bytes a row", "plan.held_row_bytes, by benchmarks"),
        "scope_reads": (plan.scope_reads, "reads", "plan.scope_reads, by benchmarks"),
        "peak_ratio": (plan.peak_ratio, "ratio", "plan.peak_ratio"),
        "busy_ratio": (plan.busy_ratio, "ratio", "plan.busy_ratio"),
        "parallel_ratio": (plan.parallel_ratio, "ratio", "plan.parallel_ratio"),
        "night_seconds": (plan.night_seconds, "seconds", "plan.night_seconds"),
        "node_cores": (plan.node_cores, "cores", "plan.node_cores"),
        "node_memory_bytes": (plan.node_memory_bytes, "bytes", "plan.node_memory_bytes"),
        "node_disk_bytes": (plan.node_disk_bytes, "bytes", "plan.node_disk_bytes"),
        "usable_ratio": (plan.usable_ratio, "ratio", "plan.usable_ratio"),
        "graph_ratio": (plan.graph_ratio, "ratio", "plan.graph_ratio"),
        "graph_dimensions": (plan.graph_dimensions, "dimensions", "plan.graph_dimensions"),
        "index_row_bytes": (plan.index_row_bytes, "bytes a row", "plan.index_row_bytes, beside the vector"),
        "keep_generations": (policy.publish.keep_generations, "generations", "publish.keep_generations"),
        "recall_row_bytes": (plan.recall_row_bytes, "bytes a row", "plan.recall_row_bytes"),
        "recall_rows": (policy.recall_log.candidates, "rows a call", "recall_log.candidates"),
        "logged_ratio": (policy.recall_log.sample_ratio, "ratio", "recall_log.sample_ratio"),
    }
    figures = {n: Figure(float(value), unit, "policy", note) for n, (value, unit, note) in told.items()}
    return figures | _speeds(plan) | _prices(plan)


def _speeds(plan: PlanPolicy) -> dict[str, Figure]:
    speeds = {
        "ingest": plan.ingest_rows_per_second,
        "embed": plan.embed_rows_per_second,
        "consolidate": plan.consolidate_rows_per_second,
        "publish": plan.publish_rows_per_second,
        "retain": plan.retain_rows_per_second,
    }
    return {
        f"{step}_rows_per_second": Figure(value, "rows/s", "policy", "by benchmarks")
        for step, value in speeds.items()
    }


def _prices(plan: PlanPolicy) -> dict[str, Figure]:
    prices = {
        "object_month_price": (plan.object_month_price, "a GB and month"),
        "disk_month_price": (plan.disk_month_price, "a GB and month"),
        "node_month_price": (plan.node_month_price, "a node and month"),
        "writes_price": (plan.writes_price, "a million requests"),
        "reads_price": (plan.reads_price, "a million requests"),
    }
    note = "illustrative: prices are yours"
    return {name: Figure(value, unit, "policy", note) for name, (value, unit) in prices.items()}
