"""Tenant buckets that are judged together: many small ones cost little more than one.

A bucket is a unit of its own only where it is large. Where buckets fail together, each is tried by itself:
what is damaged in one keeps no other from being done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from flows.engine.run import run_units
from flows.engine.units import Done, Unit
from flows.job import Job
from lake.row_counts import rows_by_bucket
from transforms.schemas import CLAIMS, CONVERSATIONS, EPISODES, FACTS, MODEL_RESULTS, RECALLS

PART_ROWS = 200_000
"""Rows judged at once, about: with all that is made on the way some 250 MB."""
_LARGE = (EPISODES, CLAIMS, FACTS, CONVERSATIONS, RECALLS, MODEL_RESULTS)
"""Tables that decide how many buckets are judged at once, and into how many parts a large one is cut."""
_SHARES = 4
"""Units a worker, about: who is done early takes another."""


@dataclass(frozen=True)
class Group:
    """Buckets that are judged together.

    Attributes:
        buckets: One, or several small ones.
        parts: In how many parts of whole owners.
        rows: Episodes of them.
    """

    buckets: list[int]
    parts: int
    rows: int

    @property
    def name(self) -> str:
        """As a unit is called."""
        first, count = self.buckets[0], len(self.buckets)
        return f"bucket {first}" if count == 1 else f"{count} buckets from {first}"


def grouped(
    job: Job, buckets: Iterable[int], *, is_apart: bool = False, is_shared_out: bool = False
) -> list[Group]:
    """Buckets in groups of at most ``PART_ROWS`` rows of any table, in their order; a larger one is alone.

    Args:
        job: On which lake; rows are counted by its log.
        buckets: Which.
        is_apart: Each is a group of its own.
        is_shared_out: They are units: so small that there are some for each worker.
    """
    counts = [rows_by_bucket(job.lake, table) for table in _LARGE]
    buckets = list(buckets)
    shares = _SHARES * _workers(job) if is_shared_out else 1
    most = min(PART_ROWS, _largest(counts, buckets) // shares) if shares > 1 else PART_ROWS
    found, held = list[Group](), list[int]()
    for bucket in buckets:
        if held and (is_apart or _largest(counts, [*held, bucket]) > most):
            found.append(_group(counts, held))
            held = []
        held.append(bucket)
    return [*found, _group(counts, held)] if held else found


def _workers(job: Job) -> int:
    """How many units run at once; of a cluster that says itself how many, as many as there are buckets."""
    if job.recipe is None or (job.engine.kind == "local" and job.engine.workers == 1):
        return 0
    return job.lake.buckets if job.engine.scheduler else job.engine.workers


def _largest(counts: Sequence[dict[int, int]], buckets: Sequence[int]) -> int:
    return max(sum(one.get(bucket, 0) for bucket in buckets) for one in counts)


def _group(counts: Sequence[dict[int, int]], buckets: list[int]) -> Group:
    rows = sum(counts[0].get(bucket, 0) for bucket in buckets)
    return Group(buckets, -(-_largest(counts, buckets) // PART_ROWS) or 1, rows)


def run_groups(job: Job, units: Sequence[Unit], label: str) -> Iterator[Done]:
    """``run_units`` of units with ``buckets`` in their payload; those that fail together are tried apart."""
    failed = list[Unit]()
    for done in run_units(job, units, label):
        if done.failure and len(done.unit.payload["buckets"]) > 1:
            failed.append(done.unit)
        else:
            yield done
    if failed:
        yield from run_units(job, [one for unit in failed for one in _apart(job, unit)], label)


def _apart(job: Job, unit: Unit) -> Iterator[Unit]:
    for group in grouped(job, unit.payload["buckets"], is_apart=True):
        written = tuple(group.buckets) if unit.buckets else ()
        payload = {**unit.payload, "buckets": group.buckets}
        yield replace(unit, name=group.name, buckets=written, payload=payload, rows=group.rows)
