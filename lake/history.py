"""How far back a lake remembers: what retention took since an instant, and the versions that still hold it.

Rows that came after an instant are told by their own times. Rows that stood at it and were taken out later
are only in older versions of their table, whose files stay for ``ingest.vacuum_after_hours``; an erasure
purges them at once. The ledger of retention says what was taken when, the ledger of runs which version stood
before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

import polars as pl

from lake import tables
from lake.data_files import in_partitions
from lake.lake import Lake
from lake.rights import standing
from lake.rights.subjects import salt, tenant_hash
from transforms.errors import HistoryError, LakeError
from transforms.retention import instant
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    REMOVALS,
    RUNS,
    STORED,
    SUMMARIES,
    Table,
)
from transforms.topics_forbidden import DERIVED_TEXT_COLUMNS, TEXT_COLUMNS, forbidden

BELIEFS: tuple[Table, ...] = (CLAIMS, FACTS, FORGOTTEN)
"""Tables that facts as of the past rest on; of the episodes behind claims, ids still known are enough."""
MEMORIES: tuple[Table, ...] = (EPISODES, COLD, *BELIEFS, SUMMARIES, CONVERSATIONS, ATTEMPTS)
"""Tables that an answer as of the past is made of."""
RETAINED: tuple[Table, ...] = (*MEMORIES, PROCEDURES, QUARANTINE, RECALLS, MODEL_RESULTS)
"""Tables whose rows retention judges and takes: what a report as of the past is made of."""
_BY_NAME = {table.name: table for table in STORED}
_MOVED = "cold"
"""Reason of rows that left a table for another one, and are not gone."""


def reaching(lake: Lake, at: datetime, needed: Iterable[Table], tenant: str | None = None) -> Lake | None:
    """The lake with the versions that hold what retention has taken out since an instant.

    Args:
        lake: Where.
        at: The instant.
        needed: Tables that must be whole.
        tenant: Only what was taken of this one; None is all.

    Returns:
        The lake with a pin for each table that lost rows since; None where none did.

    Raises:
        HistoryError: It took some whose files are gone, or that no version is known for.
    """
    names = {table.name for table in needed}
    taken = _taken(lake, at, names, tenant)
    if taken.is_empty():
        return None
    if CLAIMS.name in taken["table"]:  # claims that went with their episodes count only beside these
        taken = _taken(lake, at, {*names, EPISODES.name, FORGOTTEN.name}, tenant)
    before = _versions(lake, at, taken)
    buckets = None if tenant is None else [lake.bucket(tenant)]
    pins = {name: before.get(name, -1) for name in taken["table"].unique().to_list()}
    lost = sorted(name for name, version in pins.items() if not _stands(lake, name, version, buckets))
    if lost:
        raise _beyond(at, taken.filter(pl.col("table").is_in(lost)))
    return replace(lake, pins=tuple(sorted(pins.items())))


def reached(
    lake: Lake, at: datetime, needed: Iterable[Table], tenant: str | None = None, *, is_partial: bool
) -> Lake | None:
    """``reaching``; with ``is_partial`` what is out of reach is done without."""
    try:
        return reaching(lake, at, needed, tenant)
    except HistoryError:
        if is_partial:
            return None
        raise


def scan(
    lake: Lake, then: Lake | None, table: Table, where: Collection[pl.Expr], buckets: Collection[int]
) -> pl.LazyFrame:
    """Rows of a table that stand now or stood in the pinned version, each once.

    What a person has forbidden since comes back from no version.

    Args:
        lake: Where.
        then: From ``reaching``.
        table: Which.
        where: Conditions on the rows, put to each read: the scope above all.
        buckets: Tenant buckets to read.
    """
    now = tables.scan(lake, table, buckets=buckets).filter(*where)
    if then is None or table.name not in dict(then.pins):
        return now
    stood = _allowed(lake, tables.scan(then, table, buckets=buckets).filter(*where), buckets)
    key = [*table.key, *(["revision"] if "revision" in table.names else [])]
    return pl.concat([now, stood]).unique(key, keep="any")


def _allowed(lake: Lake, rows: pl.LazyFrame, buckets: Collection[int]) -> pl.LazyFrame:
    """Rows without those on a topic that their person has forbidden; read only where one has."""
    told = [
        one
        for one in standing.load_all(lake)
        if one.forbidden_topics and lake.bucket(one.subject.tenant) in buckets
    ]
    if not told:
        return rows
    held = rows.collect()
    return held.filter(~forbidden(held, told, (*TEXT_COLUMNS, *DERIVED_TEXT_COLUMNS))).lazy()


def _taken(lake: Lake, at: datetime, names: Collection[str], tenant: str | None) -> pl.DataFrame:
    """``table``, ``as_of_at``, ``rows``, ``runs``: what runs of retention as of later instants took out."""
    ledger = tables.scan(lake, REMOVALS).filter(
        pl.col("as_of_at") > instant(at),
        pl.col("rows_removed") > 0,
        pl.col("table").is_in(names),
        pl.col("reason") != _MOVED,
    )
    rows = ledger.collect()
    if tenant is not None and rows.height:
        rows = rows.filter(pl.col("tenant_hash") == tenant_hash(salt(lake), tenant))
    counted = rows.group_by("table", "as_of_at").agg(
        rows=pl.col("rows_removed").sum(), runs=pl.col("run_id").n_unique()
    )
    return counted.sort("as_of_at", "table")


def _versions(lake: Lake, at: datetime, taken: pl.DataFrame) -> dict[str, int]:
    """By table, its version before the first run of retention as of a later instant took rows out of it.

    None where one of the runs that did names no version: an older program's, or one killed at its end.
    """
    runs = tables.scan(lake, RUNS).filter(
        pl.col("step") == "retain", pl.col("state") == "done", pl.col("as_of_at") > instant(at)
    )
    found: dict[str, int] = {}
    known: Counter[tuple[str, datetime]] = Counter()
    for as_of, raw in runs.select("as_of_at", "versions_read").collect().iter_rows():
        for name, version in json.loads(raw).items():
            found[name] = min(version, found.get(name, version))
            known[name, as_of] += 1
    for name, as_of, wanted in taken.select("table", "as_of_at", "runs").iter_rows():
        if known[name, as_of] < wanted:
            found.pop(name, None)
    return found


def _stands(lake: Lake, name: str, version: int, buckets: Collection[int] | None) -> bool:
    """Whether every file of a table's version is still there."""
    if version < 0:
        return False
    try:
        wanted = tables.data_files(lake, _BY_NAME[name], buckets=buckets, at_version=version)
    except LakeError:
        return False
    prefix = f"tables/{name}"
    held = {entry.key.removeprefix(f"{prefix}/") for entry in lake.storage.entries(prefix)}
    return wanted <= set(in_partitions(sorted(held), buckets, None))


def _beyond(at: datetime, taken: pl.DataFrame) -> HistoryError:
    counts = taken.group_by("table").agg(pl.col("rows").sum()).sort("table")
    told = ", ".join(f"{rows:,} of {name}" for name, rows in counts.iter_rows())
    last = taken["as_of_at"].sort(descending=True)[0]
    return HistoryError(
        f"the lake no longer holds all that stood at {at:%Y-%m-%d %H:%M} UTC: since then retention took out"
        f" {told}, and no version holds them any more",
        f"Ask as of {last:%Y-%m-%d %H:%M} UTC or later, or for what is left (--partial, partial=True); "
        "ingest.vacuum_after_hours is how long older versions are kept.",
    )
