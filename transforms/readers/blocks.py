"""Content blocks in the Anthropic form: text, thinking, tool_use, tool_result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from transforms.policy import IngestPolicy
from transforms.readers.parts import content_of, failure_of
from transforms.readers.row_shape import json_text
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name

_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True)
class Call:
    """A tool_use block."""

    call_id: str | None
    name: str
    arguments: str | None


@dataclass(frozen=True)
class Result:
    """A tool_result block; ``is_error`` is None where the source does not say how the call ended."""

    call_id: str | None
    name: str | None
    text: str
    is_error: bool | None


@dataclass
class Blocks:
    """The blocks of one message, sorted by kind.

    Args:
        texts: Text blocks.
        unknown_texts: Texts of blocks of a type not known here.
        calls: Tool calls.
        results: Tool results.
        thinking: How many blocks are the model's own reasoning.
        other_types: Types of blocks without text (images, documents).
        faults: Blocks that cannot be read, each with what is wrong.
    """

    texts: list[str] = field(default_factory=list)
    unknown_texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    thinking: int = 0
    other_types: list[str] = field(default_factory=list)
    faults: list[tuple[object, JsonFault]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing at all, not even something left out."""
        return not (
            any(t.strip() for t in (*self.texts, *self.unknown_texts))
            or self.calls
            or self.results
            or self.thinking
            or self.other_types
            or self.faults
        )


def blocks_of(content: object) -> Blocks:
    """Sort the blocks of a message; a faulty block is set apart, the others stand.

    Raises:
        JsonFault: ``bad_field_type``: the content is neither a string nor a list.
    """
    blocks = Blocks()
    if content is None:
        return blocks
    if isinstance(content, str):
        blocks.texts.append(content)
        return blocks
    if not isinstance(content, list):
        raise JsonFault(
            "bad_field_type", f"content is {type_name(content)}, not a string or a list of blocks"
        )
    for block in content:
        try:
            _sort(block, blocks)
        except JsonFault as fault:
            blocks.faults.append((block, fault))
    return blocks


def _sort(block: object, blocks: Blocks) -> None:
    if isinstance(block, str):
        blocks.texts.append(block)
        return
    if not isinstance(block, dict):
        raise JsonFault("bad_field_type", f"a block is {type_name(block)}, not an object")
    kind = block.get("type")
    if kind == "text":
        blocks.texts.append(text_or_none(block.get("text"), "text") or "")
    elif kind == "tool_use":
        blocks.calls.append(_call(block))
    elif kind == "tool_result":
        blocks.results.append(_result(block))
    elif isinstance(kind, str) and kind in _THINKING_TYPES:
        blocks.thinking += 1
    elif isinstance(block.get("text"), str):
        blocks.unknown_texts.append(block["text"])
    else:
        blocks.other_types.append(str(kind or "unknown"))


def _call(block: Mapping[str, object]) -> Call:
    name = text_or_none(block.get("name"), "name")
    return Call(id_or_none(block.get("id"), "id"), name or "unknown", json_text(block.get("input"), "input"))


def _result(block: Mapping[str, object]) -> Result:
    return Result(
        id_or_none(block.get("tool_use_id"), "tool_use_id"),
        text_or_none(block.get("name"), "name"),
        content_of(block.get("content")).text,
        block.get("is_error") is True,
    )


def action_fields(call: Call, result: Result | None, policy: IngestPolicy) -> dict[str, object]:
    """The columns of ``DRAFTS`` that a call and its result fill; without a result no outcome."""
    fields: dict[str, object] = {
        "kind": "action",
        "role": "tool",
        "tool_name": call.name,
        "tool_arguments": call.arguments,
        "content": result.text if result else "",
    }
    return fields if result is None else fields | ending_of(result, policy)


def result_fields(result: Result, policy: IngestPolicy) -> dict[str, object]:
    """The columns that a result fills whose call the source does not have: an observation."""
    fields: dict[str, object] = {
        "kind": "observation",
        "role": "tool",
        "tool_name": result.name,
        "content": result.text,
    }
    return fields | ending_of(result, policy)


def ending_of(result: Result, policy: IngestPolicy) -> dict[str, object]:
    """The columns that say how a call ended: its outcome, and why it failed.

    Where the source does not say, a result that reads as an error is a failure, and any other has no outcome.
    """
    if result.is_error is False:
        return {"outcome": "success"}
    reason = failure_of(result.text, policy, is_error=result.is_error is True)
    return {} if reason is None else {"outcome": "failure", "failure_reason": reason}
