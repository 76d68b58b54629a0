"""Calls of traces, the digests that they and messages are known by, and how they ended."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from transforms.readers.blocks import Call, Result
from transforms.readers.text import JsonFault, dump_json, load_json

Fields = dict[str, object]


def key_of(*words: str | None) -> str:
    """16 hex digits that stand for a message or a call."""
    text = "\x00".join(word or "" for word in words)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def tool_key(name: str) -> str:
    """Of the name of a tool."""
    return key_of("tool", name)


UNKNOWN_TOOL = tool_key("unknown")
"""Of calls whose tool is not named."""


def call_key(call: Call) -> str:
    """Of a call: its tool and its arguments, however their JSON is written."""
    return key_of("call", call.name, _canonical((call.arguments or "").strip()))


def _canonical(arguments: str) -> str:
    """Arguments in one writing: tracers put them into an ``input`` of their own; none are ``{}`` or null."""
    if arguments[:1] not in ("{", "["):
        return "" if arguments == "null" else arguments
    try:
        value = load_json(arguments.encode("utf-8", "replace"))
    except JsonFault:
        return arguments
    while (
        isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), dict)
    ):
        if not value.keys() & {"input", "args", "arguments", "kwargs"}:
            break
        value = inner
    return dump_json(value) if value else ""


def unique_id(call: Call) -> str | None:
    """The id of a call, where it can be told from the tool's name."""
    return call.call_id if call.call_id and call.call_id != call.name else None


@dataclass(eq=False, slots=True)
class Action:
    """A call, and what is known of how it ended; ``fields`` are gone once it is a draft."""

    call: Call
    fields: Fields | None
    metadata: Fields
    result: Result | None = None
    error: str | None = None
    has_run: bool = False
    """A span of its own tells that it ended without an error."""
    is_bare: bool = False
    """Known from the span of its tool alone so far: no model has said that it calls it."""
    is_unanswered: bool = False
    """It went out without a result: one that comes later is a row of its own."""
    tool: str = ""
    """Digest of the tool's name: all that stays of the name."""

    def __post_init__(self) -> None:
        """Note the tool."""
        self.tool = self.tool or tool_key(self.call.name)

    def is_of(self, name: str | None) -> bool:
        """Whether a result that names this tool, or none, may be its own."""
        return name is None or self.tool == tool_key(name)

    def may_be(self, call: Call) -> bool:
        """Whether a call with the same arguments can be this one: not if their ids differ."""
        given = unique_id(self.call)
        return given is None or unique_id(call) is None or given == unique_id(call)

    @property
    def is_open(self) -> bool:
        """Whether nothing tells how it ended."""
        return self.result is None and self.error is None and not self.has_run

    def let_go(self) -> None:
        """It is a draft: only what later spans find it by stays."""
        self.is_unanswered = self.is_open
        self.call = Call(unique_id(self.call), "", None)
        self.fields, self.metadata, self.result = None, {}, None
