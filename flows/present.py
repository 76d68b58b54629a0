"""Tables and lines for a person; the same figures go out as JSON elsewhere."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from flows.job import StepResult
from flows.nightly import Night
from lake.recall import Context, Memory

SHORT = {"relevance": "rel", "recency": "rec", "importance": "imp", "frequency": "freq", "type": "type"}
"""The five factors of a score, and their column heads."""


LEGEND = (
    "score: weighted sum of rel (relevance), rec (recency), imp (importance), freq (frequency) and "
    "type (kind of memory), each 0 to 1"
)
WIDTH = 120
"""Characters of a line where the output is no terminal."""


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
    width = _width()
    console = Console(file=buffer, width=width, color_system=None, markup=False, highlight=False, emoji=False)
    console.print(drawn)
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join(lines).strip("\n")


def _width() -> int:
    """Of the terminal that standard output is; looked up past ``sys.stdout``, which is talk in a run."""
    out = sys.__stdout__
    is_terminal = out is not None and not out.closed and out.isatty()
    return shutil.get_terminal_size((WIDTH, 24)).columns if is_terminal else WIDTH


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def night_table(night: Night) -> str:
    """The summary of a night: one row a step, then what it means in a line."""
    ingested = night.steps[0].as_dict()
    by_name = {step.name: step for step in night.steps}
    embedded, published = by_name["embed"], by_name.get("publish")
    rows = [
        *_outcomes(ingested, has_reasons=False),
        ("embedded", embedded.rows_out),
        *_learned(by_name["consolidate"]),
        *_publication(published),
        ("seconds", sum(step.seconds for step in night.steps)),
        ("peak memory, MB", round(max(step.peak_bytes for step in night.steps) / 1e6)),
    ]
    reasons = ingested["reasons"]
    told = (
        [f"quarantined: {', '.join(f'{name} {count}' for name, count in reasons.items())}"] if reasons else []
    )
    if embedded.rows_out + embedded.rejected < embedded.rows_in:
        told.append("embedded counts texts: identical texts share a vector")
    if embedded.rejected:
        told.append(f"{embedded.rejected:,} texts refused by the model, tried again with the next run")
    told += withheld(published)
    if night.is_unchanged:
        told.append("nothing new since the last night")
    elif published and published.state == "done":
        told.append(f"live: {published.generation}, checked ({', '.join(published.detail['checks'])})")
    return "\n".join([table("", ("night", "count"), rows), *told])


def steps_table(night: Night) -> str:
    """Time and rows of each step."""
    rows = [(s.name, s.state, s.rows_in, s.rows_out, s.seconds) for s in night.steps]
    return table("", ("step", "state", "rows in", "rows out", "seconds"), rows)


def ingest_table(tally: Mapping[str, Any]) -> str:
    """What became of the rows of an ingest, and why."""
    files = [("files", tally["files"]), ("unchanged files", tally["unchanged_files"])]
    return table("", ("ingest", "count"), [*files, *_outcomes(tally, has_reasons=True)])


def _outcomes(tally: Mapping[str, Any], *, has_reasons: bool) -> list[tuple[str, int]]:
    """Rows in, and the four counts that add up to them; with reasons, indented below two of them."""
    left_out = sum(tally["left_out"].values())
    parts: list[tuple[str, int, Mapping[str, int]]] = [
        ("rows in", tally["rows_in"], {}),
        ("landed", tally["landed"], {}),
        ("already held", tally["duplicates"], {}),
        ("quarantined", tally["quarantined"], tally["reasons"]),
        ("left out", left_out, tally["left_out"]),
    ]
    rows = []
    for name, count, reasons in parts:
        rows.append((name, count))
        if has_reasons:
            rows += [(f"  {reason}", its) for reason, its in reasons.items()]
    return rows


_DERIVED = {"facts": "facts served", "summaries": "summaries served", "procedures": "skills served"}


def _learned(consolidated: StepResult) -> list[tuple[str, int]]:
    """What consolidation changed; nothing where it had nothing to do."""
    detail = consolidated.detail
    if not detail:
        return []
    facts = [(f"facts {name}", count) for name, count in detail["facts"].items() if count]
    return [*facts, *((name, detail[name]) for name in ("summaries", "conversations", "skills"))]


def _publication(published: StepResult | None) -> list[tuple[str, int]]:
    """Rows published and, where a generation was built, those that were not."""
    rows = [("published", published.rows_out if published else 0)]
    if published:
        rows += [
            (told, published.detail[name]) for name, told in _DERIVED.items() if published.detail.get(name)
        ]
        rows += [
            (name, published.detail[name]) for name in ("expired", "injected") if name in published.detail
        ]
    return rows


def withheld(published: StepResult | None) -> list[str]:
    """Why landed rows were not published, a line a reason."""
    detail = published.detail if published else {}
    told = [expired_line(detail["expired"])] if detail.get("expired") else []
    if detail.get("injected"):
        told.append(f"{_rows(detail['injected'])} injected context, held but never served")
    return told


def expired_line(count: int) -> str:
    """That rows are past their time to live, and where that is told."""
    return f"{_rows(count)} past their time to live (see retention in docs/data-engineers.md)"


def _rows(count: int) -> str:
    return "1 row is" if count == 1 else f"{count:,} rows are"


def memories_table(found: Sequence[Memory], *, is_explained: bool = False, has_legend: bool = True) -> str:
    """Recalled rows with their score and every factor; explained: the id and sources of each as well."""
    if not found:
        return "nothing found in this scope"
    rows = [
        (m.score, *(m.factors[name] for name in SHORT), f"{m.event_at:%Y-%m-%d}", m.kind, _short(m.text))
        for m in found
    ]
    shown = table("", ("score", *SHORT.values(), "date", "kind", "text"), rows)
    told = [_origin(memory) for memory in found] if is_explained else []
    return "\n".join([shown, *told, *([LEGEND] if has_legend else [])])


def _origin(memory: Memory) -> str:
    """Id of a memory, the episodes it rests on where it is none itself, and whether it is fresh."""
    others = "" if memory.source_refs == [memory.id] else f" from {', '.join(memory.source_refs)}"
    return f"{memory.id}{others}{', fresh' if memory.is_fresh else ''}"


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
