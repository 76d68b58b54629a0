"""What a scenario needs of this design: disk, memory, nodes, requests, cost; each number with its formula."""

from __future__ import annotations

import math

import polars as pl

from transforms.planning.basis import Basis
from transforms.planning.index_sizes import vector_bytes
from transforms.planning.needs_storage import (
    DAY_SECONDS,
    MINUTE_SECONDS,
    MONTH_DAYS,
    index_bytes,
    is_in_own_table,
    lake_bytes,
)
from transforms.planning.scenarios import Scenario
from transforms.planning.sheet import Sheet

GB, MILLION = 1e9, 1e6
COPIES = 2.0
"""Generations on a reader's disk: the live one, and the next while it is copied."""
NIGHT_ROWS = {
    "ingest": "new",
    "embed": "new",
    "consolidate": "new",
    "decay": "held",
    "retain": "held",
    "publish": "served",
}
"""Rows that each step of a night works on."""


def needs(scenario: Scenario, basis: Basis) -> pl.DataFrame:
    """Work a scenario out.

    Args:
        scenario: The load.
        basis: Measurements and assumptions; its lake has episodes.

    Returns:
        ``sheet.STEPS_SCHEMA``.
    """
    sheet = Sheet(scenario.name)
    tables = lake_bytes(sheet, scenario, basis)
    live, served = index_bytes(sheet, scenario, basis)
    how = "one generation x generations kept"
    kept = sheet.add("disk", "index: kept generations", live * basis["keep_generations"], "bytes", how)
    stored = sheet.add("disk", "object store", tables + kept, "bytes", "lake + recall log + kept generations")
    cores, memory = _readers(sheet, scenario, basis, served)
    night = _night(sheet, scenario, basis, served)
    nodes = _nodes(sheet, scenario, basis, cores, memory, live, night)
    _costs(sheet, scenario, basis, stored, live, nodes)
    return sheet.frame()


def _readers(sheet: Sheet, scenario: Scenario, basis: Basis, served: float) -> tuple[float, float]:
    """Cores and memory of one set of readers."""
    cores = _cores(sheet, scenario, basis, served)
    wanted = float(scenario.concurrency or 0) / basis["reader_callers"]
    most = max(1, math.ceil(cores), math.ceil(wanted))
    how = "one a core, or as many as the searches at once need"
    readers = sheet.add("recall", "reader processes", most, "processes", how)
    how = "reader processes x resident bytes of a reader, whatever the size of the index"
    memory = sheet.add("recall", "memory", readers * basis["reader_bytes"], "bytes", how)
    sets = 1 + scenario.replicas
    sheet.add("recall", "memory with replicas", memory * sets, "bytes", f"memory x {sets}")
    if not is_in_own_table(scenario, basis, served):
        _held_scopes(sheet, scenario, basis, served, readers)
    return cores, memory


def _cores(sheet: Sheet, scenario: Scenario, basis: Basis, served: float) -> float:
    """Cores that searches take at peak."""
    mean = scenario.agents * scenario.recalls_per_minute / MINUTE_SECONDS
    ratio = scenario.peak_ratio if scenario.peak_ratio is not None else basis["peak_ratio"]
    how = f"agents x recalls a minute / 60 x {ratio:.3g} at peak"
    peak = sheet.add("recall", "searches a second", mean * ratio, "searches/s", how)
    is_own = is_in_own_table(scenario, basis, served)
    wider = _wider(scenario, basis)
    spent = basis["large_search_cpu_seconds" if is_own else "search_cpu_seconds"] * wider
    of = "of a large scope" if is_own else "whose scope is not held"
    of += f", {wider:.3g} times for longer vectors" if wider > 1 else ""
    how = f"busy share / {spent:.3g} processor seconds of a search {of}"
    each = basis["busy_ratio"] / spent
    per_core = sheet.add("recall", "searches a second of a core", each, "searches/s", how)
    return sheet.add("recall", "cores", peak / per_core, "cores", "searches a second / those of a core")


def _wider(scenario: Scenario, basis: Basis) -> float:
    """Bytes that a search reads of a vector over those it was measured with, at least 1: its time at most."""
    wide = round(scenario.dimensions or basis["dimensions"])
    searched = vector_bytes(wide, scenario.quantisation).searched
    return max(1.0, searched / vector_bytes(round(basis["search_dimensions"]), "float16").searched)


