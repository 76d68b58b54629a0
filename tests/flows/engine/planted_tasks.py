"""What the units of the tests do: end well, fail, or take their worker with them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import polars as pl

from transforms.errors import EndpointError, LakeError

SECRET = "my locker code is 4711"


def planted(job: Any, payload: dict[str, Any]) -> dict[str, Any]:
    """Do as the payload says, and leave a line that it was begun."""
    with Path(payload["log"]).open("a") as log:
        log.write(f"{payload['name']}\n")
    kind = payload["kind"]
    if kind == "poison" or (kind == "unlucky" and not Path(payload["once"]).exists()):
        if kind == "unlucky":
            Path(payload["once"]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "row":
        pl.DataFrame({SECRET: [1]}).select(SECRET + "?")
    if kind == "lake":
        raise LakeError("a file is missing", "Restore it.")
    if kind == "endpoint":
        raise EndpointError("no answer", "Try later.")
    return {
        "name": payload["name"],
        "pid": os.getpid(),
        "threads": pl.thread_pool_size(),
        "as_of": job.as_of.isoformat(),
        "batch_rows": job.policy.embed.batch_rows,
    }
