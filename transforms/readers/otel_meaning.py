"""What the attributes of a span mean: its kind, whose it is, and what is kept as metadata."""

from __future__ import annotations

from collections.abc import Sequence

from transforms.readers.otel_attributes import read_json
from transforms.readers.otel_messages import CHOICE
from transforms.readers.otel_source import RawSpan
from transforms.readers.otel_tools import TAKEN, first
from transforms.readers.trace import SpanKind

_STATED: dict[str, dict[str, SpanKind]] = {
    "ai.operationId": {"dogenerate": "llm", "dostream": "llm", "toolcall": "tool"},
    "openinference.span.kind": {"llm": "llm", "tool": "tool"},
    "traceloop.span.kind": {"tool": "tool"},
    "gen_ai.operation.name": {
        "chat": "llm",
        "text_completion": "llm",
        "generate_content": "llm",
        "completion": "llm",
        "execute_tool": "tool",
    },
}
"""Attributes that say what a span is, and the last words of their values; what is not named is neither."""
_MODEL_SIGNS = (
    "gen_ai.output.messages",
    "llm.output_messages",
    "gcp.vertex.agent.llm_request",
    "llm.request.type",
)
_MODEL_BEGINNINGS = ("gen_ai.completion", "llm.output_messages.")

SESSION = (
    "session.id",
    "gen_ai.conversation.id",
    "langfuse.session.id",
    "gcp.vertex.agent.session_id",
    "session_id",
    "conversation.id",
    "thread_id",
)
USER = ("user.id", "enduser.id", "langfuse.user.id", "user_id")
AGENT = ("gen_ai.agent.name", "agent.name", "gen_ai.agent.id", "agent_id")
TENANT = ("tenant.id", "tenant_id")
_PREFIXES = (
    "ai.telemetry.metadata.",
    "traceloop.association.properties.",
    "langfuse.trace.metadata.",
    "metadata.",
)
_PROPERTIES = {
    "session": (
        "sessionId",
        "session_id",
        "threadId",
        "thread_id",
        "conversationId",
        "conversation_id",
        "chatId",
    ),
    "user": ("userId", "user_id"),
    "agent": ("agentId", "agent_id"),
    "tenant": ("tenantId", "tenant_id"),
}
"""Names that programs give their own properties, in the order in which they are asked."""

_MODEL = (
    "gen_ai.response.model",
    "ai.response.model",
    "llm.response.model_name",
    "llm.model_name",
    "gen_ai.request.model",
    "ai.model.id",
)
_PROVIDER = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
_TITLE = ("langfuse.trace.name", "session.name", "gen_ai.conversation.name")
_TAGS = ("tag.tags", "langfuse.trace.tags")

_DROPPED = (
    "llm.input_messages",
    "llm.output_messages",
    "llm.tools",
    "llm.prompts",
    "llm.function_call",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.prompt",
    "gen_ai.completion",
    "ai.prompt",
    "ai.response.text",
    "ai.response.object",
    "ai.response.toolCalls",
    "ai.response.reasoning",
    "ai.schema",
    "ai.value",
    "ai.embedding",
    "embedding.",
    "retrieval.documents",
    "reranker.",
    "input.",
    "output.",
    "pydantic_ai.all_messages",
    "all_messages_events",
    "model_request_parameters",
    "gcp.vertex.agent.llm_re",
)
"""Beginnings of names whose values are the messages themselves, tools on offer, vectors or documents."""
_DROPPED_RESOURCES = ("telemetry.", "process.", "host.", "os.", "container.", "k8s.", "device.")


def kind_of(raw: RawSpan) -> SpanKind:
    """Whether a span is a model call, a tool that ran, or anything else."""
    attributes = raw.attributes
    for name, kinds in _STATED.items():
        stated = attributes.get(name)
        if isinstance(stated, str):
            word = stated.rpartition(".")[2].lower()
            return kinds.get(word, "other")
    if first(attributes, ("gen_ai.tool.name", "gen_ai.tool.call.id")) is not None:
        return "tool"
    is_model = any(name in attributes for name in _MODEL_SIGNS) or any(
        name.startswith(_MODEL_BEGINNINGS) for name in attributes
    )
    return "llm" if is_model or any(_tells_messages(event.name) for event in raw.events) else "other"


def _tells_messages(name: str) -> bool:
    return (
        name == CHOICE
        or name.startswith(("gen_ai.content.", "gen_ai.client.inference."))
        or (name.startswith("gen_ai.") and name.endswith(".message"))
    )


def belongs(raw: RawSpan, names: Sequence[str], what: str) -> str | None:
    """The id of a session, user, agent or tenant that a span or its program names."""
    own = raw.attributes
    found = first(own, names)
    if found is None:
        found = first(own, [f"{start}{name}" for start in _PREFIXES for name in _PROPERTIES[what]])
    if found is None and isinstance(own.get("metadata"), str):
        given = read_json(own["metadata"])
        found = first(given, (*names, *_PROPERTIES[what])) if isinstance(given, dict) else None
    if found is None:
        found = first(raw.resource, names)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else None


def metadata_of(raw: RawSpan) -> dict[str, object]:
    """What is kept of a span beside its messages: model, title, tags, and all that nothing else takes."""
    taken = {*SESSION, *USER, *AGENT, *TENANT, *_MODEL, *_TITLE, *_TAGS, *TAKEN, "metadata", "events"}
    kept: dict[str, object] = raw.others | {
        name: value
        for name, value in raw.attributes.items()
        if name not in taken and not name.startswith(_DROPPED) and _is_plain(value)
    }
    given = read_json(raw.attributes.get("metadata"))
    if isinstance(given, dict):
        kept = {**given, **kept}
    elif given is not None:
        kept["metadata"] = given
    resource = {
        k: v for k, v in raw.resource.items() if not k.startswith(_DROPPED_RESOURCES) and _is_plain(v)
    }
    tags = read_json(first(raw.attributes, _TAGS))
    named = {
        "model": first(raw.attributes, _MODEL),
        "provider": first(raw.attributes, _PROVIDER),
        "title": first(raw.attributes, _TITLE),
        "tags": tags if isinstance(tags, list) else [tags] if tags else None,
        "resource": resource or None,
        "scope": raw.scope,
    }
    return {**kept, **{name: value for name, value in named.items() if value is not None}}


def _is_plain(value: object) -> bool:
    """A single value, or a list of them."""
    if isinstance(value, list):
        return all(isinstance(item, str | int | float) for item in value)
    return isinstance(value, str | int | float)
