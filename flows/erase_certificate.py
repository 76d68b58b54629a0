"""The certificate: what was erased, what stays and why, and how it was proved. It holds no personal data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flows.erase_backups import covers_backups
from flows.erase_held import held_rows
from flows.erase_work import Work, targets_key
from lake.erasure.history import totals
from lake.lake import Lake
from lake.rights import anchors, audit, requests, tombstones
from lake.rights.subjects import salt, subject_hash
from transforms.errors import InputError
from transforms.subjects import Subject

PREFIX = "certificates"
VERSION = 1
HASH = anchors.HASH


@dataclass(frozen=True)
class Certificate:
    """A certificate as it stands in the lake.

    Args:
        data: As JSON.
    """

    data: Mapping[str, Any]

    @property
    def request_id(self) -> str:
        """Of its request."""
        return str(self.data["request_id"])

    @property
    def outcome(self) -> str:
        """``complete``, or ``held`` where a legal hold keeps rows."""
        return str(self.data["outcome"])

    @property
    def text(self) -> str:
        """In a few lines for a person."""
        data, proof = self.data, self.data["verification"]
        rows = sum(store["before"] for store in data["stores"])
        kept_mentions = proof.get("mentions_held", 0)
        anew = data["owners"]["derived_anew"]
        lines = [
            f"erasure {self.outcome}: {rows:,} rows of a {data['subject_kind']} are gone,"
            f" {anew:,} {'owner' if anew == 1 else 'owners'} derived anew",
            f"proof: {proof['files']:,} files read back ({proof['bytes']:,} bytes), {proof['leaks']:,} leaks,"
            f" {proof['mentions']:,} mentions in rows of others"
            + (f", {kept_mentions:,} in rows kept under hold" if kept_mentions else ""),
            f"keys destroyed: {data['keys_destroyed']:,}; backups covered: {data['covers_backups']}",
            f"certificate: certificates/{self.request_id}.json (certificate_hash {data[HASH]})",
        ]
        held = sum(kept["count"] for kept in data["kept"] if kept["what"] == "rows_held")
        if held:
            head = "" if rows else "no row could be removed; "
            lines.insert(
                1, f"{head}{held:,} rows stay under legal hold; the request is open until it is released"
            )
        elif not rows:
            lines.insert(1, "nothing of this subject was held")
        return "\n".join(lines)

    @property
    def is_whole(self) -> bool:
        """Whether its hash is that of its content."""
        return self.data.get(HASH) == hash_of(self.data)


def hash_of(data: Mapping[str, Any]) -> str:
    """See ``lake.rights.anchors.certificate_hash``."""
    return anchors.certificate_hash(data)


def parse(raw: bytes) -> Certificate:
    """A certificate from its JSON.

    Raises:
        InputError: It is none.
    """
    try:
        data = json.loads(raw)
        if not isinstance(data, dict) or data["kind"] != "erasure" or not isinstance(data[HASH], str):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            "the file is no certificate of an erasure", "Name a certificates/<request>.json."
        ) from error
    return Certificate(data)


def issue(work: Work) -> Certificate:
    """Close a proven erasure: audit, certificate, tombstone, request; each only where it is not there yet."""
    certificate = _kept(work) or _written(work)
    data = certificate.data
    is_held = certificate.outcome == "held"
    lake, request, now = work.lake, work.request, datetime.now(UTC)
    if not is_held:
        _bound_tombstones(work, datetime.fromisoformat(str(data["completed_at"])))
    _audit_once(work, "certificate_issued", {"sha256": str(data[HASH])})
    told = {
        "certificate": data[HASH],
        "rows": sum(store["before"] for store in data["stores"]),
        "leaks": 0,
        "files_read": data["verification"]["files"],
    }
    lake.storage.delete(targets_key(request.request_id))
    if is_held:
        work.request = requests.update(lake, request, "held", told, now, _begun_anew(work))
    else:
        work.request = requests.update(lake, request, "done", told, now)
    return certificate


def _begun_anew(work: Work) -> dict[str, Any]:
    """Details of a request that a hold keeps open: counts of what has gone stay, the rest is found again."""
    details = {name: value for name, value in work.request.details.items() if name != "evidence"}
    return {**details, "evidence": {"earlier": work.evidence["stores"]}}


def _bound_tombstones(work: Work, completed_at: datetime) -> None:
    """Let in again what happens from now on; rows that no scope names stay refused by their ids."""
    last = work.evidence.get("last_event_at")
    until = max(completed_at, datetime.fromisoformat(last)) if last else completed_at
    request_id = work.request.request_id
    subject = work.aim.subject
    singly = set(work.values("spoken"))
    if subject.kind == "memory":
        singly |= set(work.values("episode"))
    for memory in sorted(singly):
        tombstones.place(work.lake, Subject(work.tenant, memory=memory), until, request_id)
    tombstones.place(work.lake, subject, until, request_id)


def _kept(work: Work) -> Certificate | None:
    """The certificate that a killed run had written for what this one has verified again."""
    raw = work.lake.storage.read(_key(work.request.request_id)) if work.is_resumed else None
    found = parse(raw) if raw else None
    is_final = found is not None and found.is_whole and found.outcome == _outcome(work)
    return found if is_final else None


def _written(work: Work) -> Certificate:
    counts: dict[str, int | str] = {
        "rows": sum(store["before"] for store in work.evidence["stores"].values()),
        "files_read": int(work.evidence["verification"]["files"]),
        "leaks": 0,
        "held": sum(work.evidence["held"].values()),
    }
    entry = _audit_once(work, "erase_held" if _outcome(work) == "held" else "erase_done", counts)
    data = _data(work, entry)
    certificate = Certificate({**data, HASH: hash_of(data)})
    key = _key(work.request.request_id)
    work.lake.storage.write(key, json.dumps(certificate.data, indent=1, ensure_ascii=False).encode() + b"\n")
    _write_page(work.lake, work.request.request_id, certificate)
    return certificate


def _write_page(lake: Lake, request_id: str, certificate: Certificate) -> None:
    from flows.certificate_page import certificate_html

    lake.storage.write(f"{PREFIX}/{request_id}.html", certificate_html(dict(certificate.data)).encode())


def _audit_once(work: Work, kind: str, counts: dict[str, int | str]) -> audit.Entry:
    """An event of this request; the one that a killed run had written already."""
    request_id = work.request.request_id
    if work.is_resumed:
        for entry in audit.entries(work.lake):
            if entry.request_id == request_id and entry.kind == kind:
                return entry
    named = subject_hash(salt(work.lake), work.aim.subject)
    return audit.append(
        work.lake,
        kind,
        at=datetime.now(UTC),
        subject_hash=named,
        request_id=request_id,
        counts=counts,
    )


def _outcome(work: Work) -> str:
    return "held" if work.evidence["held"] else "complete"


def _key(request_id: str) -> str:
    return f"{PREFIX}/{request_id}.json"


def _data(work: Work, entry: audit.Entry) -> dict[str, Any]:
    request, evidence = work.request, work.evidence
    steps = [{"name": name, "seconds": seconds} for name, seconds in evidence["steps"].items()]
    return {
        "kind": "erasure",
        "version": VERSION,
        "request_id": request.request_id,
        "lake_id": work.lake.lake_id,
        "outcome": _outcome(work),
        "subject_kind": work.aim.subject.kind,
        "subject_hash": subject_hash(salt(work.lake), work.aim.subject),
        "aliases": len(work.aim.aliases),
        "basis": request.basis,
        "requested_by": request.requested_by,
        "requested_at": _instant(request.requested_at),
        "due_at": _instant(request.due_at),
        "completed_at": _instant(datetime.now(UTC)),
        "seconds": round(sum(step["seconds"] for step in steps), 3),
        "steps": steps,
        "stores": _stores(work),
        "owners": evidence["owners"],
        "lake": _totals(work),
        "generations_removed": evidence["generations_removed"],
        "keys_destroyed": evidence["keys_destroyed"],
        "covers_backups": covers_backups(work),
        "kept": _kept_rows(work),
        "verification": evidence["verification"],
        "policy_hash": work.job.policy.hash(),
        "audit": {"seq": entry.seq, "hash": entry.hash},
    }


def _instant(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="seconds")


def _stores(work: Work) -> list[dict[str, Any]]:
    """Each store that held something of the subject, and those that were looked through and held nothing."""
    after = work.evidence["verification"]["rows_left"]
    removed = _files_removed(work)
    return [
        {"store": name, **told, "after": after.get(name, 0), "files_removed": removed.get(name, 0)}
        for name, told in work.evidence["stores"].items()
    ]


def _files_removed(work: Work) -> dict[str, int]:
    """Files that stood before and stand no more, by table, and by ``index``."""
    now = {e.key for prefix in ("tables", "index") for e in work.lake.storage.entries(prefix)}
    found: dict[str, int] = {}
    for key in work.values("file"):
        if key not in now:
            parts = key.split("/")
            name = "index" if parts[0] == "index" else parts[1]
            found[name] = found.get(name, 0) + 1
    return found


def _totals(work: Work) -> dict[str, int]:
    before, after = work.evidence["lake_before"], totals(work.lake)
    names = ("files_before", "bytes_before", "files_after", "bytes_after")
    return dict(zip(names, (*before, *after), strict=True))


def _kept_rows(work: Work) -> list[dict[str, Any]]:
    """What stays, and why."""
    held = held_rows(work)
    mentions = int(work.evidence["verification"].get("mentions", 0))
    kept: list[dict[str, Any]] = [
        {
            "what": "audit_events",
            "count": 1,
            "why": "Proof of the request; it names the subject by a salted hash.",
        },
        {"what": "request_log", "count": 1, "why": "Proof of the request; hashes only."},
        {"what": "tombstone", "count": 1, "why": "Keeps the rows from coming back; a salted hash only."},
    ]
    if held:
        by_store = ", ".join(f"{name} {rows:,}" for name, rows in held.items())
        why = f"A legal hold forbids their removal: {by_store}."
        kept.append({"what": "rows_held", "count": sum(held.values()), "why": why, "stores": held})
    if mentions:
        kept.append(
            {
                "what": "mentions",
                "count": mentions,
                "why": "Rows of other people that say a word which is also a name of the subject.",
            }
        )
    return kept
