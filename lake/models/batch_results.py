"""The files of a finished batch, line by line: whose answer a line is, and what it says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lake.models.wire import BAD_ANSWER, Completion, error_code, is_about_form, read_completion

_REFUSED = frozenset({400, 413, 422})
UNKNOWN_ID = "unknown_custom_id"
BAD_LINE = "bad_line"


@dataclass(frozen=True)
class Item:
    """What a batch says of one request.

    Attributes:
        completion: The answer; None where there is none.
        error: Why there is none, snake_case.
        is_final: Whether asking again would end the same way.
        is_about_form: Whether the form of answer was refused.
    """

    completion: Completion | None
    error: str | None = None
    is_final: bool = True
    is_about_form: bool = False


@dataclass
class Results:
    """Items by result id, and lines that belong to none, counted by reason."""

    items: dict[str, Item] = field(default_factory=dict)
    strange: Counter[str] = field(default_factory=Counter)


def merge(files: list[bytes], known: Collection[str]) -> Results:
    """Lines of the output and the error file, in any order; an answer wins over an error for the same id.

    Args:
        files: JSON lines.
        known: Result ids of the batch.
    """
    results, known = Results(), frozenset(known)
    for line in (line for content in files for line in _lines(content)):
        if line is None:
            results.strange[BAD_LINE] += 1
            continue
        name = line.get("custom_id")
        if not isinstance(name, str) or name not in known:
            results.strange[UNKNOWN_ID] += 1
            continue
        item = _item(line)
        held = results.items.get(name)
        if held is None or held.completion is None:
            results.items[name] = item
    return results


def _lines(content: bytes) -> Iterator[Mapping[str, Any] | None]:
    """Each line as an object; None for one that is none."""
    for raw in content.split(b"\n"):
        if not raw.strip():
            continue
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            line = None
        yield line if isinstance(line, dict) else None


def _item(line: Mapping[str, Any]) -> Item:
    response = line.get("response")
    if not isinstance(response, Mapping):
        return Item(None, error_code(line.get("error")) or "no_response", is_final=False)
    status, body = response.get("status_code"), response.get("body")
    if status == 200:
        completion = read_completion(body if isinstance(body, Mapping) else {})
        if completion.error == BAD_ANSWER:
            return Item(None, BAD_ANSWER, is_final=False)
        return Item(completion, completion.error)
    error = body.get("error") if isinstance(body, Mapping) else None
    error = error if isinstance(error, Mapping) else {}
    code = error_code(error)
    reason = f"http_{status if isinstance(status, int) else 0}{code and ':'}{code}"
    is_form = is_about_form(f"{code} {error.get('message')}")
    return Item(None, reason, is_final=status in _REFUSED, is_about_form=is_form)
