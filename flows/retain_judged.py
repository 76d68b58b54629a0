"""What judging a tenant bucket came to: counts, what goes, and when it has to be judged again.

A bucket is judged in parts of whole owners, so that its size does not tell in the memory; of a part only
what goes is kept. Decay leaves what it found with the job, and retain goes on from it: a night judges once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from flows.job import Job
from flows.retain_around import unneeded_forgotten, unneeded_topics
from flows.retain_ledger import Lines, waited_tenants
from flows.retain_plan import Instructions, Part, Plan, access_of, match_of, plan_bucket
from flows.retain_remove import tier_expr
from lake import tables
from lake.row_counts import rows_by_bucket
from transforms.embedding import DERIVED_TEXTS
from transforms.forgetting.verdicts import KEYS
from transforms.schemas import (
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    LINEAGE,
    MODEL_RESULTS,
    RECALLS,
    STORED,
    Table,
)

PART_ROWS = 200_000
"""Rows judged at once, about: with all that is made on the way some 250 MB."""
KEPT_ROWS = 300_000
"""Rows that go which decay keeps for retain, in all: some 100 MB. Buckets beyond are judged again."""
_LARGE = (EPISODES, CLAIMS, FACTS, CONVERSATIONS, RECALLS, MODEL_RESULTS)
"""Tables that decide into how many parts a bucket is cut."""
_VERDICT = ("tenant_id", "reason", "due_at", "known_at", "next_at", "state")
_WANTED = {*_VERDICT, "tier", "month", "episode_id", "owner", "session_id"}
_TABLES = {table.name: table for table in STORED}


@dataclass
class Judged:
    """One bucket, judged.

    Attributes:
        lines: Counts by line of the ledger.
        rows: How many rows were judged.
        next_at: First later instant at which something else will be due.
        plan: What goes; None where that is not kept.
        is_clear: Nothing goes, is held or waits, and nothing waited when it was judged before; nor is
            anything kept for what is there no more.
        basis: What it was judged on, see ``basis_of``.
    """

    lines: Lines = field(default_factory=Lines)
    rows: int = 0
    next_at: datetime | None = None
    plan: Plan | None = None
    is_clear: bool = True
    basis: str = ""


def basis_of(job: Job, method: str, files: str, looked_at: datetime | None) -> str:
    """Names all that a verdict rests on: the same names the same verdict.

    Args:
        job: At which instant.
        method: ``retain_state.method_of``.
        files: Hash of the bucket's files.
        looked_at: ``Instructions.looked_at``.
    """
    return "|".join((method, files, job.as_of.isoformat(), looked_at.isoformat() if looked_at else ""))


def judge(
    job: Job,
    told: Instructions,
    bucket: int,
    look: Callable[[Plan], None] | None = None,
    *,
    is_counted: bool = True,
) -> Judged:
    """Judge a bucket.

    Args:
        job: At which instant, by which policy.
        told: What people asked for.
        bucket: Which.
        look: Called with the verdicts of each part, which are not kept.
        is_counted: Whether retain shall go on from it; without, only ``look`` is called.
    """
    found, going = Judged(), list[Plan]()
    waited = waited_tenants(job) if is_counted else frozenset()
    for plan in parts(job, told, bucket):
        if look is not None:
            look(plan)
        if is_counted:
            _add(job, found, plan, waited)
            going.append(_narrow(plan))
    if not is_counted:
        return found
    all_going = _joined(going)
    following = followers(job, bucket, all_going)
    _add(job, found, following, waited)
    found.plan = Plan({**all_going.verdicts, **following.verdicts}, found.rows)
    found.is_clear = found.is_clear and not _has_leftovers(job, told, bucket)
    return found


def parts(job: Job, told: Instructions, bucket: int) -> Iterator[Plan]:
    """Verdicts of a bucket, some whole owners at a time.

    An owner is never cut: budgets, and what rests on what, hold within one. So the largest owner of a
    lake bounds the memory from below.
    """
    largest = max(rows_by_bucket(job.lake, table).get(bucket, 0) for table in _LARGE)
    count = -(-largest // PART_ROWS) or 1
    access = access_of(job, bucket)
    for number in range(count):
        yield plan_bucket(job, told, bucket, Part(number, count), access)


def _has_leftovers(job: Job, told: Instructions, bucket: int) -> bool:
    """Whether something is kept for what is there no more."""
    holds = told.wishes.holds
    if unneeded_forgotten(job, bucket, holds).height:
        return True
    return any(rows.height for rows in unneeded_topics(job, bucket, holds).values())


def _add(job: Job, found: Judged, plan: Plan, waited: frozenset[str]) -> None:
    found.rows += plan.rows
    found.lines.add(job, plan, waited)
    found.is_clear = found.is_clear and plan.is_clear and not found.lines.tenants
    moments = [moment for moment in (found.next_at, plan.next_at) if moment is not None]
    found.next_at = min(moments, default=None)


def _narrow(plan: Plan) -> Plan:
    """What goes, in the columns that are needed to take it out and what goes with it."""
    found = {}
    for name in plan.verdicts:
        rows = plan.going(_TABLES[name])
        wanted = {*_WANTED, *match_of(_TABLES[name]), DERIVED_TEXTS.get(name, "")}
        wanted |= set(FORGOTTEN.names if name == EPISODES.name else ())
        found[name] = rows.select(column for column in rows.columns if column in wanted)
    return Plan(found, plan.rows)


def _joined(plans: list[Plan]) -> Plan:
    names = plans[0].verdicts
    frames = {name: pl.concat([plan.verdicts[name] for plan in plans]) for name in names}
    return Plan(frames, sum(plan.rows for plan in plans))


def followers(job: Job, bucket: int, going: Plan) -> Plan:
    """Verdicts on what goes with other rows: decisions on claims, and lineage of derived rows."""
    found = {DECISIONS.name: _decisions(job, bucket, going), LINEAGE.name: _lineage(job, bucket, going)}
    return Plan(
        {name: rows.with_columns(tier_expr(rows.columns)) for name, rows in found.items()},
        sum(rows.height for rows in found.values()),
    )


def _decisions(job: Job, bucket: int, going: Plan) -> pl.DataFrame:
    gone = going.verdicts[CLAIMS.name].select(*_VERDICT, item_id="claim_id")
    return gone if gone.is_empty() else _held(job, DECISIONS, "item_id", bucket, gone)


def _lineage(job: Job, bucket: int, going: Plan) -> pl.DataFrame:
    gone = [
        rows.select(*_VERDICT, derived_id=KEYS[name])
        for name, rows in going.verdicts.items()
        if name in KEYS and name != EPISODES.name
    ]
    named = pl.concat(gone)
    return named if named.is_empty() else _held(job, LINEAGE, "derived_id", bucket, named)


def _held(job: Job, table: Table, key: str, bucket: int, named: pl.DataFrame) -> pl.DataFrame:
    """Those of the named rows that a table holds."""
    held = tables.scan(job.lake, table, buckets=[bucket]).select(key)
    here = held.join(named.lazy().select(key), on=key, how="semi").unique().collect(engine="streaming")
    return named.join(here, on=key, how="semi")


def keep(job: Job, bucket: int, judged: Judged) -> None:
    """Leave it with the job for retain; what goes only as far as the memory allows."""
    held = sum(_going(one) for number, one in job.judged.items() if number != bucket)
    if held + _going(judged) > KEPT_ROWS:
        return
    job.judged[bucket] = judged


def _going(judged: Judged) -> int:
    return 0 if judged.plan is None else sum(rows.height for rows in judged.plan.verdicts.values())


def told_of(judged: Judged) -> dict[str, Any]:
    """What another process needs of it to go on, as JSON."""
    next_at = judged.next_at.isoformat() if judged.next_at else None
    return {"is_clear": judged.is_clear, "next_at": next_at, "rows": judged.rows}
