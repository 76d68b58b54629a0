"""Proof that an erasure is complete: every table asked again, the index searched, every file read back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from flows.erase_held import Kept
from flows.erase_judge import Judge
from flows.erase_labels import stray_terms
from flows.erase_landing import landed
from flows.erase_objects import overtaken
from flows.erase_recall_log import logged
from flows.erase_rules import EPISODE_TABLES, OWNED, all_rules, held_rule
from flows.erase_sharing import counts as sharing_counts
from flows.erase_targets import find
from flows.erase_vectors import stray_vectors
from flows.erase_words import plain_pages, vocabulary
from flows.erase_work import Work, work_of
from flows.erase_working import count_working
from flows.job import Job
from lake import tables
from lake.erasure.history import half_written
from lake.erasure.removal import count, matching
from lake.index import Generation, load_manifest
from lake.index_record import readable_pointer
from lake.readback.needles import Needles
from lake.readback.read_back import read_back
from lake.readback.result import ReadBack
from lake.rights import requests, standing
from lake.rights.requests import Request
from lake.scope import literal
from transforms.erasure import searchable
from transforms.errors import CheckError
from transforms.schemas import VECTORS
from transforms.subjects import Subject

METHOD = (
    "Every table and the index asked again; every file below the lake read back and searched, raw and"
    " decoded, for ids, names, sentences and planted texts."
)
SHOWN = 3
LEAST_SESSION_CHARS = 12
"""A shorter session id, such as ``s1``, is too common to be looked for in bytes."""


def verify(work: Work) -> None:
    """Look for what was erased in every store and every file.

    Raises:
        CheckError: Something of it is there; says what and where, never what it says.
    """
    with tables.held_open():
        gone = gone_ids(work)
        left = rows_left(work, gone)
    judge = Judge(work, gone)
    left["sealed_text"] = judge.sealed_leaks()
    halves = half_written(work.lake)
    if halves:
        left["half_written"] = halves
    found = read_back(
        work.lake,
        needles_of(work, gone),
        judge,
        kept=Kept(work),
        excepted=excepted(work),
        shown=lambda total: work.job.progress.task("read files back", total, "files"),
    )
    work.evidence["verification"] = _told(left, found)
    if halves is None:
        work.evidence["verification"]["half_written"] = "unknown"
    if any(left.values()):
        told = ", ".join(f"{name}: {rows}" for name, rows in left.items() if rows)
        raise CheckError(f"rows of the subject are still there ({told})", _OPEN)
    if not found.passed:
        raise CheckError(_fault(found), _OPEN)


_OPEN = "The request stays open; look at the files named, then run slowwave erase --resume."
_AGAIN = "What came after the erasure is new: erase it again with --yes. Else look at the files named."


def _told(left: dict[str, int], found: ReadBack) -> dict[str, Any]:
    return {
        "method": METHOD,
        "rows_left": left,
        "requeried": sum(left.values()),
        "files": found.files,
        "bytes": found.bytes_raw + found.bytes_decoded,
        "seconds": round(found.seconds, 3),
        "gb_per_second": round(found.gb_per_second, 3),
        "kinds": dict(found.kinds),
        "needles": sum(part["count"] for part in found.needles.values()),
        "searched": {name: dict(part) for name, part in found.needles.items()},
        "leaks": found.leak_count,
        "mentions": found.mention_count,
        "mentions_held": found.kept_count,
        "unreadable": len(found.unreadable),
        "passed": found.passed and not any(left.values()),
    }


def _fault(found: ReadBack) -> str:
    """What reading back found, by file, place and kind of what was looked for."""
    places = dict.fromkeys(f"{leak.file} ({leak.where}, {leak.needle})" for leak in found.leaks)
    faults = [f"{one.file} ({one.reason})" for one in found.unreadable]
    shown = [*list(places)[:SHOWN], *faults[:SHOWN]]
    return (
        f"reading back found {found.leak_count} leaks and {len(faults)} unreadable files: {', '.join(shown)}"
    )


def rows_left(work: Work, gone: frozenset[str]) -> dict[str, int]:
    """Rows that any rule still meets, vectors that stand for no text, and rows of the index, by store."""
    left = {rule.table.name: count(work.lake, rule).rows for rule in all_rules(work)}
    left[VECTORS.name] = stray_vectors(work)
    left["landing"] = sum(lines for _, lines in landed(work).values())
    left["recall_log"] = sum(rows for _, rows in logged(work).values())
    left["working"] = count_working(work)
    left["index"] = _index_rows(work, gone)
    left["requests"] = len(overtaken(work))
    left["sharing"] = sum(sharing_counts(work))
    left["labels"] = stray_terms(work)
    return left


def _index_rows(work: Work, gone: frozenset[str]) -> int:
    """Rows of the live generation, and of its twins, that are the subject's by scope or by id."""
    pointer = readable_pointer(work.lake)
    if pointer is None or work.evidence["held"]:
        return 0
    live = [Generation(work.lake, load_manifest(work.lake, name)) for name in pointer.live()]
    tenant = f"tenant_id = {literal(work.tenant)}"
    named = [f"{name} = {literal(value)}" for name, value in work.aim.subject.columns().items()]
    wheres = [" AND ".join(named)] if work.aim.subject.memory is None else []
    ids = sorted(gone)[:_MOST_ASKED]
    if ids:
        wheres.append(f"{tenant} AND memory_id IN ({', '.join(map(literal, ids))})")
    return sum(
        generation.dataset(entry.name).count_rows(filter=where)
        for generation in live
        for entry in generation.manifest.tables
        if entry.rows
        for where in wheres
    )


