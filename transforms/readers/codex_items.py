"""Items of a Codex CLI session: what a message says, a call asks for and a result tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from transforms.readers.blocks import Call, Result
from transforms.readers.injected import split_injected
from transforms.readers.message_parts import Parts, call_of, read_parts, result_of
from transforms.readers.text import JsonFault, id_or_none, load_json

_IDE_CONTEXT = "# Context from my IDE setup:"
_IDE_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
_EXIT_CODE = re.compile(r"^(?:Exit code:|Process exited with code) *(-?[0-9]{1,9})", re.MULTILINE)
_OUTPUT = "\nOutput:\n"
_FAILED_STARTS = (
    "failed to parse function arguments",
    "exec_command failed",
    "write_stdin failed",
    "apply_patch verification failed",
    "unsupported call",
    "unsupported custom tool call",
    "execution error",
    "command timed out",
    "aborted",
    "err: ",
)
"""How Codex itself begins what it tells the model of a call that did not work."""


class Said(NamedTuple):
    """A message: the speaker's own words, what the program put in, and types of parts without text."""

    words: str
    injected: str
    other_types: list[str]


def said_parts(content: object, *, is_user: bool) -> Said:
    """The words of a message; of a user's each part is split into said and put in.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    parts = Parts()
    read_parts(content, parts)
    if not is_user:
        return Said(parts.text, "", parts.other_types)
    split = [_split(text) for text in parts.texts]
    words = "\n".join(said for said, _ in split if said.strip())
    return Said(words, "\n".join(put for _, put in split if put.strip()), parts.other_types)


def _split(text: str) -> tuple[str, str]:
    if text.lstrip().startswith(_IDE_CONTEXT) and (mark := _IDE_REQUEST.search(text)):
        said, put = split_injected(text[mark.end() :])
        return said, "\n".join(t for t in (text[: mark.start()].strip(), put) if t)
    return split_injected(text)


def item_call(item: Mapping[str, object], kind: str) -> Call:
    """A call; of the model's own tools (``local_shell_call``, ``web_search_call``) named by its type.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    given = {**item, "id": item.get("call_id") or item.get("id")}
    if isinstance(item.get("input"), str):  # plain text, such as a patch, where others have JSON
        given["input"] = {"input": item["input"]}
    if isinstance(item.get("name"), str):
        return call_of(given)
    return call_of({**given, "name": kind.removesuffix("_call"), "arguments": item.get("action")})


def item_result(item: Mapping[str, object], failed: Mapping[str, bool]) -> Result:
    """A result, with how it ended: as an event told, else by the exit code, else by Codex's own words.

    Args:
        item: The item.
        failed: Call id -> whether an event said that the call failed.
    """
    output = item.get("output")
    if isinstance(output, dict) and isinstance(output.get("success"), bool):
        result = replace(result_of({**item, "output": output.get("content")}), is_error=not output["success"])
    else:
        result = result_of(item)
    result = replace(result, call_id=id_or_none(item.get("call_id"), "call_id"))
    text, code = _exit_code(result.text)
    told = failed.get(result.call_id) if result.call_id is not None else None
    if told is None and code is not None:
        told = code != 0
    if told is None and text.lower().startswith(_FAILED_STARTS):
        told = True
    return replace(result, text=text, is_error=result.is_error if told is None else told)


def _exit_code(text: str) -> tuple[str, int | None]:
    """The output and its exit code, out of ``{"output", "metadata"}`` or of the lines above the output."""
    if text.startswith("{"):
        try:
            value = load_json(text.encode("utf-8", "replace"))
        except JsonFault:
            value = None
        metadata = value.get("metadata") if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(value.get("output"), str) and isinstance(metadata, dict):
            code = metadata.get("exit_code")
            return value["output"], code if isinstance(code, int) else None
    head, mark, output = text.partition(_OUTPUT)
    found = _EXIT_CODE.search(head) if mark else None
    return (output, int(found[1])) if found else (text, None)


def ended_badly(event: Mapping[str, object]) -> bool | None:
    """Whether an event says that its call failed; null if it does not say how it ended."""
    code, success, result = event.get("exit_code"), event.get("success"), event.get("result")
    if isinstance(code, int) and not isinstance(code, bool):
        return code != 0
    if isinstance(success, bool):
        return not success
    if isinstance(result, dict) and "Err" in result:
        return True
    good = result.get("Ok") if isinstance(result, dict) else None
    return (good.get("is_error", good.get("isError")) is True) if isinstance(good, dict) else None
