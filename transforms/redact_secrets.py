"""Finders of secrets that need a look at the value: assignments, headers, PEM blocks, JWTs.

Each finder takes folded text (see ``redact.fold``) and yields half-open character spans, in
time linear in the text: values are at most 200 characters, other loops are possessive.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

Span = tuple[int, int]

_FLAGS = re.IGNORECASE | re.ASCII
_SUFFIX = r"(?:_(?:prod|production|dev|test|live|staging|[0-9]{1,2}))?"
_LINK = (
    r"(?:[\"'`]?[ \t]{0,2}(?:=>|:=|==?|:|>)[ \t]{0,3}"
    r"|[ \t]{1,2}(?:is|was|ist|lautet|es|est)[ \t:]{1,2}|(?:は|是|는|은)[ \t]?)"
)
_VALUE = r"(?:\"([^\"\n]{4,200})\"|'([^'\n]{4,200})'|`([^`\n]{4,200})`|([^\s\"'`<>]{4,200}))"
PASSWORD_WORDS = (
    "password", "passwd", "passphrase", "passcode", "pwd", "_pass", "-pass", "passwort", "kennwort", "senha",
    "mot de passe", "contrase", "ароль", "密码", "密碼", "パスワード", "비밀번호",
)  # fmt: skip
_LOGIN_WORDS = (
    r"pass(?:word|wd|phrase|code)|{bound}pwd|[_-]p(?:ass|wd)|passwort|kennwort|senha"
    r"|mot de passe|contrase(?:ñ|n)a|[Пп]ароль|密码|密碼|パスワード|비밀번호"
)
KEY_WORDS = ("key", "secret", "credential")
_KEY_KEYS = (
    r"api[ _-]?key|access[ _-]?key(?:[ _-]?id)?|secret|credentials?"
    r"|(?:secret|private|encryption|signing|account|master|auth|service|client"
    r"|webhook)[ _-]?(?:access[ _-]?)?key"
)


def _pattern(words: str, flags: str) -> re.Pattern[str]:
    words = words.replace("{bound}", "(?<![A-Za-z0-9])")
    by_flag = "|".join(f"(?<=--{flag})[ \t]" for flag in flags.split())
    return re.compile(rf"({words}){_SUFFIX}(?:{_LINK}|{by_flag}){_VALUE}", _FLAGS)


def _gate(words: str, flags: str) -> str:
    words = words.replace("{bound}", "")
    by_flag = "|".join(f"--{flag}[ \t]" for flag in flags.split())
    return rf"(?i:(?:{words}){_SUFFIX}{_LINK}|{by_flag})"


_PASSWORD = _pattern(_LOGIN_WORDS, "password passwd")
PASSWORD_GATE = _gate(_LOGIN_WORDS, "password passwd")
_KEY = _pattern(_KEY_KEYS, "api-key secret secret-key")
KEY_GATE = _gate(_KEY_KEYS, "api-key secret secret-key")
_TOKEN = _pattern("token", "token")
TOKEN_GATE = _gate("token", "token")

PLACEHOLDER = re.compile(
    r"\$[{(A-Z]|\{|<|%[(s]|your|my[_-]|example|change[_-]?me|placeholder|redacted|hidden|string\b"
    r"|required|optional"
    r"|null\b|none\b|true\b|false\b|undefined\b|process\.env|os\.|env[.:]|\[",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|[A-Za-z_][\w.]*[(\[]", re.ASCII)
_PATH = re.compile(r"https?://|[~.]{0,2}/|[A-Za-z]:[\\/]")
SLUG = re.compile(r"(?:[vV]?[0-9]{1,4}|[A-Za-z]+)(?:[-_.:/](?:[vV]?[0-9]{1,4}|[A-Za-z]+))*+\Z")
_QUERY_NEXT = re.compile(r"[&;,][A-Za-z_]\w*=", re.ASCII)
_MIN_KEY_BITS = 3.0
"""Shannon bits a character. Words and slugs lie below, random hex of 16 digits above 3."""


def entropy(text: str) -> float:
    """Shannon entropy of the characters of a text, bits a character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


def is_password(value: str, word: str, is_quoted: bool) -> bool:
    """Whether the value after a password word looks like a password and not like prose or code."""
    if PLACEHOLDER.match(value) or _CODE.match(value) or (word == "pwd" and _PATH.match(value)):
        return False
    if any(c.isspace() for c in value):
        return is_quoted and word == "passphrase"
    letters = sum(c.isalpha() for c in value)
    digits = sum(c.isdigit() for c in value)
    if not letters:
        return digits >= (4 if is_quoted else 6)
    if digits or any(not c.isalnum() and c not in "_-./:" for c in value[:-1]):
        return len(value) >= 6
    # Letters only: a label ("Kennwort") is short; a chosen one in quotes is long.
    return is_quoted and len(value) >= 12 and value.isalpha()


def is_key(value: str, word: str, is_quoted: bool) -> bool:
    """Whether the value after a key or token word is random enough to be one."""
    if len(value) < 12 or any(c.isspace() for c in value):
        return False
    if PLACEHOLDER.match(value) or _CODE.match(value) or _PATH.match(value) or SLUG.match(value):
        return False
    has_digit, has_letter = any(c.isdigit() for c in value), any(c.isalpha() for c in value)
    return has_digit and has_letter and entropy(value) >= _MIN_KEY_BITS


