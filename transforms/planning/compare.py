"""Scenarios side by side: a row each, from the lines of their working."""

from __future__ import annotations

import polars as pl

COMPARED = {
    "memories": ("disk", "memories held"),
    "served": ("disk", "index: memories served"),
    "object_store_bytes": ("disk", "object store"),
    "recall_log_bytes": ("disk", "recall log"),
    "index_bytes": ("disk", "index: one generation"),
    "reader_disk_bytes": ("nodes", "disk of a set of readers"),
    "searches_per_second": ("recall", "searches a second"),
    "cores": ("recall", "cores"),
    "memory_bytes": ("recall", "memory with replicas"),
    "night_seconds": ("night", ""),
    "nodes": ("nodes", "nodes"),
    "reader_nodes": ("nodes", "nodes of readers"),
    "writing_requests": ("requests", "writing requests a month"),
    "reading_requests": ("requests", "reading requests a month"),
    "cost": ("cost", "cost"),
    "graph_memory_bytes": ("graph", "memory"),
    "graph_nodes": ("graph", "nodes"),
    "graph_cost": ("graph", "cost of nodes"),
}
"""Column and the line of the working that it is; an empty name is the last line of its part."""
COMPARED_SCHEMA = pl.Schema({"scenario": pl.String, **dict.fromkeys(COMPARED, pl.Float64)})


def compared(steps: pl.DataFrame) -> pl.DataFrame:
    """A row a scenario (``COMPARED_SCHEMA``), in their order.

    Args:
        steps: ``sheet.STEPS_SCHEMA`` of this design and of the graph.
    """
    rows = []
    for (name,), lines in steps.group_by(["scenario"], maintain_order=True):
        told = {
            (part, line): value for part, line, value in lines.select("part", "name", "value").iter_rows()
        }
        last = dict(lines.select("part", "value").iter_rows())
        values = {
            column: last.get(part) if not line else told.get((part, line))
            for column, (part, line) in COMPARED.items()
        }
        rows.append({"scenario": name, **values})
    return pl.DataFrame(rows, schema=COMPARED_SCHEMA, orient="row")
