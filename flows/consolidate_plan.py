"""Work units of a consolidation: some buckets, or a slice of one, planned without reading a row."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from flows.consolidate_state import Seen, State
from flows.engine.units import Unit
from flows.job import Job
from flows.portions import OWNER, Portion, Scope, months_between, portion_of
from lake import tables
from lake.data_files import bucket_of, in_partitions
from lake.revisions import Writer
from lake.row_counts import row_counts
from transforms.owners import owner_expr
from transforms.schemas import DERIVED, EPISODES

UNIT_ROWS = 25_000
"""New episodes of a unit, about 20 KB of memory each; a bucket with more is cut between its owners."""
HELD_ROWS = 600_000
"""Small buckets go together up to so many episodes: of the old ones, too, some columns are looked through."""
ROWS_UNKNOWN = 10_000
"""Taken for the rows of a data file where the log does not count them."""


@dataclass(frozen=True)
class _Load:
    """What a bucket holds.

    Attributes:
        fresh: New episodes.
        held: All episodes.
    """

    fresh: int
    held: int

    @property
    def weight(self) -> float:
        """Part of a unit that it fills; above 1 for a bucket that is taken in slices."""
        return max(self.fresh / UNIT_ROWS, self.held / HELD_ROWS if self.fresh <= UNIT_ROWS else 0.0)


def planned(job: Job, state: State) -> list[Unit]:
    """Units of all buckets that have a new or a newly ripe episode, or of which nothing was seen.

    The same lake and state are cut in the same way, wherever the units run.
    """
    rows = _rows(job)
    held = _by_bucket(rows)
    due: dict[Seen | None, list[int]] = defaultdict(list)
    for bucket in sorted(_every_bucket(job) | set(held)):
        due[state.of(bucket)].append(bucket)
    units: list[Unit] = []
    for seen, buckets in due.items():
        units.extend(_complete(job, buckets, held) if seen is None else _news(job, seen, buckets, rows, held))
    return sorted(units, key=lambda unit: (unit.buckets, unit.name))


def _complete(job: Job, buckets: Sequence[int], held: Mapping[int, int]) -> Iterator[Unit]:
    now = micros(job.as_of - _age(job))
    loads = {bucket: _Load(held.get(bucket, 0), held.get(bucket, 0)) for bucket in buckets}
    return _units(loads, lambda _: None, (now, now))


def _news(
    job: Job, seen: Seen, buckets: Sequence[int], rows: Mapping[str, int], held: Mapping[int, int]
) -> Iterator[Unit]:
    # A run at an earlier instant than the last one takes no summary back.
    then = micros(seen.as_of - _age(job))
    ripe = then, max(then, micros(job.as_of - _age(job)))
    files = in_partitions(sorted(tables.added_files(job.lake, EPISODES, seen.version)), buckets, None)
    fresh = _by_bucket({name: rows.get(name, 0) for name in files})
    ripening: set[int] = set()
    if ripe[1] > ripe[0]:
        ripening = set(
            _by_bucket(dict.fromkeys(in_partitions(list(rows), buckets, months_between(*ripe)), 0))
        )
    loads = {b: _Load(fresh.get(b, 0), held.get(b, 0)) for b in sorted(ripening | set(fresh))}
    return _units(loads, lambda some: in_partitions(files, some, None), ripe)


def _units(loads: Mapping[int, _Load], files_of: Any, ripe: tuple[int, int]) -> Iterator[Unit]:
    for buckets in _together(loads):
        fresh = sum(loads[bucket].fresh for bucket in buckets)
        parts = max(math.ceil(fresh / UNIT_ROWS), 1) if len(buckets) == 1 else 1
        for part in range(parts):
            payload = {
                "buckets": list(buckets),
                "part": [part, parts],
                "files": files_of(buckets),
                "ripe": list(ripe),
            }
            rows = max(fresh // parts, 1)
            yield Unit("consolidate", _name(buckets, part, parts), tuple(buckets), payload, rows)


def _together(loads: Mapping[int, _Load]) -> Iterator[list[int]]:
    """Buckets of each unit: evenly filled, as few units as the limits allow; a large bucket has its own."""
    small = {bucket: load.weight for bucket, load in loads.items() if load.weight <= 1}
    full = sum(small.values()) / max(math.ceil(sum(small.values())), 1)
    group: list[int] = []
    filled = 0.0
    for bucket in loads:
        if bucket not in small:
            yield [bucket]
        elif group and filled + small[bucket] > 1:
            yield group
            group, filled = [bucket], small[bucket]
        else:
            group.append(bucket)
            filled += small[bucket]
            if filled >= full:
                yield group
                group, filled = [], 0.0
    if group:
        yield group


def _name(buckets: Sequence[int], part: int, parts: int) -> str:
    """For people: no id of anybody."""
    many = f"buckets {buckets[0]} to {buckets[-1]}" if len(buckets) > 1 else f"bucket {buckets[0]}"
    return many if parts == 1 else f"{many}, part {part + 1} of {parts}"


def scope_of(payload: Mapping[str, Any]) -> Scope:
    """What a unit looks at."""
    files = payload["files"]
    after, until = payload["ripe"]
    return Scope(None if files is None else frozenset(files), (after, until))


def portions_of_owners(
    job: Job, owners: pl.DataFrame, erased: pl.DataFrame | None, writer: Writer
) -> Iterator[Portion]:
    """Some owners whole, to be derived anew; in this process, because a unit names nobody.

    Args:
        job: The run.
        owners: ``tenant_id`` and ``owner``.
        erased: See ``Scope``.
        writer: Takes up what changes.
    """
    now = micros(job.as_of - _age(job))
    scope = Scope(None, (now, now), owners, erased)
    for bucket in sorted({job.lake.bucket(tenant) for tenant in owners["tenant_id"]}):
        rows = tables.scan(job.lake, EPISODES, buckets=[bucket]).with_columns(owner_expr())
        mine = rows.join(owners.lazy(), on=OWNER, how="semi").select(pl.len()).collect().item()
        parts = max(math.ceil(mine / UNIT_ROWS), 1)
        for part in range(parts):
            yield portion_of(job, scope, writer, [bucket], (part, parts))


def micros(instant: datetime) -> int:
    """Microseconds since 1970."""
    return round(instant.timestamp() * 1_000_000)


def _age(job: Job) -> timedelta:
    return timedelta(seconds=job.policy.summaries.after_seconds)


def _rows(job: Job) -> dict[str, int]:
    """Episodes of each data file."""
    counts = row_counts(job.lake, EPISODES)
    return {name: ROWS_UNKNOWN if count is None else count for name, count in counts.items()}


def _by_bucket(rows: Mapping[str, int]) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for name, count in rows.items():
        found[bucket_of(name)] += count
    return dict(sorted(found.items()))


def _every_bucket(job: Job) -> set[int]:
    """Buckets that hold anything derived."""
    return {bucket for table in DERIVED for bucket in _buckets_of(tables.data_files(job.lake, table))}


def _buckets_of(names: Iterable[str]) -> set[int]:
    return {bucket_of(name) for name in names}
