"""Mood of single texts, and how often the label is right on the project's own set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.conversations.made import session
from transforms.conversations.describe import describe
from transforms.conversations.mood import moods, squash
from transforms.conversations.mood_words import LEXICON
from transforms.policy import Policy

CASES: dict[str, list[tuple[str, str | list[str]]]] = json.loads(
    Path(__file__).with_name("mood_cases.json").read_text("utf-8")
)
DOC = Path(__file__).resolve().parents[3] / "docs" / "summaries.md"


def labels(cases: list[tuple[str, str | list[str]]]) -> list[str]:
    """Label of each case, in order; where nothing carries mood, it is neutral."""
    frames = [
        session(*[("user", text) for text in ([said] if isinstance(said, str) else said)], name=f"s{at:03}")
        for at, (_, said) in enumerate(cases)
    ]
    found = describe(pl.concat(frames), Policy()).sort("session_id")
    return [label or "neutral" for label in found["sentiment_label"]]


@pytest.mark.parametrize(("part", "least"), [("tuned", 0.97), ("held_out", 0.95), ("unseen", 0.85)])
def test_accuracy_and_the_page_that_tells_it(part: str, least: float) -> None:
    cases = CASES[part]
    right = sum(label == wanted for label, (wanted, _) in zip(labels(cases), cases, strict=True))
    assert right / len(cases) >= least
    assert f"{right} of {len(cases)}" in DOC.read_text("utf-8")


def test_misses_are_on_the_page() -> None:
    page = DOC.read_text("utf-8")
    for part, cases in CASES.items():
        for label, (wanted, said) in zip(labels(cases), cases, strict=True):
            if label != wanted:
                assert (said if isinstance(said, str) else said[-1]) in page, (part, said, label)


def test_the_set_is_large_and_mixed() -> None:
    said = [str(text) for cases in CASES.values() for _, text in cases]
    assert len(said) == len(set(said)) >= 220
    kinds = {label for cases in CASES.values() for label, _ in cases}
    assert kinds == {"positive", "negative", "mixed", "neutral"}


def felt(text: str) -> float | None:
    """Positive less negative valence."""
    positive, negative = moods(pl.Series([text])).row(0)
    return None if positive is None else positive - negative


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ("I am happy.", "I am very happy!"),
        ("I am a bit happy.", "I am happy."),
        ("not happy", "happy"),
        ("I never enjoyed it.", "I enjoyed it."),
        ("It was great but terrible.", "It was terrible but great."),
        ("nicht gut gelaunt, traurig", "traurig"),
        ("不开心", "开心"),
        ("楽しくない", "楽しい"),
        ("안 좋아요", "좋아요"),
        ("je n'aime pas", "j'aime"),
        ("😭", "🙂"),
        (":(", ":)"),
    ],
)
def test_negation_strength_contrast_and_signs(weaker: str, stronger: str) -> None:
    low, high = felt(weaker), felt(stronger)
    assert low is not None
    assert high is not None
    assert low < high


@pytest.mark.parametrize(
    "text",
    [
        "Kill the zombie process, then abort.",
        "`I hate this` is the string to match",
        "```\nhappy = True\n```",
        "https://example.org/terrible/awful",
        'The ticket says "this is awful and I hate it".',
        "> I am so angry\nWhat does she mean?",
        "[REDACTED:card]",
        "git blame shows who wrote it",
        "累计金额是多少？",
        "Le sol est en bois et le pain est prêt.",
        "",
        "42",
    ],
)
def test_what_carries_no_mood(text: str) -> None:
    assert felt(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Great, can you run the tests again?",
        "Perfect, the error is gone.",
        "Nice, the failed test passes now.",
        "Great, it doesn't need a migration.",
    ],
)
def test_praise_with_a_word_of_trouble_is_no_mockery(text: str) -> None:
    assert (felt(text) or 0) > 0


def test_courtesy_is_weaker_than_praise() -> None:
    assert 0 < (felt("Good. And the second file?") or 0) < (felt("This is good.") or 0)


def test_a_text_is_read_alone_and_in_order() -> None:
    texts = pl.Series(["I love it", None, "I hate it", "plain", "I love it"])
    together = moods(texts)
    assert together.rows() == [moods(pl.Series([t], dtype=pl.String)).row(0) for t in texts]
    assert together["positive"].is_null().to_list() == [False, True, False, True, False]


WORDS = (
    "love",
    "hate",
    "not",
    "very",
    "but",
    "if",
    "happy",
    "sad",
    "😀",
    ":(",
    ",",
    ".",
    "开心",
    "不",
    "\n",
    "x",
)
ANY = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@given(st.lists(ANY, max_size=5))
def test_laws(texts: list[str]) -> None:
    found = moods(pl.Series(texts, dtype=pl.String))
    assert found.height == len(texts)
    for (positive, negative), text in zip(found.rows(), texts, strict=True):
        if positive is not None:
            assert positive >= 0
            assert negative >= 0
            assert -1 < squash(positive - negative) < 1
        assert (positive is None) == (negative is None)
        assert moods(pl.Series([text, "x"])).row(0) == (positive, negative)


def test_no_word_stands_twice_in_a_language() -> None:
    for language, table in LEXICON.items():
        words = [w for line in table.values() for w in line.split()]
        doubled: list[Any] = sorted({w for w in words if words.count(w) > 1})
        assert doubled == [], language
