"""Publish: build a new generation beside the live one, check it, move one pointer, keep the last few."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from flows.job import Job, StepResult, record, step
from flows.published import frames, inputs_of, large_scopes, served_counts, versions_in
from lake.index import Generation, Manifest, Pointer, load_manifest, read_pointer, write_pointer
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
        inputs = inputs_of(job)
        pointer, is_damaged = _pointer(job)
        if pointer and not force and _is_current(job, pointer, inputs):
            result.state, result.generation = "unchanged", pointer.generation
            result.rows_in = result.rows_out = 0
            result.detail = {"generation": pointer.generation}
            return result
        name = _next_name(job, pointer, keep_strays=is_damaged)
        served = served_counts(job)
        try:
            manifest, checks = _build(job, name, inputs, _expected(served))
        except SlowwaveError:
            remove_generation(job.lake, name)
            raise
        _switch(job, pointer, name, keep_strays=is_damaged)
        result.rows_in = result.rows_out = manifest.rows
        result.generation = name
        result.detail = {
            "generation": name,
            **_withheld(served),
            **_derived(served),
            "checks": {c.name: c.detail for c in checks},
        }
    record(job, result, read=versions_in(inputs))
    return result


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
    moved = Pointer(older[-1], pointer.history, pointer.generation)
    write_pointer(job.lake, moved)
    return moved


def _pointer(job: Job) -> tuple[Pointer | None, bool]:
    """The pointer, and whether there is one that cannot be read: then publish begins a new history."""
    try:
        return read_pointer(job.lake), False
    except LakeError:
        return None, True


def _is_current(job: Job, pointer: Pointer, inputs: dict[str, Any]) -> bool:
    """Whether the live generation is readable, has these inputs and no row that expired since.

    Or one that was rolled back from: building it again would bring back what somebody took away.
    """
    for name in pointer.history[pointer.history.index(pointer.generation) :]:
        try:
            manifest = load_manifest(job.lake, name)
        except LakeError:  # removed or damaged by hand: build anew
            continue
        began = datetime.fromisoformat(manifest.as_of)
        soonest = manifest.next_expiry_at and datetime.fromisoformat(manifest.next_expiry_at)
        if manifest.inputs == inputs and began <= job.as_of and not (soonest and soonest <= job.as_of):
            return _is_readable(job, pointer.generation)
    return False


def _is_readable(job: Job, generation: str) -> bool:
    try:
        probed(job.lake, generation)
    except LakeError:
        return False
    return True


def _next_name(job: Job, pointer: Pointer | None, *, keep_strays: bool) -> str:
    """The next unused name; what an earlier killed build left under later names is removed first.

    Nothing is removed where the pointer cannot be read, for what is kept is not known then.
    """
    kept = set(pointer.history) if pointer else set()
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
    failed = [check for check in checks if not check.passed]
    if failed:
        told = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise CheckError(
            f"the new index failed its checks, the old one stays live: {told}",
            next((check.remedy for check in failed if check.remedy), "See docs/data-engineers.md, Publish."),
        )
    finished = Manifest(**{**manifest.__dict__, "checks": {c.name: c.detail for c in checks}})
    job.lake.storage.write(f"index/{name}/manifest.json", finished.dumps())
    return finished, checks


def _switch(job: Job, pointer: Pointer | None, name: str, *, keep_strays: bool) -> None:
    """Make the generation live, then drop what was rolled back from and what is older than the kept ones."""
    before = pointer.history[: pointer.history.index(pointer.generation) + 1] if pointer else ()
    history = [*before, name][-job.policy.publish.keep_generations :]
    write_pointer(job.lake, Pointer(name, tuple(history)))
    if not keep_strays:
        for old in _held(job) - set(history):
            remove_generation(job.lake, old)
