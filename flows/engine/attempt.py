"""One unit, done here: whatever goes wrong in it fails it alone, and is told without content."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING

from flows.engine.tasks import task_named
from flows.engine.units import Done, Failure, Unit, failure_of
from flows.stopping import is_stop
from flows.without_content import told
from lake.faults import is_unreadable_file
from transforms.errors import (
    BusyError,
    ConfigError,
    EndpointError,
    LakeError,
    SlowwaveError,
    StorageError,
)

if TYPE_CHECKING:
    from flows.job import Job

OF_THE_RUN = (BusyError, ConfigError, EndpointError, StorageError)
"""Errors that every other unit would meet, too: the run ends with them."""


def attempt(job: Job, unit: Unit) -> Done:
    """Do a unit in this process.

    Raises:
        SlowwaveError: One of ``OF_THE_RUN``.
    """
    try:
        # Through JSON here as well: a unit that runs alone behaves as it would on a worker.
        payload = json.loads(json.dumps(unit.payload))
        return Done(unit, json.loads(json.dumps(task_named(unit.task)(job, payload))))
    except OF_THE_RUN:
        raise
    except SlowwaveError as error:
        return Done(unit, failure=failure_of(error))
    except BaseException as error:  # panics of table libraries are no Exception
        if is_stop(error) or isinstance(error, SystemExit | GeneratorExit):
            raise
        if os.environ.get("SLOWWAVE_TRACEBACK"):
            traceback.print_exc(file=sys.stderr)
        return Done(unit, failure=unexpected(error))


def unexpected(error: BaseException) -> Failure:
    """A fault of ours or of a library: its kind and place, but not its words, which may quote a row."""
    if is_unreadable_file(error):
        return Failure(
            LakeError.code,
            "a table of the lake holds a damaged data file",
            "Restore its tables from a backup of the lake.",
        )
    return failure_of(told(error))
