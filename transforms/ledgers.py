"""Tables of what nights measured and what models cost; ``transforms.schemas`` gives them out with the others.

Counts, ratios and hashes only: nothing of a person, so an erasure has nothing to take out of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from transforms.declarations import INSTANT, Column, Table

MODES = ("live", "batch", "local")
"""How a model was asked: at once, by the Batch API, or in this process, which costs no money."""

METRICS = Table(
    "metrics",
    "One measure of the lake, or of one tenant in it, as a night saw it. Numbers only.",
    (
        Column("metric_id", pl.String, "Hash of as-of, tenant, name and part"),
        Column("tenant_hash", pl.String, "Salted hash of the tenant; empty: the whole lake"),
        Column("name", pl.String, "What was measured, snake_case"),
        Column("part", pl.String, "Kind, table, reason ... that it is split by; empty: all"),
        Column("value", pl.Float64, "The measure"),
        Column("unit", pl.String, "ratio, rows, bytes, seconds, days, tokens ..."),
        Column("window_days", pl.Float64, "Days that it looks back on; null: a state", is_nullable=True),
        Column("as_of_at", INSTANT, "The instant the night reasoned at"),
        Column("measured_at", INSTANT, "When"),
    ),
    key=("metric_id",),
    sort_by=("as_of_at", "name", "tenant_hash", "part"),
)

COSTS = Table(
    "costs",
    "What one step of a run spent at one model, for one tenant and task.",
    (
        Column("cost_id", pl.String, "Hash of run, tenant, model, task and mode"),
        Column("run_id", pl.String, "Run of the table `runs`"),
        Column("step", pl.String, "embed, consolidate ..."),
        Column("tenant_hash", pl.String, "Salted hash of the tenant; empty: not told apart"),
        Column("model_key", pl.String, "Model and what changes its answers"),
        Column("task", pl.String, "embedding, claims, summary, conversation or rerank"),
        Column("mode", pl.String, "How it was asked", allowed=MODES),
        Column("requests", pl.Int64, "Requests or texts sent"),
        Column("cached", pl.Int64, "Requests answered from what is kept, for nothing"),
        Column("input_tokens", pl.Int64, "Tokens sent"),
        Column("output_tokens", pl.Int64, "Tokens received"),
        Column("money", pl.Float64, "Price, in the currency of the configured prices"),
        Column("as_of_at", INSTANT, "The instant the run reasoned at"),
        Column("spent_at", INSTANT, "When"),
    ),
    key=("cost_id",),
    sort_by=("spent_at", "cost_id"),
)

LEDGERS: Sequence[Table] = (METRICS, COSTS)
