"""Progress bars on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress


class Bars:
    """One bar a task, left standing when it is done."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)

    @contextmanager
    def task(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """See ``flows.job.Progress.task``."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with RichProgress(*columns, console=self._console) as bars:
            bar = bars.add_task(name.ljust(28), total=total)
            done = 0

            def advance(count: int) -> None:
                nonlocal done
                done += count
                bars.update(bar, advance=count)

            yield advance
            bars.update(bar, total=done, completed=done)
