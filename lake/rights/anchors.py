"""Heads of the audit chain that are kept elsewhere: in requests, in certificates, or with whoever keeps one.

The chain itself cannot tell that its tail was cut off together with ``audit/HEAD``; what names a later
event can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

import polars as pl

from lake.lake import Lake
from lake.rights import audit, requests
from lake.rights.audit import Verified
from transforms.errors import UsageError

CERTIFICATES = "certificates"
HASH = "certificate_hash"
_ANCHOR = re.compile(r"([1-9]\d{0,11}):([0-9a-f]{16,64})\Z")


@dataclass(frozen=True)
class Anchor:
    """An event as somebody remembers it.

    Attributes:
        seq: Its number.
        hash: Its hash, or the first 16 digits of it or more.
        holder: Who remembers it.
    """

    seq: int
    hash: str
    holder: str


def anchor_of(text: str) -> Anchor:
    """An anchor as ``slowwave doctor`` shows it, ``SEQ:HASH``.

    Raises:
        UsageError: It is none.
    """
    found = _ANCHOR.match(text.strip())
    if found is None:
        raise UsageError(
            "--anchor is SEQ:HASH",
            "Give the head as slowwave doctor showed it, at least 16 digits of the hash.",
        )
    return Anchor(int(found[1]), found[2], "the head kept elsewhere")


def anchors(lake: Lake) -> list[Anchor]:
    """Every event that a request or a certificate of this lake names."""
    return [*_of_requests(lake), *_of_certificates(lake)]


def examined_since(lake: Lake, since: tuple[int, str] | None) -> Verified:
    """``examined`` for every night: it reads what came after an event, however long the chain is.

    Args:
        lake: Where.
        since: ``head`` of what was found whole last: number and hash. What was changed before it shows
            only in ``examined``, which doctor and the reports call.
    """
    if since is None:
        return examined(lake)
    known = [one for one in _of_requests(lake) if one.seq > since[0]]
    found = audit.verify(lake, since)
    for anchor in sorted(known, key=lambda one: (one.seq, one.holder)):
        fault = _anchor_fault(lake, found, anchor)
        if found.broken is None and fault is not None:
            return replace(found, broken=fault)
    return found


def _anchor_fault(lake: Lake, found: Verified, anchor: Anchor) -> str | None:
    if anchor.seq > found.length:
        return f"event {found.length + 1} is missing: {anchor.holder} names event {anchor.seq}"
    held = audit.hash_at(lake, anchor.seq)
    is_same = held is not None and held.startswith(anchor.hash)
    return None if is_same else f"event {anchor.seq} is not the one that {anchor.holder} names"


def examined(lake: Lake, kept: Iterable[Anchor] = ()) -> Verified:
    """``audit.verify``, and whether the chain still holds what was kept elsewhere.

    Args:
        lake: Where.
        kept: Anchors beside those in the lake.

    Returns:
        As ``audit.verify``; a certificate that the log of requests names and that is gone or was changed
        is a fault, too.
    """
    # Before the chain is read: an event is written before whatever names it.
    known = sorted([*anchors(lake), *kept], key=lambda one: (one.seq, one.holder))
    fault = _certificate_fault(lake)
    found = audit.verify(lake)
    if found.broken is not None:
        return found
    for anchor in known:
        if (broken := _anchor_fault(lake, found, anchor)) is not None:
            return replace(found, broken=broken)
    return found if fault is None else replace(found, broken=fault)


def _of_requests(lake: Lake) -> Iterator[Anchor]:
    rows = requests.standing_requests(lake).select("request_id", "evidence")
    for request_id, raw in rows.filter(pl.col("evidence").str.contains("audit_seq")).iter_rows():
        told = _json(raw)
        seq, digest = told.get("audit_seq"), told.get("audit_hash")
        if type(seq) is int and isinstance(digest, str):
            yield Anchor(seq, digest, f"request {request_id[:8]}")


def _of_certificates(lake: Lake) -> Iterator[Anchor]:
    for entry in lake.storage.entries(CERTIFICATES):
        if not entry.key.endswith(".json"):
            continue
        told = _json((lake.storage.read(entry.key) or b"").decode("utf-8", "replace")).get("audit")
        if isinstance(told, dict) and type(told.get("seq")) is int and isinstance(told.get("hash"), str):
            name = entry.key.rpartition("/")[2].removesuffix(".json")
            yield Anchor(told["seq"], told["hash"], f"the certificate of request {name[:8]}")


def _certificate_fault(lake: Lake) -> str | None:
    """What is wrong with the first certificate that is not there, or not the one that the log names."""
    rows = requests.standing_requests(lake).filter(pl.col("evidence").str.contains('"certificate"'))
    for request_id, state, raw in (
        rows.select("request_id", "state", "evidence").sort("request_id").iter_rows()
    ):
        held = lake.storage.read(f"{CERTIFICATES}/{request_id}.json")
        if held is None:
            return f"the certificate of request {request_id[:8]} is missing"
        # That of an open request is written before the log names it.
        told = _json(held.decode("utf-8", "replace"))
        if state == "done" and certificate_hash(told) != _json(raw)["certificate"]:
            return f"the certificate of request {request_id[:8]} was changed"
    return None


def certificate_hash(data: Mapping[str, object]) -> str:
    """sha256 over the canonical JSON of a certificate without its own hash."""
    rest = {name: value for name, value in data.items() if name != HASH}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _json(raw: str) -> dict[str, object]:
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
