"""``longmemeval``: a haystack of sessions for each question."""

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
from transforms.readers.longmemeval import LongMemEval, session_time
from transforms.readers.registry import detect

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "longmemeval.json"


def test_the_sample_row_by_row() -> None:
    found = read("longmemeval", SAMPLE.read_bytes())
    assert [(d["natural_id"], d["role"], d["event_at"]) for d in found.drafts] == [
        ("q-tea-01/tea_1/0", "user", "2026-05-04T10:20:00"),
        ("q-tea-01/tea_1/1", "assistant", "2026-05-04T10:20:00"),
        ("q-tea-01/answer_tea_2/0", "user", "2026-06-11T21:45:00"),
        ("q-tea-01/answer_tea_2/1", "assistant", "2026-06-11T21:45:00"),
        ("q-tea-01/tea_1/2/0", "user", "2026-06-12T07:10:00"),
        ("q-bike-02_abs/bike_1/0", "user", "2026-05-09T16:30:00"),
        ("q-bike-02_abs/bike_1/1", "assistant", "2026-05-09T16:30:00"),
    ]
    assert column(found.drafts, "user_id") == ["q-tea-01"] * 5 + ["q-bike-02_abs"] * 2
    assert found.drafts[4]["session_id"] == "q-tea-01/tea_1/2"
    assert found.drafts[2]["metadata"] == '{"has_answer":true}'
    assert column(found.drafts, "source_line") == [1] * 5 + [2] * 2
    assert (found.refusals, found.rows_in) == ([], 10)
    assert found.left_out == {"empty_conversation": 1, "question": 2}


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00"),
        ("2023/05/20 (14:03)", "2023-05-20T14:03:00"),
        ("2023/05/20", "2023-05-20"),
        ("2023-05-20T02:21:00Z", "2023-05-20T02:21:00Z"),
        ("some day", "some day"),
        (7, None),
    ],
)
def test_dates(given_as: object, expected: str | None) -> None:
    assert session_time(given_as) == expected


def haystack(sessions: object, **more: object) -> dict[str, Any]:
    return {"question_id": "q", "question": "?", "haystack_sessions": sessions, **more}


def test_faults_are_refused_alone() -> None:
    good = {"role": "user", "content": "x"}
    value = haystack([[good, 5, {"role": 7, "content": "y"}, {"role": "user", "content": ""}], "no", [good]])
    found = read("longmemeval", lines(value, haystack(None), [1]))
    assert column(found.drafts, "natural_id") == ["q/session-1/0", "q/session-3/0"]
    assert column(found.drafts, "event_at") == [None, None]
    assert sorted((r["source_line"], r["reason"]) for r in found.refusals) == [
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (1, "no_content"),
        (2, "bad_field_type"),
        (3, "not_an_object"),
    ]


def test_detection() -> None:
    long = haystack([[{"role": "user", "content": "x" * 300_000}]], haystack_dates=["2026/05/04"])
    for text, name in (
        (SAMPLE.read_text(), "longmemeval"),
        (lines(haystack([])), "longmemeval"),
        (lines(long, long), "longmemeval"),
        (json.dumps([long]), "longmemeval"),
        (json.dumps([{"question": "?", "answer": "!"}]), None),
    ):
        reader = detect(text.encode()[: IngestPolicy().sniff_bytes], "")
        assert (reader.name if reader else None) == name, text[:50]


def test_a_grown_file_keeps_the_ids_of_its_rows() -> None:
    value = json.loads(SAMPLE.read_bytes())
    whole = {(d["natural_id"], d["content"]) for d in read("longmemeval", SAMPLE.read_bytes()).drafts}
    del value[1]
    value[0]["haystack_sessions"].pop()
    part = read("longmemeval", json.dumps(value)).drafts
    assert len(part) == 4
    assert {(d["natural_id"], d["content"]) for d in part} < whole


@pytest.mark.parametrize("form", ["document", "lines"])
def test_read_on_gives_the_rest(form: str) -> None:
    value = json.loads(SAMPLE.read_bytes()) * 3
    data = (json.dumps(value) if form == "document" else lines(*value)).encode()
    policy = IngestPolicy(batch_rows=5)
    batches = list(LongMemEval().read(io.BytesIO(data), "f", policy))
    points = [(n, b.point) for n, b in enumerate(batches, 1) if b.point is not None and n < len(batches)]
    assert points
    for count, point in points:
        stream = io.BytesIO(data)
        stream.seek(point.offset)
        rest = [d for b in LongMemEval().read_on(stream, "f", policy, point) for d in b.drafts.to_dicts()]
        assert rest == [d for b in batches[count:] for d in b.drafts.to_dicts()]


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = SAMPLE.read_bytes()
    read("longmemeval", damaged_bytes(data, seed), IngestPolicy(batch_rows=2))
    read("longmemeval", damaged_json(json.loads(data), seed), IngestPolicy(batch_rows=2))
