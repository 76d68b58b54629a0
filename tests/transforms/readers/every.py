"""A sample of each reader, and real files where there are some, for tests that are about all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lake.sources import open_sources
from transforms.readers.registry import READERS

NAMES = tuple(reader.name for reader in READERS)
REPOSITORY = Path(__file__).resolve().parents[3]
UNSEEN = frozenset((
    "codex-jsonl", "gemini-cli", "langgraph-store", "longmemeval", "mem0-export", "openai-messages",
    "slack-export", "slowwave-csv", "slowwave-export", "slowwave-jsonl", "slowwave-parquet", "zep-export",
))  # fmt: skip
"""Readers of which no real file is kept beside the checkout."""
_MOST_BYTES = 200_000
"""Of a real file: damage to a longer one says no more, and takes longer."""


@cache
def samples() -> dict[str, tuple[str, bytes]]:
    """Name and bytes of a source of each reader, from the samples of the repository."""
    found: dict[str, tuple[str, bytes]] = {}
    for name, file_name, data in _sources(
        REPOSITORY / "samples" / "formats", REPOSITORY / "samples" / "data"
    ):
        found.setdefault(name, (file_name, data))
    return found


@cache
def real_files(folder: Path) -> dict[str, list[tuple[str, bytes]]]:
    """Names and bytes of real files by reader: small ones, or the smallest there is."""
    found: dict[str, list[tuple[str, bytes]]] = {}
    for name, file_name, data in _sources(folder):
        found.setdefault(name, []).append((file_name, data))
    by_size = {name: sorted(files, key=lambda file: len(file[1])) for name, files in found.items()}
    return {
        name: [files[0], *(file for file in files[1:] if len(file[1]) <= _MOST_BYTES)]
        for name, files in by_size.items()
    }


def _sources(*folders: Path) -> Iterator[tuple[str, str, bytes]]:
    for folder in folders:
        for source in open_sources(str(folder)):
            with source.open() as stream:
                yield source.reader.name, source.file_name, stream.read()


def as_json(data: bytes) -> tuple[list[object], bool] | None:
    """Documents of a source, and whether each is a line of its own; None: it is not JSON."""
    try:
        return [json.loads(data)], False
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()], True
    except ValueError:
        return None


def as_bytes(documents: list[object], *, is_lines: bool) -> bytes:
    """The source again."""
    return b"".join(json.dumps(one).encode() + (b"\n" if is_lines else b"") for one in documents)
