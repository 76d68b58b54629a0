"""Whose a row is, whom a refused row names, and which sentences tell somebody apart."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.erasure import (
    LEAST_CHARS,
    MOST_BYTES,
    Aim,
    meets,
    names_subject,
    plain_texts,
    searchable,
    sentences,
    sources_of,
)
from transforms.schemas import CLAIMS, FACTS, PROCEDURES
from transforms.subjects import Subject

ANA = Aim(Subject("acme", user="ana"), aliases=("Ana Banana",))
SPOKEN = pl.Schema(dict.fromkeys(("tenant_id", "user_id", "agent_id", "session_id", "speaker"), pl.String))
ROWS = [
    # tenant, user, agent, session, speaker, aimed at
    ("acme", "ana", None, "s1", None, True),
    ("acme", "ana2", None, "s1", None, False),
    ("acme", "an", None, "s1", None, False),
    ("other", "ana", None, "s1", None, False),
    ("acme", None, "club", "g", "ana", True),
    ("acme", None, "club", "g", " ANA BANANA ", True),
    ("acme", None, "club", "g", "ana b", False),
    ("acme", None, None, None, None, False),
    ("acme", "ben", "club", "g", "ana", False),
    ("other", None, "club", "g", "ana", False),
    (None, None, "club", "g", "ana", False),
]


@pytest.mark.parametrize(("row", "wanted"), [(row[:5], row[5]) for row in ROWS])
def test_whose_a_row_is(row: tuple[str | None, ...], wanted: bool) -> None:
    frame = pl.DataFrame([row], schema=SPOKEN, orient="row")
    assert frame.select(ANA.is_aimed(has_speaker=True)).item() is wanted


def test_a_hold_keeps_rows_of_its_subject() -> None:
    held = Aim(ANA.subject, holds=(Subject("acme", user="ana", session="s1"), Subject("acme", memory="m1")))
    frame = pl.DataFrame([(*row[:5], f"m{i}") for i, row in enumerate(ROWS)],
                         schema={**SPOKEN, "episode_id": pl.String}, orient="row")  # fmt: skip
    kept = frame.select(held.is_held("episode_id")).to_series()
    assert kept.arg_true().to_list() == [0, 1]


RAW = [
    ('{"user_id": "ana", "content": ""}', True),
    ('{"a": [{"User": "ana"}]}', True),
    ('{"speaker": "Ana Banana"}', True),
    ('{"user_id": "ana2", "content": "ana said so"}', False),
    ('{"user_id": "ana", "tenant_id": "other"}', False),
    ('{"user_id": "ana", "tenant": "acme"}', True),
    ('{"user_id": "ana", "content": "cut o', True),
    ('{"content": "a mention of ana", "user_id": "be', False),
    ("7,ana,2026-01-01,hello", True),
    ("7,analog,2026-01-01,hello ana", False),
    ('"just a text about ana"', False),
    ("[" * 5000, False),
]


@pytest.mark.parametrize(("raw", "wanted"), RAW)
def test_whom_a_refused_row_names(raw: str, wanted: bool) -> None:
    assert names_subject(raw, ANA) is wanted


def test_a_memory_is_named_by_no_field() -> None:
    assert not names_subject('{"user_id": "m1"}', Aim(Subject("acme", memory="m1")))


IDS = st.sampled_from(["a", "b", "c", "d", "é", ""])


@given(st.lists(st.one_of(st.none(), IDS)), st.lists(IDS, unique=True))
def test_meeting_ids_agrees_with_looking_at_each_row(column: list[str | None], ids: list[str]) -> None:
    rows = pl.DataFrame({"id": column}, schema={"id": pl.String})
    found = meets(rows, "id", pl.Series(ids, dtype=pl.String))
    assert found.to_list() == [value is not None and value in ids for value in column]


@given(st.lists(st.one_of(st.none(), st.lists(st.one_of(st.none(), IDS)))), st.lists(IDS, unique=True))
def test_meeting_lists_of_ids_agrees_too(column: list[list[str | None] | None], ids: list[str]) -> None:
    rows = pl.DataFrame({"ids": column}, schema={"ids": pl.List(pl.String)})
    found = meets(rows, "ids", pl.Series(ids, dtype=pl.String))
    assert found.to_list() == [
        any(part in ids for part in value or [] if part is not None) for value in column
    ]


def test_sentences_that_tell_somebody_apart() -> None:
    texts = [
        "Yes, please. The cellar of the boathouse is full of barrels!\nok",
        json.dumps({"note": ["The third step hides a key for the shed."], "n": 4}),
        None,
        "船小屋の地下室は青い樽でいっぱいです",
    ]
    assert set(sentences(texts, 10)) == {
        "The cellar of the boathouse is full of barrels!",
        "The third step hides a key for the shed.",
        "船小屋の地下室は青い樽でいっぱいです",
    }
    assert sentences(texts, 1) == ["The cellar of the boathouse is full of barrels!"]


@given(st.lists(st.text()))
def test_sentences_stand_in_their_texts_and_are_short_and_distinct(texts: list[str]) -> None:
    found = sentences(texts, 100)
    assert len(found) == len(set(found))
    for sentence in found:
        assert any(sentence in plain for text in texts for plain in plain_texts(text))
        assert len(sentence.encode("utf-8", "surrogatepass")) <= MOST_BYTES
        assert len(sentence) >= LEAST_CHARS // 2
    assert found == sentences(list(reversed(texts)), 100)


def test_what_a_derived_row_rests_on() -> None:
    facts = FACTS.empty().select("fact_id", "source_refs").vstack(
        pl.DataFrame({"fact_id": ["f", "f", "g"], "source_refs": [["b", "a"], ["c", "a"], ["z"]]})
    )  # fmt: skip
    assert sources_of("f", FACTS, facts) == {"episodes": ["a", "b", "c"]}
    skills = pl.DataFrame(
        {"procedure_id": ["p", "p"], "kind": ["pattern", "lesson"], "source_refs": [["k"], ["e"]]}
    )
    assert sources_of("p", PROCEDURES, skills) == {"episodes": ["e"], "conversations": ["k"]}
    claims = pl.DataFrame({"claim_id": ["c"], "episode_id": ["e"]})
    assert sources_of("c", CLAIMS, claims) == {"episodes": ["e"]}


def test_names_that_every_lake_is_written_with_are_not_looked_for_in_bytes() -> None:
    assert searchable(["User", "ana", " ", "ana"], {"user", "content"}) == ["ana"]
