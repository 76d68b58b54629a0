"""Where a word ends: an identifier counts only between such bounds, so that ``ana`` is not in ``ana2``."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64decode

_JOINERS = frozenset(b"-.@+#~")
"""Between two word characters they join both to one identifier: ``ana-2``, ``ana@example.org``."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts written without spaces: every character is a bound."""
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_NEAR = 8


def is_bounded(data: bytes, start: int, end: int) -> bool:
    """Whether no word or identifier goes on before ``start`` or after ``end``.

    Args:
        data: What was searched; its ends are bounds.
        start: First byte of the find.
        end: One past its last.
    """
    before, after = data[max(0, start - _NEAR) : start], data[end : end + _NEAR]
    return not (_joins(_last(before), _last(before[:-1])) or _joins(_first(after), _first(after[1:])))


def _joins(near: str, beyond: str) -> bool:
    return _is_word(near) or (near != "" and ord(near) in _JOINERS and _is_word(beyond))


def _is_word(character: str) -> bool:
    if not character or _UNSPACED.match(character):
        return False
    return character == "_" or unicodedata.category(character)[0] in "LNM"


def _first(data: bytes) -> str:
    """First character, empty where the bytes are none."""
    for size in range(1, 5):
        try:
            return data[:size].decode()[:1]
        except UnicodeDecodeError:
            continue
    return ""


def _last(data: bytes) -> str:
    for size in range(1, 5):
        try:
            return data[-size:].decode()[-1:]
        except UnicodeDecodeError:
            continue
    return ""


def is_bounded_wide(data: bytes, start: int, end: int, form: str) -> bool:
    """``is_bounded`` of a find in UTF-16; ``form`` says in which order of bytes."""
    before = data[max(start % 2, start - 2 * _NEAR) : start].decode(form, "replace").encode()
    after = data[end : end + 2 * _NEAR].decode(form, "replace").encode()
    return is_bounded(before + after, len(before), len(before))


def is_bounded_base64(data: bytes, start: int, end: int, plain: bytes, shift: int) -> bool:
    """``is_bounded`` of what the base64 around a find stands for.

    Args:
        data: What was searched.
        start: First character of the find.
        end: One past its last.
        plain: The needle.
        shift: Place of the first character in its group of four.
    """
    group = start - shift
    first = group - 4 if group >= 4 and _BASE64.issuperset(data[group - 4 : start]) else group
    last = end
    while last < min(len(data), end + _NEAR) and data[last] in _BASE64:
        last += 1
    text = data[first:last].translate(bytes.maketrans(b"-_", b"+/"))
    whole = b64decode(text[: len(text) // 4 * 4] + _padded(text[len(text) // 4 * 4 :]))
    at = whole.find(plain)
    return at < 0 or is_bounded(whole, at, at + len(plain))


def _padded(rest: bytes) -> bytes:
    return rest + b"=" * (4 - len(rest)) if len(rest) > 1 else b""
