"""Ports for servers of tests: no two processes of a run are given the same one."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import tempfile
from pathlib import Path
from typing import IO

LOWEST, PAST = 10_000, 20_000
"""These, and those up to 10,000 above them, lie below what systems give to outgoing calls (from 32,768)."""

_held: list[IO[bytes]] = []


def free_ports(count: int, above: int = 0) -> list[int]:
    """Ports on loopback that nobody listens on, nor on those ``above`` them where that is given.

    They are this process's until it ends, whether a server uses them or not.
    """
    found: list[int] = []
    first = secrets.randbelow(PAST - LOWEST)
    for step in range(PAST - LOWEST):
        if len(found) == count:
            return found
        port = LOWEST + (first + step) % (PAST - LOWEST)
        if _is_free(port) and (not above or _is_free(port + above)) and _hold(port):
            found.append(port)
    raise OSError(f"fewer than {count} free ports from {LOWEST} to {PAST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _hold(port: int) -> bool:
    """Lock the port's file until this process ends; False where it is locked."""
    place = Path(tempfile.gettempdir()) / f"slowwave-test-ports-{os.getuid()}"
    place.mkdir(exist_ok=True)
    held = (place / str(port)).open("ab")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        return False
    _held.append(held)
    return True
