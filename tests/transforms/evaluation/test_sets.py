"""Readers of labelled sets: small files with everything that may be wrong in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from transforms.errors import InputError, UsageError
from transforms.evaluation.labelled import LabelledSet, parse_numbers
from transforms.evaluation.locomo import read_locomo
from transforms.evaluation.rows_set import read_rows

# ---- LoCoMo's shape, with words of our own


def turn(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"dia_id": name, "speaker": "Noor", "text": text, **more}


def sample(qa: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "sample_id": "x",
        "conversation": {
            "speaker_a": "Noor",
            "speaker_b": "Pim",
            "session_2_date_time": "12:05 am on 3 May, 2023",
            "session_2": [turn("D2:1", "The kiln is fixed.")],
            "session_1_date_time": "1:56 pm on 28 April, 2023",
            "session_1": [turn("D1:1", "Look!", blip_caption="a blue bowl"), turn("D1:2", "My kiln broke.")],
            "session_3_date_time": "1:00 pm on 4 May, 2023",
        },
        "qa": qa,
    }


def asked(category: int, *evidence: str) -> dict[str, Any]:
    return {"question": "What broke?", "answer": "kiln", "evidence": list(evidence), "category": category}


def locomo(*qa: dict[str, Any], conversations: tuple[int, ...] = ()) -> LabelledSet:
    return read_locomo(json.dumps([sample(list(qa))] * 6).encode(), conversations)


def test_turns_become_rows_in_the_order_of_their_sessions() -> None:
    data = locomo(asked(4, "D1:2"), conversations=(1,))
    user = "conversation-01"
    assert {row["user_id"] for row in data.rows} == {user}
    shown = [(r["id"], r["session_id"], r["content"], f"{r['event_at']:%m-%d %H:%M:%S}") for r in data.rows]
    assert shown == [
        (f"{user}/D1:1", f"{user}/session-01", "Look! [a blue bowl]", "04-28 13:56:00"),
        (f"{user}/D1:2", f"{user}/session-01", "My kiln broke.", "04-28 13:56:01"),
        (f"{user}/D2:1", f"{user}/session-02", "The kiln is fixed.", "05-03 00:05:00"),
    ]
    question = data.questions[0]
    assert question.as_of == datetime(2023, 5, 4, 0, 5, tzinfo=UTC)
    assert question.scope == {"tenant": "locomo", "user": "conversation-01"}


@pytest.mark.parametrize(
    ("evidence", "expected", "remark"),
    [
        (["D1:2"], ["D1:2"], {}),
        (["D1:1; D2:1"], ["D1:1", "D2:1"], {"evidence ids mended": 1}),
        (["D1:1 D2:1", "D1:1"], ["D1:1", "D2:1"], {"evidence ids mended": 1}),
        (["D:1:2"], ["D1:2"], {"evidence ids mended": 1}),
        (["D2:01"], ["D2:1"], {"evidence ids mended": 1}),
        (["D1:2", "D", "D9:9"], ["D1:2"], {"evidence ids left out": 2}),
    ],
)
def test_evidence_is_mended_where_the_turn_is_there(
    evidence: list[str], expected: list[str], remark: dict[str, int]
) -> None:
    data = locomo(asked(1, *evidence), conversations=(2,))
    assert data.questions[0].relevant == tuple(f"conversation-02/{name}" for name in expected)
    assert data.remarks == remark


def test_questions_without_evidence_are_left_out_and_counted() -> None:
    data = locomo(asked(3), asked(2, "D9:9"), asked(4, "D1:1"), conversations=(1,))
    assert [q.category for q in data.questions] == ["single-hop"]
    assert data.remarks == {"evidence ids left out": 1, "questions left out, without evidence": 2}


@pytest.mark.parametrize("text", ["", "  ", None, 7])
def test_questions_without_text_are_left_out_and_counted(text: object) -> None:
    data = locomo({**asked(4, "D1:1"), "question": text}, asked(4, "D1:1"), conversations=(1,))
    assert [q.query for q in data.questions] == ["What broke?"]
    assert data.remarks == {"questions left out, without text": 1}


def test_adversarial_questions_have_no_answer_whatever_they_cite() -> None:
    data = locomo(asked(5, "D1:1"), asked(1, "D1:1"), conversations=(1,))
    assert [(q.category, q.relevant) for q in data.questions] == [
        ("adversarial", ()),
        ("multi-hop", ("conversation-01/D1:1",)),
    ]
    assert (data.answerable, data.unanswerable) == ([1], [0])


def test_the_halves_are_told_apart_by_the_number_of_the_file() -> None:
    data = locomo(asked(4, "D1:1"), conversations=(5, 6))
    assert [(q.group, q.part) for q in data.questions] == [
        ("conversation-05", "1-5"),
        ("conversation-06", "from 6"),
    ]
    assert {row["user_id"] for row in data.rows} == {"conversation-05", "conversation-06"}


@pytest.mark.parametrize("raw", [b"", b"{", b"{}", b"[]", b"[1]", b'[{"qa": [], "conversation": {}}]'])
def test_a_file_of_another_shape_is_told(raw: bytes) -> None:
    with pytest.raises(InputError):
        read_locomo(raw)


def test_a_conversation_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no question"):
        locomo(asked(4, "D1:1"), conversations=(9,))


@pytest.mark.parametrize(
    ("text", "expected"), [("6-10", (6, 7, 8, 9, 10)), ("1,3,5-7", (1, 3, 5, 6, 7)), (" 2 ,2", (2,))]
)
def test_numbers(text: str, expected: tuple[int, ...]) -> None:
    assert parse_numbers(text) == expected


@pytest.mark.parametrize("text", ["", "0", "a", "3-1", "1-", "-4", "1,,2", "1-999999999999", "²"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(UsageError):
        parse_numbers(text)


# ---- JSON lines of one's own

EPISODE = {"type": "episode", "id": "e1", "content": "The kiln broke.", "event_at": "2026-03-01T10:00:00Z"}
QUESTION = {"type": "question", "id": "q1", "query": "What broke?", "relevant": ["e1"]}


def lines(*records: object) -> bytes:
    return b"\n".join(json.dumps(r).encode() if isinstance(r, dict) else str(r).encode() for r in records)


def test_the_least_that_a_set_needs() -> None:
    data = read_rows(lines(EPISODE, "", QUESTION))
    row = data.rows[0]
    assert (row["tenant_id"], row["user_id"], row["role"]) == ("evaluation", "user", "user")
    assert "type" not in row
    question = data.questions[0]
    assert question.scope == {"tenant": "evaluation", "user": "user"}
    assert question.as_of == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert (question.category, question.group, question.part) == ("questions", "user", "")


def test_everything_that_may_be_named() -> None:
    episode = {
        **EPISODE,
        "tenant_id": "t",
        "agent_id": "a",
        "session_id": "s",
        "speaker": "Noor",
        "tags": ["x"],
    }
    question = {
        **QUESTION,
        "tenant_id": "t", "agent_id": "a", "category": "temporal", "group": "g", "part": "held out",
        "as_of": "2026-05-01T00:00:00+02:00", "relevant": ["e1", "e1"],
    }  # fmt: skip
    data = read_rows(lines(episode, question))
    assert data.rows[0]["tags"] == ["x"]
    assert "user_id" not in data.rows[0]
    held = data.questions[0]
    assert held.scope == {"tenant": "t", "agent": "a"}
    assert (held.category, held.group, held.part, held.relevant) == ("temporal", "g", "held out", ("e1",))
    assert held.as_of == datetime(2026, 4, 30, 22, tzinfo=UTC)


def test_a_question_that_nothing_answers() -> None:
    data = read_rows(lines(EPISODE, {**QUESTION, "relevant": []}))
    assert (data.answerable, data.unanswerable) == ([], [0])


def test_it_is_asked_a_day_after_the_last_episode_of_its_group() -> None:
    late = {**EPISODE, "id": "e2", "user_id": "other", "event_at": "2026-04-01T10:00:00Z"}
    data = read_rows(lines(EPISODE, late, QUESTION, {**QUESTION, "id": "q2", "user_id": "other"}))
    ends = [q.as_of - timedelta(days=1) for q in data.questions]
    assert ends == [datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2026, 4, 1, 10, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("records", "told"),
    [
        (["{", EPISODE, QUESTION], "no JSON (line 1)"),
        (["[1]", EPISODE, QUESTION], "no JSON object (line 1)"),
        ([{**EPISODE, "type": "row"}, EPISODE, QUESTION], '"type" is neither "episode" nor "question"'),
        ([EPISODE, EPISODE, QUESTION], '"id" of an earlier episode (line 2)'),
        ([{**EPISODE, "id": 7}, EPISODE, QUESTION], '"id" is missing or no text (line 1)'),
        ([{**EPISODE, "content": ""}, QUESTION], '"content" is missing or no text (line 1)'),
        ([{**EPISODE, "user_id": 5}, QUESTION], '"user_id" is missing or no text (line 1)'),
        ([{**EPISODE, "event_at": "2026-03-01"}, QUESTION], '"event_at" is no ISO 8601 time with a zone'),
        ([EPISODE, {**QUESTION, "as_of": "soon"}], '"as_of" is no ISO 8601 time with a zone (line 2)'),
        ([EPISODE, {**QUESTION, "relevant": "e1"}], '"relevant" is no list of ids of episodes (line 2)'),
        ([EPISODE, {**QUESTION, "relevant": ["e9"]}], '"relevant" names an episode that is not in the file'),
        ([EPISODE], "no question (line 1)"),
        ([QUESTION], "no episode (line 1)"),
    ],
)  # fmt: skip
def test_faults_are_told_with_their_lines(records: list[Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        read_rows(lines(*records))
    assert told in caught.value.message


def test_all_faults_are_told_at_once_and_many_lines_are_cut() -> None:
    with pytest.raises(InputError) as caught:
        read_rows(lines(*["{"] * 5, {**EPISODE, "content": None}))
    assert "no JSON (lines 1, 2, 3 and 2 more)" in caught.value.message
    assert "no question" in caught.value.message


def test_labels_by_turn_and_by_session() -> None:
    rows = [{**EPISODE, "id": f"e{i}", "session_id": f"s{i // 2}"} for i in range(4)]
    data = read_rows(lines(*rows, {**QUESTION, "relevant": ["e0", "e1", "e3"]}))
    assert data.relevant().rows() == [(0, "e0"), (0, "e1"), (0, "e3")]
    assert data.relevant(by_session=True).rows() == [(0, "s0"), (0, "s1")]
