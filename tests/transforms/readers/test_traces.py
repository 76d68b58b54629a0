"""Traces: conversations told again in every model call land once, whatever the tracer does."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Call, Result
from transforms.readers.text import JsonFault
from transforms.readers.trace import Span, Turn
from transforms.readers.trace_rows import TraceRows
from transforms.schemas import DRAFTS

SYSTEM = Turn("system", "Be brief.", is_injected=True)


def rows_of(
    spans: Sequence[Span], policy: IngestPolicy | None = None
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Drafts in the order of each conversation, and what was left out; every row accounted for."""
    limits = policy or IngestPolicy()
    collector = Collector("source", limits)
    rows = TraceRows(collector, limits)
    for span in spans:
        rows.add(span)
        rows.settle()
    rows.finish()
    batches = list(collector.flush())
    assert all(b.rows_in == b.drafts.height + b.refusals.height + sum(b.left_out.values()) for b in batches)
    drafts = pl.concat([DRAFTS.empty(), *(b.drafts for b in batches)]).sort("session_id", "turn_index")
    left_out: dict[str, int] = {}
    for batch in batches:
        left_out |= batch.left_out
    return drafts.to_dicts(), left_out


def user(text: str) -> Turn:
    return Turn("user", text)


def said(text: str) -> Turn:
    return Turn("assistant", text)


def calls(*given: Call) -> Turn:
    return Turn("assistant", calls=given)


def answer(call_id: str | None, text: str, *, name: str | None = None, is_error: bool | None = None) -> Turn:
    return Turn("tool", results=(Result(call_id, name, text, is_error),))


def model(
    number: int, inputs: Sequence[Turn], outputs: Sequence[Turn], trace: str = "t", **more: Any
) -> Span:
    """A model call of one second at that second."""
    times = {"started_at": f"2026-05-01T08:{number // 60:02}:{number % 60:02}Z"}
    times["ended_at"] = times["started_at"].replace("Z", ".900Z")
    given: dict[str, Any] = {"session_id": "s", **times, **more}
    return Span(f"m{number}", trace, "llm", "chat", inputs=inputs, outputs=outputs, **given)


def tool(number: int, call: Call, text: str | None, trace: str = "t", **more: Any) -> Span:
    """A tool that ran at that second."""
    time = f"2026-05-01T08:{number // 60:02}:{number % 60:02}Z"
    result = None if text is None else Result(None, None, text, None)
    given: dict[str, Any] = {
        "session_id": "s",
        "started_at": time,
        "ended_at": time.replace("Z", ".500Z"),
        **more,
    }
    return Span(f"x{number}", trace, "tool", call.name, call=call, result=result, **given)


@dataclass
class Story:
    """A conversation and how it was traced.

    Args:
        turns: Every message, once.
        spans: The traces of it, one for each message of the user.
    """

    turns: list[Turn]
    spans: list[Span]


@st.composite
def stories(draw: st.DrawFn, *, ids: str, has_tools: bool) -> Story:
    """A conversation in few words, so that many messages are said several times.

    Args:
        draw: Of Hypothesis.
        ids: Of calls: ``unique``, ``short`` (numbered anew in every answer) or ``none``.
        has_tools: Whether tools have spans of their own.
    """
    story = Story([SYSTEM], [])
    number = 0
    for turn in range(draw(st.integers(1, 5))):
        story.turns.append(user(draw(st.sampled_from(("yes", "no", "go on")))))
        for _ in range(draw(st.integers(0, 2))):
            arguments = json.dumps({"n": draw(st.integers(0, 1))})
            forms = {"unique": f"call_{number:016}", "short": "call_", "none": None}
            stem, count = forms[ids], draw(st.integers(1, 2))
            made = [Call(None if stem is None else f"{stem}{i}", "look", arguments) for i in range(count)]
            story.spans.append(model(number, list(story.turns), [calls(*made)], f"t{turn}"))
            story.turns.append(calls(*made))
            for i, call in enumerate(made):
                text = draw(st.sampled_from(("fine", "none")))
                if has_tools:
                    story.spans.append(tool(number + 1 + i, call, text, f"t{turn}"))
                story.turns.append(answer(call.call_id, text))
            number += 4
        reply = said(draw(st.sampled_from(("well", "done", "yes"))))
        story.spans.append(model(number, list(story.turns), [reply], f"t{turn}"))
        story.turns.append(reply)
        number += 4
    return story


