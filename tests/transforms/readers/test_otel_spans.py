"""``otel-spans``: every wrapping, every convention of attributes, and what a damaged file still gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.otel_span_shapes import ANSWER, ASK, TRACE, short, span
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.otel_attributes import any_value, attributes_of, instant, items_under
from transforms.readers.registry import detect
from transforms.readers.text import JsonFault

SAMPLES = Path(__file__).parents[3] / "samples" / "formats"
OTLP = json.loads((SAMPLES / "otel-spans.json").read_bytes())
LINES = [json.loads(t) for t in (SAMPLES / "otel-spans.jsonl").read_text().split("\n")[:6]]


def parsed(row: dict[str, object]) -> dict[str, Any]:
    """Metadata of a draft."""
    return dict(json.loads(str(row["metadata"])))


def test_otlp_sample_row_by_row() -> None:
    found = read("otel-spans", json.dumps(OTLP))
    day, session = "2026-05-04T09:12:", "kv-session-88"
    assert [(*row[1:4], row[4]) for row in short(found)] == [
        ("system", "You are the desk of Kvalvik Ferries. Be brief.", f"{day}03.100000+00:00", None),
        (
            "user",
            "My booking KV-4471 is on the 8:15 crossing on Friday. Can you move it to the afternoon? "
            "I never sail before noon.",
            f"{day}03.100000+00:00",
            None,
        ),
        ("action", '{"crossings":["13:40","17:05"]}', f"{day}04.250000+00:00", "success"),
        (
            "assistant",
            "There are two afternoon crossings. I try the first one.",
            f"{day}05.900000+00:00",
            None,
        ),
        ("action", "Error: fare class Saver cannot be changed", f"{day}05.900000+00:00", "failure"),
        (
            "assistant",
            "I could not move it: a Saver fare cannot be changed. For 12 euros I can upgrade it and book the "
            "13:40.",
            f"{day}07.450000+00:00",
            None,
        ),
    ]
    assert (found.refusals, found.left_out) == ([], {"repeated": 8, "span": 2, "thinking": 1})
    for name, value in (("user_id", "u-ilse"), ("agent_id", "ferry-desk"), ("session_id", session)):
        assert set(column(found.drafts, name)) == {value}
    failed = next(d for d in found.drafts if d["outcome"] == "failure")
    assert failed["failure_reason"] == "fare class Saver cannot be changed"
    assert failed["tool_name"] == "change_booking"
    assert json.loads(str(failed["tool_arguments"])) == {"booking": "KV-4471", "crossing": "13:40"}
    assert [d["is_injected"] for d in found.drafts if d["role"] == "system"] == [True]
    kept = parsed(failed)
    assert kept["model"] == "kestrel-2-0401"
    assert kept["resource"] == {"service.name": "kvalvik-desk"}
    assert (kept["span_id"], kept["tool_span_id"]) == (f"{5:016x}", f"{6:016x}")


def test_openinference_sample_row_by_row() -> None:
    found = read("otel-spans", (SAMPLES / "otel-spans.jsonl").read_bytes())
    ids = [row[0] for row in short(found)]
    assert [row[1:] for row in short(found)] == [
        ("system", "You plan meals from what is in the larder.", "2026-05-05T18:01:10.000000Z", None),
        (
            "user",
            "What can I cook tonight? Noor's boy cannot have sesame.",
            "2026-05-05T18:01:10.000000Z",
            None,
        ),
        ("action", "lentils, leeks, rice, lemons", "2026-05-05T18:01:11.500000Z", "success"),
        (
            "assistant",
            "Lentils with leeks and lemon rice. Nothing of it holds sesame.",
            "2026-05-05T18:01:13.200000Z",
            None,
        ),
        ("user", "Good. Put it on the list for Thursdays, please.", "2026-05-05T18:05:02.000000Z", None),
        ("assistant", "Done: lentils and lemon rice, every Thursday.", "2026-05-05T18:05:03.100000Z", None),
    ]
    assert found.left_out == {"repeated": 7, "span": 2}
    assert [(r["reason"], r["source_line"]) for r in found.refusals] == [("truncated_json", 7)]
    by_id = {d["natural_id"]: d for d in found.drafts}
    parents = [by_id[name]["parent_id"] for name in ids]
    assert parents[2:] == ids[1:-1]
    assert parsed(by_id[ids[1]])["other_parts"] == ["image"]
    assert parsed(by_id[ids[3]])["plan"] == "family"
    assert parsed(by_id[ids[3]])["tags"] == ["kitchen"]
    assert by_id[ids[2]]["tool_arguments"] == '{"shelf": "all"}'
    assert set(column(found.drafts, "session_id")) == {"larder-12"}


def frame_row(span: dict[str, Any]) -> dict[str, Any]:
    """A span as a row of a data frame: columns with dotted names."""
    context = {f"context.{key}": span["context"][key][2:] for key in ("trace_id", "span_id")}
    attributes = {f"attributes.{key}": value for key, value in span["attributes"].items()}
    rest = {key: span[key] for key in ("name", "start_time", "end_time")}
    parent = span["parent_id"][2:] if span["parent_id"] else None
    return {**context, **attributes, **rest, "parent_id": parent, "status_code": "UNSET"}


def nested_span(span: dict[str, Any]) -> dict[str, Any]:
    """A span as a trace store's API gives it: attributes as objects of objects and lists."""
    attributes: dict[str, Any] = {}
    for name in span["attributes"]:
        place, parts = attributes, name.split(".")
        for part in parts[:-1]:
            place = place.setdefault(part, {})
        place[parts[-1]] = span["attributes"][name]
    for name in ("input_messages", "output_messages"):
        if name in attributes.get("llm", {}):
            attributes["llm"][name] = list(attributes["llm"][name].values())
    kind = attributes.pop("openinference")["span"]["kind"]
    return {**span, "attributes": attributes, "span_kind": kind, "status": None, "status_code": "OK"}


