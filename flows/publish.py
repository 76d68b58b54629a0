"""Publish: build a new generation beside the live one, check it, move one pointer, keep the last few."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from flows.job import Job, StepResult, record, step
from flows.publish_build import Made, build, is_hidden_long
from flows.publish_twins import drop_twins, end_replacements, kept_twins
from flows.published import inputs_of, versions_in
from lake.index import Manifest, Pointer, load_manifest, read_pointer, write_pointer
from lake.index_build import generations, remove_generation
from lake.index_probe import probed
from lake.index_record import is_generation, number_of
from transforms.errors import LakeError, SlowwaveError, UsageError


def run_publish(job: Job, *, force: bool = False) -> StepResult:
    """Publish what is live at the job's instant; nothing is built where nothing changed.

    Args:
        job: The run.
        force: Build even where inputs are those of the live generation.

    Returns:
        rows_in: live rows of the lake; rows_out: rows published. In the detail of a new generation
        what was not: ``expired`` rows, past their time to live, and ``injected`` ones.

    Raises:
        CheckError: The new generation failed a check; the old one stays live.
    """
    with step(job, "publish") as result:
        pointer, is_damaged = _pointer(job)
        ended = end_replacements(job, pointer)
        wanted = [(side, inputs_of(side)) for side in job.sides]
        due = _due(wanted, pointer, force=force)
        if pointer is not None and not due:
            result.detail, result.generation = {"generation": pointer.generation}, pointer.generation
            result.rows_in = result.rows_out = 0
            if ended:
                drop_twins(job, pointer)
            else:
                result.state = "unchanged"
        else:
            built = _built(due, pointer, is_whole=force, keep_strays=is_damaged)
            _switch(job, pointer, [made.manifest for made in built], keep_strays=is_damaged)
            _tell(job, result, built)
        if ended:
            result.detail["retired_models"] = ended
    record(job, result, read=versions_in(wanted[0][1]))
    return result


Side = tuple[Job, dict[str, Any]]
"""A job of one model, and what its generation is made of."""


def _due(wanted: Sequence[Side], pointer: Pointer | None, *, force: bool) -> list[Side]:
    """What has to be built: of each model, the generation that is not what the lake holds now."""
    if pointer is None or force or not _is_current(*wanted[0], pointer):
        return list(wanted)
    if pointer.rolled_back is not None:  # a twin would bring back what somebody took away
        return []
    return [side for side in wanted[1:] if not _is_twin_current(*side, pointer)]


def _built(due: Sequence[Side], pointer: Pointer | None, *, is_whole: bool, keep_strays: bool) -> list[Made]:
    """Every generation that is due; where one fails its checks none is left."""
    done: list[Made] = []
    names: list[str] = []
    try:
        for side, inputs in due:
            names.append(_next_name(side, pointer, names, keep_strays=keep_strays))
            source = None if is_whole else _source(side, due[0][0], pointer)
            done.append(build(side, names[-1], inputs, source))
    except SlowwaveError:
        for name in names:
            remove_generation(due[0][0].lake, name)
        raise
    return done


def _source(side: Job, first: Job, pointer: Pointer | None) -> Manifest | None:
    """The live generation of a model, where it can be read."""
    if pointer is None:
        return None
    name = pointer.twin(side.space) or (pointer.generation if side.space == first.space else None)
    try:
        return probed(side.lake, name).manifest if name else None
    except LakeError:
        return None


def _tell(job: Job, result: StepResult, built: Sequence[Made]) -> None:
    """What was published; the generation of the model that is being replaced among it."""
    first = built[0]
    twins = [made.manifest.generation for made in built if made.manifest.space != job.space]
    result.rows_in = result.rows_out = first.manifest.rows
    result.generation = str(_live(job))
    result.detail = {
        "generation": result.generation,
        **first.told(),
        **first.served.withheld(),
        **first.served.derived(),
        "checks": {c.name: c.detail for c in first.checks},
        **({"previous_model": twins[0]} if twins else {}),
    }


def _live(job: Job) -> str | None:
    pointer = read_pointer(job.lake)
    return None if pointer is None else pointer.generation


def run_rollback(job: Job) -> Pointer:
    """Move the pointer to the generation before the live one.

    Returns:
        The pointer as it stands now.

    Raises:
        UsageError: There is none to go back to.
        LakeError: It cannot be read any more; the live one stays.
    """
    pointer = read_pointer(job.lake)
    if pointer is None:
        raise UsageError("nothing is published yet", "Run slowwave publish.")
    older = pointer.history[: pointer.history.index(pointer.generation)]
    if not older:
        raise UsageError(f"there is no generation before {pointer.generation}", "Publish again instead.")
    probed(job.lake, older[-1])
    moved = replace(pointer, generation=older[-1], rolled_back=pointer.generation)
    write_pointer(job.lake, moved)
    return moved


def _pointer(job: Job) -> tuple[Pointer | None, bool]:
    """The pointer, and whether there is one that cannot be read: then publish begins a new history."""
    try:
        return read_pointer(job.lake), False
    except LakeError:
        return None, True


def _is_current(job: Job, inputs: dict[str, Any], pointer: Pointer) -> bool:
    """Whether the live generation is readable, has these inputs and nothing of it expired or is overdue.

    Or one that was rolled back from: building it again would bring back what somebody took away.
    """
    for name in pointer.history[pointer.history.index(pointer.generation) :]:
        if _stands_for(job, name, inputs):
            return _is_readable(job, pointer.generation)
    return False


def _is_twin_current(job: Job, inputs: dict[str, Any], pointer: Pointer) -> bool:
    """Whether the live generation has such a twin, readable."""
    name = pointer.twin(job.space)
    return name is not None and _stands_for(job, name, inputs) and _is_readable(job, name)


def _stands_for(job: Job, name: str, inputs: dict[str, Any]) -> bool:
    """Whether a generation has these inputs, no row of it has expired since, none lies hidden too long."""
    try:
        manifest = load_manifest(job.lake, name)
    except LakeError:  # removed or damaged by hand: build anew
        return False
    began = datetime.fromisoformat(manifest.as_of)
    soonest = manifest.next_expiry_at and datetime.fromisoformat(manifest.next_expiry_at)
    is_due = (soonest and soonest <= job.as_of) or is_hidden_long(job, manifest)
    return manifest.inputs == inputs and began <= job.as_of and not is_due


def _is_readable(job: Job, generation: str) -> bool:
    try:
        probed(job.lake, generation)
    except LakeError:
        return False
    return True


def _next_name(job: Job, pointer: Pointer | None, made: Collection[str], *, keep_strays: bool) -> str:
    """The next unused name; what an earlier killed build left under later names is removed first.

    Nothing is removed where the pointer cannot be read, for what is kept is not known then.
    """
    kept = {*made, *(pointer.kept() if pointer else ())}
    held = _held(job)
    if not keep_strays:
        for stray in held - kept:
            remove_generation(job.lake, stray)
    return f"gen-{max(map(number_of, held | kept), default=0) + 1:06d}"


def _held(job: Job) -> set[str]:
    """Generations that have files; what else lies beside them is not ours to touch."""
    return {name for name in generations(job.lake) if is_generation(name)}


def _switch(job: Job, pointer: Pointer | None, built: Sequence[Manifest], *, keep_strays: bool) -> None:
    """Make what was built live in one write, then drop what it replaces.

    That is what was rolled back from, what is older than the kept ones, and twins of models that are no
    longer configured.
    """
    before = pointer.history[: pointer.history.index(pointer.generation) + 1] if pointer else ()
    mine = [manifest.generation for manifest in built if manifest.space == job.space]
    twins = {manifest.space: manifest.generation for manifest in built if manifest.space != job.space}
    name = mine[0] if mine else before[-1]
    history = [*before, *mine][-job.policy.publish.keep_generations :]
    held = kept_twins(job, pointer)
    moved = Pointer(name, tuple(history)).with_twins({**held, name: {**held.get(name, {}), **twins}})
    write_pointer(job.lake, moved)
    if not keep_strays:
        for old in _held(job) - moved.kept():
            remove_generation(job.lake, old)
