"""Progress for an orchestrator: a figure a task that people look at, kept current, and lines in its log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from flows.progress_lines import Ticking, line_of, slug
from flows.progress_memory import Gauge, Memory
from flows.progress_meter import Meter


class Board(Protocol):
    """Where figures are shown."""

    def create(self, key: str, ratio: float, description: str) -> Any:
        """Show a figure; returns what it is known by, None where it cannot be shown."""

    def update(self, known_by: Any, ratio: float, description: str) -> None:
        """Show it anew."""


def reports(log: Callable[[str], object], board: Board, every_seconds: float) -> Ticking:
    """Progress told to an orchestrator; what reaches it outlives an erasure, so it is names and counts only.

    Args:
        log: Takes a line, as in a log file.
        board: Takes a figure a task: made when it begins, current after ``every_seconds`` and at its end.
        every_seconds: Between two tellings.
    """
    gauge, shown = Gauge(), dict[Meter, Any]()

    def tell(event: str, meter: Meter) -> None:
        memory = gauge.read()
        log(line_of(event, meter, memory, datetime.now(UTC)))
        ratio = 1.0 if event == "end" else meter.ratio or 0.0
        described = description(event, meter, memory)
        if event == "start":
            shown[meter] = board.create(f"slowwave-progress-{slug(meter.name, '-')}", ratio, described)
        elif shown.get(meter) is not None:
            board.update(shown[meter], ratio, described)
        if event not in ("start", "progress"):
            shown.pop(meter, None)

    return Ticking(tell, every_seconds)


def description(event: str, meter: Meter, memory: Memory) -> str:
    """What a figure says in words."""
    total = "" if meter.total is None else f" of {meter.total:,}"
    parts = [f"{slug(meter.name, ' ')}: {meter.done:,}{total} {slug(meter.unit, ' ')}"]
    if meter.per_second is not None:
        parts.append(f"{meter.per_second:,.0f} a second")
    if event == "progress" and meter.eta_seconds is not None:
        parts.append(f"{meter.eta_seconds:,.0f} s left")
    if event in ("end", "failed", "stopped"):
        parts.append(f"{'done' if event == 'end' else event} after {meter.seconds:,.1f} s")
    if memory.all_bytes is not None:
        processes = f"{memory.children + 1} processes" if memory.children else "1 process"
        parts.append(f"{memory.all_bytes / 2**20:,.0f} MiB in {processes}")
    return ", ".join(parts)
