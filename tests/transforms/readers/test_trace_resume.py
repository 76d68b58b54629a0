"""Readers of traces go on at every point to the rows of an undisturbed read, and points hold no text."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.telling import FORMATS, WORDS, steps
from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector, Resumable
from transforms.readers.lines import START, Point
from transforms.readers.otel_spans import OtelSpans
from transforms.readers.records import Record
from transforms.readers.registry import reader_named
from transforms.readers.trace_landed import Conversation
from transforms.readers.trace_places import packed, unpacked
from transforms.readers.trace_reading import Taking
from transforms.readers.trace_rows import TraceRows
from transforms.readers.trace_state import conversation_of
from transforms.readers.trace_state import told as landed

SEEDS = st.integers(0, 2**31)


def told(name: str, seed: int, size: int, *, is_list: bool, sessions: int = 3, turns: int = 4) -> bytes:
    records = FORMATS[name](steps(seed, sessions, turns), size)
    if is_list:
        return json.dumps(records).encode()
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read_from(name: str, data: bytes, policy: IngestPolicy, point: Point = START) -> Iterator[list[Batch]]:
    """Batches up to each pause, as ingest takes them that commits every one."""
    reader = reader_named(name)
    assert isinstance(reader, Resumable)
    stream = io.BytesIO(data)
    stream.seek(point.offset)
    part: list[Batch] = []
    for batch in reader.read_on(stream, "f", policy, point):
        part.append(batch)
        if batch.pause is not None and (end := batch.pause()) is not None:
            yield [*part, end]
            part = []
    yield part


def rows(parts: list[list[Batch]]) -> list[Any]:
    return [
        [batch.drafts.to_dicts(), batch.refusals.to_dicts(), batch.left_out]
        for part in parts
        for batch in part
    ]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    size=st.integers(1, 5),
    held=st.sampled_from([1, 3_000, 9_000, 20_000, 64_000_000]),
    batch_rows=st.integers(1, 12),
    is_list=st.booleans(),
)
def test_reading_goes_on_at_every_point(
    name: str, seed: int, size: int, held: int, batch_rows: int, is_list: bool
) -> None:
    data = told(name, seed, size, is_list=is_list)
    policy = IngestPolicy(batch_rows=batch_rows, batch_bytes=held)
    calm = list(read_from(name, data, policy))
    for done, part in enumerate(calm[:-1], start=1):
        point = part[-1].point
        assert point is not None
        again = list(read_from(name, data, policy, point))
        assert rows(again) == rows(calm[done:])


@pytest.mark.parametrize("name", FORMATS)
@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_points_hold_no_text(name: str, seed: int) -> None:
    """Words and tools may stand in nobody's id here, so that they would be found."""
    data = told(name, seed, 3, is_list=False)
    for part in read_from(name, data, IngestPolicy(batch_rows=4, batch_bytes=9_000)):
        state = "".join(batch.point.state for batch in part if batch.point is not None)
        assert not [word for word in (*WORDS[2:], "found", "look", "find") if word in state]


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_read_again_is_what_is_held(name: str) -> None:
    days = [step for day in range(12) for step in steps(day, name=f"day{day}s")]
    data = b"".join(json.dumps(record).encode() + b"\n" for record in FORMATS[name](days, 3))
    parts = list(read_from(name, data, IngestPolicy(batch_rows=20, batch_bytes=60_000)))
    points = [part[-1].point for part in parts[:-1]]
    places = [point.offset for point in points if point is not None]
    assert len(places) == len(points) > 5
    assert places == sorted(places)
    assert places[-1] > len(data) * 0.6  # of 60 KB that are held, most is what a span is reckoned at


def test_a_source_in_another_encoding_and_the_inside_of_a_request_have_no_points() -> None:
    data = told("otel-spans", 5, 3, is_list=True)
    policy = IngestPolicy(batch_rows=3, batch_bytes=3_000)
    assert len(list(read_from("otel-spans", data, policy))) > 1
    assert len(list(read_from("otel-spans", data.decode().encode("utf-16"), policy))) == 1
    single = told("otel-spans", 5, 999, is_list=False)
    batches = [batch for part in read_from("otel-spans", single, policy) for batch in part]
    assert len(batches) > 1
    assert [batch.point for batch in batches if batch.point is not None and batch.point.offset] == []


def vercel(own: int, kind: str, begin: int, end: int, text: str) -> dict[str, Any]:
    given = {
        "ai.operationId": kind,
        "operation.name": kind,
        "ai.response.text": text,
        "ai.prompt": '{"prompt":"Hi"}',
    }
    return {
        "traceId": f"{own:032x}",
        "spanId": f"{own:016x}",
        "name": kind,
        "startTimeUnixNano": str((1_777_885_200 + begin) * 10**9),
        "endTimeUnixNano": str((1_777_885_200 + end) * 10**9),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in given.items()],
    }


def test_a_twin_of_what_landed_before_the_point_is_known() -> None:
    inner = vercel(1, "ai.generateText.doGenerate", 1, 2, "Nine.")
    others = [vercel(n, "ai.generateText.doGenerate", 10 * n, 10 * n + 1, f"At {n}.") for n in range(2, 9)]
    outer = vercel(99, "ai.generateText", 0, 3, "Nine.")
    data = b"".join(json.dumps(span).encode() + b"\n" for span in (inner, *others, outer))
    policy = IngestPolicy(batch_rows=1, batch_bytes=6_000)
    calm = list(read_from("otel-spans", data, policy))
    assert [row["content"] for part in calm for b in part for row in b.drafts.to_dicts()].count("Nine.") == 1
    for done, part in enumerate(calm[:-1], start=1):
        assert part[-1].point is not None
        assert rows(list(read_from("otel-spans", data, policy, part[-1].point))) == rows(calm[done:])


