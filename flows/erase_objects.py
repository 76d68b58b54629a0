"""Small things beside the tables that hold something of the subject: instructions, exports, batches."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl

from flows import erase_sharing
from flows.erase_work import Work
from flows.notes import hint
from flows.notes_kept import PART
from flows.retain_journal import JOURNAL, left
from lake.rights import requests, standing
from lake.rights.requests import Request
from lake.rights.subjects import salt, subject_hash
from transforms.erasure import SPOKEN_COLUMNS
from transforms.standing import Standing
from transforms.subjects import Subject

FILES = ("exports", "reports")
"""Folders of files that jobs wrote for people to take away."""
BATCHES = "state/batches"
_LASTING = frozenset({"erase", "hold", "release", "opt_out", "opt_in"})
"""Kinds of requests that an erasure leaves open: whether the subject may be kept is not answered by it."""


def instructions(work: Work) -> list[tuple[Standing, Standing]]:
    """Standing instructions that change, with what remains of each: a legal hold, and pins of others."""
    gone = set(work.values("episode", "derived"))
    found = []
    for one in standing.load_all(work.lake):
        if one.subject.tenant != work.tenant:
            continue
        if covers(work.aim.subject, one.subject):
            after = Standing(one.subject, is_held=one.is_held)
        else:
            after = replace(one, pinned=tuple(pin for pin in one.pinned if pin not in gone))
        if after != one:
            found.append((one, after))
    return found


def covers(subject: Subject, other: Subject) -> bool:
    """Whether the other is the subject or a part of it."""
    if subject.kind == "memory" or other.kind == "memory":
        return subject == other
    return all(getattr(subject, n) in (None, getattr(other, n)) for n in ("user", "agent", "session"))


def overtaken(work: Work) -> list[Request]:
    """Open requests about the subject that an erasure leaves nothing to do for; they hold ids and content.

    A correction that waits for this very erasure goes on after it.
    """
    found = []
    for one in requests.open_requests(work.lake):
        is_mine = one.subject.tenant == work.tenant and covers(work.aim.subject, one.subject)
        waits = one.details.get("erase_request") == work.request.request_id
        if one.kind not in _LASTING and not waits and (is_mine or _lands_for(work, one)):
            found.append(one)
    return found


def _lands_for(work: Work, request: Request) -> bool:
    """Whether a correction's row would be one of the subject's."""
    row, names = request.details.get("row"), (*SPOKEN_COLUMNS, "event_at")
    if not isinstance(row, dict) or work.aim.subject.memory is not None:
        return False
    told = {name: row.get(name) if isinstance(row.get(name), str) else None for name in names}
    frame = pl.DataFrame([told], schema=dict.fromkeys(names, pl.String))
    return bool(frame.select(work.aim.is_aimed(has_speaker=True) & ~work.aim.is_held()).item())


def files(work: Work) -> list[str]:
    """Exports and reports that were made about the subject, or that hold a sentence of it as it stands."""
    hashes = subject_hash(salt(work.lake), work.aim.subject)
    texts = [text.encode("utf-8", "surrogatepass") for text in (*work.values("text"), *work.canaries)]
    found = []
    for prefix in FILES:
        for entry in work.lake.storage.entries(prefix):
            raw = work.lake.storage.read(entry.key) or b""
            if hashes in entry.key or hashes.encode() in raw or any(text in raw for text in texts):
                found.append(entry.key)
    return found


def batches(work: Work) -> dict[str, bytes]:
    """Records of batches that name an erased answer, without it."""
    gone = set(work.values("answer"))
    found = {}
    for entry in work.lake.storage.entries(BATCHES) if gone else []:
        raw = work.lake.storage.read(entry.key)
        try:
            record = json.loads(raw or b"")
            after = {**record, **{n: [i for i in record[n] if i not in gone] for n in ("items", "left")}}
        except (ValueError, KeyError, TypeError):
            continue  # damaged: told where it is used
        if after != record:
            found[entry.key] = json.dumps(after).encode()
    return found


def journals(work: Work) -> dict[str, bytes]:
    """What a killed run of retention had still to derive anew, without owners that are gone or renewed."""
    owners, found = set(work.values("owner")), {}
    for key in (JOURNAL, *left(work.job)):
        record = hint(work.job, key)
        rebuilt = record.get("rebuilt")
        if not isinstance(rebuilt, list):
            continue
        kept = [one for one in rebuilt if not (one[:1] == [work.tenant] and owners.intersection(one[1:2]))]
        if kept != rebuilt:
            found[key] = json.dumps({**record, "rebuilt": kept}).encode()
    return found


def drop_objects(work: Work) -> None:
    """Count, keep the counts, and take everything of this kind out."""
    changed, dropped, records = instructions(work), files(work), {**batches(work), **journals(work)}
    closed = overtaken(work)
    given, members = erase_sharing.records(work)
    for name, number in (
        ("standing", len(changed)),
        ("exports", sum(key.startswith("exports/") for key in dropped)),
        ("reports", sum(key.startswith("reports/") for key in dropped)),
        ("batches", len(records)),
        ("requests", len(closed)),
        ("grants", len(given)),
        ("teams", len(members)),
    ):
        note(work, name, number)
    work.save()
    for _, after in changed:
        standing.save(work.lake, after)
    erase_sharing.drop_records(work)
    # Notes of files that were read halfway hold ids and digests of anybody: such files are read anew.
    for key in (*dropped, *(entry.key for entry in work.lake.storage.entries(PART))):
        work.lake.storage.delete(key)
    for key, raw in records.items():
        work.lake.storage.write(key, raw)
    for request in closed:
        told = {"erase_request": work.request.request_id}
        requests.update(work.lake, request, "done", told, datetime.now(UTC))


def note(work: Work, store: str, before: int) -> None:
    """Count what a store beside the tables holds, before it goes; a rerun finds no more."""
    stores = work.evidence["stores"]
    known = stores.get(store, {}).get("before", 0)
    stores[store] = {"before": max(before, known), "files_rewritten": 0, "bytes_rewritten": 0}
