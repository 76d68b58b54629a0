"""Progress as bars on a terminal: a line a task, fitted to its width, left standing when it is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import ClassVar, Self

from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import ProgressColumn, Task
from rich.progress_bar import ProgressBar
from rich.table import Column
from rich.text import Text

from flows.progress_memory import Gauge
from flows.progress_meter import COURSE, Meter, counted

WIDE, MEDIUM, NARROW = 100, 80, 56
"""Columns of a terminal from which a line holds the bar in full, a short one, and speed and memory."""
_BAR = {WIDE: 24, MEDIUM: 8}
_NAME = {WIDE: 26, MEDIUM: 20, 0: 16}
_EVEN, _PLAIN, _NEXT = 10, 10_000, 999.5
"""Numbers from which they are told without a fraction, by a letter, and by the next letter."""


REFRESH_SECONDS = 0.1


class Terminal(Console):
    """A console of which one thread writes at a time.

    What a thread prints above the bars and what another draws them with are two writes each, which tear the
    screen when they meet.
    """

    def __init__(self) -> None:
        super().__init__(stderr=True)
        self.turn = threading.RLock()

    def __enter__(self) -> Self:
        """Take the turn, and keep what is printed back."""
        self.turn.acquire()
        super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write it, and pass the turn on."""
        try:
            super().__exit__(kind, error, trace)
        finally:
            self.turn.release()


class Bars:
    """Bars of the open tasks; one that ends becomes a line above them.

    Args:
        console: Where to draw; none: standard error.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Terminal()
        # The console's own, taken first by whoever draws: rich has locks of its own below it.
        self._turn = self._console.turn if isinstance(self._console, Terminal) else threading.RLock()
        self._gauge = Gauge()
        self._live: RichProgress | None = None

    def task(
        self, name: str, total: int | None, unit: str = "rows"
    ) -> AbstractContextManager[Callable[[int], None]]:
        """See ``flows.job.Progress.task``."""
        return counted(name, total, unit, self._told)

    def _told(self, event: str, meter: Meter) -> None:
        with self._turn:
            if event == "start":
                if self._live is None:
                    self._live = self._started()
                self._live.add_task(meter.name, total=None, meter=meter)
            elif self._live is not None:
                self._ended(self._live, event, meter)

    def _started(self) -> RichProgress:
        line = _Line(self._console, self._gauge)
        live = RichProgress(line, console=self._console, transient=True, auto_refresh=False)
        live.start()
        threading.Thread(target=self._drawn, args=(live,), name="slowwave-bars", daemon=True).start()
        COURSE.shown.append(self._closed)
        return live

    def _drawn(self, live: RichProgress) -> None:
        """Draw anew until the bars are taken down."""
        while True:
            time.sleep(REFRESH_SECONDS)
            with self._turn:
                if self._live is not live:
                    return
                live.refresh()

    def _ended(self, live: RichProgress, event: str, meter: Meter) -> None:
        line = _Line(self._console, self._gauge).line(meter, event)
        for task in live.tasks:
            if task.fields["meter"] is meter:
                live.remove_task(task.id)
        live.console.print(line, no_wrap=True, overflow="crop", crop=True)
        if not live.tasks:
            self._closed()

    def _closed(self) -> None:
        """Take down what is drawn, where something is."""
        with self._turn:
            live, self._live = self._live, None
            if live is not None:
                live.stop()


class _Line(ProgressColumn):
    """One task as one line: name, bar, count, speed, time, memory, as far as the terminal is wide."""

    max_refresh = None
    marks: ClassVar[dict[str, tuple[str, str]]] = {
        "end": ("done", "green"),
        "failed": ("failed", "red"),
        "stopped": ("stopped", "yellow"),
    }

    def __init__(self, console: Console, gauge: Gauge) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._console, self._gauge = console, gauge

    def render(self, task: Task) -> Text:
        """See ``rich.progress.ProgressColumn``."""
        return self.line(task.fields["meter"], "progress")

    def line(self, meter: Meter, event: str) -> Text:
        """The task as text of at most the terminal's width."""
        columns = self._console.width
        size = WIDE if columns >= WIDE else MEDIUM if columns >= MEDIUM else 0
        width = _NAME[size]
        text = Text(f"{_cut(meter.name, width):<{width}} ")
        if size:
            text.append_text(self._bar(meter, event, _BAR[size]))
            text.append(" ")
        text.append(self._count(meter, event, size))
        if columns < NARROW:
            text.append_text(self._end(meter, event, size))
            text.truncate(columns - 1)
            return text
        speed = meter.per_second
        text.append(f" {'' if speed is None else f'{short(speed)}/s':>7}", "cyan")
        text.append_text(self._end(meter, event, size))
        memory = self._gauge.read()
        if memory.all_bytes is not None:
            text.append(f" {size_of(memory.all_bytes):>9}", "magenta")
            processes = f" {memory.children + 1} proc"
            if size == WIDE and memory.children and text.cell_len + len(processes) < columns:
                text.append(processes, "dim")
        text.truncate(columns - 1)
        return text

    def _bar(self, meter: Meter, event: str, width: int) -> Text:
        """A bar; one of a task whose total is not known moves to and fro, and is full at the end."""
        is_over, ratio = event == "end", meter.ratio
        full = 1.0 if is_over else ratio
        bar = ProgressBar(1.0, full or 0.0, width=width, pulse=full is None and event == "progress")
        text = Text()
        for part in bar.__rich_console__(self._console, self._console.options.update(width=width)):
            text.append(getattr(part, "text", ""), getattr(part, "style", None) or "")
        text.pad_right(width - text.cell_len)
        return text

    def _count(self, meter: Meter, event: str, size: int) -> str:
        """What is done of how much; nothing of a task that does not count."""
        width = 16 if size else 10
        if meter.total is None and not meter.done:
            return " " * width
        total = "" if meter.total is None or event == "end" else f"/{short(meter.total)}"
        told = f"{short(meter.done)}{total}"
        named = f"{told} {meter.unit}"
        return f"{named if size and len(named) <= width else told:>{width}}"

    def _end(self, meter: Meter, event: str, size: int) -> Text:
        """How long it will take, or that it is over and what it took."""
        width = 12 if size else 9
        if event != "progress":
            word, style = self.marks[event]
            return Text(f" {f'{word if size else word[:4]} {clock(meter.seconds)}':>{width}}", style)
        left = meter.eta_seconds
        told = f"{clock(meter.seconds)} so far" if left is None else f"{clock(left)} left"
        return Text(f" {told if len(told) <= width else told.split(maxsplit=1)[0]:>{width}}")


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def short(count: float) -> str:
    """A count in at most five characters: 950, 12.3k, 4.56M."""
    if count < _PLAIN:
        return f"{count:.1f}" if count < _EVEN and count != int(count) else f"{count:,.0f}"
    for size, letter in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        if count < _NEXT * size:
            return f"{count / size:.3g}{letter}"
    return f"{count / 1e12:.3g}T"


def size_of(count: int) -> str:
    """Bytes as 512 MiB or 12.3 GiB."""
    return f"{count / 2**20:,.0f} MiB" if count < _PLAIN * 2**20 else f"{count / 2**30:,.1f} GiB"


def clock(seconds: float) -> str:
    """A length of time as 0:42, 12:05 or 3:02:10."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
