"""Asks for one thing in a fresh lake again and again, killed before each write in turn.

``python rights_crashes.py FOLDER KIND``: lake ``FOLDER/n`` is that of the run killed before its n-th
write. Children are forked from a process that has computed nothing yet, so each costs milliseconds.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows import rights
from lake import tables
from lake.storage import LocalStorage
from tests.flows.lakes import job_on
from transforms.subjects import Subject

ANA = Subject("acme", user="ana")
ASKED: dict[str, tuple[Subject, dict[str, Any]]] = {
    "opt_out": (ANA, {}),
    "pin": (Subject("acme", memory="e1"), {"keeper": ANA.as_dict()}),
}
MOST_WRITES = 60


def kill_before(place: int) -> None:
    """Make the n-th write from here on the end of this process."""
    done = [0]

    def counted(act: Callable[..., Any]) -> Callable[..., Any]:
        def do(*arguments: Any, **keywords: Any) -> Any:
            done[0] += 1
            if done[0] == place:
                os.kill(os.getpid(), signal.SIGKILL)
            return act(*arguments, **keywords)

        return do

    for name in ("write", "create", "delete"):
        setattr(LocalStorage, name, counted(getattr(LocalStorage, name)))
    tables.append = counted(tables.append)


def run(folder: Path, kind: str, place: int) -> None:
    job = job_on(folder / str(place))
    kill_before(place)
    subject, details = ASKED[kind]
    rights.ask(job, kind, subject, basis="consent", requested_by="subject", details=details)


def main(folder: str, kind: str) -> None:
    for place in range(1, MOST_WRITES):
        child = os.fork()
        if child == 0:
            run(Path(folder), kind, place)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            print(place - 1)
            return
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


if __name__ == "__main__":
    main(*sys.argv[1:])
