"""Processes of the tests of working memory: ``python working_workers.py VERB LAKE ...``."""

from __future__ import annotations

import sys

from lake.lake import open_lake
from lake.online.working import Session
from lake.online.working_log import SessionName
from transforms.policy import Policy

POLICY = Policy.model_validate({"working": {"window_rows": 6, "summary_rows": 1, "rewrite_bytes": 12_000}})


def say(text: str) -> None:
    """One line, out at once: what was said was done."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def work(uri: str, name: str, count: str) -> None:
    """Add rows and notes to one session; say each that was acknowledged."""
    session = Session(open_lake(uri), SessionName("acme", "travel", "s1", "ana"), POLICY)
    for number in range(int(count)):
        text = f"{name}-{number}"
        if session.add("user", f"{text} " + "word " * (number % 40)).refused is None:
            say(f"row {text}")
        if session.note(text) is None:
            say(f"note {text}")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
