"""Pages of one file: templates of ``flows/pages``, everything escaped, nothing fetched, no script."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment, Template

UNKNOWN = "not stated"
_FOLDER = Path(__file__).parent / "pages"
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def render(name: str, values: Mapping[str, Any]) -> str:
    """The page ``flows/pages/<name>``, filled in."""
    return template(name).render(values)


def template(name: str) -> Template:
    """A template, for a page too long to be held in memory."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        count=count, size=size, duration=duration, instant=instant, day=day, share=share, words=words
    )
    return made


def count(value: object) -> str:
    """A whole number with thin thousands, anything else as it stands."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNKNOWN if value is None else str(value)
    return f"{value:,.0f}".replace(",", "\u202f")


def size(value: object) -> str:
    """Bytes in a unit of a thousand: ``1.2 MB``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNKNOWN
    amount, unit = float(value), 0
    while abs(amount) >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1_000, unit + 1
    return f"{amount:.{0 if unit == 0 or amount >= 100 else 1}f}\u00a0{_UNITS[unit]}"


def duration(value: object) -> str:
    """Seconds in a unit a person reads: ``0.42 s``, ``3 min 5 s``, ``2 h 5 min``, ``3.5 days``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNKNOWN
    whole = round(value)
    if abs(value) < _MINUTE and whole < _MINUTE:
        return f"{value:.{2 if abs(value) < 10 else 1}f}\u00a0s"
    if whole < _HOUR:
        return _pair(whole // _MINUTE, "min", whole % _MINUTE, "s")
    if whole < 2 * _DAY:
        return _pair(whole // _HOUR, "h", whole % _HOUR // _MINUTE, "min")
    return f"{value / _DAY:.1f}".removesuffix(".0") + "\u00a0days"


def _pair(most: int, unit: str, rest: int, smaller: str) -> str:
    return f"{most}\u00a0{unit} {rest}\u00a0{smaller}" if rest else f"{most}\u00a0{unit}"


def instant(value: object) -> str:
    """An instant, or its ISO text, as ``2026-06-30 23:00:00 UTC``; what is none as it stands."""
    if value is None or value == "":
        return UNKNOWN
    moment = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
    if not isinstance(moment, datetime):
        return str(value)
    if moment.tzinfo is None:
        return f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def day(value: object) -> str:
    """The day of an instant: ``2026-06-30``."""
    shown = instant(value)
    return shown if shown == UNKNOWN else shown[:10]


def share(value: object) -> str:
    """A ratio in percent, never rounded up to 100 or down to 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–"
    if value in (0, 1):
        return f"{value:.0%}"
    return f"{min(max(value, 0.0001), 0.9999):.2%}"


def words(value: object) -> str:
    """A machine's name as words: ``over_capacity`` is over capacity."""
    return UNKNOWN if value is None or value == "" else str(value).replace("_", " ")
