"""Heads of the audit chain that are kept elsewhere: in requests, in certificates, or with whoever keeps one.

The chain itself cannot tell that its tail was cut off together with ``audit/HEAD``; what names a later
event can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import polars as pl

from lake.lake import Lake
from lake.rights import audit, requests
from lake.rights.audit import Verified
from transforms.errors import UsageError

CERTIFICATES = "certificates"
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


def examined(lake: Lake, kept: Iterable[Anchor] = ()) -> Verified:
    """``audit.verify``, and whether the chain still holds what was kept elsewhere.

    Args:
        lake: Where.
        kept: Anchors beside those in the lake.

    Returns:
        As ``audit.verify``; certificates that the log of requests names and that are gone are a fault, too.
    """
    # Before the chain is read: an event is written before whatever names it.
    known = sorted([*anchors(lake), *kept], key=lambda one: (one.seq, one.holder))
    missing = _missing_certificates(lake)
    found = audit.verify(lake)
    if found.broken is not None:
        return found
    held = {one.seq: one.hash for one in audit.entries(lake)} if known else {}
    for anchor in known:
        if anchor.seq > found.length:
            fault = f"event {found.length + 1} is missing: {anchor.holder} names event {anchor.seq}"
            return replace(found, broken=fault)
        if not held[anchor.seq].startswith(anchor.hash):
            return replace(found, broken=f"event {anchor.seq} is not the one that {anchor.holder} names")
    if missing:
        return replace(found, broken=f"the certificate of request {missing[0]} is missing")
    return found


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


def _missing_certificates(lake: Lake) -> list[str]:
    """Requests whose log names a certificate that is not there, by id."""
    rows = requests.standing_requests(lake).filter(pl.col("evidence").str.contains('"certificate"'))
    held = {entry.key for entry in lake.storage.entries(CERTIFICATES)}
    named = sorted(rows["request_id"])
    return [name[:8] for name in named if f"{CERTIFICATES}/{name}.json" not in held]


def _json(raw: str) -> dict[str, object]:
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
