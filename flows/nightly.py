"""Nightly: ingest, embed, consolidate, publish, one after the other, as plain calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job, StepResult, exclusive
from flows.publish import run_publish
from lake.index_record import readable_pointer
from lake.sources import Source
from transforms.validate import Defaults


@dataclass(frozen=True)
class Night:
    """The steps of one night, in order, and the generation that was live where none was published."""

    steps: list[StepResult]
    live: str | None = None

    @property
    def generation(self) -> str | None:
        """The live generation after the night."""
        return self.steps[-1].generation or self.live

    @property
    def is_unchanged(self) -> bool:
        """Whether there was nothing to do."""
        return all(step.state == "unchanged" for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {"steps": [step.as_dict() for step in self.steps], "generation": self.generation}


def run_nightly(job: Job, sources: Iterable[tuple[Source, Defaults]], *, publish: bool = True) -> Night:
    """One night. Only one at a time on a lake: a second one waits or declines, as ``run.on_busy`` says.

    Raises:
        BusyError: Another run holds the lake.
    """
    with exclusive(job):
        ingested, _ = run_ingest(job, sources)
        steps = [ingested, run_embed(job), run_consolidate(job)]
        if publish:
            steps.append(run_publish(job))
        pointer = readable_pointer(job.lake)
        return Night(steps, pointer.generation if pointer else None)
