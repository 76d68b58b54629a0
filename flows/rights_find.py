"""The memory that an id of a call names: in the tables, in cold storage, or landed and not ingested yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from flows.job import Job
from lake import revisions, tables
from lake.fresh import FreshTail
from lake.scope import Scope
from transforms.errors import UsageError
from transforms.schemas import COLD, EPISODES, FACTS, PROCEDURES, SUMMARIES, Table
from transforms.subjects import Subject

KINDS: tuple[Table, ...] = (EPISODES, COLD, FACTS, SUMMARIES, PROCEDURES)
"""Where a memory may stand, in the order in which it is looked for."""
PREFIX_CHARS = 8


@dataclass(frozen=True)
class Found:
    """A memory.

    Attributes:
        table: Where it stands; a landed row counts as an episode.
        row: Its values.
    """

    table: Table
    row: dict[str, Any]

    @property
    def id(self) -> str:
        """Its whole id."""
        return str(self.row[self.table.key[0]])

    @property
    def is_episode(self) -> bool:
        """Whether it was said or done, rather than derived."""
        return self.table in (EPISODES, COLD)

    @property
    def keeper(self) -> Subject:
        """Whose own record speaks of it: its user's, else its agent's, else its tenant's."""
        tenant, user, agent = (self.row[name] for name in ("tenant_id", "user_id", "agent_id"))
        if user:
            return Subject(tenant, user=user)
        return Subject(tenant, agent=agent) if agent else Subject(tenant)


def find(job: Job, tenant: str, memory: str) -> Found:
    """The memory of a tenant that an id, or the first eight characters of it or more, names.

    Raises:
        UsageError: There is none, or there are several.
    """
    if len(memory) < PREFIX_CHARS:
        raise UsageError(f"{memory!r} is too short for an id", f"Give {PREFIX_CHARS} characters or more.")
    found = {one.id: one for one in _beginning(job, tenant, memory)}
    if memory in found:
        return found[memory]
    if len(found) > 1:
        raise UsageError(f"{len(found)} memories of this tenant begin with {memory}", "Give more of the id.")
    if not found:
        raise UsageError(
            f"this tenant has no memory {memory}", "Take an id of recall --explain, facts or explain."
        )
    return next(iter(found.values()))


def is_known(job: Job, subject: Subject) -> bool:
    """Whether anything of a subject is in the lake; a memory that was found is."""
    if subject.memory is not None:
        return True
    for table in KINDS:
        if set(subject.columns()) <= set(table.names):
            own = [pl.col(name) == value for name, value in subject.columns().items()]
            rows = tables.scan(job.lake, table, buckets=[job.lake.bucket(subject.tenant)])
            if rows.filter(*own).select(table.key[0]).head(1).collect().height:
                return True
    return bool(_landed(job, subject.tenant, subject.owns()))


def _beginning(job: Job, tenant: str, prefix: str) -> list[Found]:
    """Every memory whose id begins so, each once."""
    buckets, found = [job.lake.bucket(tenant)], []
    for table in KINDS:
        named = (pl.col("tenant_id") == tenant) & pl.col(table.key[0]).str.starts_with(prefix)
        rows = tables.scan(job.lake, table, buckets=buckets).filter(named).collect()
        if "revision" in table.names:
            rows = revisions.alive(revisions.newest(table, rows))
        found += [Found(table, row) for row in rows.iter_rows(named=True)]
    return found or [
        Found(EPISODES, row) for row in _landed(job, tenant, pl.col("episode_id").str.starts_with(prefix))
    ]


def _landed(job: Job, tenant: str, wanted: pl.Expr) -> list[dict[str, Any]]:
    """Rows of the tenant that have landed and are in no table yet."""
    tail = FreshTail(job.lake, job.policy)
    everything = Scope(tenant, is_tenant_wide=True, is_administrative=True)
    rows = tail.episodes(everything, tables.version(job.lake, EPISODES))
    return [] if rows is None else rows.filter(wanted).to_dicts()
