"""Redaction against a case file, and its laws: idempotent, vectorised as one by one, total."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.errors import ConfigError
from transforms.redact import candidates, fold, redact, redact_text
from transforms.redact_checks import has_luhn
from transforms.redact_rules import CREDENTIAL_KINDS, KINDS, RULES

CASES: dict[str, list[Any]] = json.loads(
    (Path(__file__).parent / "redact_cases.json").read_text(encoding="utf-8")
)
REDACTED = [("".join(case["text"]), case["expected"]) for case in CASES["redacted"]]
NAMES = [case["name"] for case in CASES["redacted"]]
SECRETS = [text for text, _ in REDACTED]

# Pieces that meet at awkward places: whole cases, prefixes, separators, marks, invisible characters.
PIECES = st.one_of(
    st.sampled_from(SECRETS),
    st.sampled_from(CASES["untouched"]),
    st.sampled_from(
        [" ", "\n", "@", "-", ".", ":", "/", '"', "'", "\\n", '\\"', "0", "1", "4111 ", "00",
         "+", "X", "é", "国",
         "\u200b", "password=", "token: ", "secret is ", "Bearer ", "tel ", "sk-", "eyJ", "://u:",
         "call ", "curl -u a:",
         "mysql -p", "pass: ", "Cookie: a=", "(11) ", "Ab3dEf6hIj9k", "_", "  ", "invoice ", "：",
         "[REDACTED:email]", "[REDACTED:",
         "0151 2345678", "415-555-2671", "a@b.co", "::1", "v", "-----END PRIVATE KEY-----", "DE89"]
    ),
    st.text(max_size=8),
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=6).map("".join)


@pytest.mark.parametrize(("text", "expected"), REDACTED, ids=NAMES)
def test_case_is_redacted(text: str, expected: str) -> None:
    redacted, kinds = redact_text(text)
    assert redacted == expected
    assert set(re.findall(r"\[REDACTED:(\w+)\]", expected)) == set(kinds)


@pytest.mark.parametrize("text", CASES["untouched"])
def test_harmless_text_stays(text: str) -> None:
    assert redact_text(text) == (text, ())


def test_series_gives_what_each_row_gives() -> None:
    texts = [*SECRETS, *CASES["untouched"], "", None]
    frame = redact(pl.Series("content", texts))
    expected = [
        (None, []) if t is None else (r[0], list(r[1])) for t in texts for r in [redact_text(t or "")]
    ]
    assert frame.schema == {"text": pl.String, "redactions": pl.List(pl.String)}
    assert frame.rows() == expected


def test_empty_and_null_series() -> None:
    assert redact(pl.Series([], dtype=pl.String)).height == 0
    assert redact(pl.Series([None, None], dtype=pl.String)).rows() == [(None, []), (None, [])]


def test_input_series_is_not_changed() -> None:
    texts = pl.Series(["a@example.com", "b"])
    redact(texts)
    assert texts.to_list() == ["a@example.com", "b"]


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_redacting_twice_changes_nothing(text: str) -> None:
    once, _ = redact_text(text)
    assert redact_text(once)[0] == once


@given(st.lists(TEXTS, max_size=4))
@settings(max_examples=150, deadline=None)
def test_vectorised_is_the_plain_rule(texts: list[str]) -> None:
    rows = redact(pl.Series(texts, dtype=pl.String)).rows()
    assert rows == [(text, list(kinds)) for text, kinds in map(redact_text, texts)]


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_every_rule_keeps_its_promises_to_the_gates(text: str) -> None:
    plain = fold(text).text
    for rule in RULES:
        if not any(start < end for start, end in rule.find(plain)):
            continue
        assert pl.Series([plain]).str.contains(rule.prefilter).item()
        where = plain.lower() if rule.is_lower else plain
        assert not rule.words or any(word in where for word in rule.words)


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_fold_maps_back_to_the_text(text: str) -> None:
    folded = fold(text)
    origins = [folded.origin(i) for i in range(len(folded.text))]
    assert origins == sorted(set(origins))
    assert all(0 <= i < len(text) for i in origins)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_case(kind: str) -> None:
    assert any(f"[REDACTED:{kind}]" in expected for _, expected in REDACTED)


def test_kept_kinds_stay_and_are_reported() -> None:
    frame = redact(pl.Series(["a@example.com 203.0.113.9"]), keep_kinds=["email"])
    assert frame.rows() == [("a@example.com [REDACTED:ip]", ["email", "ip"])]


@pytest.mark.parametrize("kind", [*sorted(CREDENTIAL_KINDS), "no_such_kind"])
def test_credentials_and_unknown_kinds_cannot_be_kept(kind: str) -> None:
    with pytest.raises(ConfigError, match=kind):
        redact(pl.Series(["x"]), keep_kinds=[kind])


@pytest.mark.parametrize(
    "unit",
    ["a@", "1-", "eyJ", "01 ", "4111 ", "password=", "://a:", "::", "-----BEGIN PRIVATE KEY-----", "sk-",
     "a.b@", "AAAAAAAAAAAAAAAA\n", "\\", "DE89 ", "[REDACTED:email]", "ghp_", "token='a1", "\u200b1",
     "curl -u a:", "curl ", "mysql -p", "cookie: a=", "pass: ",
     "call me at ", "call 06", "1_", "12.", "8 (916) "],
)  # fmt: skip
def test_adversarial_repeats_end_and_are_stable(unit: str) -> None:
    # A quadratic rule would take minutes here.
    text = unit * (200_000 // len(unit))
    redacted, _ = redact_text(text)
    assert redact_text(redacted[:50_000])[0][:40_000] == redacted[:40_000]


def test_secret_in_the_middle_of_a_megabyte() -> None:
    filler = "all work and no play " * 25_000
    frame = redact(pl.Series([filler + "jane@example.com " + filler]))
    assert frame.rows() == [(filler + "[REDACTED:email] " + filler, ["email"])]


def test_plain_chat_is_no_candidate() -> None:
    chat = ["See you at 12:30 on 2 May", "I like key lime pie", "the path of the token ring", "好的，谢谢"]
    assert candidates(pl.Series(chat)).to_list() == [False] * 4


@given(st.integers(min_value=0, max_value=10**18))
def test_luhn_accepts_exactly_one_check_digit(number: int) -> None:
    assert sum(has_luhn(f"{number}{digit}") for digit in range(10)) == 1
