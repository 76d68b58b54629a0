"""All readers, in the order in which a source is offered to them."""

from __future__ import annotations

from transforms.errors import InputError
from transforms.readers.atif import Atif
from transforms.readers.batch import Reader
from transforms.readers.chatgpt_export import ChatgptExport
from transforms.readers.claude_export import ClaudeExport
from transforms.readers.codex import CodexJsonl
from transforms.readers.coding_agent import CodingAgentJsonl
from transforms.readers.gemini_cli import GeminiCli
from transforms.readers.group_chat import GroupChat
from transforms.readers.langfuse import LangfuseTraces
from transforms.readers.langgraph_store import LanggraphStore
from transforms.readers.langsmith import LangsmithRuns
from transforms.readers.lines import as_utf8
from transforms.readers.locomo import Locomo
from transforms.readers.longmemeval import LongMemEval
from transforms.readers.managed_agents import ManagedAgentEvents
from transforms.readers.mem0_export import Mem0Export
from transforms.readers.multi_agent import WhoAndWhen
from transforms.readers.openai_messages import OpenaiMessages
from transforms.readers.otel_spans import OtelSpans
from transforms.readers.parquet import SlowwaveParquet
from transforms.readers.slack import SlackExport
from transforms.readers.slowwave_csv import SlowwaveCsv
from transforms.readers.slowwave_export import SlowwaveExport
from transforms.readers.slowwave_jsonl import SlowwaveJsonl
from transforms.readers.swe_agent import SweAgentTraj
from transforms.readers.tau_bench import TauBench
from transforms.readers.zep_export import ZepExport

READERS: tuple[Reader, ...] = (
    SlowwaveExport(),
    LangfuseTraces(),
    OtelSpans(),
    Mem0Export(),
    ZepExport(),
    LanggraphStore(),
    LangsmithRuns(),
    ManagedAgentEvents(),
    SweAgentTraj(),
    TauBench(),
    Atif(),
    CodexJsonl(),
    GeminiCli(),
    WhoAndWhen(),
    OpenaiMessages(),
    SlowwaveParquet(),
    ChatgptExport(),
    ClaudeExport(),
    CodingAgentJsonl(),
    GroupChat(),
    SlackExport(),
    Locomo(),
    LongMemEval(),
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
