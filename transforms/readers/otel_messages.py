"""What the attributes and events of a model call's span say was asked and answered.

Each convention writes messages in its own place; the first place that holds any is taken. All become values
that ``message_shapes`` reads: messages of the OpenAI form, or as they stand.

Conventions: OpenTelemetry GenAI (``gen_ai.input.messages``; up to 1.36 events like ``gen_ai.user.message``),
OpenInference (``llm.input_messages``), Vercel AI SDK (``ai.prompt.messages``), and the older
``gen_ai.prompt.0.content``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from transforms.readers.otel_attributes import items_under, read_json
from transforms.readers.otel_source import Event
from transforms.readers.text import dump_json

Message = dict[str, object]
Attributes = Mapping[str, object]

_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE = "gen_ai.choice"
_LISTS = ("pydantic_ai.all_messages", "all_messages_events", "events")
_INPUTS = (
    "gcp.vertex.agent.llm_request",
    "gen_ai.prompt",
    "langfuse.observation.input",
    "traceloop.entity.input",
    "mlflow.spanInputs",
    "input.value",
)
_OUTPUTS = (
    "gcp.vertex.agent.llm_response",
    "gen_ai.completion",
    "langfuse.observation.output",
    "traceloop.entity.output",
    "mlflow.spanOutputs",
    "output.value",
)


def inputs_of(attributes: Attributes, events: Sequence[Event]) -> list[object]:
    """Values that hold what a span was given, in order; empty if it does not say."""
    told = _details(attributes, events)
    places: tuple[Callable[[], list[object]], ...] = (
        lambda: [told[key] for key in ("gen_ai.input.messages",) if key in told],
        lambda: [_plain(item) for item in items_under(attributes, "llm.input_messages")],
        lambda: _vercel_inputs(attributes),
        lambda: [message for message, is_output in _event_messages(events) if not is_output],
        lambda: [_plain(item) for item in items_under(attributes, "gen_ai.prompt")],
        lambda: [message for message, is_output in _listed(attributes) if not is_output],
        lambda: _first_of(attributes, _INPUTS),
    )
    found = next((values for place in places if (values := place())), [])
    return [*instructions(told), *found]


def instructions(attributes: Attributes) -> list[object]:
    """What a model was told beside its messages, as a system message; empty if nothing."""
    told = attributes.get("gen_ai.system_instructions")
    return [{"role": "system", "parts": _parts(told)}] if told else []


def outputs_of(attributes: Attributes, events: Sequence[Event]) -> list[object]:
    """Values that hold what came back, in order; empty if it does not say."""
    told = _details(attributes, events)
    places: tuple[Callable[[], list[object]], ...] = (
        lambda: [told[key] for key in ("gen_ai.output.messages",) if key in told],
        lambda: [_plain(item) for item in items_under(attributes, "llm.output_messages")],
        lambda: _vercel_outputs(attributes),
        lambda: [message for message, is_output in _event_messages(events) if is_output],
        lambda: [_plain(item) for item in items_under(attributes, "gen_ai.completion")],
        lambda: [message for message, is_output in _listed(attributes) if is_output],
        lambda: _first_of(attributes, _OUTPUTS),
    )
    return next((values for place in places if (values := place())), [])


def _details(attributes: Attributes, events: Sequence[Event]) -> Attributes:
    """The span's attributes, and those of an event that tells the messages in its place."""
    told = dict(attributes)
    for event in events:
        if "gen_ai.input.messages" in event.attributes or "gen_ai.output.messages" in event.attributes:
            told = {**event.attributes, **told}
    return told


def _first_of(attributes: Attributes, names: Sequence[str]) -> list[object]:
    found = next((attributes[name] for name in names if attributes.get(name)), None)
    return [] if found is None else [found]


def _parts(value: object) -> object:
    """Instructions as parts; text that is no JSON as one part."""
    loaded = read_json(value)
    return loaded if isinstance(loaded, list) else [{"type": "text", "content": str(loaded)}]


def _plain(item: object) -> object:
    """A message of OpenInference, or of ``gen_ai.prompt.N``, in the OpenAI form."""
    if not isinstance(item, dict):
        return item
    inner = item.get("message", item)
    if not isinstance(inner, dict):
        return item
    message = {key: inner[key] for key in ("role", "name", "tool_call_id", "content", "id") if key in inner}
    contents = inner.get("contents")
    if isinstance(contents, list) and contents:
        message["content"] = [_content(part) for part in contents]
    elif isinstance(message.get("content"), str) and str(message["content"]).startswith('[{"'):
        message["content"] = read_json(message["content"])
    if inner.get("tool_calls") is not None:
        message["tool_calls"] = _calls(inner["tool_calls"])
    if isinstance(inner.get("function_call_name"), str):
        arguments = inner.get("function_call_arguments_json")
        message["function_call"] = {"name": inner["function_call_name"], "arguments": arguments}
    return message