def console_span(span: dict[str, Any]) -> dict[str, Any]:
    """A span as the SDK for JavaScript dumps it."""
    seconds = [int(span[key][17:19]) + 60 * int(span[key][14:16]) for key in ("start_time", "end_time")]
    parts = [int(span[key][20:26]) * 1000 for key in ("start_time", "end_time")]
    hour = 1_777_939_200 + 18 * 3600
    context = {"traceId": span["context"]["trace_id"][2:], "spanId": span["context"]["span_id"][2:]}
    return {
        "name": span["name"],
        "spanContext": context,
        "parentSpanId": span["parent_id"] and span["parent_id"][2:],
        "startTime": [hour + seconds[0], parts[0]],
        "endTime": [hour + seconds[1], parts[1]],
        "status": {"code": 0},
        "attributes": span["attributes"],
        "events": [],
    }


def documents() -> dict[str, str]:
    """The OpenInference sample in other wrappings."""
    nested = [nested_span(span) for span in LINES]
    return {
        "array": json.dumps(LINES),
        "indented one after another": "\n".join(json.dumps(span, indent=4) for span in LINES),
        "data frame": lines(*map(frame_row, LINES)),
        "trace store": lines(*nested),
        "page of an API": json.dumps({"data": nested, "next_cursor": None}),
        "by operation": json.dumps({"llm.calls": LINES[:3], "llm.rest": LINES[3:]}, indent=1),
        "JavaScript": json.dumps([console_span(span) for span in LINES]),
    }


@pytest.mark.parametrize("form", documents())
def test_every_wrapping_gives_the_same_rows(form: str) -> None:
    text = documents()[form]
    reader = detect(text.encode(), "spans")
    assert reader is not None
    assert reader.name == "otel-spans"
    found, plain = read("otel-spans", text), read("otel-spans", lines(*LINES))
    assert [row[:3] for row in short(found)] == [row[:3] for row in short(plain)]
    times = [str(row[3]).replace("+00:00", "Z") for row in short(found)]
    assert times == [row[3] for row in short(plain)]
    assert (found.refusals, found.left_out) == ([], plain.left_out)


