"""The steps of an erasure in their order; each finds by itself what is left to do."""

from __future__ import annotations

from collections.abc import Callable

from flows.commit import COMMIT_LOCK, COMMIT_WAIT_SECONDS
from flows.erase_index import note_currency, purge
from flows.erase_landing import landed, take_out
from flows.erase_objects import drop_objects, note
from flows.erase_rebuild import rebuild, take_rows_out
from flows.erase_recall_log import logged
from flows.erase_targets import collect
from flows.erase_vectors import drop_vectors
from flows.erase_verify import verify
from flows.erase_work import Work
from flows.erase_working import count_working, drop_working
from lake import hints, landing, locks, recall_segments
from lake.erasure import history
from lake.online import working_file
from transforms.schemas import COSTS, METRICS, REQUESTS, RUNS, STORED

_LIVELY = (REQUESTS, RUNS, METRICS, COSTS)
"""Tables that others may be writing, and that hold nothing personal: their files are left to the nights."""


def collect_all(work: Work) -> None:
    """Find what goes in tables and landed segments, then take the landed rows out."""
    note_currency(work)
    found = landed(work)
    collect(work)
    found |= landed(work)  # copies that wait here of what was found in the tables
    sweep_landing(work, found, "landing")
    sweep_landing(work, logged(work), "recall_log")
    drop_working(work, "working")


def sweep_landing(work: Work, found: dict[str, tuple[bytes, int]], store: str) -> None:
    """Take landed lines out; their count is kept before they go."""
    note(work, store, sum(lines for _, lines in found.values()))
    work.save()
    take_out(work, found)


def destroy_keys(work: Work) -> None:
    """Destroy the subject's data keys, so that tables in copies nobody can reach cannot be read either.

    Not while a hold keeps rows that they sealed. Their count is kept before they go.
    """
    keys, subject = work.lake.keys, work.aim.subject
    work.evidence["is_encrypted"] = work.lake.encryption is not None
    known = int(work.evidence.get("keys_destroyed", 0))
    held = keys.count(subject) if keys is not None and not work.evidence["held"] else 0
    work.evidence["keys_destroyed"] = max(known, held)
    work.save()
    if keys is not None and held:
        keys.destroy(subject, is_noted=False)  # nothing of it is left in the index


def clear_history(work: Work) -> None:
    """Remove what no table is made of any more, and carry the hints over what was written anew."""
    late = landed(work)
    if late:
        work.save_targets()
        sweep_landing(work, late, "landing_late")
    if calls := logged(work):
        sweep_landing(work, calls, "recall_log_late")
    if count_working(work):
        drop_working(work, "working_late")
    hints.carry_over(work.lake)
    with locks.hold(work.lake, COMMIT_LOCK, COMMIT_WAIT_SECONDS):
        cleared = history.clear(work.lake, [t for t in STORED if t not in _LIVELY])
    for prefix in (landing.PREFIX, recall_segments.PREFIX, working_file.PREFIX):
        work.lake.storage.sweep(prefix, 0)
    known = work.evidence.get("cleared", {"files": 0, "bytes": 0})
    work.evidence["cleared"] = {
        "files": known["files"] + cleared.files,
        "bytes": known["bytes"] + cleared.bytes,
    }


STEPS: tuple[tuple[str, Callable[[Work], None]], ...] = (
    ("collect", collect_all),
    ("rows", take_rows_out),
    ("rebuild", rebuild),
    ("vectors", drop_vectors),
    ("objects", drop_objects),
    ("index", purge),
    ("keys", destroy_keys),
    ("history", clear_history),
    ("verify", verify),
)
