"""Working memory past its time: rows, task state and summary leave a session's file, and then the file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from flows.job import Job
from lake.lake import Lake
from lake.online import working_file, working_log
from lake.online.working_file import PREFIX, Write
from lake.online.working_log import Log
from lake.online.working_sums import rewritten
from lake.online.working_window import state_until, until_of
from lake.rights import standing
from lake.rights.admission import Admission, admission
from transforms.policy import Policy
from transforms.standing import held
from transforms.subjects import Subject
from transforms.working.state import folded

_OLD_SECONDS = 3_600.0
"""A half-written file of that age has no writer any more."""


@dataclass
class Went:
    """What went, or would go.

    Attributes:
        sessions: Whole files.
        rows: Rows of files.
        states: Task states of files that stay.
    """

    sessions: int = 0
    rows: int = 0
    states: int = 0

    def __bool__(self) -> bool:
        return bool(self.sessions or self.rows or self.states)

    def as_dict(self) -> dict[str, int]:
        """As a step's detail shows it."""
        return {"sessions": self.sessions, "rows": self.rows, "states": self.states}


def retain_working(job: Job) -> Went:
    """Take out what is past its time at the run's as-of, refused, or on a forbidden topic; holds keep all.

    Raises:
        LakeError: A session's file is damaged, or the lake is encrypted and its keys are not there.
    """
    went = Went()
    holds = held(standing.load_all(job.lake))
    for entry in job.lake.storage.entries(PREFIX):
        if not entry.size_bytes:  # left by an object store's last change; nobody has written since
            if not job.is_dry and not working_file.read(job.lake, entry.key):
                job.lake.storage.delete(entry.key)
            continue
        _judge(job, entry.key, holds, went)
    if not job.is_dry:
        job.lake.storage.sweep(PREFIX, _OLD_SECONDS)
    return went


def _judge(job: Job, key: str, holds: list[Subject], went: Went) -> None:
    def step(lines: bytes) -> Write | None:
        found.clear()
        if not lines:
            return None
        log = working_log.parsed(job.lake, key, lines)
        if any(_is_held(hold, log) for hold in holds):
            return None
        after, told = _after(job.lake, log, job.policy, job.as_of, admission(job.lake))
        if not told:
            return None
        found.append(told)
        return Write(after, is_all=True)

    found: list[Went] = []
    if job.is_dry:
        step(working_file.read(job.lake, key))
    else:
        working_file.change(job.lake, key, step)
    for told in found:
        went.sessions += told.sessions
        went.rows += told.rows
        went.states += told.states


def _after(lake: Lake, log: Log, policy: Policy, now: datetime, admitted: Admission) -> tuple[bytes, Went]:
    """What remains of a file, and what goes of it; nothing remains where nothing of it is shown any more."""
    if admitted.tombstones.mark_of(log.name.scope, now) is not None:
        return b"", Went(1, len(log.rows), int(bool(log.changes)))
    until = until_of(lake, log, policy)
    stays = [until(row) > now and admitted.reason(row.raw) is None for row in log.rows]
    state = folded(log.changes, policy.working.state_items)
    due = state_until(state, policy)
    about = {**log.name.columns(), "event_at": state.updated_at}
    is_kept = state.updated_at is not None and (due is None or due > now)
    is_kept = (
        is_kept and admitted.reason({**about, "tags": [t for c in log.changes for t in c.texts()]}) is None
    )
    summary = log.summary.live(now)
    summary = replace(
        summary,
        sentences=tuple(s for s in summary.sentences if admitted.reason({**about, "tags": [s.line]}) is None),
    )
    rows = len(stays) - sum(stays)
    is_new = max([log.opened_at, *([log.closed_at] if log.closed_at else [])]) > now - policy.working.span
    if not (any(stays) or is_kept or summary.sentences or is_new):
        return b"", Went(1, rows, int(bool(log.changes)))
    lost = Went(0, rows, int(bool(log.changes) and not is_kept))
    if not lost and len(summary.sentences) == len(log.summary.sentences):
        return b"", lost
    log.rows = [row for row, stay in zip(log.rows, stays, strict=True) if stay]
    log.lines = [line for line, stay in zip(log.lines, stays, strict=True) if stay]
    log.changes = log.changes if is_kept else []
    log.summary = summary
    return rewritten(lake, log, policy, now), lost if lost else Went(0, 1, 0)


def _is_held(hold: Subject, log: Log) -> bool:
    """Whether a hold is on the session, or on anybody or anything in it."""
    if hold.tenant != log.name.tenant:
        return False
    if hold.memory is not None:
        return any(row.id == hold.memory for row in log.rows)
    users = {log.name.user, *log.people}
    parts = ((hold.user, users), (hold.agent, {log.name.agent}), (hold.session, {log.name.session}))
    return all(wanted is None or wanted in there for wanted, there in parts)
