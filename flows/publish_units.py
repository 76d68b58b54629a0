"""A new generation of the index in pieces: each writes the rows of some buckets, one process joins them."""

from __future__ import annotations

from typing import Any

from flows.engine.run import require_all, run_units
from flows.engine.units import Done, Unit
from flows.job import Job
from flows.publish_counts import Served, bucket_groups, served_of, summed
from flows.published import finder, frames
from lake.index_build import Builder, Part
from lake.opened import held_open


def written(job: Job, generation: str, space: str, dimensions: int) -> tuple[list[Part], Served]:
    """Write the rows of a generation, by units; the order of the parts is that of the buckets.

    Args:
        job: The run.
        generation: Name of the new generation.
        space: Vector space of it.
        dimensions: Length of its vectors.

    Raises:
        UnitsError: A part could not be written.
    """
    units = [
        Unit(
            "publish",
            f"buckets {buckets[0]} to {buckets[-1]}",
            (),  # writes no table
            {"generation": generation, "space": space, "dimensions": dimensions, "buckets": list(buckets)},
            rows,
        )
        for buckets, rows in bucket_groups(job)
    ]
    ends = list(run_units(job, units, "publish"))
    require_all("publish", ends)
    order = {unit.name: place for place, unit in enumerate(units)}
    results = [_result(done) for done in sorted(ends, key=lambda done: order[done.unit.name])]
    return [Part.read(one["part"]) for one in results], summed(Served(**one["served"]) for one in results)


def _result(done: Done) -> dict[str, Any]:
    return done.result or {}


def publish_unit(job: Job, payload: dict[str, Any]) -> dict[str, Any]:
    """Write the memories of some buckets into a generation that is not live.

    Run again after a kill it writes them anew; files that no part names are removed when the parts are
    joined (``lake.index_build.finish``).

    Args:
        job: The run.
        payload: ``generation``, ``space``, ``dimensions``, ``buckets``.

    Returns:
        ``part`` (``lake.index_build.Part``) and ``served`` (``flows.publish_counts.Served``).
    """
    buckets = payload["buckets"]
    with held_open(is_shared=True):
        served = served_of(job, buckets)
        builder = Builder(job.lake, payload["generation"], payload["dimensions"], served.large)
        part = builder.write_part(frames(job, buckets, finder(job, payload["space"])))
    return {"part": part.as_dict(), "served": served.as_dict()}
