"""Items of the event stream that ``codex exec --json`` prints: what was said, and what was done."""

from __future__ import annotations

from collections.abc import Mapping

from transforms.readers.blocks import Call, Result
from transforms.readers.message_parts import output_text
from transforms.readers.text import JsonFault, dump_json, text_or_none

STREAM_TYPES = frozenset(
    {"thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.updated"}
    | {"item.completed", "error"}
)
_SAID = frozenset({"agent_message", "assistant_message", "plan"})
_ENDS = {"completed": False, "failed": True, "declined": True}
_IGNORED = ("id", "type", "item_type", "status", "aggregated_output", "exit_code", "result", "error", "tool")
SERVICE_KINDS = frozenset({"todo_list"})
"""Items that tell of the program's own state."""


def kind_of(item: Mapping[str, object]) -> str:
    """The type of an item; ``item_type`` in the first versions.

    Raises:
        JsonFault: ``unknown_record``: it has none.
    """
    kind = item.get("type", item.get("item_type"))
    if not isinstance(kind, str):
        raise JsonFault("unknown_record", "the item has no type")
    return kind


def said_in(item: Mapping[str, object], kind: str) -> str | None:
    """The words of an item that says something; null for one that does something.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    if kind == "error":
        return text_or_none(item.get("message"), "message") or ""
    return (text_or_none(item.get("text"), "text") or "") if kind in _SAID else None


def done_in(item: Mapping[str, object], kind: str) -> tuple[Call, Result | None]:
    """What an item did, and how it ended."""
    tool = item.get("tool")
    asked = {name: value for name, value in item.items() if name not in _IGNORED and value is not None}
    given = asked.get("arguments") if kind == "mcp_tool_call" else asked
    call = Call(None, tool if isinstance(tool, str) else kind, dump_json(given) if given else None)
    error = item.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    output = item.get("aggregated_output", item.get("result"))
    text = message if isinstance(message, str) else output_text(output)
    code = item.get("exit_code")
    ended = _ENDS.get(str(item.get("status")))
    if isinstance(code, int) and not isinstance(code, bool):
        ended = code != 0
    if ended is None and not text:
        return call, None
    return call, Result(None, None, text, ended)
