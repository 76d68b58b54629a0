"""Runs ingest in a process of its own that is killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.flows.lakes import environment

PATIENCE_SECONDS = 60.0


def call(*words: str | Path) -> list[str]:
    """The command."""
    return [sys.executable, "-m", "flows", *map(str, words)]


def told(place: Path, *words: str | Path) -> dict[str, Any]:
    """Run it to its end; what it prints as JSON."""
    done = subprocess.run(
        call("--json", *words), cwd=place, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


def begun(place: Path, *words: str | Path) -> subprocess.Popen[bytes]:
    """Start it."""
    return subprocess.Popen(
        call(*words), cwd=place, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so.

    Raises:
        TimeoutError: It never was.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.005)


def killed(process: subprocess.Popen[bytes]) -> None:
    """End it at once, as the system does when memory runs out."""
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
