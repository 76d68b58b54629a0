"""What judging tenant buckets came to: counts, what goes, and when each has to be judged again.

Small buckets are judged together, a large one in parts of whole owners, so that neither their number nor
their size tells in the time or the memory; of a part only what goes is kept. Decay leaves what it found with
the job, and retain goes on from it: a night judges once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from flows.job import Job
from flows.retain_groups import grouped
from flows.retain_ledger import Lines, lines_by_bucket, waited_tenants
from flows.retain_lineage import version_lineage
from flows.retain_parts import Part
from flows.retain_plan import Instructions, Plan, access_of, match_of, plan_buckets
from flows.retain_remove import tier_expr
from flows.retain_rests import with_orphans
from lake import tables
from transforms.forgetting.verdicts import KEYS
from transforms.schemas import CLAIMS, DECISIONS, EPISODES, FORGOTTEN, LINEAGE, STORED, Table

KEPT_ROWS = 300_000
"""Rows that go which decay keeps for retain, in all: some 100 MB. Buckets beyond are judged again."""
_VERDICT = ("tenant_id", "tenant_bucket", "reason", "due_at", "known_at", "next_at", "state")
_WANTED = {*_VERDICT, "tier", "month", "episode_id", "owner", "session_id", "is_listed"}
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
    buckets: Sequence[int],
    look: Callable[[Plan], None] | None = None,
    *,
    is_counted: bool = True,
) -> dict[int, Judged]:
    """Judge buckets.

    Args:
        job: At which instant, by which policy.
        told: What people asked for.
        buckets: Which.
        look: Called with the verdicts of each part, which are not kept.
        is_counted: Whether retain shall go on from it; without, only ``look`` is called.
    """
    found = dict[int, Judged]()
    waited = waited_tenants(job) if is_counted else frozenset()
    for group in grouped(job, buckets):
        going, here = list[dict[str, pl.DataFrame]](), {bucket: Judged() for bucket in group.buckets}
        for part, plan in parts(job, told, group.buckets, group.parts):
            if look is not None:
                look(plan)
            if is_counted:
                _add(job, here, plan, waited)
                marked, orphans = with_orphans(job, group.buckets, part, plan, told.wishes.holds)
                going.append({**_narrow(marked.verdicts), **_narrow(orphans)})
        if is_counted:
            _end(job, here, going, waited)
        found |= here
    return found


def parts(job: Job, told: Instructions, buckets: Sequence[int], count: int) -> Iterator[tuple[Part, Plan]]:
    """Verdicts of buckets, some whole owners at a time.

    An owner is never cut: budgets, and what rests on what, hold within one. So the largest owner of a
    lake bounds the memory from below.
    """
    access = access_of(job, buckets)
    for number in range(count):
        part = Part(number, count)
        yield part, plan_buckets(job, told, buckets, part, access)


def _end(
    job: Job, found: dict[int, Judged], going: list[dict[str, pl.DataFrame]], waited: frozenset[str]
) -> None:
    """Take up what goes with other rows, and give each bucket its own."""
    whole = {name: pl.concat([one[name] for one in going]) for name in going[0]}
    following = followers(job, list(found), whole)
    _add(job, found, following, waited)
    for name, rows in _narrow(following.verdicts).items():
        whole[name] = pl.concat([rows, whole[name]], how="diagonal") if name in whole else rows
    split = {name: _by_bucket(rows) for name, rows in whole.items()}
    for bucket, judged in found.items():
        verdicts = {name: split[name].get(bucket, rows.clear()) for name, rows in whole.items()}
        judged.plan = Plan(verdicts, judged.rows)
        judged.is_clear = judged.is_clear and not any(rows.height for rows in verdicts.values())


def _by_bucket(rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
    parts = rows.partition_by("tenant_bucket", as_dict=True) if rows.height else {}
    return {int(bucket): part for (bucket,), part in parts.items()}


def _add(job: Job, found: Mapping[int, Judged], plan: Plan, waited: frozenset[str]) -> None:
    for rows in plan.verdicts.values():
        if rows.is_empty():
            continue
        stays = pl.col("next_at").filter(pl.col("state") != "goes").min()
        is_clear = (pl.col("state") == "stays").all()
        counted = rows.group_by("tenant_bucket").agg(pl.len(), stays, clear=is_clear)
        for bucket, count, next_at, clear in counted.iter_rows():
            one = found[bucket]
            one.rows += count
            one.is_clear = one.is_clear and clear
            one.next_at = min(filter(None, (one.next_at, next_at)), default=None)
    for bucket, lines in lines_by_bucket(job, plan, waited).items():
        found[bucket].lines.take(lines)
        found[bucket].is_clear = found[bucket].is_clear and not lines.tenants


def _narrow(verdicts: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """What goes, in the columns that are needed to take it out and what goes with it."""
    found = {}
    for name, rows in verdicts.items():
        wanted = {*_WANTED, *match_of(_TABLES[name])}
        wanted |= set(FORGOTTEN.names if name == EPISODES.name else ())
        columns = [column for column in rows.columns if column in wanted]
        found[name] = rows.select(columns).filter(pl.col("state") == "goes")
    return found


def followers(job: Job, buckets: Sequence[int], going: Mapping[str, pl.DataFrame]) -> Plan:
    """Verdicts on what goes with other rows: decisions on claims, and lineage of derived rows."""
    claims = going[CLAIMS.name].select(*_VERDICT, item_id="claim_id")
    keys = {name: key for name, key in KEYS.items() if name != EPISODES.name}
    derived = pl.concat(going[name].select(*_VERDICT, derived_id=key) for name, key in keys.items())
    links = _held(job, LINEAGE, "derived_id", buckets, derived)
    found = {
        DECISIONS.name: _held(job, DECISIONS, "item_id", buckets, claims),
        LINEAGE.name: pl.concat([links, version_lineage(job, buckets, going, _VERDICT)]),
    }
    return Plan(
        {name: rows.with_columns(tier_expr(rows.columns)) for name, rows in found.items()},
        sum(rows.height for rows in found.values()),
    )


def _held(job: Job, table: Table, key: str, buckets: Sequence[int], named: pl.DataFrame) -> pl.DataFrame:
    """Those of the named rows that a table holds."""
    if named.is_empty():
        return named
    held = tables.scan(job.lake, table, buckets=buckets).select(key)
    here = held.join(named.lazy().select(key), on=key, how="semi").unique().collect(engine="streaming")
    return named.join(here, on=key, how="semi")


def joined(plans: Sequence[Plan]) -> Plan:
    """What goes of several buckets, together."""
    names = plans[0].verdicts
    frames = {name: pl.concat([plan.verdicts[name] for plan in plans], how="diagonal") for name in names}
    return Plan(frames, sum(plan.rows for plan in plans))


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
