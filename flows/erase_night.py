"""What a night does first: complete the erasures that are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flows.job import Job
from lake.rights import requests
from transforms.errors import CheckError

if TYPE_CHECKING:
    from flows.erase import Resumed


@dataclass(frozen=True)
class Erasures:
    """What became of the erasures that were open."""

    resumed: tuple[Resumed, ...]

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints: request ids by outcome, and the errors of those that failed."""
        found: dict[str, Any] = {"complete": [], "held": [], "failed": []}
        for one in self.resumed:
            if one.certificate is not None:
                found[one.certificate.outcome].append(one.request_id)
            elif one.error is not None:
                found["failed"].append({"request_id": one.request_id, **one.error.as_dict()})
            else:
                found["held"].append(one.request_id)
        return found

    def lines(self) -> list[str]:
        """For a person: those completed, those that a hold keeps open, those that failed; a line each."""
        found = self.as_dict()
        told = [f"erasure completed: certificates/{one}.json" for one in found["complete"]]
        told += [f"erasure open, under legal hold: request {one}" for one in found["held"]]
        return told + [f"erasure failed: request {one['request_id']}" for one in found["failed"]]

    def require_done(self) -> None:
        """Alert where one failed, once the rest of the night is done.

        Raises:
            CheckError: How many failed, and why the first did.
        """
        failed = [one for one in self.resumed if one.error is not None]
        if failed:
            first = failed[0]
            raise CheckError(
                f"the night is done, but {len(failed)} open erasures failed; request {first.request_id}:"
                f" {first.error}",
                "They are tried again with the next night, or by slowwave erase --resume.",
            )


def resume_step(job: Job) -> Erasures | None:
    """Complete the open erasures; None where none is open. Call it inside ``exclusive``.

    A trial night, on a copy that is thrown away, erases nothing.
    """
    if job.has_diff or not any(one.kind == "erase" for one in requests.open_requests(job.lake)):
        return None
    from flows.erase import resume_open

    return Erasures(tuple(resume_open(job)))
