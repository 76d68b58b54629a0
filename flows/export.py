"""Everything held about a person, in one zip that a person can read and a program can load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flows.export_page import is_empty, month_pages, page
from flows.export_rows import HeldRows
from flows.export_schema import schema_of
from flows.export_zip import Package, buffered, digest_of, document, package, publish, require_place
from flows.job import Job
from lake.rights import audit, requests
from lake.rights.requests import Request
from lake.rights.subjects import salt, subject_hash
from transforms.legal_bases import basis_of
from transforms.subjects import Subject

KIND = "export"
FORMAT, VERSION = "slowwave-export", 1
NOTHING = "Nothing is held of this subject; check tenant and id (slowwave status lists the tenants)."
NOTES = (
    "The page and the data say the same; data/ is for programs, schema.json describes its columns.",
    "Left out: embeddings (numbers computed from the texts that are here), copies in the search index, the"
    " lake's own bookkeeping columns, and rows that were replaced since and wait for their removal.",
    "What other people said about the subject is theirs and is not here.",
    "Refused rows are here where they name the person; one for which no person is known is not.",
)


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes:
        file: Where.
        counts: Rows by file of ``data/``.
        request_id: The request that it answers.
        sha256: Of the zip.
        due_at: By when it had to be done.
    """

    file: str
    counts: Mapping[str, int]
    request_id: str
    sha256: str
    due_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {
            "file": self.file,
            "counts": dict(self.counts),
            "request": self.request_id,
            "sha256": self.sha256,
            "due_at": self.due_at.isoformat(),
            "is_empty": is_empty(self.counts),
            "warning": NOTHING if is_empty(self.counts) else None,
        }


def run_export(
    job: Job,
    subject: Subject,
    out: Path,
    *,
    basis: str = "gdpr-art-15",
    requested_by: str = "subject",
    aliases: tuple[str, ...] = (),
    is_forced: bool = False,
) -> Exported:
    """Write the zip and close the request for it; run again after a kill, it goes on with the same request.

    Args:
        job: On which lake; the lake's lock is held by the caller.
        subject: A user or an agent, or a session of one of them.
        out: The zip.
        basis: Legal basis (``transforms.legal_bases``).
        requested_by: One of ``rights_tables.REQUESTERS``.
        aliases: Further names of a user, as a speaker of rows that name no user.
        is_forced: Replace the file that is there.

    Raises:
        UsageError: The subject is nobody in particular, the basis is none of the list, or the file may
            not be written there.
        StorageError: The disk is full; the request stays open.
    """
    held = HeldRows(job.lake, subject, aliases)
    waiting = _waiting(job, subject)
    if waiting is not None and (finished := _finished(job, waiting, out)):
        return finished
    require_place(job.lake, out, is_forced=is_forced)
    request = waiting or _opened(job, subject, basis, requested_by)
    _note(job, request, "export_requested", {}, is_resumed=waiting is not None)
    with package(out, job.as_of) as zipped:
        counts = _write(job, held, request, zipped)
    digest = digest_of(zipped.path)
    request = requests.keep_details(job.lake, request, {"sha256": digest, "counts": counts})
    publish(zipped.path, out, is_forced=is_forced)
    return _closed(job, request, out, is_resumed=waiting is not None)


def _waiting(job: Job, subject: Subject) -> Request | None:
    """The open request of an export of the subject that was killed or failed."""
    found = (r for r in requests.open_requests(job.lake) if (r.kind, r.subject) == (KIND, subject))
    return next(found, None)


def _opened(job: Job, subject: Subject, basis: str, requested_by: str) -> Request:
    now = datetime.now(UTC)
    due = now + timedelta(days=job.policy.rights.other_due_days)
    return requests.open_request(job.lake, KIND, subject, basis_of(basis), requested_by, now, due)


def _finished(job: Job, request: Request, out: Path) -> Exported | None:
    """What a run that was killed between the file and the request's end came to; None where it did not."""
    digest = request.details.get("sha256")
    if digest is None or not out.is_file() or digest_of(out) != digest:
        return None
    return _closed(job, request, out, is_resumed=True)


def _closed(job: Job, request: Request, out: Path, *, is_resumed: bool) -> Exported:
    counts = {str(name): int(rows) for name, rows in request.details["counts"].items()}
    digest = str(request.details["sha256"])
    evidence = {"file_sha256": digest, "rows": sum(counts.values()), "tables": counts}
    told: dict[str, int | str] = {"rows": sum(counts.values()), "file_sha256": digest}
    _note(job, request, "export_done", told, is_resumed=is_resumed)
    requests.update(job.lake, request, "done", evidence, datetime.now(UTC))
    return Exported(str(out), counts, request.request_id, digest, request.due_at)


def _note(
    job: Job, request: Request, kind: str, counts: Mapping[str, int | str], *, is_resumed: bool
) -> None:
    """An event of this request; after a kill, the one that is there already stands."""
    named = (request.request_id, kind)
    if is_resumed and any((e.request_id, e.kind) == named for e in audit.entries(job.lake)):
        return
    hashed = subject_hash(salt(job.lake), request.subject)
    now = datetime.now(UTC)
    audit.append(job.lake, kind, at=now, subject_hash=hashed, request_id=request.request_id, counts=counts)


def _write(job: Job, held: HeldRows, request: Request, zipped: Package) -> dict[str, int]:
    """All files of the zip. Returns rows by file of ``data/``."""
    parts, counts = held.parts(), dict[str, int]()
    with job.progress.task("export", len(parts) + 1, "parts") as advance:
        for part in parts:
            counts[part.name] = zipped.write_rows(f"data/{part.name}.json", part.columns, part.frames())
            advance(1)
        zipped.write("schema.json", [schema_of(parts).encode()])
        for name, chunks in _pages(job, held, counts, request.request_id):
            zipped.write(name, buffered(chunks))
        zipped.write("manifest.json", [document(_manifest(job, held, request, counts, zipped))])
        advance(1)
    return counts


def _pages(
    job: Job, held: HeldRows, counts: Mapping[str, int], request_id: str
) -> Iterator[tuple[str, Iterator[str]]]:
    yield "index.html", page(job, held, counts, request_id)
    yield from month_pages(job, held, counts)


def _manifest(
    job: Job, held: HeldRows, request: Request, counts: Mapping[str, int], zipped: Package
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "lake_id": job.lake.lake_id,
        "request_id": request.request_id,
        "requested_at": request.requested_at.isoformat(),
        "due_at": request.due_at.isoformat(),
        "basis": request.basis,
        "subject": held.subject.as_dict(),
        "subject_hash": subject_hash(salt(job.lake), held.subject),
        "as_of": job.as_of.isoformat(),
        "policy_hash": job.policy.hash(),
        "counts": dict(counts),
        "files": [
            {"name": f.name, "sha256": f.sha256, "bytes": f.bytes, "rows": f.rows} for f in zipped.files
        ],
        "notes": list(NOTES),
    }
