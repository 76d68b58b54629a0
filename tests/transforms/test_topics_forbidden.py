from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.standing import Standing
from transforms.subjects import Subject
from transforms.topics_forbidden import MOST_TOPIC_CHARS, forbidden, is_mentioned, plain, topic_of

MET = [
    ("divorce", "My Divorce is through"),
    ("Divorce", "DIVORCE"),
    ("divorce", "divorces"),
    ("divorce", "the divorce's date, the divorce’s end"),
    ("loans", "one loan"),
    ("illness", "both illnesses"),
    ("pregnancy", "two pregnancies"),
    ("pregnancies", "a pregnancy"),
    ("my divorce", "about my\n  divorce."),
    ("peanut allergy", "a peanut-allergy, peanut_allergy"),
    ("peanut-allergy", "a peanut allergy"),
    ("divorce", "ＤＩＶＯＲＣＥ"),
    ("divorce", "di\u00advorce and di\u200bvorce"),
    ("straße", "in der STRASSE"),
    ("café", "the cafe\u0301s"),
    ("развод", "Мой РАЗВОД был"),
    ("离婚", "我离婚了"),
    ("離婚", "私は離婚した"),
    ("이혼", "이혼을 했다"),
    ("หย่า", "ฉันหย่าแล้ว"),
    ("AI", "AIについて"),
    ("c++", "I know C++ well"),
    ("طلاق", "قصة طلاق طويلة"),
    ("42", "room 42"),
    ("istanbul", "İSTANBUL"),
    ("İstanbul", "to istanbul"),
    ("طلاق", "قصة طَلَاق طويلة"),
    ("גירושין", "גֵּירוּשִׁין"),
]
NOT_MET = [
    ("divorce", "a divorcee"),
    ("divorce", "predivorce"),
    ("gas", "gastronomy"),
    ("bus", "bu"),
    ("my divorce", "my own divorce"),
    ("दिल", "दिल्ली में"),
    ("развод", "разводной мост"),
    ("42", "421 and 142"),
    ("AI", "said"),
    ("divorce", ""),
]


@pytest.mark.parametrize(("topic", "text"), MET)
def test_mentioned(topic: str, text: str) -> None:
    assert is_mentioned(text, [topic_of(topic)])
    assert is_mentioned(f"so: {text}!", ["unrelated", topic_of(topic)])


@pytest.mark.parametrize(("topic", "text"), NOT_MET)
def test_not_mentioned(topic: str, text: str) -> None:
    assert not is_mentioned(text, [topic_of(topic)])


@pytest.mark.parametrize("words", ["", "  ", "-_-", "!?", "\u200b", "x" * (MOST_TOPIC_CHARS + 1)])
def test_a_topic_has_letters_and_an_end(words: str) -> None:
    with pytest.raises(UsageError, match="topic"):
        topic_of(words)


def test_a_text_that_is_none_mentions_nothing() -> None:
    assert not is_mentioned(None, ["a"])


@given(st.text(max_size=40))
def test_the_plain_form_is_its_own(text: str) -> None:
    assert plain(plain(text)) == plain(text)


WORDS = st.text(st.characters(categories=["Ll", "Lu", "Lo", "Nd"]), min_size=1, max_size=8)


@given(WORDS, st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=3))
def test_a_topic_is_met_where_it_stands_between_words(
    topic: str, before: list[str], after: list[str]
) -> None:
    if not plain(topic):
        return
    assert is_mentioned(" ".join([*before, topic, *after]), [topic_of(topic)])


def rows(*told: dict[str, Any]) -> pl.DataFrame:
    names = ("tenant_id", "user_id", "agent_id", "session_id", "content", "metadata")
    schema = pl.Schema({**dict.fromkeys(names, pl.String()), "tags": pl.List(pl.String)})
    return pl.DataFrame([{"tenant_id": "t", **one} for one in told], schema=schema, orient="row")


def standing(topic: str, **subject: str) -> Standing:
    return Standing(Subject("t", **subject), forbidden_topics=(topic_of(topic),))


def test_a_topic_is_forbidden_for_its_own_subject() -> None:
    held = [
        standing("divorce", user="ana"),
        standing("loan", agent="bot"),
        standing("war"),
        standing("divorce", user="an"),
        Standing(Subject("t", user="ana"), is_held=True),
        Standing(Subject("t", memory="e1"), forbidden_topics=("x",)),
    ]
    frame = rows(
        {"user_id": "ana", "content": "my divorce"},
        {"user_id": "anabel", "content": "my divorce"},
        {"user_id": "anabel", "agent_id": "bot", "content": "a loan"},
        {"user_id": "ana", "content": "a loan"},
        {"content": "a war"},
        {"tenant_id": "other", "content": "a war"},
        {"user_id": "ana", "content": "fine", "metadata": '{"about": "divorce"}'},
        {"user_id": "ana", "content": "fine", "tags": ["x", "Divorce"]},
        {"user_id": "ana"},
    )
    expected = [True, False, True, False, True, False, True, True, False]
    assert forbidden(frame, held).to_list() == expected
    assert forbidden(frame, held[:1]).to_list() == [True, *[False] * 5, True, True, False]
    assert forbidden(frame, held, texts=["metadata"]).to_list() == [*[False] * 6, True, False, False]
    assert forbidden(frame, []).to_list() == [False] * 9
    assert forbidden(frame.clear(), held).to_list() == []


def test_rows_that_lack_a_scope_column_are_of_no_such_subject() -> None:
    quarantined = rows({"user_id": "ana", "content": "a loan"}).drop("agent_id", "session_id")
    assert forbidden(quarantined, [standing("loan", agent="bot")]).to_list() == [False]
    assert forbidden(quarantined, [standing("loan", user="ana")]).to_list() == [True]


def plain_forbidden(frame: pl.DataFrame, held: list[Standing]) -> list[bool]:
    """The definition, row by row and subject by subject."""
    return [
        any(
            is_mentioned(row["content"], one.forbidden_topics)
            for one in held
            if all(row[name] == value for name, value in one.subject.columns().items())
        )
        for row in frame.to_dicts()
    ]


NAMES = st.sampled_from([None, "a", "b"])


@given(
    st.lists(
        st.builds(
            lambda u, a, c: {"user_id": u, "agent_id": a, "content": c},
            NAMES, NAMES, st.sampled_from(["x", "y", "x y", "z"]),
        ),
        max_size=8,
    ),
    st.lists(st.tuples(NAMES, st.booleans(), st.sampled_from(["x", "y"])), max_size=5),
)  # fmt: skip
def test_forbidden_is_the_definition(
    told: list[dict[str, Any]], named: list[tuple[str | None, bool, str]]
) -> None:
    held = [
        standing(topic, **({} if name is None else {"user" if is_user else "agent": name}))
        for name, is_user, topic in named
    ]
    frame = rows(*told)
    assert forbidden(frame, held).to_list() == plain_forbidden(frame, held)
