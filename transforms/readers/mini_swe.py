"""Trajectories of mini-SWE-agent (1.x and 2.x) in the shape of SWE-agent's: what was told, then steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from transforms.readers.text import JsonFault, type_name

MARK = b'"mini_version"'
_BLOCK = re.compile(r"^```[\w-]*[ \t]*\n(.*?)\n?^```[ \t]*$", re.DOTALL | re.MULTILINE)
_RETURN_CODE = re.compile(r"<returncode>(-?[0-9]{1,9})</returncode>")
_ANSWERS = ("tool", "user")


def as_run(record: Mapping[str, object]) -> dict[str, object]:
    """The record with ``history`` (up to the first answer), ``trajectory`` and the model's name.

    Raises:
        JsonFault: ``bad_field_type``: its messages are no list.
    """
    messages = record.get("messages")
    if not isinstance(messages, list):
        raise JsonFault("bad_field_type", f"messages is {type_name(messages)}, not a list")
    start = next((i for i, m in enumerate(messages) if _role(m) == "assistant"), len(messages))
    info = record.get("info")
    config = info.get("config") if isinstance(info, dict) else None
    model = config.get("model") if isinstance(config, dict) else None
    named = {"name": model.get("model_name")} if isinstance(model, dict) else {}
    return {
        **{name: value for name, value in record.items() if name != "messages"},
        "history": messages[:start],
        "trajectory": _steps(messages[start:]),
        "replay_config": {"agent": {"model": named}},
    }


def _steps(messages: Sequence[object]) -> list[object]:
    """A step for each command; commands of one answer take the messages after it in their order."""
    steps: list[object] = []
    waiting: list[dict[str, object]] = []
    for message in messages:
        role = _role(message)
        fields = message if isinstance(message, dict) else {}
        if role == "assistant":
            waiting = _commands(fields)
            steps.extend(waiting)
        elif role in _ANSWERS and waiting:
            waiting.pop(0).update(_observed(fields))
        elif role in _ANSWERS:
            steps.append(_observed(fields))
        elif role != "exit":  # how the run ended stands in its info
            steps.append(message)
    return steps


def _commands(message: Mapping[str, object]) -> list[dict[str, object]]:
    said: object = message.get("content")
    calls = message.get("tool_calls")
    time = {"timestamp": _time(message), "response": said}
    if isinstance(calls, list) and calls:
        functions = [call.get("function") if isinstance(call, dict) else None for call in calls]
        given = [f if isinstance(f, dict) else {} for f in functions]
        asked = [{"action": f.get("arguments"), "tool": f.get("name"), **time} for f in given]
        thoughts = [said or "", *[""] * (len(asked) - 1)]
        return [{**step, "thought": thought} for step, thought in zip(asked, thoughts, strict=True)]
    block = _BLOCK.search(said) if isinstance(said, str) else None
    if not isinstance(said, str) or block is None:
        return [{"thought": said, **time}]
    thought = (said[: block.start()] + said[block.end() :]).strip()
    return [{"thought": thought, "action": block[1], **time}]


def _observed(message: Mapping[str, object]) -> dict[str, object]:
    content = message.get("content")
    extra = message.get("extra")
    code = extra.get("returncode") if isinstance(extra, dict) else None
    if not isinstance(code, int) and isinstance(content, str) and (found := _RETURN_CODE.search(content)):
        code = int(found[1])
    return {"observation": content, "returncode": code}


def _time(message: Mapping[str, object]) -> object:
    extra = message.get("extra")
    own = message.get("timestamp")
    return extra.get("timestamp") if own is None and isinstance(extra, dict) else own


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None
