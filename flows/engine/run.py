"""Runs work units where the configuration says, and gives each end as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flows.cli import version
from flows.engine.attempt import OF_THE_RUN, attempt
from flows.engine.errands import answered, errands_of
from flows.engine.recipe import Recipe
from flows.engine.units import Done, Failure, Unit, UnitsError
from lake.opened import forget_all
from transforms.errors import SlowwaveError

if TYPE_CHECKING:
    from flows.job import Job

__all__ = ["OF_THE_RUN", "require_all", "run_units"]

ASKS_MODEL = {"consolidate"}
"""Tasks that ask the language model, where there is one: its budget is one of the run, so it asks from one
process, with as many requests at once as section ``[model]`` says."""
KILLED = "killed"


def run_units(job: Job, units: Sequence[Unit], label: str) -> Iterator[Done]:
    """Run units, and give each as it ends, in no certain order.

    Args:
        job: The run; its engine says where. A dry run, and a job that has no recipe, runs in this process.
        units: Each on its own.
        label: Of the progress.

    Raises:
        SlowwaveError: One of ``OF_THE_RUN``: what ended before stays done.
    """
    recipe = _recipe_for(job, units)
    rows = sum(unit.rows for unit in units)
    with job.progress.task(label, rows or len(units), "rows" if rows else "units") as advance:
        for done in (attempt(job, unit) for unit in units) if recipe is None else _out(job, recipe, units):
            yield done
            advance(done.unit.rows if rows else 1)


def _recipe_for(job: Job, units: Sequence[Unit]) -> Recipe | None:
    """What workers make the job of; None where these units run in this process."""
    engine, recipe = job.engine, job.recipe
    if recipe is None or not units or job.is_dry or job.has_diff or job.lake.pins:
        return None
    if recipe.lake != job.lake.storage.uri:  # a copy of the lake, or another one
        return None
    if job.make_model is not None and any(unit.task in ASKS_MODEL for unit in units):
        return None
    if engine.kind == "dask":
        return recipe
    rows = sum(unit.rows for unit in units)
    is_little = 0 < rows < engine.least_rows
    return None if engine.workers == 1 or len(units) == 1 or is_little else recipe


def _out(job: Job, recipe: Recipe, units: Sequence[Unit]) -> Iterator[Done]:
    """On workers."""
    errands = errands_of(job, recipe, units, version())
    if job.engine.kind == "dask":
        from flows.engine.cluster import require_sendable

        require_sendable(recipe, job.crew.secrets)
    with job.crew.at_work(job.engine) as workers:
        for place, text in workers.run(errands):
            forget_all()
            yield _done(job, units[place], text)


def _done(job: Job, unit: Unit, text: str | None) -> Done:
    if text is None:
        tries = job.engine.retries + 1
        return Done(unit, failure=Failure(
            KILLED,
            f"its worker died each of {tries} times",
            "It may need more memory than the worker has; the kernel's log says so.",
        ))  # fmt: skip
    answer = answered(text)
    job.spending.extend(answer.spending)
    if answer.ends_run and answer.failure:
        raise _error_of(answer.failure)
    return answer.done(unit)


def _error_of(failure: Failure) -> SlowwaveError:
    kinds = {kind.code: kind for kind in OF_THE_RUN}
    return kinds[failure.code](failure.message, failure.remedy)


def require_all(step: str, ends: Sequence[Done]) -> None:
    """Raise where a unit failed.

    Raises:
        UnitsError: Names them.
    """
    failed = [done for done in ends if done.failure]
    if failed:
        raise UnitsError(step, failed, len(ends))
