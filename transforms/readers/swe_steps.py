"""Steps of a SWE-agent run: those that only its history holds, and the tool calls written there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transforms.readers.blocks import Call
from transforms.readers.row_shape import json_text
from transforms.readers.text import JsonFault, id_or_none


def is_answer(message: object) -> bool:
    """Whether a message of the history is the agent's own, and no demonstration."""
    fields = as_object(message)
    return fields.get("role") == "assistant" and fields.get("is_demo") is not True


def steps_of(answers: Sequence[object]) -> list[object]:
    """Steps of a run that has no trajectory: each answer of its history, and the message after it."""
    steps: list[object] = []
    for message in answers:
        if isinstance(message, dict) and is_answer(message):
            named = {name: message.get(name) for name in ("thought", "action")}
            steps.append({**named, "response": message.get("content"), "observation": None})
        elif isinstance(message, dict) and isinstance(steps[-1], dict) and steps[-1]["observation"] is None:
            steps[-1]["observation"] = message.get("content")
        else:
            steps.append(
                message if not isinstance(message, dict) else {"observation": message.get("content")}
            )
    return steps


def written_calls(answers: Sequence[object], steps: Sequence[object]) -> list[Call | None]:
    """For each step the one tool call that the history holds for it; the n-th answer is the n-th step's."""
    own = [m for m in answers if isinstance(m, dict) and is_answer(m)]
    calls: list[Call | None] = [None] * len(steps)
    for index, (answer, step) in enumerate(zip(own, steps, strict=False)):
        given = answer.get("tool_calls")
        is_same = isinstance(step, dict) and step.get("action") == answer.get("action")
        if not is_same or not isinstance(given, list) or len(given) != 1:
            continue
        function = as_object(as_object(given[0]).get("function"))
        if isinstance(function.get("name"), str):
            calls[index] = _call(given[0], function)
    return calls


def _call(call: Mapping[str, object], function: Mapping[str, object]) -> Call | None:
    try:
        arguments = json_text(function.get("arguments"), "arguments")
        return Call(id_or_none(call.get("id"), "id"), str(function["name"]), arguments)
    except JsonFault:
        return None  # the step says the same in its action


def as_object(value: object) -> dict[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
