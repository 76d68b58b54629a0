"""Traces of several people at once, told in the format of each tracer: for tests of reading that goes on."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

Step = dict[str, Any]
WORDS = ("yes", "no", "Go on.", "Which quay?", "The blue one, please.", "At nine.")


def steps(seed: int, sessions: int = 3, turns: int = 4, name: str = "s") -> list[Step]:
    """Model calls, tools and agents of several sessions, in the order in which a program might tell them.

    Turns are traces. A call may be answered by a tool's span, in the next history, in the next trace, twice,
    or never; a history may be told or not; a span may come late, and name its session or not.
    """
    chance = random.Random(seed)
    told = [list(_session(chance, f"{name}{n}", turns)) for n in range(sessions)]
    found: list[Step] = []
    while any(told):
        found.append(chance.choice([one for one in told if one]).pop(0))
    for _ in range(sessions):  # a few come late
        found.insert(chance.randrange(len(found)), found.pop(chance.randrange(len(found))))
    return found


def _session(chance: random.Random, name: str, turns: int) -> Iterator[Step]:
    history: list[dict[str, Any]] = []
    has_history, clock = chance.random() < 0.6, 0
    for turn in range(turns):
        trace, session = f"{name}t{turn}", name if chance.random() < 0.8 else None
        said = {"role": "user", "content": chance.choice(WORDS)}
        if chance.random() < 0.3:
            said["id"] = f"{trace}-m"
        history.append(said)
        common = {"trace": trace, "session": session, "user": f"u-{name}"}
        for step in range(chance.randint(1, 3)):
            own, begin = f"{trace}c{step}", clock
            clock += 3
            answer: dict[str, Any] = {"role": "assistant", "content": chance.choice(WORDS)}
            call_id = f"call-{own}-0123456789"
            if has_call := chance.random() < 0.6:
                call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
                answer |= {"content": "", "tool_calls": [call]}
            given = list(history) if has_history else history[-1:]
            yield common | {
                "id": own,
                "kind": "llm",
                "at": begin,
                "until": begin + 1,
                "in": given,
                "out": answer,
            }
            history.append(answer)
            result = f"found {chance.randint(1, 9)}"
            if has_call and chance.random() < 0.5:
                tool = {
                    "id": f"{own}x",
                    "kind": "tool",
                    "at": begin + 1,
                    "until": begin + 2,
                    "result": result,
                }
                yield common | tool | {"call_id": call_id if chance.random() < 0.5 else None}
            if has_call and chance.random() < 0.7:
                history.append({"role": "tool", "tool_call_id": call_id, "content": result})
        if chance.random() < 0.5:
            root = {"id": f"{trace}r", "kind": "other", "at": clock - 3, "until": clock, "in": history[-1:]}
            yield common | {**root, "session": name}
    return


def _time(second: int) -> str:
    return f"2026-05-04T09:{second // 60:02d}:{second % 60:02d}.000000Z"


def _kept(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}


def otel(told: list[Step], size: int) -> list[dict[str, Any]]:
    """Requests of an exporter, with so many spans each."""
    spans = [_otel_span(step) for step in told]
    parts = [spans[at : at + size] for at in range(0, len(spans), size)]
    return [{"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": part}]}]} for part in parts]


def _otel_span(step: Step) -> dict[str, Any]:
    operation = {"llm": "chat", "tool": "execute_tool", "other": "invoke_agent"}[step["kind"]]
    given: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.conversation.id": step["session"],
        "user.id": step["user"],
        "gen_ai.input.messages": json.dumps(step["in"]) if "in" in step else None,
        "gen_ai.output.messages": json.dumps([step["out"]]) if "out" in step else None,
    }
    if step["kind"] == "tool":
        given |= {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": step["call_id"]}
        given |= {"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": step["result"]}
    begin, end = ((1_777_885_200 + step[name]) * 10**9 for name in ("at", "until"))
    return {
        "traceId": step["trace"].encode().hex(),
        "spanId": step["id"].encode().hex(),
        "name": operation,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(end),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in given.items() if v is not None],
    }


def langfuse(told: list[Step], size: int) -> list[dict[str, Any]]:
    """Observations, one a record."""
    kinds = {"llm": "GENERATION", "tool": "TOOL", "other": "SPAN"}
    return [
        {
            "id": step["id"],
            "traceId": step["trace"],
            "sessionId": step["session"],
            "userId": step["user"],
            "type": kinds[step["kind"]],
            "name": "look" if step["kind"] == "tool" else step["kind"],
            "startTime": _time(step["at"]),
            "endTime": _time(step["until"]),
            "parentObservationId": None,
            "input": {} if step["kind"] == "tool" else step["in"],
            "output": step["result"] if step["kind"] == "tool" else step.get("out"),
        }
        for step in told
    ]


def langsmith(told: list[Step], size: int) -> list[dict[str, Any]]:
    """Batches of an SDK: how runs began, and in the same or the next one how they ended."""
    found: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    for at in range(0, len(told), size):
        part = told[at : at + size]
        ended = [_run_end(step) for step in part]
        found.append({"post": [_run(step) for step in part], "patch": [*left, *ended[::2]]})
        left = ended[1::2]
    return [*found, {"post": [], "patch": left[:-1]}]


def _run(step: Step) -> dict[str, Any]:
    kinds = {"llm": "llm", "tool": "tool", "other": "chain"}
    metadata = _kept({"session_id": step["session"], "user_id": step["user"]})
    return {
        "id": step["id"],
        "trace_id": step["trace"],
        "dotted_order": f"20260504T090000000000Z{step['trace']}.20260504T090001000000Z{step['id']}",
        "run_type": kinds[step["kind"]],
        "name": "look" if step["kind"] == "tool" else step["kind"],
        "start_time": _time(step["at"]),
        "inputs": {"input": "{}"} if step["kind"] == "tool" else {"messages": step["in"]},
        "extra": {"metadata": metadata},
    }


def _run_end(step: Step) -> dict[str, Any]:
    outputs = {"output": step["result"]} if step["kind"] == "tool" else {"messages": [step.get("out")]}
    ids = {key: _run(step)[key] for key in ("id", "trace_id", "dotted_order")}
    return ids | {
        "end_time": _time(step["until"]),
        "outputs": outputs if "out" in step or "result" in step else {},
    }


FORMATS = {"otel-spans": otel, "langfuse-traces": langfuse, "langsmith-runs": langsmith}
