"""Progress as lines of a log: ``key=value``, UTC, the same keys in the same order, nothing personal."""

from __future__ import annotations

import contextvars
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

from flows.progress_memory import Gauge, Memory
from flows.progress_meter import COURSE, Meter, counted

UNKNOWN = "unknown"
KEYS = ("time", "event", "task", "done", "total", "unit", "seconds", "per_second", "eta_seconds",
        "rss_bytes", "children", "children_rss_bytes")  # fmt: skip
"""Of a line, in order. ``event`` is start, progress, end, failed or stopped."""
EACH = 20
"""Tasks of one name that are told each; of more, a line every so many seconds."""
Tell = Callable[[str, Meter], None]


def line_of(event: str, meter: Meter, memory: Memory, at: datetime) -> str:
    """One line of the log; what is not known reads ``unknown``."""
    values = {
        "time": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "event": event,
        "task": slug(meter.name),
        "done": meter.done,
        "total": meter.total,
        "unit": slug(meter.unit),
        "seconds": f"{meter.seconds:.1f}",
        "per_second": _rounded(meter.per_second),
        "eta_seconds": 0 if event == "end" else _rounded(meter.eta_seconds),
        "rss_bytes": memory.own_bytes,
        "children": memory.children,
        "children_rss_bytes": memory.children_bytes,
    }
    return " ".join(f"{key}={UNKNOWN if values[key] is None else values[key]}" for key in KEYS)


def slug(name: str, joint: str = "_") -> str:
    """A name in small letters, digits and joints, so that it needs no quotes."""
    return re.sub("[^a-z0-9]+", joint, name.lower()).strip(joint) or "task"


def _rounded(value: float | None) -> str | None:
    return None if value is None else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


class Ticking:
    """Progress that is told at the start and end of each task, and every so many seconds between.

    Args:
        tell: Told the event and the meter; by one thread at a time.
        every_seconds: Between two tellings of what is open.
    """

    def __init__(self, tell: Tell, every_seconds: float) -> None:
        self._tell, self._every = tell, every_seconds
        self._turn, self._open = threading.RLock(), list[Meter]()
        self._idle: threading.Event | None = None

    def task(
        self, name: str, total: int | None, unit: str = "rows"
    ) -> AbstractContextManager[Callable[[int], None]]:
        """See ``flows.job.Progress.task``."""
        return counted(name, total, unit, self._told)

    def _told(self, event: str, meter: Meter) -> None:
        with self._turn:
            if event == "start":
                self._open.append(meter)
                if self._idle is None:
                    self._start()
            else:
                self._open.remove(meter)
                if not self._open and self._idle is not None:
                    self._idle.set()
                    self._idle = None
            self._tell(event, meter)

    def _start(self) -> None:
        idle = self._idle = threading.Event()
        # Prefect knows by its context which run a call belongs to.
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(self._tick, idle), name="progress", daemon=True).start()

    def _tick(self, idle: threading.Event) -> None:
        while not idle.wait(self._every):
            with self._turn:
                if not idle.is_set() and COURSE.stop is None:
                    for meter in self._open:
                        self._tell("progress", meter)


class _Few:
    """Which lines are written: of many short tasks of one name, as of a folder of files, not each its two."""

    def __init__(self, every_seconds: float) -> None:
        self._every = every_seconds
        self._begun, self._last = Counter[str](), dict[str, float]()

    def is_told(self, event: str, meter: Meter) -> bool:
        now, name = time.monotonic(), meter.name
        self._begun[name] += event == "start"
        is_short = event in ("start", "end") and meter.seconds < self._every
        if is_short and self._begun[name] > EACH and now - self._last[name] < self._every:
            return False
        self._last[name] = now
        return True


def lines(every_seconds: float, write: Callable[[str], object] | None = None) -> Ticking:
    """Progress as lines.

    Args:
        every_seconds: Between two lines of a task.
        write: Takes a line without its end; none: standard error.
    """
    gauge, few = Gauge(), _Few(every_seconds)
    put = write or (lambda text: print(text, file=sys.stderr, flush=True))

    def tell(event: str, meter: Meter) -> None:
        if few.is_told(event, meter):
            put(line_of(event, meter, gauge.read(), datetime.now(UTC)))

    return Ticking(tell, every_seconds)
