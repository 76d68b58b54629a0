"""Tables and lines for a person; the same figures go out as JSON elsewhere."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from flows.nightly import Night
from lake.recall import Context, Memory

SHORT = {"relevance": "rel", "recency": "rec", "importance": "imp", "frequency": "freq", "type": "type"}
"""The five factors of a score, and their column heads."""


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A plain table; numbers stand to the right."""
    drawn = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
    for i, column in enumerate(columns):
        is_number = bool(rows) and all(isinstance(row[i], int | float) for row in rows)
        drawn.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(_cell(value) for value in row))
    return _plain(drawn)


def _plain(drawn: Any) -> str:
    buffer = io.StringIO()
    console = Console(file=buffer, width=120, color_system=None, markup=False, highlight=False, emoji=False)
    console.print(drawn)
    return buffer.getvalue().rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def night_table(night: Night) -> str:
    """The summary of a night: one row a step, then what it means in a line."""
    ingested = night.steps[0]
    by_name = {step.name: step for step in night.steps}
    embedded, published = by_name["embed"], by_name.get("publish")
    rows = [
        ("rows in", ingested.rows_in),
        ("kept", ingested.rows_out),
        ("deduplicated", ingested.duplicates),
        ("quarantined", ingested.rejected),
        ("left out by the format", sum(ingested.detail.get("left_out", {}).values())),
        ("embedded", embedded.rows_out),
        ("published", published.rows_out if published else 0),
        ("seconds", sum(step.seconds for step in night.steps)),
        ("peak memory, MB", round(max(step.peak_bytes for step in night.steps) / 1e6)),
    ]
    reasons = ingested.detail.get("reasons", {})
    told = (
        [f"quarantined: {', '.join(f'{name} {count}' for name, count in reasons.items())}"] if reasons else []
    )
    if night.is_unchanged:
        told.append("nothing new since the last night")
    elif published and published.state == "done":
        told.append(f"live: {published.generation}, checked ({', '.join(published.detail['checks'])})")
    return "\n".join([table("", ("night", "count"), rows), *told])


def steps_table(night: Night) -> str:
    """Time and rows of each step."""
    rows = [(s.name, s.state, s.rows_in, s.rows_out, s.rejected, s.seconds) for s in night.steps]
    return table("", ("step", "state", "rows in", "rows out", "rejected", "seconds"), rows)


def memories_table(found: Sequence[Memory], *, is_explained: bool = False) -> str:
    """Recalled rows with their score and every factor; explained: the id and sources of each as well."""
    if not found:
        return "nothing found in this scope"
    rows = [
        (m.score, *(m.factors[name] for name in SHORT), f"{m.event_at:%Y-%m-%d}", m.kind, _short(m.text))
        for m in found
    ]
    shown = table("", ("score", *SHORT.values(), "date", "kind", "text"), rows)
    if not is_explained:
        return shown
    told = [f"{m.id} from {', '.join(m.source_refs)}{', fresh' if m.is_fresh else ''}" for m in found]
    return "\n".join([shown, *told])


def _short(text: str, width: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def context_text(context: Context) -> str:
    """The packed text, then the report of it."""
    report = (
        f"{context.tokens_used} of {context.tokens_available} tokens; {context.packed} packed "
        f"({context.summarised} shortened), {context.dropped} dropped"
    )
    return f"{context.text}\n{report}"
