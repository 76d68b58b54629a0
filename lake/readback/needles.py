"""What is searched for after an erase, and the forms of it that bytes can hold."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

PIECE_BYTES = 64
"""A longer text is searched by its beginning, middle and end, so that a part of it is found, too."""
LEAST_TEXT_BYTES = 8
"""Shorter texts are compared as whole values only: a few bytes stand in every compressed file by chance."""
LEAST_IDENTIFIER_BYTES = 3
"""Shorter identifiers are compared as whole values only."""
LEAST_BASE64 = 12
MOST_FORMS = 200
"""Needles of a class that are searched in rare forms, too: UTF-16, base64, HTML, URL."""
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
CLASSES = ("ids", "identifiers", "texts")
IDENTIFIERS = CLASSES.index("identifiers")


@dataclass(frozen=True)
class Needles:
    """What must not be found.

    Args:
        ids: Opaque ids of erased rows: episodes, claims, facts, summaries, memories.
        identifiers: The person's own: user, agent or session id, tenant, aliases, e-mail addresses.
            They match as whole values or between the bounds of a word.
        texts: Distinctive texts of erased rows, and planted canaries.
    """

    ids: frozenset[str] = frozenset()
    identifiers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """Needles by class, each once, in an order that gives them their index."""
        return {
            "ids": tuple(sorted(self.ids - {""})),
            "identifiers": tuple(dict.fromkeys(i for i in self.identifiers if i)),
            "texts": tuple(dict.fromkeys(t for t in self.texts if t.strip())),
        }

    def searched(self) -> dict[str, dict[str, int]]:
        """By class: how many, the shortest in bytes, and how many are compared as whole values only."""
        found = {}
        for name, values in self.values.items():
            sizes = [len(encoded(value)) for value in values]
            found[name] = {
                "count": len(sizes),
                "shortest_bytes": min(sizes, default=0),
                "whole_values_only": sum(size < _least(name) for size in sizes),
            }
        return found


@dataclass(frozen=True, slots=True)
class Pattern:
    """Bytes to look for.

    Attributes:
        data: The bytes.
        needle: Class (place in ``CLASSES``) and index of its needle.
        form: ``utf-8`` (also for escaped text), ``utf-16-le``, ``utf-16-be`` or ``base64``.
        shift: For base64: place of the first character in its group of four.
    """

    data: bytes
    needle: tuple[int, int]
    form: str = "utf-8"
    shift: int = 0


def is_searched_in_bytes(name: str, value: str) -> bool:
    """Whether a needle of a class is long enough to be looked for inside other bytes."""
    return len(encoded(value)) >= _least(name)


def _least(name: str) -> int:
    return LEAST_IDENTIFIER_BYTES if name == "identifiers" else LEAST_TEXT_BYTES


def encoded(text: str) -> bytes:
    """UTF-8; half a surrogate pair is kept as it is."""
    return text.encode("utf-8", "surrogatepass")


def patterns(needles: Needles) -> Iterator[Pattern]:
    """All byte forms of all needles that are long enough to be searched for."""
    for place, name in enumerate(CLASSES):
        for index, value in enumerate(needles.values[name]):
            if name == "ids" and index >= MOST_FORMS and value.isascii() and value.isalnum():
                if len(value) >= LEAST_TEXT_BYTES:  # most needles by far: one form, and no more to look at
                    yield Pattern(value.encode(), (place, index))
                continue
            if not is_searched_in_bytes(name, value):
                continue
            for number, piece in enumerate(_pieces(value) if name == "texts" else (value,)):
                yield from _forms(piece, (place, index), is_rich=index < MOST_FORMS and not number)


def _pieces(text: str) -> Iterable[str]:
    data = encoded(text)
    if len(data) <= PIECE_BYTES:
        return (text,)
    middle = (len(data) - PIECE_BYTES) // 2
    cuts = (data[:PIECE_BYTES], data[middle : middle + PIECE_BYTES], data[-PIECE_BYTES:])
    return dict.fromkeys(cut.decode("utf-8", "ignore") for cut in cuts)


def _forms(text: str, needle: tuple[int, int], *, is_rich: bool) -> Iterator[Pattern]:
    plain = encoded(text)
    yield Pattern(plain, needle)
    if text.isascii() and text.isalnum() and not is_rich:
        return
    ascii_only = _json(text, is_ascii=True)
    others = {_json(text, is_ascii=False), ascii_only, _upper_escapes(ascii_only)}
    if is_rich:
        twice = _json(_json(text, is_ascii=False), is_ascii=False)
        others |= {html.escape(text), quote(text, errors="surrogatepass"), twice}
    for other in sorted(others - {text}):
        yield Pattern(encoded(other), needle)
    if is_rich:
        for form in ("utf-16-le", "utf-16-be"):
            yield Pattern(text.encode(form, "surrogatepass"), needle, form)
        yield from _base64(plain, needle)


def _json(text: str, *, is_ascii: bool) -> str:
    return json.dumps(text, ensure_ascii=is_ascii)[1:-1]


def _upper_escapes(text: str) -> str:
    r"""``\u00e9`` as ``\u00E9``."""
    parts = text.split("\\u")
    return "\\u".join([parts[0], *(part[:4].upper() + part[4:] for part in parts[1:])])


def _base64(data: bytes, needle: tuple[int, int]) -> Iterator[Pattern]:
    """The three ways the bytes can lie in groups of three, without the characters that neighbours share."""
    for shift in range(3):
        text = b64encode(b"\0" * shift + data)
        first = (shift * 8 + 5) // 6
        last = (shift + len(data)) * 8 // 6
        kept = text[first:last]
        if len(kept) >= LEAST_BASE64:
            for form in dict.fromkeys((kept, kept.translate(_URL_SAFE))):
                yield Pattern(form, needle, "base64", first % 4)