def otlp_forms() -> dict[str, str]:
    """The OTLP sample in other wrappings."""
    resource = OTLP["resourceSpans"][0]
    spans = resource["scopeSpans"][0]["spans"]
    around = {key: value for key, value in resource.items() if key != "scopeSpans"}
    scope = {"scope": resource["scopeSpans"][0]["scope"]}
    one_each = [{"resourceSpans": [{**around, "scopeSpans": [{**scope, "spans": [span]}]}]} for span in spans]
    snake = json.dumps(OTLP)
    for camel in (
        "resourceSpans",
        "scopeSpans",
        "traceId",
        "spanId",
        "parentSpanId",
        "stringValue",
        "intValue",
    ):
        snake = snake.replace(
            f'"{camel}"', f'"{"".join("_" + c.lower() if c.isupper() else c for c in camel)}"'
        )
    return {
        "indented": json.dumps(OTLP, indent=2),
        "a request a line": lines(*one_each),
        "batches": json.dumps({"batches": OTLP["resourceSpans"]}),
        "trace": json.dumps({"trace": OTLP}),
        "proto names": snake,
    }


@pytest.mark.parametrize("form", otlp_forms())
def test_every_wrapping_of_otlp_gives_the_same_rows(form: str) -> None:
    text = otlp_forms()[form]
    reader = detect(text.encode(), "spans")
    assert reader is not None
    assert reader.name == "otel-spans"
    found, plain = read("otel-spans", text), read("otel-spans", json.dumps(OTLP))
    assert short(found) == short(plain)
    assert (found.refusals, found.left_out) == ([], plain.left_out)


def test_a_program_that_traces_no_model_call_tells_by_its_outermost_span_with_words() -> None:
    agent = {"openinference.span.kind": "AGENT", "input.value": ASK, "output.value": ANSWER}
    spans = [span(1, 0, {"http.route": "/chat"}), span(2, 0, agent, parent_id=f"{1:016x}")]
    found = read("otel-spans", lines(*spans))
    assert [row[1:3] for row in short(found)] == [("user", ASK), ("assistant", ANSWER)]


def test_an_outer_call_in_another_trace_lands_nothing_twice() -> None:
    def call(operation: str, number: int, start: int, end: int) -> dict[str, Any]:
        return {
            "name": operation,
            "spanContext": {"traceId": f"{number:032x}", "spanId": f"{number:016x}"},
            "startTime": [1_780_308_000, start],
            "endTime": [1_780_308_001, end],
            "attributes": {
                "ai.operationId": operation,
                "ai.prompt": json.dumps({"prompt": ASK}),
                "ai.response.text": ANSWER,
            },
        }

    inner, outer = call("ai.streamText.doStream", 1, 2000, 1000), call("ai.streamText", 2, 1000, 2000)
    later = call("ai.streamText", 3, 3000, 4000)
    for order in ([inner, outer, later], [outer, inner, later]):
        found = read("otel-spans", json.dumps(order))
        assert [(row[1], row[2]) for row in short(found)] == [("user", ASK), ("assistant", ANSWER)] * 2
        assert found.left_out == {"span": 1}


def test_broken_requests_give_their_whole_spans_with_their_resource() -> None:
    named = json.loads(json.dumps(OTLP))
    named["resourceSpans"][0]["resource"]["attributes"].append(
        {"key": "tenant.id", "value": {"stringValue": "kvalvik"}}
    )
    text = json.dumps(named)
    cut = text.index('"spanId": "0000000000000007"') + 40
    found = read("otel-spans", text[:cut])
    assert [row[2] for row in short(found)][-1] == "fare class Saver cannot be changed"
    assert set(column(found.drafts, "tenant_id")) == {"kvalvik"}
    assert column(found.refusals, "reason") == ["truncated_json"]
    assert "0000000000000003" not in str(found.refusals[0]["raw"])
    hidden = text[:cut].replace('"kvalvik"}}', '"kvalvik"', 1)  # whose the spans are cannot be read
    found = read("otel-spans", hidden)
    assert (found.drafts, column(found.refusals, "reason")) == ([], ["invalid_json"])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"hello": 1}, "unknown_record"),
        ({"context": {"trace_id": "", "span_id": "1"}, "attributes": {}}, "unknown_record"),
        ({**span(1, 0, {}), "attributes": 7}, "bad_field_type"),
        ({**span(1, 0, {}), "attributes": [{"value": 1}]}, "bad_field_type"),
        (span(1, 0, {}, start_time=10**18 * 10**12), "bad_time"),
        (span(1, 0, {}, name=["a"]), "bad_field_type"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [3]}]}]}, "not_an_object"),
    ],
)
def test_refusals_have_a_reason_and_the_rest_lands(record: dict[str, Any], reason: str) -> None:
    good = span(2, 4, {"llm.output_messages": [{"message.role": "assistant", "message.content": ANSWER}]})
    found = read("otel-spans", lines(record, good))
    assert [(r["reason"], r["source_line"]) for r in found.refusals] == [(reason, 1)]
    assert [row[1:3] for row in short(found)] == [("assistant", ANSWER)]


