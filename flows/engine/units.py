"""Work units: pieces of a job that can run anywhere, beside the others, and again.

A unit reads and writes the lake itself; what goes between processes is its description and its counts,
both plain JSON, never rows. Run again after a kill it comes to the same rows and writes what is missing:
each job's own rule, the same that makes a killed run safe to start again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from transforms.errors import (
    CheckError,
    HistoryError,
    InputError,
    LakeError,
    ModelMismatchError,
    SlowwaveError,
)

_OWN_CODES = {
    kind.code: kind.exit_code
    for kind in (CheckError, HistoryError, InputError, LakeError, ModelMismatchError)
}


@dataclass(frozen=True)
class Unit:
    """One piece of a job.

    Attributes:
        task: Which function does it, a key of ``flows.engine.tasks.TASKS``.
        name: For people and logs, such as ``bucket 3, part 1 of 2``: no id of a tenant or person.
        buckets: Tenant buckets that it writes; a lock on each is held while it runs on a worker.
        payload: What the function is told; JSON.
        rows: About how many rows it looks at, for progress.
    """

    task: str
    name: str
    buckets: tuple[int, ...]
    payload: dict[str, Any] = field(default_factory=dict)
    rows: int = 0


@dataclass(frozen=True)
class Failure:
    """Why a unit failed: the shape of a ``SlowwaveError``, without content."""

    code: str
    message: str
    remedy: str = ""


def failure_of(error: SlowwaveError) -> Failure:
    """An error of ours as a unit's failure."""
    return Failure(error.code, error.message, error.remedy)


@dataclass(frozen=True)
class Done:
    """The end of a unit: what its function gave back (JSON), or why it failed."""

    unit: Unit
    result: dict[str, Any] | None = None
    failure: Failure | None = None


class UnitsError(SlowwaveError):
    """Units of a step failed; all others were done.

    Where every unit failed in one way it is no matter of units: the exit code is that of the way.

    Args:
        step: Of which.
        failed: The units that failed.
        count: How many there were.
    """

    code, exit_code = "units", 12

    def __init__(self, step: str, failed: Sequence[Done], count: int) -> None:
        told = "; ".join(f"{d.unit.name}: {d.failure.message}" for d in failed[:3] if d.failure)
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        remedy = next((d.failure.remedy for d in failed if d.failure and d.failure.remedy), "")
        rest = ", the others were done" if len(failed) < count else ""
        super().__init__(
            f"{step}: {len(failed)} of {count} units failed ({told}{more}){rest}",
            remedy or "Run again: only what is missing is done.",
        )
        self.step = step
        self.failed = tuple(failed)
        codes = {done.failure.code for done in failed if done.failure}
        if len(failed) == count and len(codes) == 1:
            self.exit_code = _OWN_CODES.get(codes.pop(), self.exit_code)

    def as_dict(self) -> dict[str, Any]:
        """See ``SlowwaveError.as_dict``; with the units that failed."""
        return {**super().as_dict(), "units": self.told()}

    def told(self) -> list[dict[str, str]]:
        """The units that failed, with step, code, message and remedy of each."""
        shown = ((done.unit, done.failure) for done in self.failed if done.failure)
        return [{"step": self.step, "unit": unit.name, **asdict(failure)} for unit, failure in shown]
