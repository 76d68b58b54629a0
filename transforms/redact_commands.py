"""Finders of secrets in command lines and cookies, and after the short words ``pass`` and ``pw``.

Each finder takes folded text (see ``redact.fold``) and yields half-open character spans, in
time linear in the text: every loop is bounded or consumes what it read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transforms.redact_secrets import PLACEHOLDER, SLUG, is_key, is_password

Span = tuple[int, int]

_REST = r"[^\n]{0,200}?[ \t]"
_VALUE = r"[\"']?([^\s\"']{4,200})"
_COMMANDS = (
    re.compile(
        rf"(?<![A-Za-z0-9])curl\b{_REST}(?:-u|--user|--proxy-user)[ \t=]{{0,3}}"
        rf"[\"']?[^\s:\"']{{1,100}}:{_VALUE}"
    ),
    re.compile(rf"(?<![A-Za-z0-9])(?:mysql|mysqldump|mysqladmin|mariadb)\b{_REST}-p{_VALUE}"),
    re.compile(rf"(?<![A-Za-z0-9])sshpass[ \t]{{1,3}}-p[ \t]{{0,3}}{_VALUE}"),
)
COMMAND_WORDS = ("curl", "mysql", "mariadb", "sshpass")
COMMAND_GATE = "|".join(COMMAND_WORDS)


def find_command_passwords(text: str) -> Iterator[Span]:
    """Passwords given to curl, mysql and sshpass on the command line."""
    found = [
        m.span(1)
        for pattern in _COMMANDS
        for m in pattern.finditer(text)
        if not PLACEHOLDER.match(m.group(1)) and m.group(1).strip("*x.")
    ]
    return iter(sorted(found))


SHORT_WORDS = ("pass", "pw", "pswd")
SHORT_GATE = r"(?i:(?:pass|pw|pswd)[\"'`]?[ \t]{0,2}[:=])"
_SHORT = re.compile(
    r"(?<![A-Za-z0-9_-])(pass|pw|pswd)[\"'`]?[ \t]{0,2}[:=][ \t]{0,3}[\"'`]?([^\s\"'`<>]{6,200})",
    re.IGNORECASE | re.ASCII,
)


def find_short_passwords(text: str) -> Iterator[Span]:
    """``pass: x`` and ``pw=x``: stricter than after the whole word, since tests pass too."""
    for m in _SHORT.finditer(text):
        value = m.group(2).rstrip(".,;:)]}?&")
        is_result = m.group(1) == "PASS" and "=" not in text[m.end(1) : m.start(2)]
        if is_result or "/" in value or "::" in value or SLUG.match(value):
            continue
        if any(c.isalpha() for c in value) and is_password(value, "pass", is_quoted=False):
            yield m.start(2), m.start(2) + len(value)


COOKIE_GATE = r"(?i:cookie[\"']?[ \t]{0,2}[:=])"
_COOKIES = re.compile(r"cookie[\"']?[ \t]{0,2}[:=]([^\n]{1,4000})", re.IGNORECASE)
_PAIR = re.compile(r"[A-Za-z0-9_.-]{1,64}=([^;,\s\"'\\]{12,4000})")


def find_cookies(text: str) -> Iterator[Span]:
    """Random values of Cookie and Set-Cookie headers."""
    for line in _COOKIES.finditer(text):
        for m in _PAIR.finditer(text, *line.span(1)):
            if is_key(m.group(1), "cookie", is_quoted=True):
                yield m.span(1)
