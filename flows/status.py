"""Status: what the lake holds, what is published, what waits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl

from flows.job import Job
from flows.present import table
from flows.present_night import expired_line
from flows.rights_list import counts_line, rights_counts
from flows.setup import Output
from lake import landing, lineage, queries, recall_segments, tables
from lake.index import load_manifest, read_pointer
from lake.lake import VERSION
from lake.migrations.columns import drifts
from lake.online.working_file import PREFIX
from lake.rights.standing import load_all
from transforms import standing
from transforms.derived_memories import PUBLISHED
from transforms.errors import LakeError
from transforms.retention import expiry_expr
from transforms.schemas import EPISODES, STORED


def status_of(job: Job) -> Output:
    """Counts by tenant, quarantine by reason, vectors by model, the live index and the backlog."""
    lake = job.lake
    lifetimes = {"lifetimes": _lifetimes(job)}
    episodes = queries.query(lake, "episode_counts", {"as_of": job.as_of}, extra=lifetimes)
    data: dict[str, Any] = {
        "lake": lake.uri,
        "version": VERSION,
        "drift": [str(drift) for drift in drifts(lake)],
        "as_of": job.as_of.isoformat(),
        "tenants": _plain(episodes),
        "expired": int(episodes["expired"].sum()),
        "quarantine": _plain(queries.query(lake, "quarantine_counts")),
        "vectors": _plain(queries.query(lake, "vector_counts")),
        "last_runs": _plain(queries.query(lake, "last_runs", {"max_rows": 5})),
        "tables": _sizes(job),
        "index": _index(job),
        "rights": rights_counts(lake, datetime.now(UTC)),
        "recall_log_bytes": recall_segments.waiting_bytes(lake),
        "working_sessions": len([e for e in lake.storage.entries(PREFIX) if e.size_bytes]),
        "landed_segments": len([e for e in lake.storage.entries(landing.PREFIX) if e.size_bytes]),
    }
    return Output(data, "\n\n".join(_parts(data)))


def _lifetimes(job: Job) -> pl.DataFrame:
    """Episodes with when each of them expires: by tier, kind, own date, and its person's wishes."""
    told = load_all(job.lake)
    due = expiry_expr(job.policy.retention, standing.periods(told), standing.pins(told))
    columns = queries.statement("episode_counts").inputs["lifetimes"]
    return tables.scan(job.lake, EPISODES).with_columns(due).select(columns).collect(engine="streaming")


def _plain(frame: pl.DataFrame) -> list[dict[str, Any]]:
    instants = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Datetime)]
    wide = [
        name for name, dtype in frame.schema.items() if dtype == pl.Int128 or isinstance(dtype, pl.Decimal)
    ]
    return frame.with_columns(
        *(pl.col(n).dt.strftime("%Y-%m-%dT%H:%M:%SZ") for n in instants),
        *(pl.col(n).cast(pl.Int64) for n in wide),
    ).to_dicts()


def _sizes(job: Job) -> list[dict[str, Any]]:
    return [
        {
            "table": t.name,
            "version": tables.version(job.lake, t),
            "files": len(tables.data_files(job.lake, t)),
            "bytes": tables.size_bytes(job.lake, t),
        }
        for t in STORED
    ]


def _index(job: Job) -> dict[str, Any] | None:
    try:
        pointer = read_pointer(job.lake)
        if pointer is None:
            return None
        manifest = load_manifest(job.lake, pointer.generation)
    except LakeError as error:
        return {"damaged": error.message, "remedy": error.remedy}
    read = ((t, int(manifest.inputs.get(t.name, -1))) for t in (EPISODES, *PUBLISHED))
    behind = sum(lineage.mark(job.lake, table)[0] - version for table, version in read)
    return {
        "generation": pointer.generation,
        "kept": list(pointer.history),
        "rolled_back": pointer.rolled_back,
        "rows": manifest.rows,
        "space": manifest.space,
        "previous": dict(sorted(pointer.twins.get(pointer.generation, {}).items())),
        "as_of": manifest.as_of,
        "commits_behind": behind,
        "checks": manifest.checks,
    }


_TENANTS = ("tenant", "episodes", "users", "sessions", "expired", "first", "last")


def _behind(commits: int) -> str:
    """How many commits of episodes and of what is derived of them the live index has not seen."""
    return "1 commit behind" if commits == 1 else f"{commits:,} commits behind"


def _sizes_table(sizes: list[dict[str, Any]]) -> str:
    """Tables with what they take; a version of -1 is none."""
    rows = [
        (t["table"], "not made yet" if t["version"] < 0 else t["version"], t["files"], t["bytes"])
        for t in sizes
    ]
    return table("", ("table", "version", "files", "bytes"), rows)


def _parts(data: dict[str, Any]) -> list[str]:
    tenants = [
        (
            t["tenant_id"],
            t["episodes"],
            t["users"],
            t["sessions"],
            t["expired"],
            t["first_event_at"],
            t["last_event_at"],
        )
        for t in data["tenants"][:20]
    ]
    parts = [
        f"lake {data['lake']} as of {data['as_of']}",
        table("", _TENANTS, tenants, wraps=("tenant",), drops=("sessions", "users", "first")),
    ]
    if len(data["tenants"]) > len(tenants):
        parts.append(f"and {len(data['tenants']) - len(tenants):,} more tenants (--json lists all)")
    if data["expired"]:
        parts.append(expired_line(data["expired"]))
    if data["quarantine"]:
        rows = [(q["reason"], q["rows"], q["sources"]) for q in data["quarantine"]]
        parts.append(table("", ("quarantined", "rows", "sources"), rows))
    parts.append(_sizes_table(data["tables"]))
    parts += [f"table {drift}: see slowwave doctor" for drift in data["drift"]]
    index = data["index"]
    if index is None:
        parts.append("nothing published yet: run slowwave publish")
    elif "damaged" in index:
        parts.append(f"index damaged: {index['damaged']}. {index['remedy']}")
    else:
        parts.append(
            f"live: {index['generation']}, {index['rows']:,} rows of {index['space']}, "
            f"{_behind(index['commits_behind'])}; kept: {', '.join(index['kept'])}"
        )
        parts += [f"for the model before, {space}: {name}" for space, name in index["previous"].items()]
    return [*parts, counts_line(data["rights"]), *_waiting(data)]


def _waiting(data: dict[str, Any]) -> list[str]:
    """What is open, and what readers and writers left for the next night."""
    parts = [
        f"open sessions: {data['working_sessions']:,}",
        f"landed segments waiting: {data['landed_segments']}",
    ]
    if data["recall_log_bytes"]:
        parts.append(f"recall log waiting: {data['recall_log_bytes']:,} bytes, for the next night to fold")
    return parts
