"""Tables and lines for a person; the same figures go out as JSON elsewhere."""

from __future__ import annotations

import io
import re
import shutil
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from lake.chain import PREFIX_CHARS
from lake.recall import Context, Memory

SHORT = {"relevance": "rel", "recency": "rec", "importance": "imp", "frequency": "freq", "type": "type"}
"""The five factors of a score, and their column heads."""


LEGEND = (
    "score: weighted sum of rel (relevance), rec (recency), imp (importance), freq (frequency) and "
    "type (kind of memory), each 0 to 1"
)
WIDTH = 240
"""Most characters of a line where the output is no terminal and COLUMNS does not say."""
ROOM = 24
"""Characters of a line that a table leaves the texts in it, as long as it has columns to do without."""
_CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
"""Commands to a terminal, marks that turn the order of what is shown, and letters that nobody sees."""


def plain(text: str) -> str:
    """Text without control characters but line ends: none of a trace may command a terminal, or hide."""
    return _CONTROL.sub("", text)


def one_line(text: str, width: int = 160) -> str:
    """Text on one line, cut where it is longer."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1]}…"


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    wraps: Collection[str] | None = None,
    drops: Sequence[str] = (),
) -> str:
    """A plain table; numbers stand to the right.

    Args:
        title: Above it; empty for none.
        columns: Heads.
        rows: A value a column.
        wraps: Columns whose cells may be broken over lines; None: all.
        drops: Columns to do without where the line is too short, in this order; a line below says so.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    dropped = [] if wraps is None else _dropped(columns, cells, wraps, drops)
    drawn = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
    kept = [i for i, column in enumerate(columns) if column not in dropped]
    for i in kept:
        is_number = any(isinstance(row[i], int | float) for row in rows)
        is_whole = wraps is not None and columns[i] not in wraps
        drawn.add_column(
            columns[i],
            justify="right" if is_number else "left",
            overflow="ellipsis" if is_whole else "fold",
            no_wrap=is_whole,
        )
    for row in cells:
        drawn.add_row(*(row[i] for i in kept))
    told = [folded(f"too narrow for: {', '.join(dropped)} (--json has all)")] if dropped else []
    return "\n".join([_drawn(drawn), *told])


def _dropped(
    columns: Sequence[str], cells: Sequence[Sequence[str]], wraps: Collection[str], drops: Sequence[str]
) -> list[str]:
    """The first columns of ``drops``, as many as must go to leave the wrapping ones their room."""
    widths = {
        column: max(map(cell_len, (column, *(row[i] for row in cells)))) for i, column in enumerate(columns)
    }
    wanted = min(ROOM, sum(widths[column] for column in wraps))
    whole = sum(width for column, width in widths.items() if column not in wraps)
    room = _width() - 1 - 3 * len(columns) - whole  # a column costs three characters beside its cells
    dropped: list[str] = []
    for column in drops:
        if room < wanted and column in widths:
            room += widths[column] + 3
            dropped.append(column)
    return dropped


def _drawn(drawn: Table) -> str:
    buffer = io.StringIO()
    width = _width()
    console = Console(file=buffer, width=width, color_system=None, markup=False, highlight=False, emoji=False)
    console.print(drawn)
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join(lines).strip("\n")


def _width() -> int:
    """COLUMNS, else that of the terminal; looked up past ``sys.stdout``, which is talk in a run."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def folded(text: str) -> str:
    """A sentence in lines that fit."""
    return textwrap.fill(text, _width(), break_long_words=False, break_on_hyphens=False)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else plain(str(value))


def memories_table(found: Sequence[Memory], *, is_explained: bool = False, has_legend: bool = True) -> str:
    """Recalled rows with their score and every factor; explained: the id and sources of each as well."""
    if not found:
        return "nothing found in this scope"
    origin = ("id", "from") if is_explained else ()
    rows = [
        (
            m.score,
            *(m.factors[name] for name in SHORT),
            f"{m.event_at:%Y-%m-%d}",
            m.kind,
            one_line(m.text),
            *(_origin(m) if is_explained else ()),
        )
        for m in found
    ]
    heads = ("score", *SHORT.values(), "date", "kind", "text", *origin)
    shown = table("", heads, rows, wraps=("text",), drops=_LEAST)
    told = [folded(_ORIGIN)] if is_explained else []
    return "\n".join([shown, *told, *([folded(LEGEND)] if has_legend else [])])


_LEAST = ("type", "freq", "imp", "rec", "rel", "from")
"""Columns of recall that a narrow terminal does without, first the first."""
_ORIGIN = (
    "id: the first characters of it, enough for slowwave explain; from: episodes it rests on, where it is "
    "none itself; fresh: landed since the last publish"
)


def _origin(memory: Memory) -> tuple[str, str]:
    """Id of a memory; and the episodes it rests on where it is none itself, and whether it is fresh."""
    others = [] if memory.source_refs == [memory.id] else [short_id(name) for name in memory.source_refs]
    shown = [*others[:2], *([f"+{len(others) - 2:,}"] if len(others) > 2 else [])]
    return short_id(memory.id), " ".join([*shown, *(["fresh"] if memory.is_fresh else [])]) or "-"


def short_id(name: str) -> str:
    """As much of an id as ``slowwave explain`` takes."""
    return name[:PREFIX_CHARS]


def context_text(context: Context) -> str:
    """The packed text, then the report of it."""
    report = (
        f"{context.tokens_used} of {context.tokens_available} tokens; {context.packed} packed "
        f"({context.summarised} shortened), {context.dropped} dropped"
    )
    return f"{context.text}\n{report}"
