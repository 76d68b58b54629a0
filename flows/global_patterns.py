"""Global patterns: what several tenants do alike, anonymised, worked out anew and kept for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from flows.job import Job, StepResult, record, step
from lake import revisions, tables
from lake.rights import audit
from lake.sharing import grants
from lake.sharing.grants import Grant
from transforms.ids import tenant_bucket
from transforms.schemas import PROCEDURES
from transforms.scopes import PATTERNS_OWNER, SYSTEM_TENANT
from transforms.sharing.global_patterns import global_patterns, settled

NAME = "share-patterns"
MOST_SHOWN = 20


def run_global_patterns(job: Job, *, is_dry: bool = False) -> StepResult:
    """Work out the patterns of all tenants that contribute; those that lost their support are retired.

    Args:
        job: The run; call it inside ``exclusive`` where it writes.
        is_dry: Only say what would change.

    Returns:
        rows_in: skills looked at; rows_out: rows written. The detail counts ``tenants`` that contribute,
        ``patterns`` that enough of them stand behind, those ``added``, ``changed`` and ``retired``, and
        ``grants_ended``: records of grants that ran out, and go. Of a dry run ``shown`` holds the first
        sentences.
    """
    with step(job, NAME) as result:
        tenants, ended = grants.contributing(job.lake, job.as_of), _ended(job)
        skills = _skills(job, tenants)
        before = _before(job)
        bucket = job.lake.bucket(SYSTEM_TENANT)
        made = global_patterns(skills, job.policy, job.as_of, bucket)
        after = settled(made, revisions.alive(before))
        found = revisions.changes(PROCEDURES, before, after)
        result.rows_in, result.rows_out = skills.height, found.rows.height
        result.detail = {
            "tenants": len(tenants),
            "min_tenants": job.policy.sharing.min_tenants,
            "patterns": made.height,
            "added": found.added.height,
            "changed": found.changed.height,
            "retired": found.removed.height,
            "grants_ended": len(ended),
        }
        if is_dry:  # no sentence in the results of a night
            result.detail["shown"] = made["policy"].sort().head(MOST_SHOWN).to_list()
        if found.rows.is_empty():
            result.state = "unchanged"
        elif not is_dry:
            tables.append(job.lake, PROCEDURES, found.rows)
            _audit(job, result.detail)
        for grant in [] if is_dry else ended:
            grants.drop(job.lake, grant)
    if not is_dry:
        record(job, result, written={PROCEDURES.name: tables.version(job.lake, PROCEDURES)})
    return result


def is_needed(job: Job) -> bool:
    """Whether anybody contributes, a pattern stands that may have lost its support, or a grant ran out."""
    if grants.contributing(job.lake, job.as_of) or _ended(job):
        return True
    return not _before(job).filter(~pl.col("is_removed")).is_empty()


def shared_steps(job: Job) -> Iterator[StepResult]:
    """The step of a night; none where nobody shares anything."""
    if is_needed(job):
        yield run_global_patterns(job)


def _ended(job: Job) -> list[Grant]:
    """Grants that ran out, whose records the night removes."""
    return grants.run_out(grants.load_all(job.lake), job.as_of)


def _skills(job: Job, tenants: list[str]) -> pl.DataFrame:
    """Standing skills of the tenants, without their texts of evidence."""
    if not tenants:
        return PROCEDURES.empty().drop("revision", "is_removed")
    buckets = sorted({tenant_bucket(tenant, job.lake.buckets) for tenant in tenants})
    stood = revisions.standing(job.lake, PROCEDURES, buckets=buckets)
    return stood.filter(pl.col("tenant_id").is_in(tenants))


def _before(job: Job) -> pl.DataFrame:
    """The newest revision of every global pattern."""
    keys = pl.DataFrame({"tenant_id": [SYSTEM_TENANT], "owner": [PATTERNS_OWNER]})
    buckets = [job.lake.bucket(SYSTEM_TENANT)]
    return revisions.latest(job.lake, PROCEDURES, buckets=buckets, keys=keys)


def _audit(job: Job, detail: dict[str, Any]) -> None:
    counts = {name: int(detail[name]) for name in ("tenants", "patterns", "added", "changed", "retired")}
    audit.append(job.lake, "patterns_shared", at=job.as_of, counts=counts)
