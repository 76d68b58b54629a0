"""Faults that nobody foresaw, told without content: a library's words may quote a row."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb

from transforms.errors import SlowwaveError

INTERNAL = "internal"


def told(error: BaseException) -> SlowwaveError:
    """Kind and place of a fault, but not its words."""
    frames = extract_tb(error.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    fault = SlowwaveError(
        f"unexpected {type(error).__name__}{place}",
        "Run the job by slowwave with SLOWWAVE_TRACEBACK=1 and report what it prints.",
    )
    fault.code = INTERNAL
    return fault


@contextmanager
def without_content() -> Iterator[None]:
    """Let only our own messages out: whoever keeps tracebacks, as Prefect does, keeps a library's words.

    Raises:
        SlowwaveError: As it is, or instead of any other error.
    """
    try:
        yield
    except SlowwaveError as error:
        raise error from None
    except Exception as error:
        if os.environ.get("SLOWWAVE_TRACEBACK"):
            raise
        raise told(error) from None
