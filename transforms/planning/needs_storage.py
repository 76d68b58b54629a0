"""What a scenario stores: the tables, the recall log and the generations of the index."""

from __future__ import annotations

import polars as pl

from transforms.planning.basis import Basis
from transforms.planning.index_sizes import vector_bytes
from transforms.planning.lake_size import lake_of_size
from transforms.planning.scenarios import Scenario
from transforms.planning.sheet import Sheet
from transforms.schemas import EPISODES, VECTORS

DAY_SECONDS, MINUTE_SECONDS, MONTH_DAYS = 86_400.0, 60.0, 30.0


def lake_bytes(sheet: Sheet, scenario: Scenario, basis: Basis) -> float:
    """Bytes of the tables, and of the recall log."""
    plan = basis.policy.plan
    how = "agents x writes a minute x records a write x 1,440"
    day = sheet.add("load", "memories a day", scenario.records_per_day, "rows", how)
    how = "as stated" if scenario.memories else "memories a day x retention days"
    held = sheet.add("disk", "memories held", scenario.held, "rows", how)
    span = held / day if day and scenario.memories else scenario.retention_days
    sheet.add("disk", "days until that many are held", span, "days", "memories held / memories a day")
    is_large = held >= plan.large_lake_rows
    buckets = scenario.buckets or (plan.large_lake_buckets if is_large else plan.lake_buckets)
    wide = scenario.dimensions or basis["dimensions"]
    found = lake_of_size(basis, held, buckets, span / MONTH_DAYS, wide / basis["dimensions"])
    sizes: dict[str, float] = dict(found.group_by("table").agg(pl.col("bytes").sum()).iter_rows())
    own, vectors = sizes.pop(EPISODES.name, 0.0), sizes.pop(VECTORS.name, 0.0)
    by = f"rows x bytes a row as measured, in files as full as {buckets} buckets make them"
    sheet.add("disk", "lake: episodes", own, "bytes", by)
    sheet.add("disk", "lake: vectors", vectors, "bytes", f"{by}; {wide:g} dimensions, float32")
    rest = sheet.add("disk", "lake: what is derived, and ledgers", sum(sizes.values()), "bytes", by)
    return own + vectors + rest + _recall_log(sheet, scenario, basis)


def index_bytes(sheet: Sheet, scenario: Scenario, basis: Basis) -> tuple[float, float]:
    """Bytes of one generation, and rows of it."""
    share = scenario.indexed_ratio if scenario.indexed_ratio is not None else basis["indexed_ratio"]
    how = f"memories held x {share:.3g}"
    served = sheet.add("disk", "index: memories served", scenario.held * share, "rows", how)
    is_own = is_in_own_table(scenario, basis, served)
    wide = round(scenario.dimensions or basis["dimensions"])
    vector = vector_bytes(wide, scenario.quantisation, is_own=is_own).on_disk
    form = f"{vector:,.0f} of a {scenario.quantisation} vector"
    how = f"{basis['index_row_bytes']:,.0f} beside the vector + {form}"
    how += " and its copy in the scope's own index" if is_own else ""
    each = sheet.add("disk", "index: bytes of a memory", basis["index_row_bytes"] + vector, "bytes", how)
    how = "memories served x bytes of a memory"
    return sheet.add("disk", "index: one generation", served * each, "bytes", how), served


def _recall_log(sheet: Sheet, scenario: Scenario, basis: Basis) -> float:
    share = scenario.logged_ratio if scenario.logged_ratio is not None else basis["logged_ratio"]
    calls = scenario.agents * scenario.recalls_per_minute * DAY_SECONDS / MINUTE_SECONDS
    seconds = basis.policy.retention.recalls_seconds
    days = seconds / DAY_SECONDS if seconds is not None else scenario.retention_days
    each = basis["recall_rows"]
    rows = sheet.add(
        "disk",
        "recall log: rows",
        calls * share * days * each,
        "rows",
        f"agents x recalls a minute x 1,440 x {share:g} logged x {days:g} days x {each:g} rows a call",
    )
    return sheet.add("disk", "recall log", rows * basis["recall_row_bytes"], "bytes", "rows x bytes a row")


def is_in_own_table(scenario: Scenario, basis: Basis, served: float) -> bool:
    """Whether the scope of an agent is large enough for a table and a vector index of its own."""
    return served / scenario.agents > basis.policy.publish.large_scope_rows
