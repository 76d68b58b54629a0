"""Parts of Gemini CLI's messages: what was said, what was put in, what a function gave back."""

from __future__ import annotations

from transforms.readers.blocks import Result
from transforms.readers.injected import split_injected
from transforms.readers.message_parts import Parts, output_text, read_parts
from transforms.readers.text import JsonFault, load_json

ROLES = {
    "gemini": "assistant",
    "model": "assistant",
    "info": "system",
    "warning": "system",
    "error": "system",
}
SNAPSHOT = ("<state_snapshot>", "<compressed_chat_history>")
"""How a summary to go on with begins."""
_THANKS = "Got it. Thanks for the context!"
"""What the program lets the model say to the context that it begins with."""
_FOLDED = "\n--- Content from referenced files ---"
"""Where the text of files that a prompt names with ``@`` begins."""


def split_words(text: str, shown: object, role: str | None) -> tuple[str, str]:
    """What the speaker said, and what the program put in: context, files, a summary to go on with.

    Args:
        text: What went to the model.
        shown: What the screen showed of it instead, if anything.
        role: Who said it: only a user's message has anything put in.
    """
    if role != "user":
        return ("", text) if text.strip() == _THANKS else (text, "")
    if text.lstrip().startswith(SNAPSHOT):
        return "", text
    parts = Parts()
    read_parts(shown, parts)
    if parts.text.strip() and parts.text.strip() != text.strip():
        return parts.text, text.removeprefix(parts.text).strip()
    said, mark, folded = text.partition(_FOLDED)
    own, injected = split_injected(said)
    return own, "\n".join(t for t in (injected, f"{mark}{folded}".strip()) if t)


def opened(result: Result) -> tuple[str, bool | None]:
    """The text inside the ``output`` or the ``error`` of a function response, and whether it failed."""
    if not result.text.startswith("{"):
        return result.text, result.is_error
    try:
        value = load_json(result.text.encode("utf-8", "replace"))
    except JsonFault:
        return result.text, result.is_error
    if not isinstance(value, dict) or len(value) != 1:
        return result.text, result.is_error
    [(key, inner)] = value.items()
    if key == "error":
        return output_text(inner), True
    return (output_text(inner), result.is_error) if key == "output" else (result.text, result.is_error)
