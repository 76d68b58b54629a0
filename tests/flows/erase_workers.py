"""Processes that the erasure's tests start: killed midway, or landing and publishing beside it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows import erase
from flows.job import Job, exclusive
from flows.publish import run_publish
from lake import landing, tables
from lake.lake import open_lake
from lake.storage import LocalStorage
from tests.flows.lakes import AS_OF, CountingEmbedder, job_on
from transforms.errors import BusyError
from transforms.policy import Policy
from transforms.subjects import Subject

EFFECTS = ((LocalStorage, "write"), (LocalStorage, "create"), (LocalStorage, "delete"), (tables, "_commit"))
"""What changes something on disk."""


class Counter:
    """Counts what changes something, by step, and kills the process before the one that it was told."""

    def __init__(self, at: int) -> None:
        self.at, self.count, self.step = at, 0, "record"
        self.steps: list[str] = []

    def watch(self, owner: Any, name: str) -> None:
        """Count the calls of one function."""
        inner: Callable[..., Any] = getattr(owner, name)

        def watched(*arguments: Any, **keywords: Any) -> Any:
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1
            self.steps.append(self.step)
            return inner(*arguments, **keywords)

        setattr(owner, name, watched)

    def follow(self) -> None:
        """Know which step is on."""
        timed = erase._timed

        def followed(work: Any, name: str, act: Any) -> None:
            self.step = name
            timed(work, name, act)
            self.step = "issue"

        erase._timed = followed


def killed(root: str, *points: str) -> None:
    """Erase ana on a copy of the lake for each point, each in a forked process that dies there.

    For the point -1 it lives, and the steps of what it changed are printed.
    """
    for point in points:
        child = os.fork()  # before anything was computed: the child has threads of its own
        if child == 0:
            counter = Counter(int(point))
            for owner, name in EFFECTS:
                counter.watch(owner, name)
            counter.follow()
            erase.run_erase(
                job_on(Path(root) / point, buckets=1),
                Subject("acme", user="ana"),
                basis="gdpr_art_17",
                requested_by="subject",
            )
            print(json.dumps(counter.steps), flush=True)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if int(point) >= 0 and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            raise AssertionError(f"the process was not killed at {point}: {status}")


def land(uri: str, user: str, seconds: str) -> None:
    """Append rows of a user until told to stop by a file beside the lake."""
    del seconds
    lake, number = open_lake(uri), 0
    while not Path(f"{uri}.stop").exists():
        text = f"{user} lands walnut number {number} while it is erased"
        landing.append(lake, [{"content": text, "tenant_id": "acme", "user_id": user}], now=AS_OF)
        number += 1
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
            continue
        done += 1
        if done == 1:
            print("begun", flush=True)
    print(done, flush=True)


if __name__ == "__main__":
    VERBS: dict[str, Callable[..., None]] = {"killed": killed, "land": land, "publish": publish}
    VERBS[sys.argv[1]](*sys.argv[2:])
