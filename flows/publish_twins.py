"""The end of a model's replacement: twins of models that are no longer configured go, and their vectors."""

from __future__ import annotations

import polars as pl

from flows.embed import state_key
from flows.job import Job
from lake import hints
from lake.erasure.removal import Rule, remove
from lake.index_build import remove_generation
from lake.index_record import Pointer, write_pointer
from transforms.schemas import VECTORS

Twins = dict[str, dict[str, str]]


def spaces(job: Job) -> set[str]:
    """Vector spaces that are configured."""
    return {side.space for side in job.sides}


def kept_twins(job: Job, pointer: Pointer | None) -> Twins:
    """Twins of a pointer whose model is still configured."""
    known = spaces(job)
    twins = {} if pointer is None else pointer.twins
    return {name: {s: twin for s, twin in named.items() if s in known} for name, named in twins.items()}


def gone_spaces(job: Job, pointer: Pointer | None) -> list[str]:
    """Vector spaces of twins whose model is no longer configured."""
    named = [] if pointer is None else pointer.twins.values()
    return sorted({space for twins in named for space in twins} - spaces(job))


def end_replacements(job: Job, pointer: Pointer | None) -> list[str]:
    """Take out the vectors of models whose replacement is over; their twins go with the next switch.

    Killed in between, the twins are still there, and the next run goes on.

    Returns:
        The vector spaces of these models.
    """
    gone = gone_spaces(job, pointer)
    if gone:
        named = pl.Series(gone).implode()
        remove(job.lake, Rule(VECTORS, ["model_key"], lambda rows: rows["model_key"].is_in(named), None))
        for space in gone:
            job.lake.storage.delete(state_key(job, space))
        hints.carry_over(job.lake)
    return gone


def drop_twins(job: Job, pointer: Pointer) -> None:
    """Remove twins of models that are no longer configured, where nothing else is to be published."""
    moved = pointer.with_twins(kept_twins(job, pointer))
    write_pointer(job.lake, moved)
    for name in sorted(pointer.kept() - moved.kept()):
        remove_generation(job.lake, name)