def test_a_message_that_cannot_be_read_is_refused_alone() -> None:
    messages = [{"role": "user", "content": ASK}, {"role": 7, "content": "?"}]
    found = read("otel-spans", lines(span(1, 0, {"gen_ai.input.messages": messages})))
    assert [row[2] for row in short(found)] == [ASK]
    assert column(found.refusals, "reason") == ["bad_field_type"]


def test_whose_a_span_is() -> None:
    def scope(attributes: dict[str, Any], resource: dict[str, Any]) -> tuple[object, ...]:
        words = {"llm.output_messages": [{"message.role": "assistant", "message.content": ANSWER}]}
        record = span(1, 0, {**words, **attributes}, resource={"attributes": resource})
        row = read("otel-spans", lines(record)).drafts[0]
        return row["tenant_id"], row["user_id"], row["agent_id"], row["session_id"]

    none = (None, None, None, TRACE)
    assert scope({}, {"service.name": "shop"}) == none
    assert scope({"session.id": "s", "user.id": 7, "gen_ai.agent.name": "a", "tenant.id": "t"}, {}) == (
        "t",
        "7",
        "a",
        "s",
    )
    assert scope({"metadata": '{"thread_id": "th", "user_id": "u"}'}, {}) == (None, "u", None, "th")
    own = {"ai.telemetry.metadata.userId": "u", "traceloop.association.properties.session_id": "s"}
    assert scope(own, {"tenant.id": "t"}) == ("t", "u", None, "s")
    assert scope({"user.id": "", "session.id": "own", "gen_ai.conversation.id": "c"}, {}) == (
        None,
        None,
        None,
        "own",
    )


def test_values_of_otlp() -> None:
    assert any_value({"intValue": "12"}) == 12
    assert any_value({"boolValue": False}) is False
    assert any_value({"arrayValue": {"values": [{"stringValue": "a"}, {"doubleValue": 1.5}]}}) == ["a", 1.5]
    pairs = [{"key": "k", "value": {"kvlistValue": {"values": [{"key": "i", "value": {"intValue": 3}}]}}}]
    assert attributes_of(pairs) == {"k.i": 3}
    assert attributes_of('{"a": {"b": [1]}, "c": null}') == {"a.b": [1]}
    flat = {f"m.{n}.message.role": str(n) for n in range(12)}
    assert [item["message"]["role"] for item in items_under(flat, "m")] == [str(n) for n in range(12)]  # type: ignore[index]
    deep: Any = "x"
    for _ in range(300):
        deep = {"kvlistValue": {"values": [{"key": "k", "value": deep}]}}
    assert list(attributes_of([{"key": "a", "value": deep}]))  # no overflow of the stack


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1780308000123456789", "2026-06-01T10:00:00.123456+00:00"),
        (1_780_308_000_123_456_789, "2026-06-01T10:00:00.123456+00:00"),
        ([1_780_308_000, 5_000], "2026-06-01T10:00:00.000005+00:00"),
        ("2026-06-01T10:00:00", "2026-06-01T10:00:00"),
        ("0", None),
        (0, None),
        ([0, 0], None),
        ("", None),
        (None, None),
        ([12, 5], "1970-01-01T00:00:12.000000+00:00"),
    ],
)
def test_times(value: object, expected: str | None) -> None:
    assert instant(value, "time") == expected


