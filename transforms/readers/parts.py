"""Message content as the exports write it: a string, or a list of typed parts; and tool results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from transforms.policy import IngestPolicy
from transforms.readers.text import JsonFault, dump_json, load_json, text_or_none, type_name

TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal"})

_ERROR_START = re.compile(
    r"(error\b|exception\b|traceback \(most recent call last\)|exit code [1-9])", re.IGNORECASE
)
_RULE_LINE = re.compile(r"([=*#~_+-])\1{2,}.*\1{3,}|[\W_]+")
"""A heading between rulers, or a line of signs alone."""
_EXIT_CODE = re.compile(r"exit code -?[0-9]+", re.IGNORECASE)
_TRACE_HEAD = re.compile(r'Traceback \(most recent call last\)|^\s*File "[^"]+", line [0-9]+$')
"""What Python's frames stand under; of code that does not compile, the place alone."""
_FAILED_WORDS = frozenset({"error", "failed", "failure"})


class Content(NamedTuple):
    """Text of a message and the types of its parts that are no text (images, files)."""

    text: str
    other_types: list[str]


def content_of(value: object, field: str = "content") -> Content:
    """Text parts joined by line feeds; a string as it is; null as no text.

    Raises:
        JsonFault: ``bad_field_type``: neither, or a part that is no string and no object.
    """
    if value is None:
        return Content("", [])
    if isinstance(value, str):
        return Content(value, [])
    if not isinstance(value, list):
        raise JsonFault("bad_field_type", f"{field} is {type_name(value)}, not a string or a list of parts")
    texts, others = [], []
    for part in value:
        text = _part_text(part, field)
        if text is None:
            others.append(str(part.get("type") or "unknown"))
        else:
            texts.append(text)
    return Content("\n".join(t for t in texts if t), others)


def _part_text(part: object, field: str) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise JsonFault("bad_field_type", f"a part of {field} is {type_name(part)}, not an object")
    kind = text_or_none(part.get("type"), "type")
    if kind is not None and kind not in TEXT_TYPES:
        return None
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else None


def metadata_of(fields: Mapping[str, object]) -> str | None:
    """JSON of the fields that hold something; null if none does."""
    kept = {k: v for k, v in fields.items() if v not in (None, "", [], {}) and v is not False}
    return dump_json(kept) if kept else None


def scalars(record: Mapping[str, object], mapped: Iterable[str]) -> dict[str, object]:
    """The fields of a record that are single values and that nothing else takes."""
    taken = set(mapped)
    return {k: v for k, v in record.items() if k not in taken and isinstance(v, str | int | float | bool)}


def failure_of(text: str, policy: IngestPolicy, *, is_error: bool = False) -> str | None:
    """Why a tool call failed, from its result; null if the result does not say that it failed.

    Args:
        text: The result.
        policy: For the longest reason kept.
        is_error: The source itself says that it failed.

    Returns:
        The error field of a JSON result, else what ``reason_line`` finds.
    """
    said = _json_error(text)
    if said is None and not is_error and not _ERROR_START.match(text.lstrip()):
        return None
    return (reason_line(said or text) or "error")[: policy.max_reason_chars]


def reason_line(text: str) -> str | None:
    """The line of a failed call's result that says why: its exception, else the first line that is no rule.

    Null if there is no text.
    """
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    if len(lines) > 1 and _EXIT_CODE.fullmatch(lines[0].strip()):
        del lines[0]  # the number says that it failed, the next line why
    lines = [line for line in lines if not _RULE_LINE.fullmatch(line.strip())] or lines
    return (_exception(lines) or lines[0]).strip() if lines else None


def _exception(lines: Sequence[str]) -> str | None:
    """The exception of the last traceback; what the program printed otherwise may stand before and after."""
    heads = [index for index, line in enumerate(lines) if _TRACE_HEAD.search(line)]
    if not heads or (heads[0] > 0 and _ERROR_START.match(lines[0].lstrip())):
        return None
    depth, rest = _indent(lines[heads[-1]]), lines[heads[-1] + 1 :]
    if not rest or _indent(rest[0]) <= depth:  # a notebook does not indent its frames
        return rest[-1] if rest else None
    return next((line for line in rest if _indent(line) <= depth), rest[-1])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _json_error(text: str) -> str | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = load_json(text.encode())
    except JsonFault:
        return None
    if not isinstance(value, dict):
        return None
    error, message = value.get("error"), value.get("message")
    if error:
        return error if isinstance(error, str) else dump_json(error)
    if _has_failed(value):
        return message if isinstance(message, str) and message.strip() else text
    return None


def _has_failed(result: Mapping[str, object]) -> bool:
    states = [v.lower() for k, v in result.items() if k.endswith("status") and isinstance(v, str)]
    is_failed = result.get("is_error") is True or result.get("success") is False
    return is_failed or any(state in _FAILED_WORDS for state in states)
