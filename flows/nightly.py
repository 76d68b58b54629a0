"""Nightly: ingest, embed, consolidate, decay, retain, publish and a look at health, as plain calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from flows.consolidate import run_consolidate
from flows.decay import run_decay
from flows.embed import embed_tables, run_embed
from flows.engine.units import UnitsError
from flows.erase_night import Erasures, resume_step
from flows.global_patterns import shared_steps
from flows.health_night import night_health
from flows.ingest import run_ingest
from flows.job import Job, StepResult, exclusive, peak_bytes
from flows.publish import run_publish
from flows.retain import run_retain
from flows.rights import resume_open as resume_requests
from flows.upkeep_night import keep
from lake.index_record import readable_pointer
from lake.sources import Source
from transforms.derived_memories import PUBLISHED
from transforms.errors import CheckError, EndpointError, SlowwaveError
from transforms.validate import Defaults

REST_RUN = "the rest of the night was run"


@dataclass(frozen=True)
class Night:
    """The steps of one night, in order, and what else there is to tell of it.

    Attributes:
        steps: In order.
        live: The generation that was live where none was published.
        erasures: Open ones that were completed; None where there were none.
        health: ``flows.health_night.night_health``; None of a trial night.
    """

    steps: list[StepResult]
    live: str | None = None
    erasures: Erasures | None = None
    health: dict[str, Any] | None = None

    @property
    def generation(self) -> str | None:
        """The live generation after the night."""
        return self.steps[-1].generation or self.live

    @property
    def consolidated(self) -> StepResult:
        """The step that derives."""
        return next(step for step in self.steps if step.name == "consolidate")

    @property
    def is_unchanged(self) -> bool:
        """Whether there was nothing to do."""
        return all(step.state == "unchanged" for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        shown: dict[str, Any] = {
            "steps": [step.as_dict() for step in self.steps],
            "generation": self.generation,
        }
        if self.erasures is not None:
            shown["erasures"] = self.erasures.as_dict()
        return shown if self.health is None else {**shown, "health": self.health}


class UnfinishedError(SlowwaveError):
    """A night in which steps failed, and the rest of which was run; it has the exit code of the first.

    Args:
        errors: Of the steps, in their order.
        night: Its steps.
    """

    def __init__(self, errors: Sequence[SlowwaveError], night: Night) -> None:
        told = "; ".join(error.message.rstrip(".") for error in errors)
        is_model = any(isinstance(error, EndpointError) for error in errors)
        left_out = "the index was published without what consolidation would add"
        super().__init__(f"{told}; {left_out if is_model else REST_RUN}", errors[0].remedy)
        self.code, self.exit_code = errors[0].code, errors[0].exit_code
        self.errors, self.night = tuple(errors), night

    def as_dict(self) -> dict[str, Any]:
        """See ``SlowwaveError.as_dict``; with the units that failed, where any did."""
        units = [told for error in self.errors if isinstance(error, UnitsError) for told in error.told()]
        return {**super().as_dict(), "units": units} if units else super().as_dict()


def run_nightly(job: Job, sources: Iterable[tuple[Source, Defaults]], *, publish: bool = True) -> Night:
    """One night. Only one at a time on a lake: a second one waits or declines, as ``run.on_busy`` says.

    Raises:
        BusyError: Another run holds the lake.
        UnfinishedError: The language model failed for good, or units of steps did; the rest of the night
            was run.
        EndpointError: The embedder did, or the language model where nothing is to be published.
        CheckError: An open erasure could not be completed, and the rest of the night was run; or the index
            failed a check, and none was published.
    """
    with exclusive(job):
        erasures = resume_step(job)  # first: what must go is neither read nor published once more
        failures: list[SlowwaveError] = []

        def tried(name: str, run: Callable[[Job], StepResult]) -> StepResult:
            return _tried(job, name, run, failures)

        steps = [tried("ingest", lambda job: run_ingest(job, sources)[0]), tried("embed", run_embed)]
        began = datetime.now(UTC)
        try:
            steps.append(tried("consolidate", run_consolidate))
        except EndpointError as error:
            if not publish or job.make_model is None:  # then it is the embedder, which publishing needs
                raise
            failures.append(error)
            steps.append(_failed(job, began, error))
        steps += [tried("decay", run_decay), tried("retain", lambda job: run_retain(job, is_night=True))]
        steps += shared_steps(job)
        if publish:
            with kept_if_failed(job):
                steps.append(tried("publish", run_publish))
        if not job.has_diff:  # a trial night, on a copy that is thrown away, settles nothing
            resume_requests(job)
        pointer = readable_pointer(job.lake)
        night = Night(steps, pointer.generation if pointer else None, erasures)
        is_changed = not night.is_unchanged or erasures is not None
        night = replace(night, health=night_health(job, is_changed=is_changed))
        keep(job)  # last: also what the look at health has written
    if erasures is not None:
        erasures.require_done()
    if failures:
        raise UnfinishedError(failures, night) from failures[0]
    return night


@contextmanager
def kept_if_failed(job: Job) -> Iterator[None]:
    """Where the block, the end of a night, fails: what retention took out goes from the disk even so."""
    try:
        yield
    except SlowwaveError:
        with suppress(SlowwaveError):
            keep(job)
        raise


def _tried(
    job: Job, name: str, run: Callable[[Job], StepResult], failures: list[SlowwaveError]
) -> StepResult:
    """A step; one of which units failed is noted, as is what it causes later, and the night goes on."""
    began = datetime.now(UTC)
    try:
        return run(job)
    except UnitsError as error:
        failures.append(error)
        return failed_step(name, began, error)
    except CheckError as error:
        if not failures:  # else it is what failed before that the check has found
            raise
        failures.append(error)
        return failed_step(name, began, error)


def failed_step(name: str, began: datetime, error: SlowwaveError) -> StepResult:
    """A step that failed, or units of which did, as a night shows it."""
    seconds = (datetime.now(UTC) - began).total_seconds()
    detail = {"failed_units": error.told()} if isinstance(error, UnitsError) else {}
    return StepResult(name, began, "failed", seconds=seconds, peak_bytes=peak_bytes(), detail=detail)


def _failed(job: Job, began: datetime, error: EndpointError) -> StepResult:
    """A consolidation that broke off; what it had derived until then gets its vectors, and can be served.

    Raises:
        EndpointError: The embedder fails as well.
    """
    embed_tables(job, PUBLISHED, StepResult("embed", began))
    return failed_step("consolidate", began, error)
