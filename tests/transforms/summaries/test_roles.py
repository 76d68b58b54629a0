"""What a sentence is, on sentences of several languages, and what a passing failure teaches."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

from transforms.summaries import roles
from transforms.summaries.roles import DETAIL, ROLES, with_roles

USER = {
    "decision": [
        "We decided to go with Postgres.",
        "I've finally chosen the blue one.",
        "Let's take the smaller room.",
        "The final decision: no meetings on Friday.",
        "Wir haben uns für Berlin entschieden.",
        "Hemos decidido viajar en junio.",
        "Nous avons décidé de louer.",
        "我们决定用它。",
        "竹あかりに決めました。",
        "Мы решили уехать.",
    ],
    "preference": [
        "I prefer a window seat.",
        "I don't eat fish.",
        "Always send me amounts in euros.",
        "My favourite tea is black.",
        "Ich mag keinen Koriander.",
        "Me gusta el café.",
        "我更喜欢茶。",
        "抹茶が好きです。",
        "Я предпочитаю поезд.",
    ],
    "lesson": [
        "Lesson learned: test the backup.",
        "Next time we take the train.",
        "It turns out the clock was wrong.",
        "The root cause was the pool size.",
        "Rule for the future: call back first.",
        "Die Ursache war der Cache.",
        "原因是时钟不对。",
    ],
    "error": ["The import failed.", "It says: could not parse amount.", "Das schlug fehl.", "构建失败了。"],
    DETAIL: [
        "There were no errors at all.",
        "Should we decide today?",
        "If we decided on Rust, who would learn it?",
        "Is it fixed by now?",
        "The table has five columns.",
        "用它吗？",
    ],
}
ASSISTANT = {
    "outcome": [
        "The order was accepted: PR-551.",
        "Booked, table for two.",
        "予約しました。",
        "Готово, отправлено.",
    ],
    "error": ["The printer rejected the file, it has no margin."],
    DETAIL: ["I prefer not to guess.", "The sky is blue."],
}


def told(**row: Any) -> pl.DataFrame:
    plain = {
        "sentence": "The sky is blue.", "number": 0, "author": "user", "kind": "conversation",
        "outcome": None, "failure_reason": None, "tags": [],
    }  # fmt: skip
    text = dict.fromkeys(("author", "kind", "outcome", "failure_reason"), pl.String)
    return with_roles(pl.DataFrame([{**plain, **row}], schema_overrides={**text, "tags": pl.List(pl.String)}))


@pytest.mark.parametrize(
    ("author", "role", "sentence"),
    [
        (author, role, sentence)
        for author, cases in (("user", USER), ("assistant", ASSISTANT))
        for role, sentences in cases.items()
        for sentence in sentences
    ],
)
def test_by_words(author: str, role: str, sentence: str) -> None:
    assert told(sentence=sentence, author=author)["role"].to_list() == [role]


def test_an_assistant_has_no_preferences_and_a_user_no_outcomes_by_words() -> None:
    assert told(sentence="I love this hotel.", author="assistant")["role"][0] == DETAIL
    assert told(sentence="Booked, table for two.", author="user")["role"][0] == DETAIL


def test_an_episode_says_what_its_first_sentence_is_where_words_do_not() -> None:
    assert told(kind="outcome", author="tool")["role"][0] == "outcome"
    assert told(outcome="success", author="tool")["role"][0] == "outcome"
    assert told(outcome="failure", author="tool")["role"][0] == "error"
    assert told(tags=["x", "lesson"])["role"][0] == "lesson"
    assert told(tags=["lesson"], number=1)["role"][0] == DETAIL
    assert told(tags=["lesson"], sentence="We decided to go.")["role"][0] == "decision"


def test_what_passes_by_itself_teaches_nothing() -> None:
    assert told(sentence="The export failed with 429 Too Many Requests.").is_empty()
    assert told(sentence="Error: connection reset by peer.").is_empty()
    failed = {"outcome": "failure", "failure_reason": "504 Gateway Time-out"}
    assert told(sentence="The export failed.", **failed).is_empty()
    assert told(sentence="Lesson learned: never export.", **failed).is_empty()
    assert told(sentence="We decided to export at night.", **failed)["role"][0] == "decision"
    assert told(sentence="Lesson learned: retry on a time-out.")["role"][0] == "lesson"
    lasting = {"outcome": "failure", "failure_reason": "no bleed margin"}
    assert told(sentence="The order failed.", **lasting)["role"][0] == "error"


def test_every_role_has_cases_and_every_expression_is_one_of_rust() -> None:
    assert set(USER) | set(ASSISTANT) == {*ROLES, DETAIL}
    found = [value for name, value in vars(roles).items() if re.fullmatch("_[A-Z_]+", name)]
    for expression in found:
        pl.Series(["x"]).str.contains(expression)
    assert len(found) > 6
