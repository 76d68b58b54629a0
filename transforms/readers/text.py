"""Bytes to text and JSON: encodings, control characters, lone surrogates, bad JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import orjson
import polars as pl

CONTROL_PATTERN = r"[^\P{Cc}\t\n\r]"
"""Control characters but tab and line ends, in the regex dialect of Polars."""

_BETWEEN = "\ufeff\x1e\0"
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonFault(ValueError):  # noqa: N818 - a fault of the data, raised and caught inside readers
    """A value that is not what a format asks for.

    Args:
        reason: Machine-readable, snake_case: the reason of a refusal.
        detail: One sentence for a person; never content.
    """

    def __init__(self, reason: str, detail: str) -> None:
        """Set reason and detail."""
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def clean_columns(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """The frame without control characters in the named string columns.

    Looking first is a third of the cost of replacing, and most batches are clean.
    """
    names = list(names)
    dirty = frame.select(pl.col(names).str.contains(CONTROL_PATTERN).any()).row(0, named=True)
    hit = [name for name in names if dirty[name]]
    return frame.with_columns(pl.col(hit).str.replace_all(CONTROL_PATTERN, "")) if hit else frame


def load_json(raw: bytes) -> object:
    r"""Parse one JSON text, leniently where meaning is not in doubt.

    Invalid UTF-8 and lone surrogates (``\ud800``) become U+FFFD, raw control characters inside
    strings and ``NaN`` are accepted, and what files that were put together have between records: byte order
    marks, record separators, zeros.

    Raises:
        JsonFault: ``truncated_json``, ``invalid_json`` or ``too_deeply_nested``.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _load_leniently(raw.decode("utf-8", "replace").strip(_BETWEEN))


def _load_leniently(text: str) -> object:
    try:
        value = json.loads(text, strict=False)
        plain = json.dumps(value, ensure_ascii=False)
        if _SURROGATE.search(plain):
            value = json.loads(_SURROGATE.sub("\ufffd", plain))
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        if is_cut:
            raise JsonFault("truncated_json", "the JSON text ends before it is complete") from error
        raise JsonFault("invalid_json", f"not JSON at character {error.pos + 1}") from error
    except RecursionError as error:
        raise JsonFault("too_deeply_nested", "the JSON is nested too deeply") from error
    except ValueError as error:
        raise JsonFault("invalid_json", "a number has too many digits") from error
    return value


def load_object(raw: bytes) -> dict[str, object]:
    """Parse one JSON object.

    Raises:
        JsonFault: As ``load_json``, or ``not_an_object``.
    """
    value = load_json(raw)
    if not isinstance(value, dict):
        raise JsonFault("not_an_object", f"the JSON is {type_name(value)}, not an object")
    return value


def dump_json(value: object) -> str:
    """Canonical JSON text (sorted keys, no spaces) of a value; times and decimals as strings.

    Raises:
        JsonFault: ``too_deeply_nested``.
    """
    try:
        return orjson.dumps(
            value, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
        ).decode()
    except orjson.JSONEncodeError:
        pass  # deeper, or with larger integers, than orjson writes
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str, separators=(",", ":"))
    except RecursionError as error:
        raise JsonFault("too_deeply_nested", "the JSON is nested too deeply") from error
    return _SURROGATE.sub("\ufffd", text)


def type_name(value: object) -> str:
    """The JSON word for the type of a parsed value, for messages."""
    if isinstance(value, bool):
        return "a boolean"
    words: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "a string"),
        ((int, float), "a number"),
        (list, "a list"),
        (dict, "an object"),
        (type(None), "null"),
    )
    return next((word for kind, word in words if isinstance(value, kind)), type(value).__name__)


def text_or_none(value: object, field: str) -> str | None:
    """A string or null.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    if value is None or isinstance(value, str):
        return value
    raise JsonFault("bad_field_type", f"{field} is {type_name(value)}, not a string")


def id_or_none(value: object, field: str) -> str | None:
    """An id: a string kept exactly, an integer as its digits, or null.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, str):
        return value
    raise JsonFault("bad_field_type", f"{field} is {type_name(value)}, not a string or an integer")
