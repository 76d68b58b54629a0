"""The same load on an index that holds a graph of all vectors in memory, as the planning figures have it."""

from __future__ import annotations

import math

import polars as pl

from transforms.planning.basis import Basis
from transforms.planning.scenarios import Scenario
from transforms.planning.sheet import Sheet

FLOAT_BYTES = 4.0
TEBI, GIBI = 2.0**40, 2.0**30
STATED_TEBIBYTES = 2.7
"""What the planning figures call the resident graph; worked out it is less, see ``graph_needs``."""


def graph_needs(scenario: Scenario, basis: Basis) -> pl.DataFrame:
    """Work out a resident graph for a scenario.

    Vectors are float32 of ``plan.graph_dimensions`` and the graph takes ``plan.graph_ratio`` of them, as the
    planning figures have it. For those, 300 million vectors come to 1.84 TB and the graph to 2.76 TB, which
    is 2.51 TiB: the stated 2.7 TiB are 1.5 times 1.8, with TB read as TiB. Nodes come out the same.

    Returns:
        ``sheet.STEPS_SCHEMA``.
    """
    sheet = Sheet(scenario.name)
    share = scenario.indexed_ratio if scenario.indexed_ratio is not None else basis["indexed_ratio"]
    vectors = sheet.add("graph", "vectors", scenario.held * share, "rows", f"memories held x {share:.3g}")
    wide = basis["graph_dimensions"]
    bare = sheet.add(
        "graph",
        "bare vectors",
        vectors * wide * FLOAT_BYTES,
        "bytes",
        f"vectors x {wide:g} dimensions x 4 bytes",
    )
    graph = sheet.add(
        "graph",
        "resident graph",
        bare * basis["graph_ratio"],
        "bytes",
        f"bare vectors x {basis['graph_ratio']:g}",
    )
    sheet.add("graph", "resident graph in TiB", graph / TEBI, "TiB", "bytes / 2^40")
    node = basis["node_memory_bytes"]
    each = math.ceil(graph / node)
    sets = 1 + scenario.replicas
    nodes = sheet.add(
        "graph",
        "nodes",
        each * sets,
        "nodes",
        f"resident graph / {node / GIBI:g} GiB of a node, rounded up, x {sets}",
    )
    sheet.add("graph", "memory", graph * sets, "bytes", f"resident graph x {sets}")
    sheet.add("graph", "cost of nodes", nodes * basis["node_month_price"], "a month", "nodes x price")
    return sheet.frame()


def stated(scenario: Scenario, basis: Basis) -> pl.DataFrame:
    """The planning figures as they are stated, as lines like those of ``graph_needs``."""
    sheet = Sheet(scenario.name)
    graph = sheet.add(
        "stated", "resident graph in TiB", STATED_TEBIBYTES, "TiB", "as the planning figures state it"
    )
    node, sets = basis["node_memory_bytes"], 1 + scenario.replicas
    sheet.add(
        "stated",
        "nodes",
        math.ceil(graph * TEBI / node) * sets,
        "nodes",
        f"2.7 TiB / {node / GIBI:g} GiB, rounded up, x {sets}",
    )
    return sheet.frame()
