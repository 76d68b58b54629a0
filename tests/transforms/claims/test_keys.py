"""Keys against a plain reading of the same rules, and what must hold of any key."""

from __future__ import annotations

import re
import unicodedata

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.claims.aspects import aspect_of
from transforms.claims.keys import MARKS, fold_pairs, key_of

ARTICLES = {
    "the", "a", "an", "my", "our", "your", "his", "her", "its", "their", "this", "that",
    "these", "those", "some", "der", "die", "das", "den", "dem", "ein", "eine", "einen", "einem",
    "einer", "mein", "meine", "meinen", "meinem", "meiner", "unser", "unsere", "el", "la", "los", "las",
    "un", "una", "unos", "unas", "mi", "mis", "nuestro", "nuestra", "le", "les", "une", "mon",
    "ma", "mes", "notre", "nos",
}  # fmt: skip


def plain_key(text: str) -> str:
    """The key of one text, a character and a word at a time."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower().casefold())
    marked = re.sub(r"\.{2,}", " ", "".join(MARKS.get(c, c) for c in folded))
    marked = re.sub(r"(?<=\w)'s\b", "", marked)
    letters = "".join(
        " " if c == "-" and _side(marked, n, -1).isalpha() and _side(marked, n, 1).isalpha() else c
        for n, c in enumerate(marked)
    )
    words = []
    for word in letters.split():
        if not word.strip(",;:!?'-"):
            continue
        bare = word.lstrip(",;:!?'").rstrip(".,;:!?'")
        if bare:
            words.append(bare)
    plain = " ".join(words)
    while len(words) > 1 and words[0] in ARTICLES:
        words.pop(0)
    words = words[:1] + [w for n, w in enumerate(words[1:], 1) if w != "the" or n == len(words) - 1]
    return " ".join(words) or plain or " ".join(folded.split())


def _side(text: str, at: int, step: int) -> str:
    """The nearest character beyond a run of hyphens; empty at an end."""
    at += step
    while 0 <= at < len(text) and text[at] == "-":
        at += step
    return text[at] if 0 <= at < len(text) else ""


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("The Aisle seat.", "aisle seat"),
        ("an aisle seat", "aisle seat"),
        ("my sister’s desk", "sister desk"),
        ("hand-check", "hand check"),
        ("room by the window", "room by window"),
        ("“window seat”", "window seat"),
        ("Straße", "strasse"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
        ("EUR 1,204.50", "eur 1,204.50"),
        ("3.5 mm", "3.5 mm"),
        ("-5 °C", "-5 °c"),
        ("10:30", "10:30"),
        ("C++", "c++"),
        ("node.js", "node.js"),
        ("v3.2.1", "v3.2.1"),
        ("below 60%", "below 60%"),
        ("14 Quayside Row, second floor", "14 quayside row second floor"),
        ("抹茶。", "抹茶"),
        ("🎂", "🎂"),
        ("?!", "?!"),
        ("the", "the"),
        ("vitamin A", "vitamin a"),
        ("  ", ""),
        ("", ""),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("los mariscos", "mariscos"),
    ],
)
def test_a_key(text: str, key: str) -> None:
    assert key_of(pl.Series([text])).to_list() == [key]
    assert plain_key(text) == key


def test_null_stays_null_and_the_name_stays() -> None:
    keys = key_of(pl.Series("subject", ["A b", None, "A b"]))
    assert keys.to_list() == ["b", None, "b"]
    assert keys.name == "subject"
    assert key_of(pl.Series("x", [], dtype=pl.String)).to_list() == []


def test_folding_knows_every_letter() -> None:
    assert fold_pairs()["ß"] == "ss"
    assert all(before != after for before, after in fold_pairs().items())


WORDS = st.sampled_from(
    [*"abzß.,;:!?'-…“”()é中の한🎂1€%", " ", "the ", "a ", "my ", "'s ", "3.5 ", "A-B", "..", "el "]
)
TEXTS = st.lists(WORDS, max_size=12).map("".join)


@given(st.lists(TEXTS, max_size=6))
@settings(max_examples=150)
def test_keys_meet_the_plain_reading(texts: list[str]) -> None:
    assert key_of(pl.Series(texts, dtype=pl.String)).to_list() == [plain_key(t) for t in texts]


@given(st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=20))
@settings(max_examples=150)
def test_a_text_keeps_a_key(text: str) -> None:
    key = key_of(pl.Series([text])).item()
    assert (key == "") == (text.strip() == "" or not unicodedata.normalize("NFKC", text).strip())


@pytest.mark.parametrize(
    ("name", "aspect"), [("Seats", "seat"), ("the hotel", "lodging"), ("shoe size", "shoe size"), ("", "")]
)
def test_aspects_meet_in_one_name(name: str, aspect: str) -> None:
    assert aspect_of(pl.Series([name])).to_list() == [aspect]
