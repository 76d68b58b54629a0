"""Segments of the recall log: lines that readers leave and nights fold into the table of recalls.

A line is one call with its candidates (``{"recalls": ...}``) or what an agent says it used
(``{"used": ...}``). Segments are made, sealed and removed as those of landed rows are. The query of a call
is sealed where the lake is encrypted.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
import polars as pl

from lake import segments
from lake.faults import wrapped
from lake.lake import RECORD, Lake
from lake.storage import LocalStorage
from transforms.errors import LakeError
from transforms.rights_tables import RECALL_CALLS

PREFIX = "recall_log"
CALL, USED = "recalls", "used"


@dataclass
class Lines:
    """Lines of segments by what they are.

    Attributes:
        calls: Logged calls, their queries opened.
        uses: What agents say they used.
        torn: Lines that are neither: cut off by a crash, or somebody else's.
        shredded: Calls whose key has been destroyed; they are gone.
    """

    calls: list[dict[str, Any]] = field(default_factory=list)
    uses: list[dict[str, Any]] = field(default_factory=list)
    torn: int = 0
    shredded: int = 0

    def add(self, more: Lines) -> None:
        """Take further lines in."""
        self.calls += more.calls
        self.uses += more.uses
        self.torn += more.torn
        self.shredded += more.shredded


def write(lake: Lake, bucket: int, made: Callable[[], tuple[bytes, int]]) -> None:
    """Append lines durably to the log of a tenant bucket.

    Args:
        lake: Where.
        bucket: Which.
        made: Gives the lines that may be kept now, none among them, and how many rows are in them. Called
            again after a put to an object store, for an erasure may have looked for lines in between: where
            fewer rows may be kept by then, those are put in its place.

    Raises:
        StorageError: The disk is full or the store fails; nothing was added.
        LakeError: The lake is gone, or may not be written.
    """
    if isinstance(lake.storage, LocalStorage):
        if not lake.storage.path(RECORD).is_file():  # nothing is begun where a lake was
            raise LakeError(f"there is no lake at {lake.uri} any more", "Open it where it is now.")
        with wrapped("logging recalls"):
            segments.segment(lake.storage.root / PREFIX / f"{bucket:03d}").append(lambda: made()[0])
        return
    data, rows = made()
    while data:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        key = f"{PREFIX}/{bucket:03d}/{segments.SEALED}{stamp}-{secrets.token_hex(6)}.jsonl"
        lake.storage.write(key, data)
        put = rows
        data, rows = made()
        if rows == put:
            return
        lake.storage.delete(key)


def seal(lake: Lake) -> list[str]:
    """Close every open segment to its writers. Returns the keys of all sealed ones, by name."""
    return segments.seal_all(lake.storage, PREFIX, "sealing the recall log")


def waiting_bytes(lake: Lake) -> int:
    """Bytes of all segments, open ones among them."""
    return sum(entry.size_bytes for entry in lake.storage.entries(PREFIX))


def record_of(line: bytes) -> tuple[str, dict[str, Any]]:
    """What a line is (``CALL``, ``USED``) and what it says; empty where it is torn or nobody's."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return "", {}
    if isinstance(record, dict) and len(record) == 1:
        name, told = next(iter(record.items()))
        if name in (CALL, USED) and isinstance(told, dict):
            return name, told
    return "", {}


def parsed(lake: Lake, lines: Sequence[bytes]) -> Lines:
    """Lines of segments, with queries opened.

    Raises:
        LakeError: The lake is encrypted, and its keys are not there or not the right ones.
    """
    found = Lines()
    for line in lines:
        name, told = record_of(line)
        if name == CALL:
            found.calls.append(told)
        elif name == USED:
            found.uses.append(told)
        else:
            found.torn += 1
    if lake.encryption is not None and found.calls:
        _open(lake, found)
    return found


def _open(lake: Lake, found: Lines) -> None:
    from lake.crypto.frames import open_rows  # only where a lake is encrypted

    opened = open_rows(lake, RECALL_CALLS, call_frame(lake, found.calls))
    kept = []
    for call, query, is_shredded, is_broken in zip(
        found.calls, opened.rows["query"], opened.shredded, opened.broken, strict=True
    ):
        if is_shredded:
            found.shredded += 1
        elif is_broken:
            found.torn += 1
        else:
            kept.append({**call, "query": query})
    found.calls = kept


def call_frame(lake: Lake, calls: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """``RECALL_CALLS`` of calls; what is no text in them is null."""

    def text(call: Mapping[str, Any], name: str) -> str | None:
        value = call.get(name)
        return value if isinstance(value, str) else None

    names = [name for name in RECALL_CALLS.names if name != "tenant_bucket"]
    columns = {name: [text(call, name) for call in calls] for name in names}
    buckets = [lake.bucket(tenant or "") for tenant in columns["tenant_id"]]
    return pl.DataFrame({**columns, "tenant_bucket": buckets}, schema=RECALL_CALLS.polars)
