"""One node of a ChatGPT conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from transforms.readers.parts import scalars
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_THINKING_TYPES = frozenset({"thoughts", "reasoning_recap"})
_CONTEXT_TYPES = frozenset({"user_editable_context", "model_editable_context"})
_CALL_TYPES = frozenset({"code"})
_TEXT_FIELDS = ("text", "result", "content", "user_profile", "user_instructions", "model_set_context")

_MAPPED = (
    "id", "author", "create_time", "update_time", "content", "recipient", "metadata", "status", "weight",
    "end_turn",
)  # fmt: skip
"""Fields of a message with a place of their own, or none; others that are single values go to metadata."""
_EXTRA_MAPPED = (
    "model_slug", "default_model_slug", "aggregate_result", "is_visually_hidden_from_conversation",
    "request_id", "turn_exchange_id", "timestamp_", "message_type", "parent_id", "can_save", "is_complete",
)  # fmt: skip
"""The same of a message's metadata."""


_NODE_MAPPED = ("id", "parent", "children", "message")


@dataclass(frozen=True)
class Message:
    """A node's message, its types checked.

    Args:
        message_id: The message's id, else the node's.
        parent_id: Id of the parent node.
        role: user, assistant, tool or system.
        name: Name of the author: the tool, where the role is tool.
        recipient: Whom it is addressed to.
        content_type: As in the source.
        text: What was said; empty for images alone and for thinking.
        event_at: ISO 8601, or null.
        is_injected: System prompt, custom instructions, or hidden from the person.
        is_failed: The source says that the code it ran failed.
        metadata: What is kept besides.
    """

    message_id: str
    parent_id: str | None
    role: str | None
    name: str | None
    recipient: str
    content_type: str
    text: str
    event_at: str | None
    is_injected: bool
    is_failed: bool
    metadata: dict[str, object] = field(default_factory=dict)

    @property
    def is_thinking(self) -> bool:
        """Whether it is the model's own reasoning."""
        return self.content_type in _THINKING_TYPES

    @property
    def is_addressed(self) -> bool:
        """Whether the assistant addressed it to a tool."""
        return self.role == "assistant" and self.recipient not in ("", "all")

    @property
    def is_call(self) -> bool:
        """Whether it is a tool call even if no result follows."""
        return self.is_addressed and self.content_type in _CALL_TYPES


def message_of(key: str, node: object) -> Message:
    """Read one node that has a message.

    Raises:
        JsonFault: ``bad_field_type`` or ``bad_time``.
    """
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(node, dict) or not isinstance(message, dict):
        raise JsonFault("bad_field_type", "a node or its message is not an object")
    author = _object(message, "author")
    content = _object(message, "content")
    extra = _object(message, "metadata")
    kind = text_or_none(content.get("content_type"), "content_type") or ""
    text, others = ("", []) if kind in _THINKING_TYPES else _text(content)
    role = text_or_none(author.get("role"), "role")
    own_id = id_or_none(message.get("id"), "id")
    is_hidden = extra.get("is_visually_hidden_from_conversation") is True
    outcome = extra.get("aggregate_result")
    status = outcome.get("status") if isinstance(outcome, dict) else None
    return Message(
        message_id=own_id if own_id is not None else key,
        parent_id=id_or_none(node.get("parent"), "parent"),
        role=role,
        name=text_or_none(author.get("name"), "name"),
        recipient=text_or_none(message.get("recipient"), "recipient") or "",
        content_type=kind,
        text=text,
        event_at=iso_time(message.get("create_time"), "create_time"),
        is_injected=is_hidden or role == "system" or kind in _CONTEXT_TYPES,
        is_failed=isinstance(status, str) and status.startswith("failed"),
        metadata={
            **scalars(node, _NODE_MAPPED),
            **scalars(extra, _EXTRA_MAPPED),
            **scalars(message, _MAPPED),
            "content_type": kind if kind != "text" else None,
            "model": extra.get("model_slug"),
            "other_parts": others,
        },
    )


def _object(holder: Mapping[str, object], name: str) -> dict[str, object]:
    value = holder.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise JsonFault("bad_field_type", f"{name} is {type_name(value)}, not an object")
    return value


def _text(content: Mapping[str, object]) -> tuple[str, list[str]]:
    """Text of the parts, else of the field that this content type keeps it in; types of other parts."""
    parts = content.get("parts")
    if parts is not None and not isinstance(parts, list):
        raise JsonFault("bad_field_type", f"parts is {type_name(parts)}, not a list")
    texts, others = [], []
    for part in parts or []:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
        elif isinstance(part, dict):
            others.append(str(part.get("content_type") or "unknown"))
        elif part is not None:
            raise JsonFault("bad_field_type", f"a part is {type_name(part)}, not a string or an object")
    joined = "\n".join(t for t in texts if t)
    if joined:
        return joined, others
    given = [content[name] for name in _TEXT_FIELDS if isinstance(content.get(name), str)]
    return next((str(text) for text in given if text), ""), others
