"""Processes that the erasure's tests start: killed midway, or landing and publishing beside it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows import erase
from flows.job import Job, exclusive
from flows.publish import run_publish
from lake import landing
from lake.lake import open_lake
from tests.flows.dying import EFFECTS
from tests.flows.lakes import AS_OF, CountingEmbedder, job_on
from transforms.errors import BusyError
from transforms.policy import Policy
from transforms.subjects import Subject

PAUSE_SECONDS = 0.02
"""Between two tries, so that the erasure gets its share of the processor."""
REST_SECONDS = 1.0
"""Between two publications, in which the erasure can take the lake: it tries every tenth of a second."""


def kill_before(place: int) -> None:
    """Make the effect of this number, from 0, the end of the process."""
    done = [0]

    def watched(inner: Callable[..., Any]) -> Callable[..., Any]:
        def act(*arguments: Any, **keywords: Any) -> Any:
            if done[0] == place:
                os.kill(os.getpid(), signal.SIGKILL)
            done[0] += 1
            return inner(*arguments, **keywords)

        return act

    for owner, name in EFFECTS:
        setattr(owner, name, watched(getattr(owner, name)))


def killed(root: str, *points: str) -> None:
    """Erase ana on a copy of the lake for each point, each in a forked process that dies there."""
    for point in points:
        child = os.fork()  # before anything was computed: the child has threads of its own
        if child == 0:
            kill_before(int(point))
            erase.run_erase(
                job_on(Path(root) / point, buckets=1),
                Subject("acme", user="ana"),
                basis="gdpr_art_17",
                requested_by="subject",
            )
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            raise AssertionError(f"the process was not killed at {point}: {status}")


def land(uri: str, user: str, seconds: str) -> None:
    """Append rows of a user until told to stop by a file beside the lake."""
    del seconds
    lake, number = open_lake(uri), 0
    while not Path(f"{uri}.stop").exists():
        text = f"{user} lands walnut number {number} while it is erased"
        landing.append(lake, [{"content": text, "tenant_id": "acme", "user_id": user}], now=AS_OF)
        number += 1
        time.sleep(PAUSE_SECONDS)
        if number == 3:
            print("begun", flush=True)
    print(number, flush=True)


def publish(uri: str) -> None:
    """Publish again and again until told to stop; whoever holds the lake is waited for by trying again."""
    model, done = CountingEmbedder(), 0
    job = Job(open_lake(uri), Policy(), AS_OF, lambda: model)
    while not Path(f"{uri}.stop").exists():
        try:
            with exclusive(job):
                run_publish(job, force=True)
        except BusyError:
            time.sleep(PAUSE_SECONDS)
            continue
        done += 1
        if done == 1:
            print("begun", flush=True)
        time.sleep(REST_SECONDS)
    print(done, flush=True)


if __name__ == "__main__":
    VERBS: dict[str, Callable[..., None]] = {"killed": killed, "land": land, "publish": publish}
    VERBS[sys.argv[1]](*sys.argv[2:])