def _assigned(text: str, pattern: re.Pattern[str], check: Callable[[str, str, bool], bool]) -> Iterator[Span]:
    at = 0
    while m := pattern.search(text, at):
        group = m.lastindex or 1
        start, value = m.start(group), m.group(group)
        is_quoted = group != 5
        if not is_quoted:
            cut = _QUERY_NEXT.search(value)
            value = (value[: cut.start()] if cut else value).rstrip(".,;:)]}?&")
        if check(value, m.group(1).lower(), is_quoted):
            yield start, start + len(value)
            at = start + len(value)
        else:
            # The value may itself hold the next key word ("token: password: ...").
            at = start


def find_passwords(text: str) -> Iterator[Span]:
    """Values after password words: ``password: x``, ``"pwd": "x"``, ``passwort ist x``."""
    return _assigned(text, _PASSWORD, is_password)


def find_keys(text: str) -> Iterator[Span]:
    """High-entropy values after key and secret words, headers such as X-Api-Key included."""
    return _assigned(text, _KEY, is_key)


def find_tokens(text: str) -> Iterator[Span]:
    """High-entropy values after the word token."""
    return _assigned(text, _TOKEN, is_key)


_BEARER = re.compile(r"(?<![A-Za-z])bearer[ \t]{1,3}([A-Za-z0-9._~+/=-]{12,}+)", _FLAGS)
_AUTHORIZATION = re.compile(
    r"authorization[\"']?[ \t]{0,2}[:=][ \t]{0,2}[\"']?(?:([a-z][a-z0-9-]{2,15})[ \t]{1,2})?"
    r"([A-Za-z0-9._~+/=:-]{8,}+)",
    _FLAGS,
)


def find_authorizations(text: str) -> Iterator[Span]:
    """Credentials of Authorization headers, and of ``Bearer`` anywhere."""
    for m in _AUTHORIZATION.finditer(text):
        value = m.group(2)
        is_basic = (m.group(1) or "").lower() == "basic"
        if any(c.isdigit() for c in value) or (is_basic and not value.islower()):
            yield m.span(2)
    for m in _BEARER.finditer(text):
        if any(c.isdigit() for c in m.group(1)) and not SLUG.match(m.group(1)):
            yield m.span(1)


_URL = re.compile(r"://[^\s/:@\"'<>]{0,200}:([^\s/\"'<>]{1,200})@(?=[A-Za-z0-9\[._-])", re.ASCII)


def find_url_passwords(text: str) -> Iterator[Span]:
    """The password in scheme://user:password@host."""
    for m in _URL.finditer(text):
        if not PLACEHOLDER.match(m.group(1)) and m.group(1).strip("*x."):
            yield m.span(1)


_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_HEADERS = r"(?:\s*+[A-Za-z][A-Za-z-]{2,20}: [^\n]{0,200}\n)*+"
_PEM_BODY = re.compile(
    rf"{_PEM_HEADERS}((?:\s*+[A-Za-z0-9+/=]{{16,}}+)*+(?:\s?[A-Za-z0-9+/=]{{2,}}+(?=\s*\Z))?)"
)
_MAX_PEM_CHARS = 20_000


def find_private_keys(text: str) -> Iterator[Span]:
    """PEM private keys, whole or cut off at either end."""
    floor = 0
    ends = [m.span() for m in _PEM_END.finditer(text)]
    taken = 0
    for begin in _PEM_BEGIN.finditer(text):
        while taken < len(ends) and ends[taken][0] < begin.end():
            taken += 1
        if begin.start() < floor:
            continue
        if taken < len(ends) and ends[taken][0] - begin.end() <= _MAX_PEM_CHARS:
            floor = ends[taken][1]
            yield begin.start(), floor
        elif (body := _PEM_BODY.match(text, begin.end())) and body.group(1).strip():
            floor = body.end()
            yield begin.start(), floor
    yield from _headless_keys(text, ends)


def _headless_keys(text: str, ends: list[Span]) -> Iterator[Span]:
    """Key bodies whose BEGIN line was cut off; the ones with it overlap and are dropped later."""
    floor = 0
    for start, end in ends:
        lines_start = start
        for line in reversed(text[max(floor, start - _MAX_PEM_CHARS) : start].splitlines(keepends=True)):
            if not re.fullmatch(r"[A-Za-z0-9+/=]{8,}+\s*+", line):
                break
            lines_start -= len(line)
        if lines_start < start:
            yield lines_start, end
        floor = end


_B64 = "[A-Za-z0-9_-]"
_JWT = re.compile(rf"(?<!{_B64})eyJ{_B64}{{10,}}+\.{_B64}{{10,}}+(?:\.{_B64}*+){{0,3}}+")
_DISCORD = re.compile(
    rf"(?<!{_B64})(?:[MNO]{_B64}{{23,27}}\.{_B64}{{6,7}}\.{_B64}{{27,}}+|mfa\.{_B64}{{80,}}+)"
)


def find_jwts(text: str) -> Iterator[Span]:
    """JSON web tokens: base64url parts, the first a JSON object; the signature may be cut off."""
    return (m.span() for m in _JWT.finditer(text))


def find_discord_tokens(text: str) -> Iterator[Span]:
    """Discord bot and user tokens: three base64url parts of known lengths."""
    return (m.span() for m in _DISCORD.finditer(text))
