"""What the compliance report reads of a lake: counts, hashes and names of tenants, nothing of a person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from flows.job import Job
from lake import queries, tables
from lake.rights import audit
from lake.rights.anchors import examined
from lake.rights.standing import load_all
from lake.rights.subjects import salt, subject_hash, tenant_hash
from transforms.compliance.kept import ERASED
from transforms.retention import instant
from transforms.schemas import COLD, EPISODES, FACTS, INSTANT, QUARANTINE, RECALLS, REMOVALS
from transforms.standing import held
from transforms.subjects import Subject

NO_AGENT = "no agent"
HOLDS_SCHEMA = pl.Schema({"tenant": pl.String, "subject_kind": pl.String, "subject_hash": pl.String})
_CERTIFICATES: dict[str, pl.DataType | type[pl.DataType]] = {
    "request_id": pl.String,
    "subject_kind": pl.String,
    "subject_hash": pl.String,
    "outcome": pl.String,
    "completed_at": INSTANT,
    "seconds": pl.Float64,
    "files_read": pl.Int64,
    "leaks": pl.Int64,
    "audit_seq": pl.Int64,
    "certificate_hash": pl.String,
    "fault": pl.String,
}
CERTIFICATES_SCHEMA = pl.Schema(_CERTIFICATES)


def removals(job: Job) -> pl.DataFrame:
    """``month``, ``reason``, ``rows``: what retention took out, by month of the run."""
    rows = tables.scan(job.lake, REMOVALS).filter(pl.col("as_of_at") <= instant(job.as_of))
    month = pl.col("as_of_at").dt.strftime("%Y-%m")
    counted = rows.group_by(month.alias("month"), "reason").agg(rows=pl.col("rows_removed").sum())
    return counted.collect().filter(pl.col("rows") > 0).sort("month", "reason")


def tenants(job: Job) -> dict[str, str]:
    """Salted hash of every tenant that has rows, by id."""
    names = {name for table in (EPISODES, COLD, FACTS, QUARANTINE, RECALLS) for name in _names(job, table)}
    key = salt(job.lake)
    return {name: tenant_hash(key, name) for name in sorted(names)}


def _names(job: Job, table: Any) -> list[str]:
    rows = tables.scan(job.lake, table).select(pl.col("tenant_id").unique())
    return rows.collect(engine="streaming")["tenant_id"].drop_nulls().to_list()


def redactions(job: Job) -> pl.DataFrame:
    """``month``, ``kind``, ``found``: what was recognised as secret or private, by month of its event."""
    rows = [tables.scan(job.lake, table) for table in (EPISODES, COLD)]
    kinds = pl.concat(r.select("month", "redactions", "ingested_at") for r in rows)
    known = kinds.filter(pl.col("ingested_at") <= instant(job.as_of)).select("month", kind="redactions")
    counted = known.explode("kind").drop_nulls().group_by("month", "kind").agg(found=pl.len().cast(pl.Int64))
    return counted.collect(engine="streaming").sort("month", "kind")


def refused(job: Job) -> pl.DataFrame:
    """``reason``, ``rows``, ``last_at``: refused rows that are held, by reason."""
    rows = tables.scan(job.lake, QUARANTINE).filter(pl.col("quarantined_at") <= instant(job.as_of))
    counted = rows.group_by("reason").agg(
        rows=pl.len().cast(pl.Int64), last_at=pl.col("quarantined_at").max()
    )
    return counted.collect(engine="streaming").sort(["rows", "reason"], descending=[True, False])


def access(job: Job) -> pl.DataFrame:
    """``tenant``, ``agent`` (salted hash), ``calls``, ``memories``, ``users``, ``last_at``."""
    rows = queries.query(job.lake, "access_by_agent", {"as_of": job.as_of})
    key = salt(job.lake)
    agents = [
        NO_AGENT if agent is None else subject_hash(key, Subject(tenant, agent=agent))
        for tenant, agent in rows.select("tenant_id", "agent_id").iter_rows()
    ]
    named = rows.with_columns(tenant="tenant_id", agent=pl.Series(agents, dtype=pl.String))
    counts = ("calls", "memories", "users", "last_at")
    return named.select("tenant", "agent", *counts).sort(
        ["memories", "tenant", "agent"], descending=[True, False, False]
    )


def holds(job: Job, hashes: Mapping[str, str]) -> pl.DataFrame:
    """``HOLDS_SCHEMA``: legal holds in force; whom they are about is told by a salted hash."""
    key = salt(job.lake)
    rows = [
        (
            one.tenant if one.tenant in hashes else ERASED + tenant_hash(key, one.tenant),
            one.kind,
            subject_hash(key, one),
        )
        for one in held(load_all(job.lake))
    ]
    return pl.DataFrame(rows, schema=HOLDS_SCHEMA, orient="row").sort(HOLDS_SCHEMA.names())


def chain(job: Job) -> dict[str, Any]:
    """State of the audit chain: ``length``, ``head_seq``, ``head_hash``, ``broken``.

    Checked anew, and against every event that a request or certificate names.
    """
    found = examined(job.lake)
    head = found.head
    return {
        "length": found.length,
        "head_seq": head.seq if head else None,
        "head_hash": head.hash if head else None,
        "broken": found.broken,
    }


def certificates(job: Job) -> pl.DataFrame:
    """``CERTIFICATES_SCHEMA``: each certificate until the as-of, its hash and audit entry checked again.

    One that does not hold is listed at every as-of: its date is not to be trusted either.
    """
    entries = {entry.seq: entry.hash for entry in audit.entries(job.lake)}
    keys = [e.key for e in job.lake.storage.entries("certificates") if e.key.endswith(".json")]
    rows = [_certificate(key, job.lake.storage.read(key) or b"", entries) for key in keys]
    found = pl.DataFrame(rows, schema=CERTIFICATES_SCHEMA, orient="row")
    is_known = pl.col("fault").is_not_null() | (pl.col("completed_at") <= instant(job.as_of))
    return found.filter(is_known).sort("completed_at", "request_id")


def _certificate(key: str, raw: bytes, entries: Mapping[int, str]) -> dict[str, Any]:
    from flows.erase_certificate import HASH, hash_of

    request_id = key.removeprefix("certificates/").removesuffix(".json")
    try:
        data = json.loads(raw)
        completed = datetime.fromisoformat(data["completed_at"]).astimezone(UTC)
        named = {name: str(data[name]) for name in ("subject_kind", "subject_hash", "outcome", HASH)}
        seq, entry = int(data["audit"]["seq"]), str(data["audit"]["hash"])
        figures = {
            "seconds": float(data["seconds"]),
            "files_read": int(data["verification"]["files"]),
            "leaks": int(data["verification"]["leaks"]),
        }
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return {**dict.fromkeys(CERTIFICATES_SCHEMA), "request_id": request_id, "fault": "cannot be read"}
    fault = None
    if hash_of(data) != data[HASH]:
        fault = "was changed: its hash is another"
    elif data.get("request_id") != request_id:
        fault = "is of another request than its file name says"
    elif entries.get(seq) != entry:
        fault = f"audit entry {seq} is not the one it names"
    row = {"request_id": request_id, "completed_at": completed, **named, **figures, "fault": fault}
    return {name: row.get(name, seq if name == "audit_seq" else None) for name in CERTIFICATES_SCHEMA}
