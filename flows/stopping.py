"""Ctrl-C and SIGTERM: a run stops cleanly in seconds, says where it stood, and leaves no process behind.

The first signal raises ``Stopped`` in the main thread, at the next instruction of Python: a commit that is
under way is finished by its library or was never begun, locks are let go and workers stopped on the way out.
A second signal, or ``GRACE_SECONDS`` in which a library did not come back, end the process at once. That
loses nothing either, for every job can be killed at any instant and run again; a lease on an object store
runs out.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from flows.progress_memory import descendants
from flows.progress_meter import COURSE

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Of a terminal, and of Kubernetes, systemd and Prefect."""
GRACE_SECONDS = 10.0
"""For a library to come back from what it does: a third of what Kubernetes grants before it kills."""
_WORD_SECONDS = 1.0
"""For the last word, where what it is written to does not take it."""
RESUME = "Run the same command again to go on: what was done is kept and not done twice."
ANEW = "Run the same command again: it begins anew."
READING = {"decay", "evaluate", "export", "report", "tune", "what-if"}
"""Long verbs that make something of the lake and leave nothing to go on from."""
KINDS: list[type[BaseException]] = [KeyboardInterrupt]
"""What stops a run; whoever runs jobs under other signals adds its own."""


class Stopped(KeyboardInterrupt):
    """A signal asked the run to stop.

    Args:
        number: Of the signal.
        where: What was done and where the run stood (``Course.told``).
    """

    def __init__(self, number: int, where: str) -> None:
        super().__init__(number, where)
        self.number, self.where = number, where

    @property
    def exit_code(self) -> int:
        """What shells expect of it: 130 of Ctrl-C, 143 of SIGTERM."""
        return 128 + self.number

    @property
    def message(self) -> str:
        """What happened, in a line."""
        by = "" if self.number == signal.SIGINT else f" by {signal.Signals(self.number).name}"
        return f"stopped{by}{f' {self.where}' if self.where else ''}"

    @property
    def remedy(self) -> str:
        """What to do now."""
        return ANEW if COURSE.begins_anew else RESUME


def is_stop(error: BaseException) -> bool:
    """Whether it asks the run to stop, rather than tells of a fault."""
    return isinstance(error, tuple(KINDS))


LastWord = Callable[[Stopped], object]
"""Prints what there is to say before the process ends."""


@contextmanager
def stoppable(last_word: LastWord, grace_seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """Let signals stop the block as told above; outside the main thread they are somebody else's.

    Args:
        last_word: Called, in another thread, where the process is about to end at once.
        grace_seconds: From the first signal until then.
    """
    COURSE.begin()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # The byte is written by the system's handler, also while a library keeps Python's own from running.
    waker = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watch = threading.Thread(
        target=_watch, args=(reader, last_word, grace_seconds), name="stopping", daemon=True
    )
    watch.start()
    for number, held in before.items():
        if held is not signal.SIG_IGN:  # as nohup, and shells without job control, start us
            signal.signal(number, _stop)
    others = sys.unraisablehook
    sys.unraisablehook = _without_stops(others)
    try:
        yield
    finally:
        sys.unraisablehook = others
        for number, held in before.items():
            signal.signal(number, held)
        signal.set_wakeup_fd(waker)
        os.close(writer)
        watch.join()


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    if COURSE.stop is None:
        COURSE.stop = Stopped(number, COURSE.told())
        raise COURSE.stop


def _without_stops(others: Callable[[sys.UnraisableHookArgs], object]) -> Callable[..., object]:
    """A hook of Python's for what is raised where nothing may be, as while a generator is freed.

    A stop is none of its business: the next count of a task raises it anew.
    """
    return lambda met: None if isinstance(met.exc_value, Stopped) else others(met)


def _watch(reader: int, last_word: LastWord, grace_seconds: float) -> None:
    """Wait for a second signal, or for too long after the first; the end of the pipe ends the wait."""
    first = 0
    try:
        while True:
            ready, _, _ = select.select([reader], [], [], grace_seconds if first else None)
            data = os.read(reader, 64) if ready else b""
            if ready and not data:
                return
            for number in data:
                if number in SIGNALS and first:
                    _end(first, last_word)
                first = number if number in SIGNALS else first
            if not ready:
                _end(first, last_word)
    finally:
        os.close(reader)


def _end(number: int, last_word: LastWord) -> None:
    """End this process and those that it started, now."""
    for worker in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(worker, signal.SIGKILL)
    # In a thread, for what it needs may be held by what does not come back.
    word = threading.Thread(target=_say, args=(number, last_word), daemon=True)
    word.start()
    word.join(_WORD_SECONDS)
    os._exit(128 + number)


def _say(number: int, last_word: LastWord) -> None:
    with contextlib.suppress(OSError, ValueError):
        COURSE.close()
        last_word(Stopped(number, COURSE.told()))
