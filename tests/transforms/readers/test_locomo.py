"""``locomo``: two people, sessions in the order of their numbers, dates without a zone."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.locomo import Locomo, session_time
from transforms.readers.registry import detect

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "locomo.json"


def test_the_sample_row_by_row() -> None:
    found = read("locomo", SAMPLE.read_bytes())
    assert [(d["natural_id"], d["user_id"], d["event_at"], d["turn_index"]) for d in found.drafts] == [
        ("roof-7/D1:1", "roof-7/Teodor", "2026-03-02T09:05:00", 0),
        ("roof-7/D1:2", "roof-7/Rosalind", "2026-03-02T09:05:00", 1),
        ("roof-7/D1:3", "roof-7/Teodor", "2026-03-02T09:05:00", 2),
        ("roof-7/D2:1", "roof-7/Rosalind", "2026-03-15T12:40:00", 0),
        ("roof-7/D2:2", "roof-7/Teodor", "2026-03-15T12:40:00", 1),
    ]
    assert column(found.drafts, "session_id") == ["roof-7/session_1"] * 3 + ["roof-7/session_2"] * 2
    assert column(found.drafts, "speaker") == ["Teodor", "Rosalind", "Teodor", "Rosalind", "Teodor"]
    assert set(column(found.drafts, "role")) == {"user"}
    assert set(column(found.drafts, "agent_id")) == {"roof-7"}
    assert str(found.drafts[1]["content"]).endswith("Look: [a copper weather vane in the shape of a heron]")
    assert json.loads(str(found.drafts[1]["metadata"])) == {
        "img_url": ["https://pictures.example/vane.jpg"],
        "query": "copper weather vane",
    }
    assert (found.refusals, found.left_out, found.rows_in) == ([], {"annotation": 3, "question": 1}, 9)


def test_with_an_owner_only_the_owners_words_are_the_users() -> None:
    [batch] = Locomo("rosalind").read(io.BytesIO(SAMPLE.read_bytes()), "source", IngestPolicy())
    assert batch.drafts["role"].to_list() == ["other", "user", "other", "user", "other"]
    assert batch.drafts["user_id"].null_count() == 5


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00"),
        ("12:05 am on 31 December, 2026", "2026-12-31T00:05:00"),
        ("12:40 PM on 15 March 2026", "2026-03-15T12:40:00"),
        ("8 May, 2023", None),
        ("1:56 pm on 8 Mai, 2023", None),
    ],
)
def test_dates(given_as: str, expected: str | None) -> None:
    assert session_time(given_as) == expected


def sample(**conversation: object) -> dict[str, Any]:
    return {"sample_id": "s", "conversation": {"speaker_a": "Noor", **conversation}}


def test_sessions_come_in_the_order_of_their_numbers_and_faults_are_refused_alone() -> None:
    turn = {"speaker": "Noor", "text": "hi"}
    value = sample(
        session_10=[turn | {"dia_id": "D10:1"}],
        session_2=[7, turn, {"text": []}, {"text": ""}],
        session_3="none",
        session_2_date_time="some day",
        session_10_date_time=["no"],
    )
    found = read("locomo", json.dumps([value, {"conversation": 3}, 5]))
    assert column(found.drafts, "natural_id") == ["s/session_2/2", "s/D10:1"]
    assert column(found.drafts, "event_at") == ["some day", None]
    assert sorted((r["source_line"], r["reason"]) for r in found.refusals) == [
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (1, "no_content"),
        (2, "bad_field_type"),
        (3, "not_an_object"),
    ]


def test_detection() -> None:
    whole = SAMPLE.read_text()
    for text, name in (
        (whole, "locomo"),
        (json.dumps(json.loads(whole)), "locomo"),
        (json.dumps(json.loads(whole)[0]), "locomo"),
        (lines(sample(session_1=[])), "locomo"),
        (json.dumps([{"conversation": [{"role": "user", "content": "x"}]}]), None),
    ):
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:50]


def test_a_grown_file_keeps_the_ids_of_its_rows() -> None:
    value = json.loads(SAMPLE.read_bytes())
    whole = {(d["natural_id"], d["content"]) for d in read("locomo", SAMPLE.read_bytes()).drafts}
    del value[0]["conversation"]["session_2"]
    part = read("locomo", json.dumps(value)).drafts
    assert len(part) == 3
    assert {(d["natural_id"], d["content"]) for d in part} < whole


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = SAMPLE.read_bytes()
    read("locomo", damaged_bytes(data, seed), IngestPolicy(batch_rows=2))
    read("locomo", damaged_json(json.loads(data), seed), IngestPolicy(batch_rows=2))


@pytest.mark.parametrize(
    ("name", "questions"), [("locomo10.json", 1_986), ("locomo10_corrected.json", 1_985)]
)
def test_the_real_file(real_data: Path, name: str, questions: int) -> None:
    data = (real_data / "locomo" / name).read_bytes()
    reader = detect(data[: IngestPolicy().sniff_bytes], name)
    assert reader is not None
    assert reader.name == "locomo"
    found = read("locomo", data)
    assert (len(found.drafts), found.refusals) == (5_882, [])
    assert found.left_out == {"annotation": 816, "question": questions}
    assert len(set(column(found.drafts, "natural_id"))) == 5_882
    assert len(set(column(found.drafts, "session_id"))) == 272
    assert len(set(column(found.drafts, "user_id"))) == 20
    assert all(len(str(time)) == 19 for time in column(found.drafts, "event_at"))


def test_read_on_gives_the_rest(real_data: Path) -> None:
    data = (real_data / "locomo" / "locomo10.json").read_bytes()
    policy = IngestPolicy(batch_rows=900)
    batches = list(Locomo().read(io.BytesIO(data), "f", policy))
    points = [(n, b.point) for n, b in enumerate(batches, 1) if b.point is not None and n < len(batches)]
    assert points
    for count, point in points:
        stream = io.BytesIO(data)
        stream.seek(point.offset)
        rest = [d for b in Locomo().read_on(stream, "f", policy, point) for d in b.drafts.to_dicts()]
        assert rest == [d for b in batches[count:] for d in b.drafts.to_dicts()]
