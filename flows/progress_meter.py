"""How far a task is: what was counted, how fast it goes, when it may end; and what this process has open."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Clock = Callable[[], float]
"""Seconds from any start, never going back."""
LEAST_SECONDS = 0.001
"""From which a speed is worth telling."""


@dataclass(eq=False)
class Meter:
    """One task of a job.

    Attributes:
        name: For people and logs: no id, no name of a file, no content.
        total: Of what is counted, as it is known when the task begins; None: it is not known.
        unit: What is counted, in the plural.
        clock: Where the seconds come from.
    """

    name: str
    total: int | None = None
    unit: str = "rows"
    clock: Clock = time.monotonic
    done: int = 0
    began: float = field(init=False)
    _ended: float | None = field(default=None, init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def add(self, count: int) -> None:
        """Count finished items; from any thread."""
        with self._turn:
            self.done += count

    def end(self) -> None:
        """Stop its clock."""
        self._ended = self.clock()

    @property
    def seconds(self) -> float:
        """Since it began, or that it took."""
        return (self.clock() if self._ended is None else self._ended) - self.began

    @property
    def ratio(self) -> float | None:
        """Part that is done, 0 to 1; None where the total is not known."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def per_second(self) -> float | None:
        """Mean speed since it began; None while nothing is done, or in no time at all."""
        seconds = self.seconds
        return self.done / seconds if self.done and seconds >= LEAST_SECONDS else None

    @property
    def eta_seconds(self) -> float | None:
        """Until the end at that speed; None where total or speed is not known."""
        speed = self.per_second
        return None if self.total is None or speed is None else max(0, self.total - self.done) / speed


class Course:
    """What this process has done and has open: the last word of a run that is stopped tells of it.

    There is one a process, as there is one for signals.

    Attributes:
        begins_anew: Whether the call, run again, has nothing to go on from.
        steps: That are done.
        open: What is under way.
        stop: What stopped the run.
        shown: Takes down what is drawn.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget the call before."""
        self.begins_anew = False
        self.steps: list[str] = []
        self.open: list[Meter] = []
        self.stop: BaseException | None = None
        self.shown: list[Callable[[], None]] = []

    def close(self) -> None:
        """Take down what is still drawn, so that the last word stands alone."""
        while self.shown:
            self.shown.pop()()

    def told(self) -> str:
        """What is done and where it stands, as a phrase; empty where there is nothing to tell."""
        parts = [f"in {one.name}{_place(one)}" for one in self.open[:1]]
        if self.steps:
            parts.append(f"after {', '.join(self.steps)}")
        return ", ".join(parts)


def _place(meter: Meter) -> str:
    if meter.total is None:
        return f" at {meter.done:,} {meter.unit}" if meter.done else ""
    return f" at {meter.done:,} of {meter.total:,} {meter.unit}"


COURSE = Course()


def untold(event: str, meter: Meter) -> None:
    """Tell nobody: nothing is shown, or there is nothing to do."""
    del event, meter


@contextmanager
def metered(
    name: str, total: int | None, unit: str, tell: Callable[[str, Meter], None] = untold
) -> Iterator[Meter]:
    """A meter for the block, open in the course of this process.

    Args:
        name: Of the task.
        total: See ``Meter``.
        unit: See ``Meter``.
        tell: Told ``start``, and ``end``, ``failed`` or ``stopped``.
    """
    meter = Meter(name, total, unit)
    COURSE.open.append(meter)
    tell("start", meter)
    event = "stopped"
    try:
        yield meter
        event = "end"
    except Exception:
        event = "failed"
        raise
    except GeneratorExit:  # whoever asked for the rest wants no more of it
        event = "end" if meter.ratio == 1.0 else "stopped"
        raise
    finally:
        meter.end()
        if meter in COURSE.open:  # a generator may end after the call it belongs to
            COURSE.open.remove(meter)
        tell(event, meter)


@contextmanager
def counted(
    name: str, total: int | None, unit: str, tell: Callable[[str, Meter], None] = untold
) -> Iterator[Callable[[int], None]]:
    """What ``flows.job.Progress.task`` gives; of a task with nothing to do nobody is told."""
    with metered(name, total, unit, tell if total != 0 else untold) as meter:
        yield advancing(meter)


def advancing(meter: Meter) -> Callable[[int], None]:
    """What a job calls with the count of finished items; it ends a run that was told to stop."""

    def advance(count: int) -> None:
        meter.add(count)
        if COURSE.stop is not None:  # raised before, and swallowed where nothing may be raised
            raise COURSE.stop

    return advance