def _content(part: object) -> object:
    return part.get("message_content", part) if isinstance(part, dict) else part


def _calls(calls: object) -> object:
    """Calls in the OpenAI form; what is no list is left for ``message_shapes`` to refuse."""
    return [_call(call) for call in calls] if isinstance(calls, list) else calls


def _call(call: object) -> object:
    inner = call.get("tool_call", call) if isinstance(call, dict) else call
    if not isinstance(inner, dict):
        return inner
    return _openai_call(inner, ("id",), ("name",), ("arguments",)) if "function" not in inner else inner


def _openai_call(
    call: Attributes, ids: Sequence[str], names: Sequence[str], arguments: Sequence[str]
) -> Message:
    given = next((call[key] for key in arguments if call.get(key) is not None), None)
    return {
        "id": next((call[key] for key in ids if call.get(key) is not None), None),
        "type": "function",
        "function": {"name": next((call[key] for key in names if key in call), None), "arguments": given},
    }


def _vercel_inputs(attributes: Attributes) -> list[object]:
    found = attributes.get("ai.prompt.messages")
    if found is not None:
        return [found]
    prompt = read_json(attributes.get("ai.prompt"))
    if not isinstance(prompt, dict):
        return [] if prompt is None else [prompt]
    system, words, messages = (prompt.get(key) for key in ("system", "prompt", "messages"))
    asked = messages if isinstance(messages, list) else words if isinstance(words, list) else None
    values: list[object] = [{"role": "system", "content": system}] if system else []
    if asked is not None:
        return [*values, *asked]
    return [*values, *([{"role": "user", "content": words}] if words else [])]


def _vercel_outputs(attributes: Attributes) -> list[object]:
    text, made = attributes.get("ai.response.text"), attributes.get("ai.response.object")
    message: Message = {"role": "assistant", "content": text if text else made}
    calls = read_json(attributes.get("ai.response.toolCalls"))
    if isinstance(calls, list):
        ids, names = ("toolCallId", "id"), ("toolName", "name")
        message["tool_calls"] = [
            _openai_call(call, ids, names, ("input", "args", "arguments")) if isinstance(call, dict) else call
            for call in calls
        ]
    return [message] if message["content"] or message.get("tool_calls") else []


def _event_messages(events: Sequence[Event]) -> Iterator[tuple[Message, bool]]:
    """Messages of the conventions up to 1.36, each with whether it came from the model."""
    for event in events:
        yield from event_message(event.name, event.attributes)


def event_message(name: str, fields: Attributes) -> Iterator[tuple[Message, bool]]:
    """The message that one event tells, if it tells one."""
    body = read_json(fields.get("gen_ai.event.content"))
    fields = {**fields, **body} if isinstance(body, dict) else fields
    if name in _EVENT_ROLES:
        yield _event_fields(fields, _EVENT_ROLES[name]), False
    elif name == CHOICE:
        inner = read_json(fields.get("message", fields))
        starts = {key.removeprefix("message."): v for key, v in fields.items() if key.startswith("message.")}
        inner = starts or inner
        message = inner if isinstance(inner, dict) else {"content": inner}
        yield _event_fields(message, "assistant"), True
    elif name == "gen_ai.content.prompt":
        yield from ((m, False) for m in _content_messages(fields.get("gen_ai.prompt"), "user"))
    elif name == "gen_ai.content.completion":
        yield from ((m, True) for m in _content_messages(fields.get("gen_ai.completion"), "assistant"))


def _event_fields(fields: Attributes, role: str) -> Message:
    message: Message = {"role": fields.get("role") or role, "content": _loaded(fields.get("content"))}
    if isinstance(fields.get("name"), str):
        message["name"] = fields["name"]
    if fields.get("tool_calls") is not None:
        message["tool_calls"] = _calls(read_json(fields["tool_calls"]))
    if role == "tool":
        message["tool_call_id"] = fields.get("id", fields.get("tool_call_id"))
    return message


def _loaded(content: object) -> object:
    """Content as parts where it is a list of them; an object, such as a tool's result, as text."""
    value = read_json(content)
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        return value
    return content if content is None or isinstance(content, str) else dump_json(content)


def _content_messages(value: object, role: str) -> list[Message]:
    loaded = read_json(value)
    items = loaded if isinstance(loaded, list) else [] if loaded is None else [loaded]
    return [item if isinstance(item, dict) else {"role": role, "content": item} for item in items]


def _listed(attributes: Attributes) -> Iterator[tuple[object, bool]]:
    """Messages in one attribute, in the form of events or as plain messages."""
    found = next((attributes[name] for name in _LISTS if attributes.get(name)), None)
    items = read_json(found)
    for item in items if isinstance(items, list) else []:
        name = item.get("event.name") if isinstance(item, dict) else None
        if isinstance(item, dict) and isinstance(name, str):
            yield from event_message(name, item)
        else:
            yield item, False
