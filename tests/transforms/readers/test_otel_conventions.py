"""``otel-spans``: the same conversation as every convention of attributes and events tells it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_json
from tests.transforms.readers.otel_span_shapes import ANSWER, ASK, TRACE, event, short, span
from tests.transforms.readers.reading import column, lines, read

ARGUMENTS = '{"line":"4"}'


def tool_calls() -> list[dict[str, Any]]:
    return [{"id": "c1", "type": "function", "function": {"name": "delay", "arguments": ARGUMENTS}}]


def conventions() -> dict[str, list[dict[str, Any]]]:
    """One conversation, a tool called in it, as each convention tells it."""
    call = {"type": "tool_call", "id": "c1", "name": "delay", "arguments": {"line": "4"}}
    asked = {"role": "user", "parts": [{"type": "text", "content": ASK}]}
    called = {"role": "assistant", "parts": [call]}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "10"}]}
    said = {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}
    new = ("gen_ai.input.messages", "gen_ai.output.messages")
    user, tool = event("gen_ai.user.message", content=ASK), {"id": "c1", "content": "10"}
    history = [user, event("gen_ai.assistant.message", tool_calls=json.dumps(tool_calls()))]
    tool_event = event("gen_ai.tool.message", **tool)
    old_call = {"role": "assistant", "tool_calls.0.id": "c1", "tool_calls.0.name": "delay"}
    old_call["tool_calls.0.arguments"] = ARGUMENTS
    vercel_ask = {"role": "user", "content": [{"type": "text", "text": ASK}]}
    vercel_call = {"toolCallId": "c1", "toolName": "delay", "input": {"line": "4"}}
    vercel_history = [
        vercel_ask,
        {"role": "assistant", "content": [{"type": "tool-call", **vercel_call}]},
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "delay",
                    "output": {"type": "text", "value": "10"},
                }
            ],
        },
    ]
    adk = {"contents": [{"role": "user", "parts": [{"text": ASK}]}]}
    adk_call = {
        "role": "model",
        "parts": [{"functionCall": {"id": "c1", "name": "delay", "args": {"line": "4"}}}],
    }
    adk_result = {
        "role": "user",
        "parts": [{"functionResponse": {"id": "c1", "name": "delay", "response": {"result": "10"}}}],
    }
    logged = [{"event.name": "gen_ai.user.message", "content": ASK, "role": "user"}]
    logged_call = {"role": "assistant", "tool_calls": tool_calls()}

    def flat(start: str, *messages: dict[str, Any]) -> dict[str, Any]:
        return {f"{start}.{n}.{key}": value for n, m in enumerate(messages) for key, value in m.items()}

    return {
        "messages as text": [
            span(1, 0, {new[0]: json.dumps([asked]), new[1]: json.dumps([called])}),
            span(2, 2, {new[0]: json.dumps([asked, called, result]), new[1]: json.dumps([said])}),
        ],
        "messages as they are": [
            span(1, 0, {new[0]: [asked], new[1]: [called], "gen_ai.operation.name": "chat"}),
            span(2, 2, {new[0]: [asked, called, result], new[1]: [said], "gen_ai.operation.name": "chat"}),
        ],
        "one event of details": [
            span(
                1,
                0,
                {},
                events=[
                    event("gen_ai.client.inference.operation.details", **{new[0]: [asked], new[1]: [called]})
                ],
            ),
            span(2, 2, {new[0]: [asked, called, result], new[1]: [said]}),
        ],
        "events": [
            span(
                1, 0, {}, events=[user, event("gen_ai.choice", index=0, message={"tool_calls": tool_calls()})]
            ),
            span(
                2,
                2,
                {},
                events=[
                    *history,
                    tool_event,
                    event("gen_ai.choice", message=json.dumps({"content": ANSWER})),
                ],
            ),
        ],
        "indexed prompts": [
            span(
                1,
                0,
                flat("gen_ai.prompt", {"role": "user", "content": ASK}) | flat("gen_ai.completion", old_call),
            ),
            span(
                2,
                2,
                flat(
                    "gen_ai.prompt",
                    {"role": "user", "content": ASK},
                    old_call,
                    {"role": "tool", "content": "10", "tool_call_id": "c1"},
                )
                | flat("gen_ai.completion", {"role": "assistant", "content": ANSWER}),
            ),
        ],
        "Vercel AI SDK": [
            span(
                1,
                0,
                {
                    "ai.operationId": "ai.generateText.doGenerate",
                    "ai.prompt.messages": json.dumps([vercel_ask]),
                    "ai.response.toolCalls": json.dumps([vercel_call]),
                },
                parent_id="9",
            ),
            span(
                3,
                1,
                {
                    "ai.operationId": "ai.toolCall",
                    "ai.toolCall.name": "delay",
                    "ai.toolCall.id": "c1",
                    "ai.toolCall.args": ARGUMENTS,
                    "ai.toolCall.result": '"10"',
                },
                parent_id="9",
            ),
            span(
                2,
                2,
                {
                    "ai.operationId": "ai.generateText.doGenerate",
                    "ai.prompt.messages": json.dumps(vercel_history),
                    "ai.response.text": ANSWER,
                },
                parent_id="9",
            ),
            span(
                9,
                0,
                {
                    "ai.operationId": "ai.generateText",
                    "ai.prompt": json.dumps({"prompt": ASK}),
                    "ai.response.text": ANSWER,
                },
            ),
        ],
        "Agent Development Kit": [
            span(
                1,
                0,
                {
                    "gcp.vertex.agent.llm_request": json.dumps(adk),
                    "gcp.vertex.agent.llm_response": json.dumps({"content": adk_call}),
                },
            ),
            span(
                2,
                2,
                {
                    "gcp.vertex.agent.llm_request": json.dumps(
                        {"contents": [*adk["contents"], adk_call, adk_result]}
                    ),
                    "gcp.vertex.agent.llm_response": json.dumps(
                        {"content": {"role": "model", "parts": [{"text": ANSWER}]}}
                    ),
                },
            ),
        ],
        "list of events": [
            span(
                1,
                0,
                {
                    "gen_ai.operation.name": "chat",
                    "events": json.dumps([*logged, {"event.name": "gen_ai.choice", "message": logged_call}]),
                },
            ),
            span(
                2,
                2,
                {
                    "gen_ai.operation.name": "chat",
                    "events": json.dumps(
                        [
                            *logged,
                            {"event.name": "gen_ai.assistant.message", **logged_call},
                            {"event.name": "gen_ai.tool.message", **tool, "role": "tool"},
                            {
                                "event.name": "gen_ai.choice",
                                "message": {"role": "assistant", "content": ANSWER},
                            },
                        ]
                    ),
                },
            ),
        ],
        "tool span alone has the result": [
            span(1, 0, {new[0]: [asked], new[1]: [called]}),
            span(
                3,
                1,
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.call.id": "c1",
                    "gen_ai.tool.call.result": "10",
                },
                name="execute_tool delay",
            ),
            span(2, 2, {new[0]: [asked], new[1]: [said]}),
        ],
        "OpenInference request and response": [
            span(
                1,
                0,
                {
                    "openinference.span.kind": "LLM",
                    "input.value": json.dumps({"messages": [{"role": "user", "content": ASK}]}),
                    "output.value": json.dumps(
                        {
                            "choices": [
                                {
                                    "message": {
                                        "role": "assistant",
                                        "content": None,
                                        "tool_calls": tool_calls(),
                                    }
                                }
                            ]
                        }
                    ),
                },
            ),
            span(
                3,
                1,
                {
                    "openinference.span.kind": "TOOL",
                    "input.value": ARGUMENTS,
                    "output.value": json.dumps({"content": "10", "type": "tool", "tool_call_id": "c1"}),
                },
                name="delay",
            ),
            span(
                2,
                2,
                {
                    "openinference.span.kind": "LLM",
                    "input.value": json.dumps({"messages": [{"role": "user", "content": ASK}]}),
                    "output.value": ANSWER,
                },
            ),
        ],
    }


@pytest.mark.parametrize("convention", conventions())
def test_every_convention_tells_the_same(convention: str) -> None:
    found = read("otel-spans", lines(*conventions()[convention]))
    rows = [row[1:4] for row in short(found)]
    if "Agent" in convention:  # there a result is always an object
        rows[1] = (rows[1][0], str(rows[1][1]).replace('{"result":"10"}', "10"), rows[1][2])
    assert rows == [
        ("user", ASK, "2026-06-01T10:00:00Z"),
        ("action", "10", "2026-06-01T10:00:01Z"),
        ("assistant", ANSWER, "2026-06-01T10:00:03Z"),
    ]
    action = next(d for d in found.drafts if d["kind"] == "action")
    assert action["tool_name"] == "delay"
    assert json.loads(str(action["tool_arguments"])) == {"line": "4"}
    assert set(column(found.drafts, "session_id")) == {TRACE}
    assert found.refusals == []


def test_what_a_later_otlp_says_of_a_value_costs_no_row() -> None:
    file = Path(__file__).parents[3] / "samples" / "formats" / "otel-spans.json"
    text = file.read_text("utf-8")
    later = re.sub(r'\{"(string|int)Value":', r'{"interned":7,"\1Value":', text)
    assert later.count("interned") > 20
    assert read("otel-spans", later).drafts == read("otel-spans", text).drafts


def test_log_records_are_the_messages_of_their_span() -> None:
    def record(name: str, nanos: int, body: dict[str, Any]) -> dict[str, Any]:
        values = [{"key": key, "value": {"stringValue": value}} for key, value in body.items()]
        return {
            "timeUnixNano": str(1_780_308_000_000_000_000 + nanos),
            "eventName": name,
            "traceId": TRACE,
            "spanId": f"{1:016x}",
            "body": {"kvlistValue": {"values": values}},
        }

    told = {"key": "message", "value": {"stringValue": json.dumps({"content": ANSWER})}}
    choice = record("gen_ai.choice", 2_000_000_000, {})
    choice["body"]["kvlistValue"]["values"] = [told]
    records = [
        record("gen_ai.user.message", 0, {"content": ASK}),
        record("http.request", 1, {"content": "GET /"}),
        choice,
    ]
    found = read("otel-spans", json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}))
    assert [row[1:4] for row in short(found)] == [
        ("user", ASK, "2026-06-01T10:00:00.000000+00:00"),
        ("assistant", ANSWER, "2026-06-01T10:00:02.000000+00:00"),
    ]
    assert found.left_out == {"log_record": 1}


@settings(max_examples=80)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    mixed = [record for spans in conventions().values() for record in spans]
    read("otel-spans", damaged_json(mixed, seed))
