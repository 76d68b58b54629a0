"""The audit chain: one event a file, each naming the hash of the one before; ids and counts only.

An event is made by a conditional create of the next number, so two writers never fork the chain: the one
that comes second chains on to the first. ``audit/HEAD`` is written after the event and may lag behind it;
it never runs ahead, so a chain that is shorter than its head was cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from lake.lake import Lake
from transforms.errors import BusyError, LakeError, UsageError

PREFIX = "audit"
HEAD = f"{PREFIX}/HEAD"
DIGITS = 12
ATTEMPTS = 1_000
"""Writers that may be quicker, one after the other, before one gives up."""
_FIELDS = ("seq", "prev", "at", "kind", "subject_hash", "request_id", "counts", "hash")
_WORD = re.compile(r"[a-z][a-z0-9_.-]{0,39}\Z")
_HEX = re.compile(r"(?:sha256:)?[0-9a-f]{8,128}\Z")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|\+00:00)\Z")


@dataclass(frozen=True)
class Entry:
    """One event of the chain.

    Attributes:
        seq: Its number, from 1.
        hash: 64 hex digits over everything else in it, the hash before it included.
    """

    seq: int
    hash: str
    kind: str = ""
    at: str = ""
    subject_hash: str | None = None
    request_id: str | None = None
    counts: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verified:
    """What checking the chain came to.

    Attributes:
        length: Events that hold together, counted from the first.
        head: The last of those; None where there is none.
        broken: What is wrong at the first broken link, None where the chain holds.
    """

    length: int
    head: Entry | None
    broken: str | None


def append(
    lake: Lake,
    kind: str,
    *,
    at: datetime,
    subject_hash: str | None = None,
    request_id: str | None = None,
    counts: Mapping[str, int | str] | None = None,
) -> Entry:
    """Add an event; durable when it returns.

    Args:
        lake: Where.
        kind: What happened, a short word such as ``erase_done``.
        at: When.
        subject_hash: Salted hash of the subject (``lake.rights.subjects``).
        request_id: Request that it belongs to.
        counts: Numbers, hex ids, hashes, instants or short words by name; nothing else is taken.

    Raises:
        UsageError: A value might hold content.
        LakeError: The last event is damaged.
        BusyError: Other writers were always quicker.
    """
    body = _body(kind, at, subject_hash, request_id, counts or {})
    last, prev = _tip(lake)
    if last and _head_of(lake.storage.read(HEAD) or b"") is None:
        _write_head(lake, last, prev)  # its writer was killed before it could
    for _ in range(ATTEMPTS):
        record = {"seq": last + 1, "prev": prev, **body}
        digest = hash_of(record)
        if lake.storage.create(key_of(last + 1), _canonical({**record, "hash": digest})):
            _write_head(lake, last + 1, digest)
            return _entry({**record, "hash": digest})
        taken = _read(lake, last + 1)
        if taken is None:
            raise LakeError(f"{key_of(last + 1)} cannot be read", "Run slowwave doctor.")
        last, prev = int(taken["seq"]), str(taken["hash"])
    raise BusyError("other writers of the audit were always quicker", "Run again, or lower the concurrency.")


def head(lake: Lake) -> Entry | None:
    """The newest event; None where there is none yet. Keep its seq and hash elsewhere to detect a cut."""
    last, _ = _tip(lake)
    record = _read(lake, last) if last else None
    return None if record is None else _entry(record)


def hash_at(lake: Lake, seq: int) -> str | None:
    """The hash of the event at a number, as it says itself; None where there is none."""
    return str(record["hash"]) if (record := _read(lake, seq)) else None


def entries(lake: Lake) -> list[Entry]:
    """Every readable event, in order; ``verify`` says whether they can be trusted."""
    numbers = sorted(filter(None, map(_number, _keys(lake))))
    found = (_read(lake, number) for number in numbers)
    return [_entry(record) for record in found if record is not None]


def genesis(lake: Lake) -> str:
    """What the first event of this lake names as the hash before it."""
    return sha256(f"slowwave audit {lake.lake_id}".encode()).hexdigest()


def key_of(seq: int) -> str:
    """Where an event lies."""
    return f"{PREFIX}/{seq:0{DIGITS}d}.json"


def hash_of(record: Mapping[str, Any]) -> str:
    """sha256 over the canonical JSON of an event without its own hash."""
    return sha256(_canonical({k: v for k, v in record.items() if k != "hash"})).hexdigest()


def verify(lake: Lake, since: tuple[int, str] | None = None) -> Verified:
    """Walk the chain from its first event and name the first broken link.

    Detects an event that was changed, exchanged, moved, made by hand or taken out of the middle, a file
    that is no event, and a tail cut behind what HEAD names. A cut together with a HEAD that was set back
    is found by ``lake.rights.anchors``: requests and certificates name later events.

    ``since`` is number and hash of an event up to which the chain was found whole before: while it holds,
    and one stands at each number before it, only later ones are read; else all.
    """
    named = lake.storage.read(HEAD)  # before the listing: events that come meanwhile are no fault
    names = _keys(lake)
    foreign = [key for key in names if _number(key) is None and key != HEAD]
    numbers = sorted(n for n in map(_number, names) if n is not None)
    prev, last = genesis(lake), None
    if (begun := _checked(lake, since, numbers)) is not None:
        prev, last = begun.hash, begun
    first = 0 if begun is None else begun.seq
    for expected, number in enumerate(numbers[first:], first + 1):
        if number != expected:
            return Verified(expected - 1, last, f"event {expected} is missing")
        record = _read(lake, number)
        fault = _fault(record, number, prev)
        if fault or record is None:
            return Verified(expected - 1, last, fault)
        last, prev = _entry(record), str(record["hash"])
    fault = _head_fault(lake, named, len(numbers))
    if fault is None and foreign:
        fault = f"{len(foreign)} files are no events, such as number {names.index(foreign[0]) + 1} of audit/"
    return Verified(len(numbers), last, fault)


def _checked(lake: Lake, since: tuple[int, str] | None, numbers: list[int]) -> Entry | None:
    """The event that a check before ended at, where it is the same and none before it is missing."""
    if since is None or numbers[: since[0]] != list(range(1, since[0] + 1)):
        return None
    record = _read(lake, since[0])
    return _entry(record) if record and record["hash"] == since[1] == hash_of(record) else None


def _fault(record: dict[str, Any] | None, number: int, prev: str) -> str | None:
    """What is wrong with the event that stands at a number; None where nothing is."""
    if record is None:
        return f"event {number} cannot be read"
    if record["hash"] != hash_of(record):
        return f"event {number} was changed"
    if record["seq"] != number:
        return f"event {number} was moved: it calls itself {record['seq']}"
    return None if record["prev"] == prev else f"event {number} does not follow event {number - 1}"


def _head_fault(lake: Lake, raw: bytes | None, length: int) -> str | None:
    """Where HEAD disagrees with the events."""
    if raw is None:
        # A kill between the first event and its HEAD leaves one event; more always had a HEAD before.
        return "HEAD is missing" if length > 1 else None
    named = _head_of(raw)
    if named is None:
        return "HEAD is damaged"
    seq, digest = named
    if seq > length:
        return f"event {length + 1} is missing: HEAD names event {seq}, the chain ends at {length}"
    record = _read(lake, seq)
    return None if record is not None and record["hash"] == digest else f"HEAD names another event {seq}"


def _tip(lake: Lake) -> tuple[int, str]:
    """Number and hash that the next event chains on to: HEAD and what came after it."""
    named = _head_of(lake.storage.read(HEAD) or b"")
    if named is None:
        numbers = [n for n in map(_number, _keys(lake)) if n is not None]
        record = _read(lake, max(numbers)) if numbers else None
        named = (0, genesis(lake)) if record is None else (int(record["seq"]), str(record["hash"]))
    seq, digest = named
    if (record := _read(lake, seq)) is not None:
        digest = str(record["hash"])
    while (record := _read(lake, seq + 1)) is not None:
        seq, digest = seq + 1, str(record["hash"])
    return seq, digest


def _write_head(lake: Lake, seq: int, digest: str) -> None:
    lake.storage.write(HEAD, _canonical({"seq": seq, "hash": digest}))


def _keys(lake: Lake) -> list[str]:
    return [entry.key for entry in lake.storage.entries(PREFIX)]


def _number(key: str) -> int | None:
    """The number of an event's file; None where it is none."""
    name = key.removeprefix(f"{PREFIX}/").removesuffix(".json")
    is_event = len(name) == DIGITS and name.isascii() and name.isdigit() and key == key_of(int(name))
    return int(name) if is_event else None


