"""A purge that is killed at a step: ``python purge_and_die.py LAKE MODULE.FUNCTION before|after ID...``."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any

from lake.erasure.index_purge import purge_index
from lake.lake import open_lake
from transforms.policy import PublishPolicy


def main(uri: str, step: str, when: str, *ids: str) -> None:
    """Run the purge; the process kills itself before or after the named function is first called."""
    module_name, name = step.split(".")
    module = importlib.import_module(f"lake.erasure.{module_name}")
    real = getattr(module, name)

    def killed(*arguments: Any, **named: Any) -> Any:
        if when == "after":
            real(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(module, name, killed)
    purge_index(open_lake(uri), ids, policy=PublishPolicy())


main(*sys.argv[1:])
