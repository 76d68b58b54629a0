"""Messages of every vendor and framework -> ``Turn``s, in one place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from transforms.readers.blocks import Result
from transforms.readers.injected import split_injected
from transforms.readers.message_chunks import is_streamed, joined
from transforms.readers.message_parts import Parts, read_parts
from transforms.readers.message_turn import KNOWN_ROLES, is_message, role_of, turn_of
from transforms.readers.python_text import fields_of, literal_of
from transforms.readers.text import JsonFault, dump_json, load_json, type_name
from transforms.readers.trace import Turn

_MESSAGES = ("messages", "contents", "new_messages", "chat_history")
_ANSWERS = ("choices", "candidates", "generations")
_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction", "system_prompt")
_INNER = ("output", "input", "outputs", "inputs", "kwargs", "update", "data", "result", "response")
_WORDS = (
    "input", "question", "query", "prompt", "user_input", "message", "text", "content",
    "output", "answer", "response", "result", "completion", "args",
)  # fmt: skip
_SPOKEN_LINE = re.compile(
    r"^(system|developer|user|assistant|human|ai|tool|System|Human|AI|Tool): ?", re.MULTILINE
)
_NOTHING = frozenset({"", "None", "null", "undefined", "[]", "{}"})


def turns_of(value: object, role: str = "user", *, or_text: bool = True) -> list[Turn]:
    """Messages in any shape: JSON text, a list, one message, or an object that holds them.

    Args:
        value: Parsed JSON or text.
        role: Of words that name none: ``user`` for inputs, ``assistant`` for outputs.
        or_text: Whether a value of no known shape is taken as words of that role; else it gives nothing.

    Returns:
        Turns in order. A message that cannot be read is a turn with a ``fault``.
    """
    try:
        parsed = _parsed(value)
        found = _messages(parsed, role)
        if found is None and or_text:
            found = _loose(parsed, role, value)
    except JsonFault as fault:
        return [Turn(None, fault=(value, fault))]
    except RecursionError:
        deep = JsonFault("too_deeply_nested", "the messages are nested too deeply")
        return [Turn(None, fault=("(too deep to quote)", deep))]
    return list(_said(_named(found or [])))


def _parsed(value: object) -> object:
    """JSON or a Python literal that stands in a string, as what it means."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return load_json(value.encode("utf-8", "replace"))
    except JsonFault:
        literal = literal_of(value)
        return value if literal is None else literal


def _messages(value: object, role: str) -> list[Turn] | None:
    """Turns of a value that is made of messages; None if it is not."""
    if isinstance(value, str):
        fields = fields_of(value)
        return [turn_of(fields, role)] if fields is not None else _transcript(value)
    if isinstance(value, list):
        return _listed(value, role)
    if not isinstance(value, dict):
        return None
    return [turn_of(value, role)] if is_message(value) else _held(value, role)


def _transcript(text: str) -> list[Turn] | None:
    """Messages that a tracer wrote out as lines of ``role: words``."""
    marks = list(_SPOKEN_LINE.finditer(text))
    if len(marks) < 2 or marks[0].start():  # one may be how a sentence begins
        return None
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    turns = []
    for mark, end in zip(marks, ends, strict=True):
        words, said = text[mark.end() : end].strip(), role_of(mark[1])
        if words in _NOTHING:
            continue
        answer = (Result(None, None, words, is_error=None),)
        is_tool = said == "tool"
        turns.append(
            Turn(said, results=answer) if is_tool else Turn(said, words, is_injected=said == "system")
        )
    return turns


def _listed(values: Sequence[object], role: str) -> list[Turn] | None:
    """A list of messages; of lists of them; or of the parts or the pieces of one message."""
    if all(isinstance(v, list) for v in values):
        return [turn for v in values for turn in _messages(v, role) or ()]
    if all(isinstance(v, str) for v in values):
        return [turn for v in values for turn in _words(str(v), role)]
    if is_streamed(values):
        return [turn_of(joined(values), role)]
    if any(isinstance(v, dict) and (is_message(v) or _is_holder(v)) for v in values):
        return [turn for item in values for turn in _item(item, role)]
    is_parts = all(isinstance(v, dict) and _is_part(v) for v in values)
    return [turn_of({"content": list(values)}, role)] if is_parts else None


def _item(item: object, role: str) -> list[Turn]:
    try:
        if isinstance(item, str):
            return _words(item, role)
        if not isinstance(item, dict):
            raise JsonFault("bad_field_type", f"a message is {type_name(item)}, not an object")
        if not is_message(item) and _is_holder(item):
            return _held(item, role) or []
        return [turn_of(item, role)]
    except JsonFault as fault:
        return [Turn(None, fault=(item, fault))]


