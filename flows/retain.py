"""Retain: what is past its time, stale, decayed, over the budget or unwanted leaves the lake.

Buckets are judged and emptied by work units, see ``flows.retain_units``; what is of the run as a whole, its
ledger, its audit event and the upkeep of tables, is done here when they are through.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import polars as pl

from flows import retain_journal, retain_state
from flows.commit import tidy
from flows.consolidate import run_consolidate
from flows.engine.run import require_all
from flows.engine.units import Done
from flows.job import Job, StepResult, record, step
from flows.retain_groups import run_groups
from flows.retain_journal import JOURNAL, Journal
from flows.retain_judged import basis_of
from flows.retain_ledger import Lines, close_run, ledger_of, tell_audit
from flows.retain_plan import Instructions
from flows.retain_state import Seen
from flows.retain_units import SESSION, units
from flows.retain_working import retain_working
from lake import hints, tables, upkeep
from lake.crypto.leftovers import drop_leftovers
from lake.opened import forget
from transforms.schemas import REMOVALS, STORED

_TABLES = {table.name: table for table in STORED}


@dataclass
class _Run:
    """One run of retain.

    Attributes:
        job: Of which.
        own: The run's own journal.
        total: What its buckets have taken out.
        told_at: When the run that was killed last had its ledger written; its counts are told.
        lines: What is held and waits.
        rows: Rows judged.
        ends: Of its units.
    """

    job: Job
    own: Journal
    total: Journal
    told_at: datetime | None = None
    lines: Lines = field(default_factory=Lines)
    rows: int = 0
    ends: list[Done] = field(default_factory=list)

    @property
    def touched(self) -> set[str]:
        """Tables that lost rows."""
        return {key.split("|")[1] for key in self.total.removed}


def run_retain(job: Job, *, is_night: bool = False) -> StepResult:
    """Take out of the lake what the policy, a person's own period or a forbidden topic lets go.

    Args:
        job: The run; where ``job.is_dry``, nothing is written, and the detail lists what would go.
        is_night: Superseded files are left to ``upkeep_night.keep``: publish still reads in them what went.

    Returns:
        rows_in: rows judged; rows_out: rows that went (dry: would go). ``unchanged`` where nothing can
        be due: no file of a bucket changed since the last run, and nothing in it was due by now; or
        where decay has just found so. The detail counts ``removed`` by table and reason, ``held``,
        ``waiting`` and ``late``, and what went of ``working`` memory.

    Raises:
        LakeError: An instruction is damaged: nothing is removed against it.
        UnitsError: Buckets could not be done; the others were, and these are looked at again.
    """
    with step(job, "retain") as result, tables.held_open():
        told = Instructions(retain_state.instructions_of(job))
        method = retain_state.method_of(job, told.all)
        seen = retain_state.load(job, method)
        told = Instructions(told.all, seen.looked_at)
        seen = Seen() if job.is_dry else seen
        due, bases, is_news = _due(job, seen, method, told)
        is_resumed = not job.is_dry and _is_resumed(job)
        working = retain_working(job)
        past = [] if is_night else _vacuumable(job, seen)
        if not (due or is_resumed or past or working):
            result.state = "unchanged"
            if is_news:
                retain_state.save(job, method, seen)
            return result
        run = _begun(job)
        for done in run_groups(job, units(job, due, run.own.run_id, told, bases), "retain"):
            _take(run, seen, done)
        result.rows_in = run.rows
        if not job.is_dry:
            _finished(run, method, seen, is_night=is_night)
        _tell(run, result)
        if working:
            result.detail["working"] = working.as_dict()
    if not job.is_dry:
        written = {name: tables.version(job.lake, _TABLES[name]) for name in run.touched}
        record(job, result, read=run.total.versions, written=written)
        require_all("retain", run.ends)
    return result


def _due(job: Job, seen: Seen, method: str, told: Instructions) -> tuple[list[int], dict[int, str], bool]:
    """Buckets in which something may be due, the basis of each, and whether decay has settled others."""
    files = retain_state.files_by_bucket(job)
    due = [bucket for bucket, name in files.items() if not seen.is_settled(bucket, name, job.as_of)]
    if job.is_dry:
        return due, {}, False
    bases = {bucket: basis_of(job, method, files[bucket], told.looked_at) for bucket in due}
    clear = [bucket for bucket in due if _is_clear(job, bucket, bases[bucket])]
    for bucket in clear:
        next_at = job.judged[bucket].next_at
        seen.buckets[bucket] = {
            "files": files[bucket],
            "next_at": next_at.isoformat() if next_at else None,
        }
    return [bucket for bucket in due if bucket not in clear], bases, bool(clear)


def _is_clear(job: Job, bucket: int, basis: str) -> bool:
    """Whether decay, on the same basis, has found that nothing of a bucket is due."""
    judged = job.judged.get(bucket)
    return judged is not None and judged.is_clear and judged.basis == basis


def _is_resumed(job: Job) -> bool:
    return job.lake.storage.read(JOURNAL) is not None or bool(retain_journal.left(job))


def _begun(job: Job) -> _Run:
    # Later runs have greater ids: of two at one as-of the ledger tells which was the later.
    run_id = f"{time.time_ns() // 1_000:016x}{secrets.token_hex(8)}"
    if job.is_dry:
        return _Run(job, Journal(job, run_id), Journal(job, run_id))
    own = retain_journal.resumed(job, run_id, JOURNAL)
    left = [retain_journal.resumed(job, own.run_id, key) for key in retain_journal.left(job)]
    if left and not own.is_begun:
        own.run_id = left[0].run_id
    rows = ledger_of(job, own.run_id) if own.is_begun else REMOVALS.empty()
    if rows.is_empty():
        return _Run(job, own, Journal(job, own.run_id))
    # It died when all was told but for its end: what is taken out from now on is another run's.
    tell_audit(job, own, rows)
    retain_journal.drop(job)
    total = Journal(job, run_id, versions=own.versions)
    return _Run(job, Journal(job, run_id), total, told_at=rows["as_of_at"][0])


def _take(run: _Run, seen: Seen, done: Done) -> None:
    """Take up the end of a unit; buckets that failed are looked at again by the next run."""
    run.ends.append(done)
    if done.result is None:
        for bucket in done.unit.buckets:
            seen.buckets.pop(bucket, None)
        return
    run.rows += int(done.result["rows"])
    run.lines.take(Lines.of_json(done.result["lines"]))
    for bucket in done.unit.buckets:
        seen.buckets[bucket] = {"files": "", "next_at": done.result["next_at"][str(bucket)]}


def _finished(run: _Run, method: str, seen: Seen, *, is_night: bool) -> None:
    """Derive anew what rested on a forbidden topic, close the ledger, tidy up, and remember."""
    job = run.job
    _forget(job)  # units have written beside what this block holds open
    run.total.take(run.own)
    for key in retain_journal.left(job):
        run.total.take(retain_journal.resumed(job, run.own.run_id, key))
    hints.carry_over(job.lake)  # first: what follows must not read again what was only written anew
    _derive_anew(job, run.total.rebuilt)
    run.own.versions = run.total.versions
    if run.total.removed or run.told_at != job.as_of:  # what is held and waits is told once an instant
        close_run(job, run.own, run.total.removed, run.lines)
    else:
        retain_journal.drop(job)
    touched = run.touched | drop_leftovers(job.lake).keys()  # of an encrypted lake put back from a backup
    now = datetime.now(UTC)
    for name in () if is_night else _vacuumable(job, seen):
        upkeep.vacuum(job.lake, _TABLES[name], job.policy.ingest.vacuum_after_hours)
        del seen.superseded[name]
    seen.superseded |= dict.fromkeys(touched, now.isoformat())
    tidy(job, *(_TABLES[name] for name in sorted(touched)))
    hints.carry_over(job.lake)
    files = retain_state.files_by_bucket(job)
    for bucket, held in seen.buckets.items():
        if not held["files"]:
            held["files"] = files[bucket]
    retain_state.save(job, method, seen)


def _derive_anew(job: Job, rebuilt: Iterable[list[str | None]]) -> None:
    schema = dict.fromkeys(SESSION, pl.String())
    banned = pl.DataFrame(list(rebuilt), schema=schema, orient="row").unique()
    if banned.is_empty():
        return
    owned = banned.filter(pl.col("owner").is_not_null())
    sessions = owned.filter(pl.col("session_id").is_not_null())
    run_consolidate(job, owners=owned.select("tenant_id", "owner").unique(), erased=sessions)
    _forget(job)


def _forget(job: Job) -> None:
    for table in STORED:
        forget(job.lake, table)


def _vacuumable(job: Job, seen: Seen) -> list[str]:
    """Tables whose superseded files may go from the disk by now."""
    hours = timedelta(hours=job.policy.ingest.vacuum_after_hours)
    now = datetime.now(UTC)
    return sorted(n for n, at in seen.superseded.items() if datetime.fromisoformat(at) + hours <= now)


def _tell(run: _Run, result: StepResult) -> None:
    told = run.lines.told(run.total.removed, is_dry=run.job.is_dry)
    result.rows_out = sum(sum(reasons.values()) for reasons in told["removed"].values())
    result.detail = told
    kept = Counter(told["held"]).total() + Counter(told["waiting"]).total()
    if not (result.rows_out or kept or run.job.is_dry):
        result.state = "unchanged"
