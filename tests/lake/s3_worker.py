"""Processes that die in the middle of a write to the store: ``python s3_worker.py VERB LAKE``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from obstore.store import S3Store

from flows.publish import run_publish
from lake import landing, locks, tables
from lake.lake import open_lake
from tests.flows.lakes import job_on
from tests.lake.made import episodes
from transforms.errors import BusyError
from transforms.schemas import EPISODES


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def append(uri: str) -> None:
    lake = open_lake(uri)
    tables.append(lake, EPISODES, episodes(lake, "t", ["one", "two"]))
    say("acknowledged")


def land(uri: str) -> None:
    landing.append(open_lake(uri), [{"content": "landed", "tenant_id": "t", "user_id": "u"}])
    say("acknowledged")


def publish(uri: str) -> None:
    run_publish(job_on(uri), force=True)  # type: ignore[arg-type]  an address is all it needs
    say("acknowledged")


def pieces(uri: str) -> None:
    """Write a large object in parts, as the table libraries do, and never come to its end."""

    def forever() -> Iterator[bytes]:
        while True:
            yield b"large secret " * 1_000_000
            say("piece")
            time.sleep(0.2)

    S3Store.from_url(uri, client_options={"allow_http": True}).put(
        "tables/episodes/tenant_bucket=0/month=2026-03/large.parquet", forever()
    )


def sleepy(uri: str) -> None:
    """Hold the lock, be stopped for longer than the lease, and then try to commit."""
    lake = open_lake(uri)
    try:
        with locks.hold(lake, "nightly", 0) as token:
            say(f"held {token}")
            sys.stdin.readline()
            try:
                tables.append(lake, EPISODES, episodes(lake, "t", ["too late"]))
                say("written")
            except BusyError as error:
                say(f"refused: {error.message}")
    except BusyError:
        say("lost")


def work(uri: str, token: str) -> None:
    """Commit a row for the run with that token, again and again, until it no longer holds the lake."""
    lake = open_lake(uri)
    with locks.under(lake, "nightly", int(token)):
        for number in range(1_000):
            try:
                tables.append(lake, EPISODES, episodes(lake, "t", [f"worker {number}"]))
            except BusyError:
                say("refused")
                return
            say("row")


if __name__ == "__main__":
    VERBS = {f.__name__: f for f in (append, land, publish, pieces, sleepy, work)}
    VERBS[sys.argv[1]](*sys.argv[2:])