def _held_scopes(sheet: Sheet, scenario: Scenario, basis: Basis, served: float, readers: float) -> None:
    vector = vector_bytes(round(scenario.dimensions or basis["dimensions"]), scenario.quantisation).searched
    now = vector_bytes(round(basis["dimensions"]), "float16").searched
    row = max(0.0, basis["held_row_bytes"] - now) + vector
    how = "memories served / agents x bytes of a held row; inside the resident bytes"
    scope = sheet.add("recall", "memory of one held scope", served / scenario.agents * row, "bytes", how)
    if scope:
        how = "reader processes x memory for scopes / memory of one; others are read when asked for"
        sheet.add("recall", "scopes that are held", readers * basis["view_bytes"] / scope, "scopes", how)


def _night(sheet: Sheet, scenario: Scenario, basis: Basis, served: float) -> float:
    """Seconds of a night on one node."""
    rows = {"new": scenario.records_per_day, "held": scenario.held, "served": served}
    told = {"new": "memories a day", "held": "memories held", "served": "memories served"}
    spent = 0.0
    for step, of in NIGHT_ROWS.items():
        speed = basis.figures.get(f"{step}_rows_per_second")
        if speed is not None and speed.value:
            how = f"{told[of]} / rows a second"
            spent += sheet.add("night", step, rows[of] / speed.value, "seconds", how)
    cores, had = basis["node_cores"], basis["measured_cores"]
    gain = 1 + basis["parallel_ratio"] * (cores - had) / had if cores > had else cores / had
    how = f"sum of the steps / {gain:.3g}, measured on {had:g} cores"
    how += f": ({had:g} + {cores - had:g} x {basis['parallel_ratio']:g}) / {had:g}" if cores > had else ""
    return sheet.add("night", f"night on {cores:g} cores", spent / gain, "seconds", how)


def _nodes(
    sheet: Sheet, scenario: Scenario, basis: Basis, cores: float, memory: float, live: float, night: float
) -> float:
    usable = basis["usable_ratio"]
    how = "the live generation and the next"
    disk = sheet.add("nodes", "disk of a set of readers", live * COPIES, "bytes", how)
    by = {
        "cores": cores / basis["node_cores"],
        "memory": memory / (basis["node_memory_bytes"] * usable),
        "disk": disk / (basis["node_disk_bytes"] * usable),
    }
    for name, value in by.items():
        share = "" if name == "cores" else "usable "
        sheet.add("nodes", f"nodes by {name}", value, "nodes", f"{name} / {share}{name} of a node")
    sets = 1 + scenario.replicas
    how = f"the largest, rounded up, x {sets} (one and {scenario.replicas} replicas)"
    each = max(1, math.ceil(max(by.values())))
    readers = sheet.add("nodes", "nodes of readers", each * sets, "nodes", how)
    how = "night / time it may take, rounded up; tenants are shared out between lakes where it is more than 1"
    most = max(1, math.ceil(night / basis["night_seconds"]))
    nights = sheet.add("nodes", "nodes of the night", most, "nodes", how)
    return sheet.add("nodes", "nodes", readers + nights, "nodes", "readers + night")


def _requests(sheet: Sheet, scenario: Scenario, basis: Basis, live: float) -> tuple[float, float]:
    """Writing and reading requests to the object store, a month."""
    minutes = scenario.agents * DAY_SECONDS / MINUTE_SECONDS * MONTH_DAYS
    how = "one a write where the lake is an object store; none on a disk"
    landed = minutes * scenario.writes_per_minute
    writes = sheet.add("requests", "writing requests a month", landed, "requests", how)
    copied = live / basis.policy.plan.transfer_bytes * (1 + scenario.replicas) * MONTH_DAYS
    how = (
        f"a generation copied to each set of readers a night, {basis.policy.plan.transfer_bytes:,} bytes each"
    )
    reads = sheet.add("requests", "reading requests a month", copied, "requests", how)
    how = "recalls a month x reads of a scope that is not held"
    far = minutes * scenario.recalls_per_minute * basis["scope_reads"]
    sheet.add("requests", "reading requests a month if readers had no disk", far, "requests", how)
    return writes, reads


def _costs(sheet: Sheet, scenario: Scenario, basis: Basis, stored: float, live: float, nodes: float) -> None:
    writes, reads = _requests(sheet, scenario, basis, live)
    sets = 1 + scenario.replicas
    disk = live * COPIES * sets
    asked = writes * basis["writes_price"] + reads * basis["reads_price"]
    parts = {
        "object store": (stored / GB * basis["object_month_price"], "GB x price"),
        "disks of readers": (disk / GB * basis["disk_month_price"], f"GB of a set x {sets} x price"),
        "nodes": (nodes * basis["node_month_price"], "nodes x price"),
        "requests": (asked / MILLION, "millions x price"),
    }
    for name, (value, formula) in parts.items():
        sheet.add("cost", f"cost of {name}", value, "a month", formula)
    whole = sum(value for value, _ in parts.values())
    sheet.add("cost", "cost", whole, "a month", "all of these; prices are yours")
