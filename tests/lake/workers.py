"""Processes that the crash and concurrency tests start: ``python workers.py VERB LAKE ...``."""

from __future__ import annotations

import os
import sys
import threading
import time

import polars as pl
from made import episodes

from lake import landing, locks, tables, upkeep
from lake.fences import committing
from lake.lake import open_lake
from transforms.errors import UsageError
from transforms.schemas import EPISODES


def say(text: str) -> None:
    """One line, out at once: what was said was done."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def land(uri: str, name: str, count: str, threads: str = "1") -> None:
    """Append one row at a time; say each acknowledged text."""
    lake = open_lake(uri)

    def rows(part: int) -> None:
        for i in range(int(count)):
            text = f"{name}-{part}-{i} " + "x" * (i % 7 * 300)
            landing.append(lake, [{"content": text, "tenant_id": f"t{i % 3}", "user_id": "u"}])
            say(text.split(" ", 1)[0])

    if threads == "1":
        rows(0)
        return
    running = [threading.Thread(target=rows, args=(part,)) for part in range(int(threads))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def fork_and_land(uri: str, count: str) -> None:
    """Forked children and their parent append to the same lake, from two threads each."""
    children = []
    for child in range(2):
        pid = os.fork()
        if pid == 0:
            land(uri, f"child{child}", count, "2")
            os._exit(0)
        children.append(pid)
    land(uri, "parent", count, "2")
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0


def fork_too_late(uri: str) -> None:
    """A child of a parent that has appended already is told so, and the parent goes on."""
    land(uri, "before", "1")
    pid = os.fork()
    if pid == 0:
        try:
            land(uri, "child", "1")
        except UsageError as error:
            say(error.message)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    land(uri, "after", "1")


def commit(uri: str, tenant: str, commits: str, rows: str) -> None:
    """Commit batches of rows to episodes; say each acknowledged batch."""
    lake = open_lake(uri)
    for batch in range(int(commits)):
        names = [f"{tenant}/{batch}/{i}" for i in range(int(rows))]
        tables.append(lake, EPISODES, episodes(lake, tenant, names))
        say(f"{tenant}/{batch}")


def watch(uri: str, seconds: str) -> None:
    """Scan episodes again and again; say the least and most rows that a batch showed."""
    lake, until = open_lake(uri), time.monotonic() + float(seconds)
    while time.monotonic() < until:
        batch = pl.col("content").str.replace("/[0-9]+$", "")
        sizes = tables.scan(lake, EPISODES).group_by(batch).len().collect()["len"]
        say(f"{sizes.min()} {sizes.max()}" if sizes.len() else "none")


def tidy(uri: str, times: str) -> None:
    """Compact and vacuum beside others."""
    lake = open_lake(uri)
    for _ in range(int(times)):
        upkeep.compact(lake, EPISODES)
        upkeep.vacuum(lake, EPISODES, 1)
    say("tidy")


def hold(uri: str, name: str, wait: str, seconds: str) -> None:
    """Hold a lock; say when it is held."""
    with locks.hold(open_lake(uri), name, float(wait)):
        say("held")
        time.sleep(float(seconds))


def commit_slowly(uri: str, name: str, token: str, seconds: str) -> None:
    """Stand in the middle of a commit that is made for the run with that token."""
    lake = open_lake(uri)
    with locks.under(lake, name, int(token)), committing():
        say("inside")
        time.sleep(float(seconds))
        say("committed")


if __name__ == "__main__":
    VERBS = {
        f.__name__: f for f in (land, fork_and_land, fork_too_late, commit, watch, tidy, hold, commit_slowly)
    }
    VERBS[sys.argv[1]](*sys.argv[2:])
