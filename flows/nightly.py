"""Nightly: ingest, embed, consolidate, decay, retain, publish and a look at health, as plain calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from flows.consolidate import run_consolidate
from flows.decay import run_decay
from flows.embed import embed_tables, run_embed
from flows.erase_night import Erasures, resume_step
from flows.global_patterns import shared_steps
from flows.health_night import night_health
from flows.ingest import run_ingest
from flows.job import Job, StepResult, exclusive, peak_bytes
from flows.publish import run_publish
from flows.retain import run_retain
from flows.rights import resume_open as resume_requests
from lake.index_record import readable_pointer
from lake.sources import Source
from transforms.derived_memories import PUBLISHED
from transforms.errors import EndpointError
from transforms.validate import Defaults


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


class UnfinishedError(EndpointError):
    """A night whose consolidation failed at the model, and that published what there was.

    Args:
        error: Of the consolidation.
        night: Its steps.
    """

    def __init__(self, error: EndpointError, night: Night) -> None:
        message = f"{error.message.rstrip('.')}; the index was published without what consolidation would add"
        super().__init__(message, error.remedy)
        self.night = night


def run_nightly(job: Job, sources: Iterable[tuple[Source, Defaults]], *, publish: bool = True) -> Night:
    """One night. Only one at a time on a lake: a second one waits or declines, as ``run.on_busy`` says.

    Raises:
        BusyError: Another run holds the lake.
        UnfinishedError: The language model failed for good; the rest of the night was run.
        EndpointError: The embedder did, or the language model where nothing is to be published.
        CheckError: An open erasure could not be completed; the rest of the night was run.
    """
    with exclusive(job):
        erasures = resume_step(job)  # first: what must go is neither read nor published once more
        ingested, _ = run_ingest(job, sources)
        steps = [ingested, run_embed(job)]
        began, failure = datetime.now(UTC), None
        try:
            steps.append(run_consolidate(job))
        except EndpointError as error:
            if not publish or job.make_model is None:  # then it is the embedder, which publishing needs
                raise
            failure = error
            steps.append(_failed(job, began))
        steps += [run_decay(job), run_retain(job), *shared_steps(job)]
        if publish:
            steps.append(run_publish(job))
        if not job.has_diff:  # a trial night, on a copy that is thrown away, settles nothing
            resume_requests(job)
        pointer = readable_pointer(job.lake)
        night = Night(steps, pointer.generation if pointer else None, erasures)
        is_changed = not night.is_unchanged or erasures is not None
        night = replace(night, health=night_health(job, is_changed=is_changed))
    if erasures is not None:
        erasures.require_done()
    if failure is not None:
        raise UnfinishedError(failure, night) from failure
    return night


def _failed(job: Job, began: datetime) -> StepResult:
    """A consolidation that broke off; what it had derived until then gets its vectors, and can be served.

    Raises:
        EndpointError: The embedder fails as well.
    """
    embed_tables(job, PUBLISHED, StepResult("embed", began))
    seconds = (datetime.now(UTC) - began).total_seconds()
    return StepResult("consolidate", began, "failed", seconds=seconds, peak_bytes=peak_bytes())
