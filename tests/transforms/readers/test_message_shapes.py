"""Messages of every vendor and framework as turns."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_json
from transforms.readers.blocks import Call, Result
from transforms.readers.message_shapes import turns_of
from transforms.readers.trace import Turn

ARGUMENTS = '{"city":"Oslo"}'
Messages = list[dict[str, Any]]

CALL = Call("k1", "weather", ARGUMENTS)
ANSWER = Result("k1", None, "rain", None)
SHORT = Turn("user", "Hi")
STEPS = [SHORT, Turn("assistant", calls=(CALL,)), Turn("tool", results=(ANSWER,)), Turn("assistant", "Rain.")]

OPENAI: Messages = [
    {"role": "user", "content": "Hi"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "k1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}
        ],
    },
    {"role": "tool", "tool_call_id": "k1", "content": "rain"},
    {"role": "assistant", "content": [{"type": "text", "text": "Rain."}]},
]
RESPONSES: Messages = [
    {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    {"type": "function_call", "call_id": "k1", "id": "fc_1", "name": "weather", "arguments": ARGUMENTS},
    {"type": "function_call_output", "call_id": "k1", "output": "rain"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]},
]
ANTHROPIC: Messages = [
    {"role": "user", "content": "Hi"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "k1", "name": "weather", "input": {"city": "Oslo"}}],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool_result", "tool_use_id": "k1", "content": [{"type": "text", "text": "rain"}]}
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "Rain."}]},
]
LANGCHAIN: Messages = [
    {"type": "human", "content": "Hi"},
    {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "k1", "type": "tool_call"}],
    },
    {"type": "tool", "content": "rain", "tool_call_id": "k1"},
    {"type": "ai", "content": "Rain."},
]
CONSTRUCTORS: Messages = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", kind], "kwargs": kwargs}
    for kind, kwargs in (
        ("HumanMessage", {"content": "Hi"}),
        ("AIMessage", {"content": "", "additional_kwargs": {"tool_calls": OPENAI[1]["tool_calls"]}}),
        ("ToolMessage", {"content": "rain", "tool_call_id": "k1"}),
        ("AIMessageChunk", {"content": "Rain.", "type": "AIMessageChunk"}),
    )
]
DATA: Messages = [{"type": m["type"], "data": {k: v for k, v in m.items() if k != "type"}} for m in LANGCHAIN]
GENAI: Messages = [
    {"role": "user", "parts": [{"type": "text", "content": "Hi"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "k1", "name": "weather", "arguments": {"city": "Oslo"}}],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "k1", "response": "rain"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "Rain."}], "finish_reason": "stop"},
]
VERCEL: Messages = [
    {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "tool-call", "toolCallId": "k1", "toolName": "weather", "input": {"city": "Oslo"}}
        ],
    },
    {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "k1", "output": {"type": "text", "value": "rain"}}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "Rain."}]},
]
BEDROCK: Messages = [
    {"role": "user", "content": [{"text": "Hi"}]},
    {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": "k1", "name": "weather", "input": {"city": "Oslo"}}}],
    },
    {"role": "tool", "content": [{"toolResult": {"toolUseId": "k1", "content": [{"text": "rain"}]}}]},
    {"role": "assistant", "content": [{"text": "Rain."}]},
]
OPENINFERENCE: Messages = [
    {"message.role": "user", "message.content": "Hi"},
    {
        "message.role": "assistant",
        "message.tool_calls": [
            {"tool_call": {"id": "k1", "function": {"name": "weather", "arguments": ARGUMENTS}}}
        ],
    },
    {"message.role": "tool", "message.tool_call_id": "k1", "message.content": "rain"},
    {"message": {"role": "assistant", "content": "Rain."}},
]
GEMINI: Messages = [
    {"role": "user", "parts": [{"text": "Hi"}]},
    {
        "role": "model",
        "parts": [{"function_call": {"id": "k1", "name": "weather", "args": {"city": "Oslo"}}}],
    },
    {"role": "tool", "parts": [{"functionResponse": {"id": "k1", "response": "rain"}}]},
    {"role": "model", "parts": [{"text": "Rain."}]},
]
VENDORS: dict[str, Messages] = {
    "openai": OPENAI, "responses": RESPONSES, "anthropic": ANTHROPIC, "langchain": LANGCHAIN,
    "constructors": CONSTRUCTORS, "data": DATA, "genai": GENAI, "vercel": VERCEL, "bedrock": BEDROCK,
    "openinference": OPENINFERENCE, "gemini": GEMINI,
}  # fmt: skip


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_vendor_tells_the_same_conversation(vendor: str) -> None:
    messages = VENDORS[vendor]
    assert turns_of(messages) == STEPS
    assert turns_of(json.dumps(messages)) == STEPS
    assert turns_of(repr(messages)) == STEPS
    assert turns_of({"messages": messages}) == STEPS
    assert turns_of({"messages": json.dumps(messages), "model": "m"}) == STEPS
    assert turns_of([messages]) == STEPS
    assert turns_of({"output": {"messages": messages}}) == STEPS
    assert [t for m in messages for t in turns_of(m)] == STEPS


@pytest.mark.parametrize(
    "value",
    [
        {"choices": [{"message": OPENAI[3], "index": 0}, {"message": {"content": "no"}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Rain."}]}}]},
        {"generations": [[{"text": "Rain.", "message": LANGCHAIN[3]}]]},
        {"output": [RESPONSES[3]], "id": "resp_1"},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": OPENAI[3]["content"]},
        {"output": {"message": BEDROCK[3]}, "stopReason": "end_turn"},
        {"content": {"parts": [{"text": "Rain."}], "role": "model"}, "author": "desk"},
        [{"type": "text", "text": "Rain."}],
        "Rain.",
    ],
)  # fmt: skip
def test_answers(value: object) -> None:
    assert [(t.role, t.text) for t in turns_of(value, "assistant")] == [("assistant", "Rain.")]


@pytest.mark.parametrize(
    "request_",
    [
        {"system": "Be brief.", "messages": OPENAI[:1]},
        {"instructions": "Be brief.", "input": "Hi"},
        {"config": {"system_instruction": "Be brief."}, "contents": [GEMINI[0]]},
        {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [GEMINI[0]]},
        {"system": "Be brief.", "prompt": "Hi"},
        [{"role": "developer", "content": "Be brief."}, OPENAI[0]],
        "system: Be brief.\nuser: Hi",
    ],
)
def test_system_text_is_injected(request_: object) -> None:
    assert turns_of(request_) == [Turn("system", "Be brief.", is_injected=True), SHORT]


@pytest.mark.parametrize("value", [None, "", "null", "None", [], {}, "[]", {"messages": []}, [[]]])
def test_nothing_is_nothing(value: object) -> None:
    assert turns_of(value) == []


def test_pieces_of_a_stream_are_one_message() -> None:
    def piece(**delta: object) -> dict[str, object]:
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}

    def part(index: int, **function: object) -> dict[str, object]:
        return piece(tool_calls=[{"index": index, "id": function.pop("id", None), "function": function}])

    words = [piece(role="assistant", content=""), piece(content="Ra"), piece(content="in."), {"choices": []}]
    assert turns_of(words, "assistant") == [STEPS[3]]
    calls = [
        part(0, id="k1", name="weather", arguments=""),
        part(0, arguments='{"city":'),
        part(0, arguments='"Oslo"}'),
    ]
    assert turns_of(calls, "assistant") == [STEPS[1]]


def test_json_that_was_said_stays_as_it_was_said() -> None:
    for said in ('{"b": 1, "a": 2}', '{"response": {"b": 1}}', "[1, 2]"):
        assert [t.text for t in turns_of(said, "assistant")] == [said]


def test_objects_that_are_no_messages() -> None:
    assert turns_of({"question": "When?"}) == [Turn("user", "When?", is_guess=True)]
    assert turns_of({"args": ["When?"]}) == [Turn("user", "When?", is_guess=True)]
    assert turns_of({"a": 1, "b": 2}) == [Turn("user", '{"a":1,"b":2}', is_guess=True)]
    assert turns_of({"question": "When?"}, or_text=False) == []
    assert turns_of("When?", or_text=False) == []


def test_thinking_images_and_definitions_are_no_words() -> None:
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "redacted_thinking"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "A chart."},
    ]
    (turn,) = turns_of([{"role": "assistant", "content": parts}])
    assert (turn.text, turn.thinking, turn.other_types) == ("A chart.", 2, ("image_url",))
    (only,) = turns_of([{"role": "model", "parts": [{"thought": True, "text": "hm"}]}])
    assert (only.text, only.thinking) == ("", 1)
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    (given,) = turns_of([{"role": "tool", "content": tool}])
    assert (given.results, given.other_types) == ((), ("tool_definition",))


def test_how_a_call_ended() -> None:
    def ended(message: dict[str, object]) -> tuple[str, bool | None]:
        (turn,) = turns_of([message])
        return turn.results[0].text, turn.results[0].is_error

    assert ended({"type": "tool", "content": "x", "tool_call_id": "k", "status": "error"}) == ("x", True)
    assert ended({"type": "tool", "content": "x", "tool_call_id": "k", "status": "success"}) == ("x", False)
    assert ended(
        {"role": "user", "content": [{"type": "tool_result", "content": "x", "is_error": True}]}
    ) == ("x", True)
    failed = {"type": "error-text", "value": "x"}
    assert ended({"role": "tool", "content": [{"type": "tool-result", "output": failed}]}) == ("x", True)
    nested = '{"type": "function_result", "call_id": "k", "result": "x"}'
    assert ended({"role": "tool", "parts": [{"type": "tool_call_response", "response": nested}]}) == (
        "x",
        None,
    )
    json_part = [{"toolResult": {"status": "success", "content": [{"json": {"n": 1}}]}}]
    assert ended({"role": "user", "content": json_part}) == ('{"n":1}', False)


def test_written_out_objects() -> None:
    text = (
        "role='assistant' content=None tool_call_id=None tool_calls=[{'id': 'k1', 'function': {'arguments': "
        "'{\"city\":\"Oslo\"}', 'name': 'weather'}, 'type': 'function'}] metrics=Metrics(t=0) audio=None"
    )
    shown = r"role='tool' content='it\'s role=\'user\' rain' tool_call_id='k1' tool_call_error=True"
    turns = turns_of({"messages": ["role='user' content='Hi' name=None", text, shown]})
    assert turns == [
        SHORT,
        STEPS[1],
        Turn("tool", results=(Result("k1", None, "it's role='user' rain", True),)),
    ]
    assert turns_of("HumanMessage(content='Hi', additional_kwargs={})") == [SHORT]


def test_names_are_speakers_and_tools_that_were_called_are_not() -> None:
    turns = turns_of(
        [
            {"role": "user", "name": "Ada", "content": "Hi"},
            {"role": "Planner", "content": "First."},
            {"role": "assistant", "name": "model", "content": "", "tool_calls": OPENAI[1]["tool_calls"]},
            {"role": "weather", "content": "rain"},
        ]
    )
    assert [t.speaker for t in turns] == ["Ada", "Planner", None, None]
    assert turns[3].results == (Result(None, "weather", "rain", None),)


def test_recalled_memories_are_not_the_users_words() -> None:
    recalled = "<memories> Recalled notes.\n<memory kind=fact>likes tea</memory>\n</memories>"
    turns = turns_of([{"role": "user", "content": f"{recalled}\nWhat now?", "id": "m1"}])
    assert [(t.text, t.is_injected, t.own_id) for t in turns] == [
        (recalled, True, None),
        ("What now?", False, "m1"),
    ]


def test_a_bad_message_does_not_take_the_others_along() -> None:
    turns = turns_of(
        [
            OPENAI[0],
            7,
            {"role": "user", "content": [3]},
            {"role": "assistant", "tool_calls": 1, "content": ""},
        ]
    )
    assert turns[0] == SHORT
    assert [t.fault[1].reason for t in turns[1:] if t.fault] == ["bad_field_type"] * 3


def test_own_times() -> None:
    (turn,) = turns_of([{"role": "user", "content": "Hi", "created_at": 1777620000}])
    assert turn.event_at == "2026-05-01T07:20:00.000000+00:00"
    (bad,) = turns_of([{"role": "user", "content": "Hi", "created_at": True}])
    assert bad.fault is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ("role", "content", "parts", "type", "tool_calls", "function", "id", "messages", "choices",
             "message", "kwargs", "lc", "data", "name", "arguments", "output", "system", "functionCall",
             "toolResult")
        ),
        inner | st.sampled_from(("user", "tool", "tool_use", "tool-result", "human", "reasoning")),
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
@settings(max_examples=300, deadline=None)
def test_any_json_is_read(value: object) -> None:
    for given_ in (value, json.dumps(value), repr(value)):
        for turn in turns_of(given_):
            assert isinstance(turn.text, str)


@given(st.sampled_from(sorted(VENDORS)), st.integers(0, 10**9))
@settings(max_examples=200, deadline=None)
def test_damaged_messages_are_read(vendor: str, seed: int) -> None:
    turns_of(json.loads(damaged_json({"messages": VENDORS[vendor]}, seed)))


def test_depth_is_a_fault() -> None:
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    (turn,) = turns_of(deep)
    assert turn.fault is not None
    assert turn.fault[1].reason == "too_deeply_nested"
