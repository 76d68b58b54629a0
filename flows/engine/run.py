"""Runs work units where the configuration says, and gives each end as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flows.engine.tasks import task_named
from flows.engine.units import Done, Failure, Unit, UnitsError
from transforms.errors import (
    BusyError,
    ConfigError,
    EndpointError,
    SlowwaveError,
    StorageError,
)

if TYPE_CHECKING:
    from flows.job import Job

OF_THE_RUN = (BusyError, ConfigError, EndpointError, StorageError)
"""Errors that every other unit would meet, too: the run ends with them."""


def run_units(job: Job, units: Sequence[Unit], label: str) -> Iterator[Done]:
    """Run units, and give each as it ends, in no certain order.

    Args:
        job: The run; its engine says where. A dry run, and a job that has no recipe, runs in this process.
        units: Each on its own.
        label: Of the progress.

    Raises:
        SlowwaveError: One of ``OF_THE_RUN``: what ended before stays done.
    """
    with job.progress.task(label, sum(unit.rows for unit in units) or None) as advance:
        for unit in units:
            yield _here(job, unit)
            advance(unit.rows)


def _here(job: Job, unit: Unit) -> Done:
    try:
        return Done(unit, task_named(unit.task)(job, unit.payload))
    except OF_THE_RUN:
        raise
    except SlowwaveError as error:
        return Done(unit, failure=Failure(error.code, error.message, error.remedy))


def require_all(step: str, ends: Sequence[Done]) -> None:
    """Raise where a unit failed.

    Raises:
        UnitsError: Names them.
    """
    failed = [done for done in ends if done.failure]
    if failed:
        raise UnitsError(step, failed, len(ends))
