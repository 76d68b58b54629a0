"""Progress of a job that a test looks at afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from flows.progress_meter import Meter, counted


class Kept:
    """Progress of which the tasks are kept."""

    def __init__(self) -> None:
        self.meters: list[Meter] = []

    def task(
        self, name: str, total: int | None, unit: str = "rows"
    ) -> AbstractContextManager[Callable[[int], None]]:
        return counted(name, total, unit, self._told)

    def _told(self, event: str, meter: Meter) -> None:
        if event == "start":
            self.meters.append(meter)