def _words(text: str, role: str) -> list[Turn]:
    return _messages(_parsed(text), role) or ([] if text.strip() in _NOTHING else [Turn(role, text)])


def _is_part(value: Mapping[str, object]) -> bool:
    keys = ("text", "type", "toolUse", "toolResult", "functionCall", "functionResponse", "function_call")
    return any(isinstance(value.get(key), str | dict) for key in keys)


def _is_holder(value: Mapping[str, object]) -> bool:
    inner = value.get("message", value.get("content"))
    return any(isinstance(value.get(key), list) for key in (*_MESSAGES, *_ANSWERS)) or isinstance(inner, dict)


def _held(value: Mapping[str, object], role: str) -> list[Turn] | None:
    """Messages inside an object: a request, a response, a choice, the state of a graph."""
    before = _instructions(value)
    for key in _MESSAGES:
        if isinstance(value.get(key), list | str):
            found = _messages(_parsed(value[key]), role)
            return [*before, *(_loose(value[key], role, value[key]) if found is None else found)]
    for key in _ANSWERS:
        answers = value.get(key)
        if isinstance(answers, list):  # the first is what the program went on with
            first = answers[0] if answers else None
            return _choice(first[0] if isinstance(first, list) and first else first)
    for key in ("message", "new_message", "content"):
        inner = value.get(key)
        if isinstance(inner, dict):
            return _messages(inner, role)
    for key in _INNER:
        found = _messages(value[key], role) if isinstance(value.get(key), dict | list) else None
        if found:
            return [*before, *found]
    content = value.get("content")
    if isinstance(content, list) and content and all(isinstance(part, dict) for part in content):
        return [turn_of(value, role)]
    prompt = value.get("prompt", value.get("input"))
    return [*before, *_words(prompt, role)] if before and isinstance(prompt, str) else None


def _choice(choice: object) -> list[Turn]:
    if not isinstance(choice, dict):
        return [] if choice is None else _words(str(choice), "assistant")
    for key in ("message", "content", "delta"):
        if isinstance(choice.get(key), dict):
            return _messages(choice[key], "assistant") or []
    return _loose(choice, "assistant", choice)


def _instructions(value: Mapping[str, object]) -> list[Turn]:
    """System text that a request carries beside its messages."""
    config = value.get("config")
    inner = config if isinstance(config, dict) else {}
    given = next((v for key in _SYSTEM if (v := value.get(key, inner.get(key)))), None)
    parts = Parts()
    read_parts(given.get("parts", given) if isinstance(given, dict) else given, parts)
    return [Turn("system", parts.text, is_injected=True)] if parts.text else []


def _loose(value: object, role: str, source: object) -> list[Turn]:
    """Words in a shape that is nobody's message: the one text of an object, else the whole as written."""
    if value is None or value in ([], {}):
        return []
    if isinstance(value, str):
        return [] if value.strip() in _NOTHING else [Turn(role, value)]
    if isinstance(value, dict):
        texts = [value[key] for key in _WORDS if isinstance(value.get(key), str | list | dict)]
        found = _messages(_parsed(texts[0]), role) if len(texts) == 1 else None
        if found is None and len(texts) == 1 and isinstance(texts[0], str):
            found = _loose(texts[0], role, texts[0])
        if found is not None:
            return [replace(turn, is_guess=True) for turn in found]
    written = source if isinstance(source, str) else dump_json(value)
    return [Turn(role, written, is_guess=True)]


def _named(turns: Iterable[Turn]) -> Iterator[Turn]:
    """A role that is the name of a tool called before makes a result; any other name is a speaker's."""
    called: set[str] = set()
    for turn in turns:
        called.update(call.name for call in turn.calls)
        role = turn.role
        if role is None or role in KNOWN_ROLES:
            yield turn
        elif role in called:
            yield replace(turn, role="tool", text="", results=(Result(None, role, turn.text, is_error=None),))
        else:
            yield replace(turn, speaker=turn.speaker or role)


def _said(turns: Iterable[Turn]) -> Iterator[Turn]:
    """What a program put into a user's message becomes a turn of its own."""
    for turn in turns:
        said, injected = split_injected(turn.text) if turn.role == "user" else (turn.text, "")
        if not injected:
            yield turn
            continue
        yield Turn(turn.role, injected, event_at=turn.event_at, is_injected=True)
        if said or turn.calls or turn.results:
            yield replace(turn, text=said)
