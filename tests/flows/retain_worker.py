"""``python -m tests.flows.retain_worker AS_OF [BUCKET]``: kills runs of retain, as stdin asks.

See test_retain_crash, and test_retain_units, where it is a bucket's unit that dies.

Each line of stdin is a lake and a number; a forked child runs retain there and kills itself before its write
of that number. Nothing of Polars may run in this process, which forks. What is written inside a commit is not
counted: a commit that is not in the log has not been.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime
from typing import Any, NoReturn

from flows import retain, retain_units
from flows.job import Job
from lake import storage, tables
from lake.lake import open_lake
from transforms.policy import Policy

SURVIVED = 3
"""Exit code of a run that was not killed; it says how many writes it made."""


RUN_ID = "0" * 32
"""Of the run whose unit dies."""


class Fuse:
    """Counts writes, and kills the process before one of them."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.seen = 0

    def wrap(self, place: Any, name: str) -> None:
        real = getattr(place, name)

        def counted(*arguments: Any, **keywords: Any) -> Any:
            is_inside = place is storage.LocalStorage and arguments[1].startswith("tables/")
            self.seen += not is_inside
            if not is_inside and self.seen == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **keywords)

        setattr(place, name, counted)


def child(uri: str, number: int, as_of: datetime) -> NoReturn:
    fuse = Fuse(number)
    for name in ("append", "rewrite"):
        fuse.wrap(tables, name)
    for name in ("write", "create", "delete"):
        fuse.wrap(storage.LocalStorage, name)
    job = Job(open_lake(uri), Policy(), as_of, lambda: sys.exit("retain asked for a model"))
    if len(sys.argv) > 2:
        payload = {"buckets": [int(sys.argv[2])], "run_id": RUN_ID, "looked_at": None, "bases": {}}
        retain_units.retain_unit(job, payload)
    else:
        retain.run_retain(job)
    print(fuse.seen, flush=True)
    os._exit(SURVIVED)


def main() -> None:
    as_of = datetime.fromisoformat(sys.argv[1])
    for line in sys.stdin:
        uri, number = line.rsplit(" ", 1)
        pid = os.fork()
        if pid == 0:
            child(uri, int(number), as_of)
        status = os.waitpid(pid, 0)[1]
        is_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        is_done = os.WIFEXITED(status) and os.WEXITSTATUS(status) == SURVIVED
        if not is_done:
            print("killed" if is_killed else "failed", flush=True)


if __name__ == "__main__":
    main()
