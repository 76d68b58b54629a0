"""Flows called in one process with planted steps, against the server of the environment; prints JSON.

Run as a script: ``prefect_cases.py LAKE CONFIG SOURCE``.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

import flows.prefect_flows as shell
import flows.prefect_steps as steps
from flows.engine.units import Done, Failure, Unit, UnitsError
from flows.job import LOCK, StepResult
from lake import locks
from lake.lake import open_lake
from transforms.errors import CheckError, EndpointError, StorageError

AT = datetime(2026, 6, 30, tzinfo=UTC)
SECRET = "my locker code is 4711"
FAILED = Done(Unit("embed", "bucket 1", (1,)), failure=Failure("lake", "a file is missing", "Restore it."))


class Planted:
    """A step that raises what is planted, one a try, then succeeds."""

    def __init__(self, name: str, *errors: Exception) -> None:
        self.name, self.errors, self.tries = name, list(errors), 0

    def __call__(self, *_: Any, **__: Any) -> StepResult:
        self.tries += 1
        if self.errors:
            error = self.errors.pop(0)
            raise error from ValueError(SECRET)
        return StepResult(self.name, AT)


class Reading:
    """An ingest that reads all it is given, and the first time fails after that."""

    def __init__(self) -> None:
        self.seen: list[list[tuple[str, str | None, str | None]]] = []

    def __call__(self, job: Any, sources: Any) -> Any:
        del job
        self.seen.append([(s.file_name, d.tenant_id, d.user_id) for s, d in sources])
        if len(self.seen) == 1:
            raise StorageError("the store is away")
        return StepResult("ingest", AT), None


def main(lake: str, config: str, source: str) -> dict[str, Any]:
    """State and tries of every case."""
    call = {"lake": lake, "config": config, "return_state": True}

    def publish(step: Planted) -> dict[str, Any]:
        steps.run_embed = step
        steps.run_consolidate = Planted("consolidate")
        steps.run_publish = Planted("publish")
        return {**told(shell.publish(**call)), "tries": step.tries}

    found = {
        "recovers": publish(Planted("embed", StorageError("away"), EndpointError("away"))),
        "gives_up": publish(Planted("embed", *(EndpointError("no answer", "Call it.") for _ in range(9)))),
        "check": publish(Planted("embed", CheckError("recall 0.90 is below 0.95"))),
        "units": publish(Planted("embed", UnitsError("embed", [FAILED], 3))),
        "bug": publish(Planted("embed", KeyError(SECRET))),
    }
    reading = Reading()
    steps.run_ingest = reading
    given: list[Any] = [source, {"path": source, "format": "slowwave-jsonl", "tenant": "own"}]
    found["reads_anew"] = told(shell.ingest(sources=given, tenant="acme", user="u1", **call))
    found["reads_anew"]["seen"] = reading.seen
    with locks.hold(open_lake(lake), LOCK, 0):
        found["waited"] = told(shell.publish(on_busy="wait", **call))
    found["no_zone"] = told(shell.publish(as_of="2026-06-30T23:00:00", **call))
    return found


def told(state: Any) -> dict[str, Any]:
    return {"type": state.type.value, "message": state.message, "run": str(state.state_details.flow_run_id)}


if __name__ == "__main__":
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):  # its thread costs a second a flow
        sys.stdout.write(json.dumps(main(*sys.argv[1:])) + "\n")