@pytest.mark.parametrize("value", [{"a": 1}, True, [1, 2, 3]])
def test_times_of_a_wrong_type(value: object) -> None:
    with pytest.raises(JsonFault):
        instant(value, "time")


def test_a_grown_export_gives_the_same_rows_and_more() -> None:
    whole = {d["natural_id"]: d["content"] for d in read("otel-spans", lines(*LINES)).drafts}
    for count in range(1, len(LINES)):
        part = read("otel-spans", lines(*LINES[:count])).drafts
        said = {d["natural_id"]: d["content"] for d in part if d["kind"] != "action"}
        assert said.items() <= whole.items()
        assert {d["natural_id"] for d in part} <= whole.keys()


def test_what_is_held_is_bounded_and_rows_stay_the_same() -> None:
    plain = read("otel-spans", lines(*LINES))
    tight = read("otel-spans", lines(*LINES), IngestPolicy(batch_bytes=900, batch_rows=1))
    assert {d["natural_id"] for d in tight.drafts} == {d["natural_id"] for d in plain.drafts}


@settings(max_examples=120)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = (SAMPLES / ("otel-spans.json" if seed % 2 else "otel-spans.jsonl")).read_bytes()
    read("otel-spans", damaged_bytes(data, seed // 2), IngestPolicy(batch_rows=3))
    read("otel-spans", damaged_json(OTLP if seed % 2 else LINES, seed), IngestPolicy(batch_rows=3))


@pytest.mark.parametrize(
    ("text", "is_ours"),
    [
        ('{"messages": []}', False),
        ('{"traceId": "t", "id": "o", "type": "SPAN", "input": "x"}', False),
        ('{"trace": {"id": "t"}, "observations": []}', False),
        ('{"id": "r", "trace_id": "t", "run_type": "llm", "inputs": {}}', False),
        ('{"data": [{"id": 1, "text": "spanContext"}]}', False),
        ('{"text": "about \\"spanId\\": \\"00f067aa0ba902b7\\""}', False),
        ('{"resourceSpans": [{"reso', True),
        ('[{"name": "a", "spanContext": {"traceId": "t"', True),
        ('{"ai.generateText": [{"name": "a", "spanContext": {"traceId": "t"', True),
    ],
)
def test_sniffing(text: str, is_ours: bool) -> None:
    reader = detect(text.encode(), "some.json")
    assert (reader is not None and reader.name == "otel-spans") == is_ours


REAL = {
    "ai-embed": (0, {"span": 1}),
    "ai-embed-doEmbed": (0, {"span": 1}),
    "ai-generateObject": (2, {}),
    "ai-generateObject-doGenerate": (2, {}),
    "ai-generateText": (7, {}),
    "ai-generateText-doGenerate": (7, {}),
    "ai-streamText": (2, {}),
    "ai-streamText-doStream": (2, {}),
    "all-spans": (11, {"span": 6}),
    "spans-by-operation": (11, {"span": 6}),
}


@pytest.mark.parametrize("name", REAL)
def test_real_spans(real_data: Path, name: str) -> None:
    folder = real_data / "formats" / "openinference_spans" / "v6-spans"
    data = (folder / f"{name}.json").read_bytes()
    reader = detect(data[: IngestPolicy().sniff_bytes], f"{name}.json")
    assert reader is not None
    assert reader.name == "otel-spans"
    found = read("otel-spans", data)
    assert (len(found.drafts), found.left_out, found.refusals) == (*REAL[name], [])
    assert len({(d["session_id"], d["role"], d["content"]) for d in found.drafts}) == len(found.drafts)
    assert all(str(d["event_at"]).startswith("2026-02-03T15:") for d in found.drafts)
    assert all(parsed(d)["model"] for d in found.drafts)
    for seed in range(20):
        read("otel-spans", damaged_bytes(data, seed))
        read("otel-spans", damaged_json(json.loads(data), seed))


def test_real_report_is_no_trace(real_data: Path) -> None:
    folder = real_data / "formats" / "openinference_spans" / "v6-spans"
    assert detect((folder / "capture-results.json").read_bytes(), "capture-results.json") is None