def test_a_result_that_comes_after_its_call_went_out_is_a_row_of_its_own() -> None:
    asked = {"id": "a", "kind": "llm", "trace": "t1", "session": "s", "user": "u", "at": 0, "until": 1}
    call = {
        "id": "call-0123456789abcdef",
        "type": "function",
        "function": {"name": "look", "arguments": "{}"},
    }
    question = {"role": "user", "content": "Which quay?"}
    calls = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "Quay nine"}
    later = asked | {"id": "b", "trace": "t2", "at": 5, "until": 6, "in": [question, calls, result]}
    told_twice = later | {"id": "c", "trace": "t3", "at": 7, "until": 8}
    spans = [
        asked | {"in": [question], "out": calls},
        later | {"out": {"role": "assistant", "content": "Nine."}},
        told_twice | {"out": {"role": "assistant", "content": "As I said."}},
    ]
    data = b"".join(json.dumps(one).encode() + b"\n" for one in FORMATS["langfuse-traces"](spans, 1))
    parts = list(read_from("langfuse-traces", data, IngestPolicy(batch_rows=1, batch_bytes=1_500)))
    found = [row for part in parts for batch in part for row in batch.drafts.to_dicts()]
    told_rows = {row["content"]: row for row in found}
    assert [row["content"] for row in found].count("Quay nine") == 1
    late = told_rows["Quay nine"]
    assert (late["kind"], late["parent_id"]) == ("observation", told_rows[""]["natural_id"])
    assert told_rows["Nine."]["parent_id"] == late["natural_id"]
    whole = list(reader_named("langfuse-traces").read(io.BytesIO(data), "f", IngestPolicy()))
    assert "" not in [row["content"] for b in whole for row in b.drafts.to_dicts()]  # they are one row there


def test_a_run_that_never_ends_is_not_waited_for_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transforms.readers.langsmith._PARTS_WAITED_FOR", 10)
    days = [step for day in range(6) for step in steps(day, name=f"day{day}s")]
    records = FORMATS["langsmith-runs"](days, 3)
    first = records[0]["post"][0]["id"]
    for record in records:
        record["patch"] = [run for run in record["patch"] if run["id"] != first]
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    policy = IngestPolicy(batch_rows=10, batch_bytes=30_000)
    calm = list(read_from("langsmith-runs", data, policy))
    points = [part[-1].point for part in calm[:-1]]
    assert points[-1] is not None
    assert points[-1].offset > len(data) / 2
    for done, point in enumerate(points, start=1):
        assert point is not None
        assert rows(list(read_from("langsmith-runs", data, policy, point))) == rows(calm[done:])


def seen(conversation: Conversation) -> list[Any]:
    entries = conversation.entries
    return [
        [(e.key, e.natural_id, e.parent_id, e.span_id, e.is_user, e.own_id is None) for e in entries],
        [
            a and (a.tool, a.call.call_id, a.is_bare, a.is_unanswered)
            for a in (entry.action for entry in entries)
        ],
        [conversation.next_id(e.key) for e in entries],
        {name: e.natural_id for name, e in conversation.owned_by.items()},
        {name: [e.natural_id for e in found] for name, found in conversation.called_by.items()},
        [conversation.last_id, conversation.blanks, conversation.answers, conversation.traces],
    ]


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_what_landed_is_told_and_taken_back(seed: int) -> None:
    policy = IngestPolicy(batch_bytes=9_000)
    collector = Collector("f", policy)
    found = TraceRows(collector, policy)
    reading = OtelSpans().begin(found, collector, policy)
    for number, request in enumerate(FORMATS["otel-spans"](steps(seed), 2), start=1):
        for _ in reading.take(Record(number, request, b"")):
            found.settle()
    found.pause()
    for conversation in found._conversations.values():
        again = conversation_of(json.loads(json.dumps(landed(conversation))), policy)
        assert seen(again) == seen(conversation)


class Watched(OtelSpans):
    """A reader whose memory can be looked at."""

    def begin(self, rows: TraceRows, collector: Collector, policy: IngestPolicy) -> Taking:
        self.rows = rows
        return super().begin(rows, collector, policy)


def test_memory_does_not_grow_with_spans_that_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transforms.readers.trace_places._BEGINS", 50)
    spans = [
        {"id": f"n{n}", "kind": "other", "trace": f"t{n}", "session": None, "user": "u", "at": n, "until": n}
        for n in range(600)
    ]
    data = "".join(json.dumps(record) + "\n" for record in FORMATS["otel-spans"](spans, 1)).encode()
    reader, policy = Watched(), IngestPolicy(batch_bytes=40_000)
    for _ in reader.read(io.BytesIO(data), "f", policy):
        assert len(reader.rows.places._begins) <= 101
        assert len(reader.rows._conversations) <= 41
        assert len(reader.rows._sessions) <= 41


@given(st.sets(st.integers(0, 60)))
def test_numbers_are_packed_and_unpacked(numbers: set[int]) -> None:
    assert unpacked(packed(sorted(numbers))) == sorted(numbers)
