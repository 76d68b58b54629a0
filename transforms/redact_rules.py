"""The ordered rules of redaction, and the one prefilter that is implied by all of them.

A rule has two gates: ``words``, literals of which one must occur in the folded text (cheap in
Python), and ``prefilter``, a regex in the syntax that Rust and Python share which matches
wherever the rule finds anything. A rule that breaks the second promise loses secrets, so a test
holds every rule to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from transforms import (
    redact_checks,
    redact_commands,
    redact_emails,
    redact_ids,
    redact_phones,
    redact_secrets,
)
from transforms.redact_vendors import VENDOR_FORMATS

Span = tuple[int, int]
Finder = Callable[[str], Iterable[Span]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding.

    Args:
        kind: Name in the mark, lower snake case.
        find: Yields half-open character spans of the folded text.
        prefilter: Regex without look-around; matches any text in which ``find`` yields.
        words: Literals of which one occurs in any such text; none means always try.
        is_lower: Whether the words are looked for in the lower-cased text.
        needs_digits: Whether ``find`` yields nothing unless ``HAS_DIGITS`` matches.
    """

    kind: str
    find: Finder
    prefilter: str
    words: tuple[str, ...] = ()
    is_lower: bool = False
    needs_digits: bool = False


def _matches(pattern: re.Pattern[str], text: str) -> Iterable[Span]:
    group = pattern.groups
    return (m.span(group) for m in pattern.finditer(text))


def _vendors() -> list[Rule]:
    rules = []
    for kind, word, pattern, *gate in VENDOR_FORMATS:
        find = partial(_matches, re.compile(pattern, re.ASCII))
        rules.append(Rule(kind, find, gate[0] if gate else re.escape(word), (word,)))
    return rules


_DIGITS = redact_ids.DIGIT_GATE
HAS_DIGITS = re.compile(_DIGITS)
_IBAN = r"[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11}"
_IP = r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|[0-9A-Fa-f]{4}:[0-9A-Fa-f:]"
_DISCORD = r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]|mfa\.[A-Za-z0-9_-]{80}"

# Order is priority: where two findings overlap the earlier rule keeps the place.
RULES: tuple[Rule, ...] = (
    Rule("private_key", redact_secrets.find_private_keys, "PRIVATE KEY", ("PRIVATE KEY",)),
    *_vendors(),
    Rule("jwt", redact_secrets.find_jwts, "eyJ[A-Za-z0-9_-]{10}", ("eyJ",)),
    Rule("token", redact_secrets.find_discord_tokens, _DISCORD, (".",)),
    Rule("url_password", redact_secrets.find_url_passwords, "://", ("://",)),
    Rule(
        "token",
        redact_secrets.find_authorizations,
        r"(?i:bearer[ \t]|authorization[\"']?[ \t]{0,2}[:=])",
        ("bearer", "authorization"),
        is_lower=True,
    ),
    Rule(
        "password",
        redact_secrets.find_passwords,
        redact_secrets.PASSWORD_GATE,
        redact_secrets.PASSWORD_WORDS,
        is_lower=True,
    ),
    Rule(
        "api_key", redact_secrets.find_keys, redact_secrets.KEY_GATE, redact_secrets.KEY_WORDS, is_lower=True
    ),
    Rule(
        "password",
        redact_commands.find_command_passwords,
        redact_commands.COMMAND_GATE,
        redact_commands.COMMAND_WORDS,
    ),
    Rule(
        "password",
        redact_commands.find_short_passwords,
        redact_commands.SHORT_GATE,
        redact_commands.SHORT_WORDS,
        is_lower=True,
    ),
    Rule("token", redact_commands.find_cookies, redact_commands.COOKIE_GATE, ("cookie",), is_lower=True),
    Rule("token", redact_secrets.find_tokens, redact_secrets.TOKEN_GATE, ("token",), is_lower=True),
    Rule(
        "email",
        redact_emails.find_emails,
        r"@|%40|[\[(](?:at|AT|At)[\])]",
        ("@", "%40", "t)", "t]", "T)", "T]"),
    ),
    Rule("iban", redact_checks.find_ibans, _IBAN),
    Rule("card", redact_checks.find_cards, _DIGITS, needs_digits=True),
    Rule("government_id", redact_ids.find_number_ids, _DIGITS, needs_digits=True),
    Rule("government_id", redact_ids.find_shape_ids, redact_ids.SHAPE_GATE),
    Rule(
        "government_id",
        redact_ids.find_documents,
        f"(?i:{'|'.join(redact_ids.DOCUMENT_WORDS)})",
        redact_ids.DOCUMENT_WORDS,
        is_lower=True,
    ),
    Rule("ip", redact_checks.find_ips, _IP, (".", ":")),
    Rule("phone", redact_phones.find_phones, _DIGITS, needs_digits=True),
    Rule(
        "phone",
        redact_phones.find_phones_by_word,
        _DIGITS,
        redact_phones.PHONE_WORDS,
        is_lower=True,
        needs_digits=True,
    ),
    Rule(
        "phone",
        redact_phones.find_phones_by_contact,
        _DIGITS,
        redact_phones.CONTACT_WORDS,
        is_lower=True,
        needs_digits=True,
    ),
)

KINDS = tuple(sorted({rule.kind for rule in RULES}))
CREDENTIAL_KINDS = frozenset({"api_key", "jwt", "password", "private_key", "token", "url_password"})
_VENDOR_COUNT = len(VENDOR_FORMATS)
_FAMILY_OF = ["|".join(r.prefilter for r in RULES[1 : 1 + _VENDOR_COUNT])] * len(RULES)
_FAMILY_OF[:1] = [RULES[0].prefilter]
_FAMILY_OF[1 + _VENDOR_COUNT :] = [r.prefilter for r in RULES[1 + _VENDOR_COUNT :]]
FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(_FAMILY_OF))
"""Distinct prefilters, all vendors as one: a text that matches none of its family skips its rules."""
FAMILY_INDEX: tuple[int, ...] = tuple(FAMILIES.index(gate) for gate in _FAMILY_OF)
"""For each rule, its family."""
PREFILTER = "|".join(f"(?:{gate})" for gate in dict.fromkeys(rule.prefilter for rule in RULES))
