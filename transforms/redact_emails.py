"""Finder of e-mail addresses, international ones and URL-encoded ones included."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

_AT = re.compile(r"@|%40|[ ]?[\[(](?:at|AT|At)[\])][ ]?")
_LOCAL_CHARS = string.ascii_letters + string.digits + "._%+'-"
_MAX_LOCAL = 64
_LATIN = "\u00c0-\u024f\u0370-\u052f\u0590-\u06ff\u0900-\u0dff\u1e00-\u1fff"
_LABEL = rf"[A-Za-z0-9{_LATIN}](?:[A-Za-z0-9{_LATIN}-]{{0,61}}[A-Za-z0-9{_LATIN}])?"
_DOT = r"(?:\.|[ ]?[\[(](?:dot|DOT)[\])][ ]?)"
# Alphabetic scripts first: in text without spaces the sentence goes on right after ".com".
_DOMAIN = re.compile(
    rf"(?:{_LABEL}{_DOT}){{1,8}}(?:[A-Za-z{_LATIN}]{{2,24}}|xn--[A-Za-z0-9-]{{2,59}})(?![{_LATIN}])"
)
_ANY_DOMAIN = re.compile(r"(?:[^\W_](?:[\w-]{0,62})[.。]){1,8}(?:[A-Za-z]{2,24}|[^\W\d_]{2,8})")
_NOT_MAIL_DOMAIN = re.compile(r"[0-9]x\.(?:png|jpe?g|gif|webp|svg)|self\.|[0-9]+\.[0-9]+\.", re.IGNORECASE)


def _local_start(text: str, at: int, floor: int) -> int:
    """Where the local part before the sign at ``at`` begins; ``at`` when there is none."""
    head = text[max(floor, at - _MAX_LOCAL) : at]
    if not head:
        return at
    if head[-1].isascii():
        return at - len(head) + len(head.rstrip(_LOCAL_CHARS))
    start = len(head)
    while start and (head[start - 1].isalnum() or head[start - 1] in "._+-"):
        start -= 1
    return at - len(head) + start


def find_emails(text: str) -> Iterator[tuple[int, int]]:
    """Addresses: local@domain.tld; also ``%40`` and ``(at)`` for the sign. Not git@host:path.

    The local part is cut at 64 characters (RFC 5321), so no sign is scanned twice.
    """
    floor = 0
    for sign in _AT.finditer(text):
        start = _local_start(text, sign.start(), floor)
        while start < sign.start() and text[start] in "'.-%":
            start += 1
        domain = start < sign.start() and (
            _DOMAIN.match(text, sign.end()) or _ANY_DOMAIN.match(text, sign.end())
        )
        if not domain or _NOT_MAIL_DOMAIN.match(domain.group()):
            continue
        if text[start : sign.start()] == "git" and text[domain.end() : domain.end() + 1] in {":", "/"}:
            continue
        floor = domain.end()
        yield start, domain.end()
