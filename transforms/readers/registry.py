"""All readers, in the order in which a source is offered to them."""

from __future__ import annotations

from transforms.errors import InputError
from transforms.readers.batch import Reader
from transforms.readers.chatgpt_export import ChatgptExport
from transforms.readers.claude_export import ClaudeExport
from transforms.readers.coding_agent import CodingAgentJsonl
from transforms.readers.lines import as_utf8
from transforms.readers.openai_messages import OpenaiMessages
from transforms.readers.parquet import SlowwaveParquet
from transforms.readers.slowwave_csv import SlowwaveCsv
from transforms.readers.slowwave_jsonl import SlowwaveJsonl

READERS: tuple[Reader, ...] = (
    OpenaiMessages(),
    SlowwaveParquet(),
    ChatgptExport(),
    ClaudeExport(),
    CodingAgentJsonl(),
    SlowwaveJsonl(),
    SlowwaveCsv(),
)
"""Special shapes before the general ones: the first match reads."""


def reader_named(name: str) -> Reader:
    """The reader of a format.

    Raises:
        InputError: No format of that name; the message lists those there are.
    """
    for reader in READERS:
        if reader.name == name:
            return reader
    known = ", ".join(sorted(reader.name for reader in READERS))
    raise InputError(f"unknown format {name!r}", f"Use one of: auto, {known}.")


def detect(head: bytes, file_name: str) -> Reader | None:
    """The reader for a source that begins with ``head`` in any encoding; null if none knows it.

    Args:
        head: First bytes; of a Parquet file what ``parquet.sniff_head`` gives.
        file_name: Name with suffix; empty for standard input.
    """
    text = as_utf8(head)
    return next((reader for reader in READERS if reader.matches(text, file_name)), None)