_MOST_ASKED = 1_000


def gone_ids(work: Work) -> frozenset[str]:
    """Ids of what is erased; none of what a hold keeps, or what was derived anew under its old id."""
    standing_ids: set[str] = set()
    named = pl.Series([work.aim.subject.memory or ""])
    for table in OWNED:
        key = table.key[0]
        wanted = pl.concat([work.values("derived", "derived_named"), named]).alias(key).to_frame().lazy()
        held = tables.scan(work.lake, table, buckets=work.buckets).select(key)
        standing_ids |= set(held.join(wanted, on=key, how="semi").collect()[key])
    for table in EPISODE_TABLES:
        standing_ids |= set(matching(work.lake, held_rule(work, table), ["episode_id"])["episode_id"])
    derived = {*work.values("derived", "derived_named"), *named} - {"", *standing_ids}
    return frozenset({*derived, *work.values("episode", "claim")})


def needles_of(work: Work, gone: frozenset[str]) -> Needles:
    """What must not be found."""
    sessions = [s for s in work.values("session_gone") if len(s) >= LEAST_SESSION_CHARS]
    names = [] if work.aim.subject.kind == "memory" else [*work.aim.names, *sessions]
    texts = [*work.values("text"), *work.values("derived_text"), *work.canaries]
    return Needles(gone, tuple(searchable(names, vocabulary(work.lake))), tuple(dict.fromkeys(texts)))


def excepted(work: Work) -> list[str]:
    """Files that name the subject and stay: open requests, and the instruction that holds it.

    So are pages of certificates that say nothing but what their JSON says, which is searched.
    """
    keys = [entry.key for entry in work.lake.storage.entries(requests.PREFIX)]
    held = [standing.key_of(work.lake, subject) for subject in work.aim.holds]
    return sorted({*keys, *held, *plain_pages(work.lake)})


def look_again(
    job: Job, subject: Subject, aliases: Sequence[str] = (), canaries: Sequence[str] = ()
) -> dict[str, Any]:
    """Look for a subject once more: its rows, names and planted texts, and what is found of it by them.

    Raises:
        CheckError: Something of it is there.
    """
    now = datetime.now(UTC)
    details = {"aliases": sorted(set(aliases)), "canaries": sorted(set(canaries))}
    work = work_of(job, Request("", "erase", subject, "", "operator", now, now, details=details))
    find(work)
    work.evidence["held"] = {
        table.name: rows
        for table in EPISODE_TABLES
        if (rows := count(work.lake, held_rule(work, table)).rows)
    }
    try:
        verify(work)
    except CheckError as error:
        raise CheckError(error.message, _AGAIN) from error
    return dict(work.evidence["verification"])
