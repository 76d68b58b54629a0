"""The documented row shape: which field goes where, and one record -> one draft, the plain way.

``rows.py`` does the same a column at a time; this module is what it must agree with, and what
judges the rows of a portion in which anything is out of the ordinary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from transforms.readers.batch import ID_COLUMNS
from transforms.readers.text import (
    JsonFault,
    dump_json,
    id_or_none,
    load_json,
    text_or_none,
    type_name,
)
from transforms.readers.times import iso_time

ALIASES = {
    "natural_id": ("natural_id", "episode_id", "id"),
    "content": ("content", "text"),
    "event_at": ("event_at", "timestamp", "created_at"),
}
"""Column -> the fields it is taken from, first that is not null; the others go to metadata."""

TEXT_COLUMNS = (
    "kind",
    "role",
    "speaker",
    "content",
    "tool_name",
    "outcome",
    "failure_reason",
    "feedback",
    "retention_tier",
)
INTEGER_COLUMNS = {"steps": 2**31, "turn_index": 2**63}
"""Column -> first integer too large for it."""
TIME_COLUMNS = ("event_at", "expires_at")
COLUMNS = (
    *ID_COLUMNS,
    *TEXT_COLUMNS,
    *INTEGER_COLUMNS,
    *TIME_COLUMNS,
    "tool_arguments",
    "tags",
    "importance",
    "is_injected",
    "metadata",
)
KNOWN_FIELDS = frozenset(COLUMNS) | {a for names in ALIASES.values() for a in names}
_HUGE = 10**300

CONTENT_FIELDS = frozenset((*ALIASES["content"], "tool_name"))
"""A row has at least one of these."""


def shape_record(record: Mapping[str, object]) -> dict[str, object]:
    """One record as a draft: columns of ``DRAFTS`` that are not null, but source_file and source_line.

    Raises:
        JsonFault: ``bad_field_type`` or ``bad_time``.
    """
    draft: dict[str, object] = {}
    rest: dict[str, object] = {}
    for field, value in record.items():
        if value is None or field == "metadata":
            continue
        column = _TARGETS.get(field)
        if column is None or (column in ALIASES and field != _source_of(column, record)):
            rest[field] = value
        else:
            draft[column] = _CONVERTERS[column](value, field)
    metadata = merge_metadata(record.get("metadata"), rest)
    return draft if metadata is None else {**draft, "metadata": metadata}


def _source_of(column: str, record: Mapping[str, object]) -> str:
    """The field that an aliased column is taken from: the first that is not null."""
    return next(name for name in ALIASES[column] if record.get(name) is not None)


def merge_metadata(given: object, rest: Mapping[str, object]) -> str | None:
    """JSON of the row's own metadata and of its unknown fields; null if neither holds a value."""
    value = given
    if isinstance(given, str):
        try:
            value = load_json(given.encode("utf-8", "replace"))
        except JsonFault:
            value = given
    merged = {k: v for k, v in rest.items() if v is not None}
    if isinstance(value, dict):
        merged = {**merged, **value}
    elif value is not None:
        merged["metadata"] = value
    return dump_json(merged) if merged else None


def json_text(value: object, field: str) -> str | None:
    """A JSON column: text as given, a list or an object written out.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return dump_json(value)
    raise JsonFault("bad_field_type", f"{field} is {type_name(value)}, not JSON text or an object")


def _integer(value: object, field: str) -> int | None:
    limit = INTEGER_COLUMNS[field]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
        raise JsonFault("bad_field_type", f"{field} is not an integer in range")
    return value


def _ratio(value: object, field: str) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, bool) and isinstance(value, int | float) and -_HUGE < value < _HUGE:
        return float(value)
    raise JsonFault("bad_field_type", f"{field} is not a finite number")


def _boolean(value: object, field: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise JsonFault("bad_field_type", f"{field} is {type_name(value)}, not a boolean")


def _tags(value: object, field: str) -> list[str] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return list(value)
    raise JsonFault("bad_field_type", f"{field} is not a list of strings")


_TARGETS = {name: column for column in COLUMNS for name in ALIASES.get(column, (column,))}
_CONVERTERS: dict[str, Callable[[object, str], object]] = {
    **dict.fromkeys(ID_COLUMNS, id_or_none),
    **dict.fromkeys(TEXT_COLUMNS, text_or_none),
    **dict.fromkeys(INTEGER_COLUMNS, _integer),
    **dict.fromkeys(TIME_COLUMNS, iso_time),
    "tool_arguments": json_text,
    "tags": _tags,
    "importance": _ratio,
    "is_injected": _boolean,
}