def _read(lake: Lake, seq: int) -> dict[str, Any] | None:
    """The event at a number; None where there is none that is whole and in canonical form."""
    raw = lake.storage.read(key_of(seq))
    if raw is None:
        return None
    try:
        record = json.loads(raw)
        is_whole = isinstance(record, dict) and set(record) == set(_FIELDS) and _canonical(record) == raw
    except (ValueError, RecursionError):
        return None
    is_typed = is_whole and type(record["seq"]) is int and isinstance(record["hash"], str)
    return record if is_typed and isinstance(record["counts"], dict) else None


def _head_of(raw: bytes) -> tuple[int, str] | None:
    try:
        record = json.loads(raw)
        seq, digest = record["seq"], record["hash"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (seq, digest) if type(seq) is int and seq > 0 and isinstance(digest, str) else None


def _entry(record: Mapping[str, Any]) -> Entry:
    return Entry(**{name: value for name, value in record.items() if name != "prev"})


def _canonical(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _body(
    kind: str,
    at: datetime,
    subject_hash: str | None,
    request_id: str | None,
    counts: Mapping[str, int | str],
) -> dict[str, Any]:
    """An event but for its place in the chain.

    Raises:
        UsageError: Something in it might hold content.
    """
    words = [kind, *counts]
    ids = [value for value in (subject_hash, request_id) if value is not None]
    odd = [n for n, v in counts.items() if not _is_plain(v)]
    is_plain = all(_WORD.match(word) for word in words) and all(_HEX.match(value) for value in ids)
    if odd or not is_plain:
        raise UsageError(
            f"an audit event holds counts, hex ids, instants and short words only, not {len(odd)} others",
            "This is a fault in slowwave.",
        )
    return {
        "at": at.astimezone(UTC).isoformat(),
        "kind": kind,
        "subject_hash": subject_hash,
        "request_id": request_id,
        "counts": dict(counts),
    }


def _is_plain(value: object) -> bool:
    if type(value) is int:
        return True
    return isinstance(value, str) and any(p.match(value) for p in (_WORD, _HEX, _INSTANT))