def told(story: Story) -> list[tuple[str, str, str]]:
    """Role, text and call of each row that a story must give: a call and its result are one."""
    answers = [r.text for t in story.turns for r in t.results]
    rows = []
    for turn in story.turns:
        rows += [(str(turn.role), turn.text, "")] if turn.text else []
        rows += [("tool", answers.pop(0), str(c.arguments)) for c in turn.calls]
    return rows


def landed(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(d["role"], d["content"], d["tool_arguments"] or "") for d in rows]


@pytest.mark.parametrize("has_tools", [False, True])
@given(st.data(), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_conversation_lands_once(has_tools: bool, data: st.DataObject, seed: int) -> None:
    story = data.draw(stories(ids="unique", has_tools=has_tools))
    random.Random(seed).shuffle(story.spans)
    rows, left_out = rows_of(story.spans)
    assert landed(rows) == told(story)
    assert set(left_out) <= {"repeated"}
    ids = [d["natural_id"] for d in rows]
    assert len(set(ids)) == len(ids)
    assert all(d["parent_id"] in ids for d in rows[2:])


@given(stories(ids="unique", has_tools=True))
@settings(max_examples=60, deadline=None)
def test_a_trace_for_each_call_of_one_conversation(story: Story) -> None:
    for span in story.spans:
        span.trace_id = span.span_id
    rows, _ = rows_of(story.spans)
    assert landed(rows) == told(story)


@pytest.mark.parametrize("has_tools", [False, True])
@pytest.mark.parametrize("ids", ["none", "short"])
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_conversation_without_unique_ids_of_calls_lands_once(
    ids: str, has_tools: bool, data: st.DataObject
) -> None:
    story = data.draw(stories(ids=ids, has_tools=has_tools))
    rows, _ = rows_of(story.spans)
    assert landed(rows) == told(story)


@given(stories(ids="unique", has_tools=True))
@settings(max_examples=40, deadline=None)
def test_a_grown_trace_keeps_its_ids(story: Story) -> None:
    whole = {d["natural_id"]: d["content"] for d in rows_of(story.spans)[0]}
    for count in range(1, len(story.spans)):
        part, _ = rows_of(story.spans[:count])
        assert {d["natural_id"] for d in part} <= set(whole)
        spoken = {d["natural_id"]: d["content"] for d in part if d["kind"] != "action"}
        assert spoken.items() <= whole.items()


@given(stories(ids="unique", has_tools=True))
@settings(max_examples=40, deadline=None)
def test_cut_files_give_the_ids_of_the_whole(story: Story) -> None:
    whole = {d["natural_id"]: d["content"] for d in rows_of(story.spans)[0]}
    last = story.spans[-1].trace_id
    later, _ = rows_of([span for span in story.spans if span.trace_id == last])
    assert {d["natural_id"]: d["content"] for d in later} == whole


@given(stories(ids="unique", has_tools=True), st.integers(1, 3_000))
@settings(max_examples=40, deadline=None)
def test_little_memory_lands_the_same(story: Story, held: int) -> None:
    rows, _ = rows_of(story.spans, IngestPolicy(batch_bytes=held))
    assert sorted(landed(rows)) == sorted(told(story))


@given(st.lists(st.sampled_from(("yes", "no", "go on")), min_size=1, max_size=8), st.integers(3, 9))
@settings(max_examples=60, deadline=None)
def test_a_window_over_the_history_lands_each_message_once(words: list[str], size: int) -> None:
    turns: list[Turn] = []
    spans = []
    for number, word in enumerate(words):
        turns.append(user(word))
        reply = said("well" if number % 3 else "done")
        spans.append(model(number * 3, [SYSTEM, *turns[-size:]], [reply], f"t{number}"))
        turns.append(reply)
    rows, _ = rows_of(spans)
    assert [d["content"] for d in rows] == ["Be brief.", *(t.text for t in turns)]


def test_a_history_without_its_beginning() -> None:
    first = [user("hi"), said("hello"), user("yes"), said("one"), user("yes"), said("two")]
    spans = [
        model(0, first[:1], first[1:2], "a"),
        model(10, first[:3], first[3:4], "b"),
        model(20, first[:5], first[5:6], "c"),
        model(30, [*first[3:], user("yes")], [said("three")], "d"),
    ]
    rows, _ = rows_of(spans)
    assert [d["content"] for d in rows] == ["hi", "hello", "yes", "one", "yes", "two", "yes", "three"]


def test_the_same_words_in_a_later_trace_without_history_are_new() -> None:
    spans = [
        model(i * 10, [SYSTEM, user(w)], [said(f"re {w}")], f"t{i}") for i, w in enumerate(("ok", "no", "ok"))
    ]
    rows, _ = rows_of(spans)
    assert [d["content"] for d in rows] == ["Be brief.", "ok", "re ok", "no", "re no", "ok", "re ok"]


def test_two_models_that_answer_alike_both_land_and_one_traced_twice_does_not() -> None:
    spans = [
        model(0, [user("Is it spam?")], [said("no")]),
        model(2, [user("Is it rude?")], [said("no")]),
        model(3, [user("Is it rude?")], [said("no")], parent_id="m2"),
    ]
    rows, _ = rows_of(spans)
    assert [d["content"] for d in rows] == ["Is it spam?", "no", "Is it rude?", "no"]


def test_own_ids_win_over_words() -> None:
    def owned(own_id: str) -> Turn:
        return Turn("user", "yes", own_id=own_id)

    spans = [
        model(0, [owned("m-1")], [said("one")], "a"),
        model(10, [owned("m-2")], [said("two")], "b"),
        model(20, [owned("m-1"), said("one"), owned("m-2"), said("two"), owned("m-3")], [said("three")], "c"),
    ]
    rows, _ = rows_of(spans)
    assert [d["natural_id"] for d in rows if d["role"] == "user"] == ["s/m-1", "s/m-2", "s/m-3"]
    assert [d["content"] for d in rows] == ["yes", "one", "yes", "two", "yes", "three"]


def test_a_call_takes_its_result_from_wherever_it_is_told() -> None:
    call = Call("call_aaaaaaaaaaaaaaaa", "pay", '{"sum":5}')
    start = model(0, [user("Pay")], [calls(call)])
    history = model(9, [user("Pay"), calls(call), answer(call.call_id, "paid")], [said("Done")])
    graph = Span("g", "t", "other", outputs=[answer(call.call_id, "paid", is_error=False)])
    graph.started_at = "2026-05-01T08:00:02Z"
    wanted: dict[str, tuple[list[Span], str, str | None]] = {}
    wanted |= {"in no place": ([], "", None), "in a history": ([history], "paid", None)}
    wanted |= {"by its span": ([tool(3, call, "paid")], "paid", "success")}
    wanted |= {"by a span that failed": ([tool(3, call, None, error="declined")], "declined", "failure")}
    wanted |= {"by the state of a graph": ([graph], "paid", "success")}
    wanted |= {"by both": ([tool(3, call, '{"raw":"paid"}'), history], "paid", "success")}
    for place, (spans, content, outcome) in wanted.items():
        action = [d for d in rows_of([start, *spans])[0] if d["kind"] == "action"]
        assert [(d["content"], d["outcome"]) for d in action] == [(content, outcome)], place


def test_an_agent_that_a_tool_calls() -> None:
    ask = Call("call_cccccccccccccccc", "research", '{"topic":"tides"}')
    brief, found = Turn("system", "You research.", is_injected=True), said("High at noon.")
    begin = [user("When is high tide?")]
    spans = [
        model(0, begin, [calls(ask)]),
        tool(2, ask, "High at noon.", ended_at="2026-05-01T08:00:06Z"),
        model(3, [brief, user("tides")], [found], parent_id="x2", agent_id="researcher"),
        model(8, [*begin, calls(ask), answer(ask.call_id, "High at noon.")], [said("At noon.")]),
        model(
            20,
            [*begin, calls(ask), answer(ask.call_id, "High at noon."), said("At noon."), user("Thanks")],
            [said("Bye")],
            "u",
        ),
    ]
    rows, _ = rows_of(spans)
    assert [(d["role"], d["content"], d["agent_id"]) for d in rows] == [
        ("user", "When is high tide?", None),
        ("tool", "High at noon.", None),
        ("system", "You research.", "researcher"),
        ("user", "tides", "researcher"),
        ("assistant", "High at noon.", "researcher"),
        ("assistant", "At noon.", None),
        ("user", "Thanks", None),
        ("assistant", "Bye", None),
    ]
    ids = [d["natural_id"] for d in rows]
    assert [d["parent_id"] for d in rows] == [None, ids[0], ids[1], ids[1], ids[3], ids[1], ids[5], ids[6]]


def test_a_tool_that_no_model_called() -> None:
    call = Call(None, "look", '{"q":"x"}')
    rows, left_out = rows_of([tool(1, call, '{"error":"gone"}', user_id="u")])
    assert [(d["kind"], d["outcome"], d["failure_reason"], d["user_id"]) for d in rows] == [
        ("action", "failure", "gone", "u")
    ]
    assert left_out == {}


def test_a_model_that_names_its_call_after_the_tool_ran() -> None:
    call = Call("call_bbbbbbbbbbbbbbbb", "look", '{"q": "x"}')
    bare = Call(None, "look", '{"input":{"q":"x"}}')
    late = model(0, [user("Look")], [calls(call)], ended_at="2026-05-01T08:00:09Z")
    rows, _ = rows_of([late, tool(3, bare, "found")])
    assert [(d["role"], d["content"]) for d in rows] == [("user", "Look"), ("tool", "found")]
    assert rows[1]["parent_id"] == rows[0]["natural_id"]


def test_results_of_unknown_calls_are_observations() -> None:
    rows, _ = rows_of([model(0, [answer("call_lost", "42", name="sum"), user("So?")], [said("42")])])
    assert [(d["kind"], d["role"], d["tool_name"], d["content"]) for d in rows] == [
        ("observation", "tool", "sum", "42"),
        (None, "user", None, "So?"),
        (None, "assistant", None, "42"),
    ]


def test_without_a_model_call_the_outermost_span_tells() -> None:
    def chain(span_id: str, parent_id: str | None, word: str) -> Span:
        return Span(
            span_id, "t", "other", parent_id=parent_id,
            inputs=[user(f"{word} in")], outputs=[said(f"{word} out")],
            started_at="2026-05-01T08:00:00Z", ended_at="2026-05-01T08:00:05Z",
        )  # fmt: skip

    root = Span("http", "t", "other", started_at="2026-05-01T08:00:00Z")
    rows, left_out = rows_of([chain("b", "a", "inner"), chain("a", "http", "outer"), root])
    assert [(d["role"], d["content"], d["event_at"][-4:]) for d in rows] == [
        ("user", "outer in", ":00Z"),
        ("assistant", "outer out", ":05Z"),
    ]
    assert left_out == {"span": 2}


def test_whose_a_span_is_comes_from_the_spans_around_it() -> None:
    spans = [
        Span("root", "t", "other", session_id="s", user_id="u", tenant_id="north"),
        Span("agent", "t", "other", parent_id="root", agent_id="planner"),
        model(1, [user("A")], [said("B")], parent_id="agent", session_id=None),
        model(5, [user("C")], [said("D")], parent_id="root", session_id=None),
    ]
    rows, _ = rows_of(spans)
    assert [(d["session_id"], d["user_id"], d["agent_id"], d["tenant_id"]) for d in rows] == [
        *[("s", "u", "planner", "north")] * 2,
        *[("s", "u", None, "north")] * 2,
    ]


def test_a_model_is_told_what_the_agent_around_it_was_told_to_be() -> None:
    around = {"started_at": "2026-05-01T08:00:00Z", "ended_at": "2026-05-01T08:00:09Z", "session_id": "s"}
    agent = Span("a", "t", "other", "agent", inputs=[SYSTEM, user("Which pier?")], **around)
    step = Span("b", "t", "other", "step", parent_id="a", **around)
    asked = model(1, [user("Which pier?")], [said("Pier 4.")], parent_id="b")
    own = model(2, [Turn("system", "Count.", is_injected=True), user("2?")], [said("3.")], parent_id="b")
    later = model(3, [user("Sure?")], [said("Sure.")], parent_id="b")
    rows, left_out = rows_of([agent, step, asked, own, later])
    assert [(row["role"], row["content"]) for row in rows] == [
        ("system", "Be brief."),
        ("user", "Which pier?"),
        ("assistant", "Pier 4."),
        ("system", "Count."),
        ("user", "2?"),
        ("assistant", "3."),
        ("user", "Sure?"),
        ("assistant", "Sure."),
    ]
    assert [row["is_injected"] for row in rows] == [True, None, None, True, None, None, None, None]
    assert left_out == {"span": 2, "repeated": 1}


def test_a_span_that_comes_twice_is_one() -> None:
    begun = model(0, [user("A")], (), ended_at=None)
    ended = Span("m0", "t", "llm", outputs=[said("B")], ended_at="2026-05-01T08:00:07Z")
    rows, left_out = rows_of([begun, ended, ended])
    assert [(d["content"], d["event_at"][-4:]) for d in rows] == [("A", ":00Z"), ("B", ":07Z")]
    assert left_out == {"repeated_span": 2}


def test_faults_and_thoughts_are_told_once() -> None:
    bad = Turn(None, fault=(7, JsonFault("bad_field_type", "a message is a number")))
    thought = Turn("assistant", "Hm.", thinking=2)
    spans = [
        model(0, [user("A"), bad], [thought]),
        model(5, [user("A"), bad, thought, user("B")], [said("C")]),
    ]
    collector = Collector("source", IngestPolicy())
    rows = TraceRows(collector, IngestPolicy())
    for span in spans:
        rows.add(span)
    rows.finish()
    (batch,) = collector.flush()
    assert batch.refusals["reason"].to_list() == ["bad_field_type"]
    assert batch.refusals["raw"].to_list() == ["7"]
    assert batch.left_out == {"repeated": 3, "thinking": 2}


IDS = st.sampled_from(("a", "b", "c", "d"))
TIMES = st.sampled_from(
    (None, "", "2026-05-01T08:00:00Z", "2026-05-01T08:00:01Z", "2026-05-01 07:00", "soon")
)
CALL_IDS = st.sampled_from((None, "", "f", "k1"))
ARGUMENTS = st.sampled_from((None, "", "{}", "[1", "null", '{"input":{"a":1}}', '{"a":1}'))
CALLS = st.builds(Call, CALL_IDS, st.sampled_from(("f", "g")), ARGUMENTS)
RESULTS = st.builds(
    Result,
    CALL_IDS,
    st.sampled_from((None, "f", "z")),
    st.sampled_from(("", " ", "x", "Error: y")),
    st.sampled_from((None, True, False)),
)
TURNS = st.builds(
    Turn,
    st.sampled_from((None, "user", "assistant", "system", "tool", "Ann")),
    st.sampled_from(("", " ", "yes", "no")),
    st.lists(CALLS, max_size=2).map(tuple),
    st.lists(RESULTS, max_size=2).map(tuple),
    own_id=st.sampled_from((None, "m1", "m2")),
    thinking=st.integers(0, 2),
    is_injected=st.booleans(),
    is_guess=st.booleans(),
)
SPANS = st.builds(
    Span,
    IDS,
    st.sampled_from(("t", "u")),
    st.sampled_from(("llm", "tool", "other")),
    parent_id=st.none() | IDS,
    session_id=st.sampled_from((None, "s")),
    user_id=st.sampled_from((None, "n")),
    started_at=TIMES,
    ended_at=TIMES,
    inputs=st.lists(TURNS, max_size=4),
    outputs=st.lists(TURNS, max_size=2),
    call=st.none() | CALLS,
    result=st.none() | RESULTS,
    error=st.sampled_from((None, "", "gone")),
)


@given(st.lists(SPANS, max_size=7), st.sampled_from((1, 1_500, 64_000_000)))
@settings(max_examples=300, deadline=None)
def test_any_spans_are_accounted_for(spans: list[Span], held: int) -> None:
    rows_of(spans, IngestPolicy(batch_bytes=held))


def test_a_loop_of_parents_ends() -> None:
    spans = [model(i, [user(str(i))], [said(f"re {i}")], parent_id=f"m{(i + 1) % 3}") for i in range(3)]
    assert len(rows_of(spans)[0]) == 6
