"""Telling formats apart from the first bytes of a source."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath

from transforms.readers.text import JsonFault, load_object

PARQUET_MAGIC = b"PAR1"
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]"]', re.DOTALL)


def is_json_lines_name(file_name: str) -> bool:
    """Whether the name says JSON lines."""
    return PurePosixPath(file_name).suffix.lower() in {".jsonl", ".ndjson"}


def json_lines(head: bytes) -> list[dict[str, object]]:
    """The complete lines of the head that are JSON objects; indented ones are part of a document."""
    records = []
    for line in head.split(b"\n"):
        if line.startswith(b"{"):
            try:
                records.append(load_object(line))
            except JsonFault:
                continue
    return records


def top_keys(head: bytes) -> set[str]:
    """Keys of the first object of the head, or of the objects of its list, as far as the head goes.

    Empty if it does not begin as JSON. Nested keys do not count: other formats nest the same words.
    """
    return set(_top_keys(head))


@lru_cache(maxsize=1)
def _top_keys(head: bytes) -> frozenset[str]:
    """``top_keys``, remembered: every reader asks it of the same head."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return frozenset()
    keys: set[str] = set()
    depth: list[bytes] = []
    for token in _TOKEN.finditer(head):
        word = token[0]
        if word == b'"':  # a string that the head cuts
            break
        if word in (b"{", b"["):
            depth.append(word)
        elif word in (b"}", b"]"):
            del depth[-1:]
            if not depth:
                break
        elif token[2] is not None and depth in ([b"{"], [b"[", b"{"]):
            keys.add(token[1].decode("utf-8", "replace"))
    return frozenset(keys)


def column_names(head: bytes) -> list[str]:
    """Columns of a Parquet source, from the head that ``parquet.sniff_head`` makes of it."""
    return head.decode("utf-8", "replace").split("\x00")[1:] if head.startswith(PARQUET_MAGIC) else []
