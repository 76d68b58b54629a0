"""What can be saved of the JSON a language model wrote: cut, wrapped in prose, or otherwise not quite JSON.

One reader for good and bad answers alike. It needs no recursion, reads each character a bounded number of
times, takes commas as blanks (so trailing and missing ones do no harm), and never raises.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

CUT = "cut"
"""Lost: the text ends inside of an item."""
BAD_ITEM = "bad_item"
"""Lost: an item that is no JSON, or is nested too deeply."""
NOT_AN_OBJECT = "not_an_object"
"""Lost: an item that is a number, a text or a list."""
NO_JSON = "no_json"
"""Lost: the whole answer."""
DUPLICATE_KEY = "duplicate_key"
"""Noted: a key came twice in one object; the last value counts."""
NOT_FINITE = "not_finite"
"""Noted: NaN, an infinity or a number beyond float64; null stands in its place."""
LONE_SURROGATE = "lone_surrogate"
"""Noted: half a character; U+FFFD stands in its place."""

MAX_DEPTH = 32

_BLANKS = re.compile(r"[\s,\ufeff]*")
_START = re.compile(r"[\[{]")
_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[-+]?[A-Za-z]+")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_ENDLESS = {"nan", "inf", "infinity"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_INTEGER = 18
"""Digits; a longer one is a float, as in most readers."""


@dataclass
class Salvaged:
    """What was read.

    Attributes:
        items: Whole objects, in order.
        lost: What was lost or noted, by reason.
    """

    items: list[Json] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)


@dataclass
class _Document:
    """One JSON value out of a text, as far as it goes.

    Attributes:
        value: Object or list; whole members only.
        end: Where reading ended.
        is_whole: Whether it was closed.
    """

    value: Any
    end: int
    is_whole: bool
    lost: Counter[str]


def salvage_items(text: str, key: str) -> Salvaged:
    """Objects of the list that stands under a key, or that is the whole document.

    Of several documents in the text the last that has the key counts: models draft before they answer. Of a
    text that was cut the items before the cut come back, so a prefix of a document gives a prefix of its
    items.

    Args:
        text: What the model wrote.
        key: Of the list, such as ``claims``.
    """
    lost: Counter[str] = Counter()
    found: tuple[list[Any], _Document] | None = None
    for document in _documents(text, key):
        items = _list_under(document.value, key)
        if items is not None:
            found = items, document
    if found is None:
        return Salvaged(lost={NO_JSON: 1})
    items, document = found
    lost += document.lost
    whole = [item for item in items if isinstance(item, dict)]
    if len(whole) < len(items):
        lost[NOT_AN_OBJECT] += len(items) - len(whole)
    if not document.is_whole:
        lost[CUT] += 1
    return Salvaged(whole, dict(lost))


def salvage_object(text: str) -> Salvaged:
    """The last object of the text, as the one item: of one that was cut, its whole members.

    Args:
        text: What the model wrote.
    """
    last = None
    for document in _documents(text, ""):
        if isinstance(document.value, dict) and (document.value or document.is_whole):
            last = document
    if last is None:
        return Salvaged(lost={NO_JSON: 1})
    lost = last.lost + Counter({CUT: int(not last.is_whole)})
    return Salvaged([last.value], dict(lost))


def _documents(text: str, key: str) -> list[_Document]:
    """Every object and list of the text that does not stand in another."""
    found = []
    start = _START.search(text)
    while start:
        document = _Reader(text, start.start(), key).document()
        found.append(document)
        start = _START.search(text, max(document.end, start.end()))
    return found


def _list_under(value: Any, key: str) -> list[Any] | None:
    """The wanted list: under the key, one level further in, or the document itself."""
    if isinstance(value, dict):
        if isinstance(value.get(key), list):
            return list(value[key])
        inner = (part.get(key) for part in value.values() if isinstance(part, dict))
        return next((part for part in inner if isinstance(part, list)), None)
    wrapped = [part[key] for part in value if isinstance(part, dict) and isinstance(part.get(key), list)]
    if wrapped:
        return list(wrapped[-1])
    return value if any(isinstance(part, dict) for part in value) else None


class _BrokenError(Exception):
    """No JSON from here on."""


class _Reader:
    """Reads one document with a stack of its own; a bad item of the wanted list is skipped."""

    def __init__(self, text: str, start: int, key: str) -> None:
        self.text, self.at, self.key = text, start, key
        self.lost: Counter[str] = Counter()
        self.stack: list[Any] = []
        self.keys: list[str | None] = []
        """Of each container on the stack, the key that waits for its value."""

    def document(self) -> _Document:
        """The document that starts here."""
        root = self._open()
        while self.stack:
            try:
                self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
                if self.at >= len(self.text):
                    break
                self._step()
            except _BrokenError:
                if not self._resume():
                    break
        is_whole = not self.stack
        if not is_whole:
            self._keep_list()
        return _Document(root, self.at, is_whole, self.lost)

    def _open(self) -> Any:
        container: Any = {} if self.text[self.at] == "{" else []
        self.stack.append(container)
        self.keys.append(None)
        self.at += 1
        return container

    def _step(self) -> None:
        """One key, one value, or one closing bracket."""
        container, char = self.stack[-1], self.text[self.at]
        if isinstance(container, dict) and self.keys[-1] is None:
            if char == "}":
                self._close()
            else:
                self.keys[-1] = self._key()
        elif char == "]" and isinstance(container, list):
            self._close()
        elif char in "{[":
            if len(self.stack) >= MAX_DEPTH:
                raise _BrokenError
            self._open()
        else:
            self._put(self._scalar(char))

    def _close(self) -> None:
        value = self.stack.pop()
        self.keys.pop()
        self.at += 1
        if self.stack:
            self._put(value)

    def _put(self, value: Any) -> None:
        """A whole value into the innermost container."""
        container, key = self.stack[-1], self.keys[-1]
        if isinstance(container, list):
            container.append(value)
            return
        if key in container:
            self.lost[DUPLICATE_KEY] += 1
        container[key] = value
        self.keys[-1] = None

    def _key(self) -> str:
        if self.text[self.at] != '"':
            raise _BrokenError
        key = self._string()
        self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
        if self.at < len(self.text):
            if self.text[self.at] != ":":
                raise _BrokenError
            self.at += 1
        return key

    def _scalar(self, char: str) -> Any:
        if char == '"':
            return self._string()
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return self._number(number.group())
        word = _WORD.match(self.text, self.at)
        if word and word.group() in _WORDS:
            self.at = word.end()
            return _WORDS[word.group()]
        if word and word.group().lstrip("+-").lower() in _ENDLESS:
            self.at = word.end()
            self.lost[NOT_FINITE] += 1
            return None
        raise _BrokenError

    def _number(self, digits: str) -> int | float | None:
        if len(digits) <= _LONGEST_INTEGER and digits.lstrip("+-").isdigit():
            return int(digits)
        value = float(digits)
        if math.isfinite(value):
            return value
        self.lost[NOT_FINITE] += 1
        return None

    def _string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:  # not closed: the text ends here
            self.at = len(self.text)
            raise _BrokenError
        self.at = match.end()
        raw = match.group(1)
        text = _ESCAPE.sub(_unescaped, raw) if "\\" in raw else raw
        if not _SURROGATE.search(text):
            return text
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self.lost[LONE_SURROGATE] += int("\ufffd" in whole)
        return whole

    def _resume(self) -> bool:
        """After an item that is no JSON: go on with the next object, where the wanted list is open."""
        if not self._is_in_list() or self.at >= len(self.text):
            return False
        self.lost[BAD_ITEM] += 1
        del self.stack[self._depth :], self.keys[self._depth :]
        following = self.text.find("{", self.at)
        self.at = len(self.text) if following < 0 else following
        return following >= 0

    @property
    def _depth(self) -> int:
        """Containers down to the wanted list."""
        return 1 if isinstance(self.stack[0], list) else 2

    def _is_in_list(self) -> bool:
        if isinstance(self.stack[0], list):
            return True
        return len(self.stack) > 1 and self.keys[0] == self.key and isinstance(self.stack[1], list)

    def _keep_list(self) -> None:
        """Put the wanted list, which was not closed, in its place."""
        if self._is_in_list() and self._depth == 2:
            self.stack[0][self.key] = self.stack[1]


def _unescaped(match: re.Match[str]) -> str:
    code, char = match.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(char, char)
