"""Publish: build a new generation beside the live one, check it, move one pointer, keep the last few."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from flows.job import Job, StepResult, record, step
from flows.publish_twins import drop_twins, end_replacements, kept_twins
from flows.published import frames, inputs_of, large_scopes, served_counts, versions_in
from lake.index import Generation, Manifest, Pointer, load_manifest, read_pointer, write_pointer
from lake.index_background import measured
from lake.index_build import Builder, generations, remove_generation
from lake.index_checks import Check, calibrated, run_checks
from lake.index_probe import probed
from lake.index_record import is_generation, number_of
from transforms.derived_memories import PUBLISHED
from transforms.errors import CheckError, LakeError, SlowwaveError, UsageError


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
            served = served_counts(job)
            built = _built(due, pointer, _expected(served), keep_strays=is_damaged)
            _switch(job, pointer, built, keep_strays=is_damaged)
            _tell(job, result, built, served)
        if ended:
            result.detail["retired_models"] = ended
    record(job, result, read=versions_in(wanted[0][1]))
    return result


Side = tuple[Job, dict[str, Any]]
"""A job of one model, and what its generation is made of."""
Built = list[tuple[Manifest, list[Check]]]


def _due(wanted: Sequence[Side], pointer: Pointer | None, *, force: bool) -> list[Side]:
    """What has to be built: of each model, the generation that is not what the lake holds now."""
    if pointer is None or force or not _is_current(*wanted[0], pointer):
        return list(wanted)
    if pointer.rolled_back is not None:  # a twin would bring back what somebody took away
        return []
    return [side for side in wanted[1:] if not _is_twin_current(*side, pointer)]


def _built(due: Sequence[Side], pointer: Pointer | None, expected: int, *, keep_strays: bool) -> Built:
    """Every generation that is due; where one fails its checks none is left."""
    done: Built = []
    names: list[str] = []
    try:
        for side, inputs in due:
            names.append(_next_name(side, pointer, names, keep_strays=keep_strays))
            done.append(_build(side, names[-1], inputs, expected))
    except SlowwaveError:
        for name in names:
            remove_generation(due[0][0].lake, name)
        raise
    return done


def _tell(job: Job, result: StepResult, built: Built, served: dict[str, int]) -> None:
    """What was published; the generation of the model that is being replaced among it."""
    manifest, checks = built[0]
    twins = [one.generation for one, _ in built if one.space != job.space]
    result.rows_in = result.rows_out = manifest.rows
    result.generation = str(_live(job))
    result.detail = {
        "generation": result.generation,
        **_withheld(served),
        **_derived(served),
        "checks": {c.name: c.detail for c in checks},
        **({"previous_model": twins[0]} if twins else {}),
    }


def _live(job: Job) -> str | None:
    pointer = read_pointer(job.lake)
    return None if pointer is None else pointer.generation


def _expected(served: dict[str, int]) -> int:
    """Rows a generation must hold."""
    return served["live"] + sum(_derived(served).values())


def _derived(served: dict[str, int]) -> dict[str, int]:
    return {table.name: served[table.name] for table in PUBLISHED}


def _withheld(served: dict[str, int]) -> dict[str, int]:
    """Landed rows that are not served, by why."""
    always = {key: served[key] for key in ("expired", "injected")}
    return always | ({"dropped": served["dropped"]} if served["dropped"] else {})


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
    """Whether the live generation is readable, has these inputs and no row that expired since.

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
    """Whether a generation has these inputs, and no row of it has expired since."""
    try:
        manifest = load_manifest(job.lake, name)
    except LakeError:  # removed or damaged by hand: build anew
        return False
    began = datetime.fromisoformat(manifest.as_of)
    soonest = manifest.next_expiry_at and datetime.fromisoformat(manifest.next_expiry_at)
    return manifest.inputs == inputs and began <= job.as_of and not (soonest and soonest <= job.as_of)


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


def _build(job: Job, name: str, inputs: dict[str, Any], expected: int) -> tuple[Manifest, list[Check]]:
    """Write, calibrate and check a generation of as many rows as expected.

    Raises:
        CheckError: A check failed.
    """
    dimensions, policy = job.embedder.dimensions, job.policy.publish
    builder = Builder(job.lake, name, dimensions, large_scopes(job))
    with job.progress.task("publish", expected) as advance:
        entries = builder.write(frames(job, advance))
    draft = Manifest(
        name,
        job.space,
        dimensions,
        builder.rows,
        job.as_of.isoformat(),
        tuple(entries),
        inputs,
        builder.next_expiry_at.isoformat() if builder.next_expiry_at else None,
    )
    with job.progress.task("check", None):
        manifest = calibrated(Generation(job.lake, draft), policy, job.as_of)
        generation = Generation(job.lake, manifest)
        checks = run_checks(
            generation, policy=policy, as_of=job.as_of, expected_rows=expected, expected_space=job.space
        )
        background, floor = measured(generation, job.embedder)
    checks.append(floor)
    failed = [check for check in checks if not check.passed]
    if failed:
        told = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise CheckError(
            f"the new index failed its checks, the old one stays live: {told}",
            next((check.remedy for check in failed if check.remedy), "See docs/data-engineers.md, Publish."),
        )
    finished = replace(
        manifest,
        checks={c.name: c.detail for c in checks},
        background={name: one.as_dict() for name, one in background.items()},
    )
    job.lake.storage.write(f"index/{name}/manifest.json", finished.dumps())
    return finished, checks


def _switch(job: Job, pointer: Pointer | None, built: Built, *, keep_strays: bool) -> None:
    """Make what was built live in one write, then drop what it replaces.

    That is what was rolled back from, what is older than the kept ones, and twins of models that are no
    longer configured.
    """
    before = pointer.history[: pointer.history.index(pointer.generation) + 1] if pointer else ()
    mine = [manifest.generation for manifest, _ in built if manifest.space == job.space]
    twins = {manifest.space: manifest.generation for manifest, _ in built if manifest.space != job.space}
    name = mine[0] if mine else before[-1]
    history = [*before, *mine][-job.policy.publish.keep_generations :]
    held = kept_twins(job, pointer)
    moved = Pointer(name, tuple(history)).with_twins({**held, name: {**held.get(name, {}), **twins}})
    write_pointer(job.lake, moved)
    if not keep_strays:
        for old in _held(job) - moved.kept():
            remove_generation(job.lake, old)
