"""Finders of PII that a pattern alone cannot decide: checksums, ranges, shapes of numbers.

Each finder takes folded text (see ``redact.fold``) and yields half-open character spans.
Every pattern is ASCII-only and starts each attempt at a boundary or has bounded length, so a
scan takes time linear in the text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]

_DIGITS = re.compile(r"[0-9]+")
_CARD_RUN = re.compile(r"[0-9](?:(?:[-._]| {1,2})?[0-9]){12,}+")
# Issuer ranges: Visa, Mastercard, Amex, Diners, JCB, Discover, UnionPay, Maestro, Mir, Troy, RuPay.
_CARD_ISSUER = re.compile(
    r"4(?:.{12}|.{15}|.{18})|(?:5[1-5]|2[2-7]).{14}|3[47].{13}|3(?:0[0-5]|095|[689]).{11,13}"
    r"|35.{14}|(?:50|5[6-9]|6[0-9]).{11,17}|(?:9792|8[12]..).{12}"
)
_CARD_GROUPS = {(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 4, 2), (6, 13), (8, 8)}


def has_luhn(digits: str) -> bool:
    """Whether the last digit is the Luhn check digit (ISO/IEC 7812-1) of the others."""
    total = sum(map(int, digits[-1::-2]))
    return (total + sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])) % 10 == 0


def _is_card(text: str, groups: list[re.Match[str]]) -> bool:
    start, end = groups[0].start(), groups[-1].end()
    digits = "".join(g.group() for g in groups)
    gaps = {text[a.end() : b.start()] for a, b in pairwise(groups)}
    if gaps - {" ", "-", ""} and (len(gaps) > 1 or tuple(len(g.group()) for g in groups) not in _CARD_GROUPS):
        return False
    before, after = text[max(0, start - 1) : start], text[end : end + 2]
    if before.isascii() and (before.isalnum() or before == "."):
        return False
    if before in {"-", "_"} and start > 1:
        earlier = text[start - 2]
        if earlier.isdigit() if before == "_" else earlier.isalpha():
            return False
    if (after[:1].isascii() and after[:1].isalnum()) or (after[:1] == "." and after[1:].isdigit()):
        return False
    return (
        13 <= len(digits) <= 19
        and _CARD_ISSUER.fullmatch(digits) is not None
        and len(set(digits)) > 1
        and has_luhn(digits)
    )


def find_cards(text: str) -> Iterator[Span]:
    """Payment cards: 13 to 19 digits, plain or spaced, of a known issuer, Luhn-checked."""
    for run in _CARD_RUN.finditer(text):
        groups = list(_DIGITS.finditer(text, run.start(), run.end()))
        if len(groups) <= 19 and _is_card(text, groups):
            yield run.span()
            continue
        at = 0
        while at < len(groups):
            width = _card_width(text, groups, at)
            if width:
                yield groups[at].start(), groups[at + width - 1].end()
            at += width or 1


def _card_width(text: str, groups: list[re.Match[str]], at: int) -> int:
    """How many groups from ``at`` form a card inside a longer run of groups; 0 for none."""
    sizes = [g.end() - g.start() for g in groups[at : at + 5]]
    if 13 <= sizes[0] <= 19:
        return int(_is_card(text, groups[at : at + 1]))
    for width in range(len(sizes), 1, -1):
        if tuple(sizes[:width]) in _CARD_GROUPS and _is_card(text, groups[at : at + width]):
            return width
    return 0


# Registered total lengths (SWIFT IBAN registry).
_IBAN_LENGTHS = {
    code[:2]: int(code[2:])
    for code in [
        "AD24",
        "AE23",
        "AL28",
        "AT20",
        "AZ28",
        "BA20",
        "BE16",
        "BG22",
        "BH22",
        "BI27",
        "BR29",
        "BY28",
        "CH21",
        "CR22",
        "CY28",
        "CZ24",
        "DE22",
        "DJ27",
        "DK18",
        "DO28",
        "EE20",
        "EG29",
        "ES24",
        "FI18",
        "FK18",
        "FO18",
        "FR27",
        "GB22",
        "GE22",
        "GI23",
        "GL18",
        "GR27",
        "GT28",
        "HN28",
        "HR21",
        "HU28",
        "IE22",
        "IL23",
        "IQ23",
        "IS26",
        "IT27",
        "JO30",
        "KW30",
        "KZ20",
        "LB28",
        "LC32",
        "LI21",
        "LT20",
        "LU20",
        "LV21",
        "LY25",
        "MC27",
        "MD24",
        "ME22",
        "MK19",
        "MN20",
        "MR27",
        "MT31",
        "MU30",
        "NI28",
        "NL18",
        "NO15",
        "OM23",
        "PK24",
        "PL28",
        "PS29",
        "PT25",
        "QA29",
        "RO24",
        "RS22",
        "RU33",
        "SA24",
        "SC31",
        "SD18",
        "SE24",
        "SI19",
        "SK24",
        "SM27",
        "SO23",
        "ST25",
        "SV28",
        "TL23",
        "TN24",
        "TR26",
        "UA29",
        "VA22",
        "VG24",
        "XK20",
        "YE30",
    ]
}
_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?=[ -]?[A-Za-z0-9])")
_IBAN_REST = {
    n: re.compile(rf"(?:[ -]?[A-Za-z0-9]){{{n - 4}}}(?![A-Za-z0-9])") for n in set(_IBAN_LENGTHS.values())
}


def find_ibans(text: str) -> Iterator[Span]:
    """IBANs of a registered country and length whose mod-97 checksum (ISO 13616) is 1."""
    for head in _IBAN_START.finditer(text):
        length = _IBAN_LENGTHS.get(head.group()[:2].upper())
        rest = _IBAN_REST[length].match(text, head.end()) if length else None
        if rest is None:
            continue
        plain = re.sub(r"[ -]", "", rest.group() + head.group()).upper()
        if int("".join(str(int(c, 36)) for c in plain)) % 97 == 1:
            yield head.start(), rest.end()


_IPV4 = re.compile(
    r"(?<![A-Za-z0-9.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![A-Za-z0-9]|\.[0-9]|-[A-Za-z]|-[0-9]{1,3}_"
    r"|_(?:amd|arm|all|x86|x64|i386|win|linux|darwin|mac))"
)
_IPV4_QUICK = re.compile(r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_IPV6_QUICK = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f:]")
_VERSION_BEFORE = re.compile(
    r"(?:\bv|\bver|\bversions?|\bversión|\brelease|\bbuild|\bsection|\bchapter|\bclause|\brev|\bassembly|§|[=~<>!]="
    r"|chrome/|chromium/|edg/|opr/|safari/|firefox/|version/|[a-z]-)[.:=]?[ \t]?\Z",
    re.IGNORECASE,
)
_IPV6 = re.compile(
    r"(?:(?<![A-Za-z0-9:.])|(?<=[^0-9:.]:))(?!:[^:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,8}"
    r"(?:(?:\.[0-9]{1,3}){3})?(?![A-Za-z0-9:])"
)
# Blocks in use; the rest is far more often code (a::b) than an address.
_IPV6_BLOCKS = [
    ipaddress.IPv6Network(n)
    for n in ("2000::/3", "fc00::/7", "fe80::/10", "ff00::/12", "::ffff:0:0/96", "64:ff9b::/96")
]


_PRODUCT_BEFORE = re.compile(
    r"\b(?:postgres|postgresql|oracle|mysql|mariadb|java|jdk|windows|office|ios|android)[ \t]\Z",
    re.IGNORECASE,
)
_MAX_VERSION = 40


def _is_version(text: str, start: int, parts: list[str]) -> bool:
    """Whether four dotted numbers follow a word for versions, or small ones the name of a product."""
    before = text[max(0, start - 12) : start]
    if _VERSION_BEFORE.search(before):
        return True
    is_small = parts[0] != "10" and max(map(int, parts)) < _MAX_VERSION
    return is_small and _PRODUCT_BEFORE.search(before) is not None


def find_ips(text: str) -> Iterator[Span]:
    """IPv4 and IPv6 addresses; loopback, unspecified and broadcast, and versions, are not."""
    for m in _IPV4.finditer(text) if _IPV4_QUICK.search(text) else ():
        parts = m.group().split(".")
        if any(int(p) > 255 or (p[0] == "0" and len(p) > 1) for p in parts):
            continue
        is_plain = parts[0] in {"127", "0"} or m.group() == "255.255.255.255"
        if not is_plain and not _is_version(text, m.start(), parts):
            yield m.span()
    for m in _IPV6.finditer(text) if _IPV6_QUICK.search(text) else ():
        try:
            address = ipaddress.IPv6Address(m.group())
        except ValueError:
            continue
        if any(address in block for block in _IPV6_BLOCKS):
            yield m.span()
