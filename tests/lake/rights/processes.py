"""Processes that the tests of audit and tombstones start: ``python processes.py VERB LAKE ...``."""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime

from lake import landing
from lake.lake import open_lake
from lake.rights import audit


def say(text: str) -> None:
    """One line, out at once: what was said was done."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def events(uri: str, kind: str, count: str) -> None:
    """Append events; say the number of each."""
    lake = open_lake(uri)
    for number in range(int(count)):
        say(str(audit.append(lake, kind, at=datetime.now(UTC), counts={"number": number}).seq))


def event_without_head(uri: str) -> None:
    """Append one event, killed between the event and its HEAD."""
    lake = open_lake(uri)
    create = lake.storage.create

    def create_and_die(key: str, data: bytes) -> bool:
        done = create(key, data)
        os.kill(os.getpid(), signal.SIGKILL)
        return done

    lake.storage.create = create_and_die  # type: ignore[method-assign]
    audit.append(lake, "killed", at=datetime.now(UTC))


def land(uri: str, user: str) -> None:
    """Append rows of a user until one is refused; say how many landed, and the reason."""
    lake, landed = open_lake(uri), 0
    while True:
        receipt = landing.append(lake, [{"content": f"note {landed}", "tenant_id": "acme", "user_id": user}])
        if receipt.refused:
            say(f"{landed} {receipt.refused[0].reason}")
            return
        landed += 1
        if landed == 1:
            say("begun")


if __name__ == "__main__":
    VERBS = {f.__name__: f for f in (events, event_without_head, land)}
    VERBS[sys.argv[1]](*sys.argv[2:])
