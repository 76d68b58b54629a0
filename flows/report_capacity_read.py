"""What the capacity report reads of a lake: sizes, counts and instants; no text, and no person's name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import polars as pl

from flows.job import Job
from flows.recalled import waiting_recalls
from lake import measured, measured_index, tables
from lake.index import Manifest, load_manifest, read_pointer
from lake.rights.standing import load_all
from transforms import standing as wishes_of
from transforms.planning import rates
from transforms.planning.curves import PROBES_SCHEMA
from transforms.planning.growth import HISTORY_SCHEMA, Window
from transforms.planning.index_sizes import HELD_SCHEMA, PARTS_SCHEMA, parts_of
from transforms.planning.lifetimes import TIERED
from transforms.planning.sizes import FILES_SCHEMA, GROUPS_SCHEMA, SAMPLED_SCHEMA, by_part
from transforms.retention import expiry_expr, instant
from transforms.schemas import COLD, EPISODES, FACTS, FORGOTTEN, PROCEDURES, RECALLS, STORED, Table

KINDS = (EPISODES.name, COLD.name, FACTS.name, PROCEDURES.name)
"""Tables whose rows are told apart by their kind."""
EARLY = ("stale", "decayed", "over_capacity", "forbidden_topic", "orphaned")
"""Reasons that take a row before its time."""
NO_TENANT = "no tenant known"
"""Whose a refused row is that names none."""
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Sizes:
    """Sizes of the tables: ``files``, ``sampled``, ``probes``, and ``parts`` of everything below the root."""

    files: pl.DataFrame
    sampled: pl.DataFrame
    probes: pl.DataFrame
    parts: pl.DataFrame


@dataclass(frozen=True)
class Served:
    """The live generation: its manifest, ``parts``, ``held`` scopes and memories by kind; None: none."""

    manifest: Manifest | None
    parts: pl.DataFrame
    held: pl.DataFrame
    kinds: dict[str, int]


def sizes(job: Job) -> Sizes:
    """Sizes of all tables, and what lies beside them."""
    plan = job.policy.plan
    files, sampled, probes = [], [], []
    with job.progress.task("measure tables", len(STORED), "tables") as advance, tables.held_open():
        for table in STORED:
            found = measured.live_files(job.lake, table)
            names = found["file"].to_list()
            files.append(found)
            sampled.append(measured.column_bytes(job.lake, table, names, plan.sampled_files))
            probes.append(measured.probes(job.lake, table, names, plan.probe_rows))
            advance(1)
    whole = pl.concat([pl.DataFrame(schema=FILES_SCHEMA), *files])
    pointer = read_pointer(job.lake)
    live, kept = (pointer.live(), pointer.kept()) if pointer else ((), frozenset[str]())
    return Sizes(
        whole,
        pl.concat([pl.DataFrame(schema=SAMPLED_SCHEMA), *sampled]),
        pl.concat([pl.DataFrame(schema=PROBES_SCHEMA), *probes]),
        by_part(measured.objects(job.lake), whole, live, kept),
    )


def served(job: Job) -> Served:
    """The live generation of the index."""
    pointer = read_pointer(job.lake)
    if pointer is None:
        return Served(None, pl.DataFrame(schema=PARTS_SCHEMA), pl.DataFrame(schema=HELD_SCHEMA), {})
    manifest = load_manifest(job.lake, pointer.generation)
    below = measured.objects(job.lake, f"index/{pointer.generation}/")
    return Served(
        manifest,
        parts_of(measured_index.index_bytes(job.lake, manifest), int(below["bytes"].sum())),
        measured_index.held_scopes(job.lake, manifest, job.policy.recall, job.policy.plan.probe_scopes),
        measured_index.kind_counts(job.lake, manifest),
    )


def history(job: Job) -> pl.DataFrame:
    """Episodes that ever came (``growth.HISTORY_SCHEMA``): held, cold, and those that retention took out.

    Of erased ones nothing is known, as it must be.
    """
    told = load_all(job.lake)
    wishes = wishes_of.periods(told), wishes_of.pins(told)
    due = expiry_expr(job.policy.retention, *wishes).alias("due_at")
    held = [_past(job, table, due) for table in (EPISODES, COLD)]
    gone = tables.scan(job.lake, FORGOTTEN).filter(pl.col("removed_at") <= instant(job.as_of))
    seconds = {tier: s for tier, s in job.policy.retention.ttl_seconds().items() if s is not None}
    lived = pl.col("retention_tier").replace_strict(seconds, default=None, return_dtype=pl.Int64)
    forgotten = gone.filter(pl.col("reason") != "cold").select(
        "tenant_id",
        kind=pl.lit(""),
        day=pl.col("event_at").dt.date(),
        lifetime_days=(lived / _DAY.total_seconds()).ceil(),
        gone_day=pl.col("removed_at").dt.date(),
        is_early=pl.col("reason").is_in(EARLY),
        is_late=pl.lit(False),
        chars=pl.lit(0, pl.Int64),
    )
    rows = pl.concat(
        [r.cast({n: t for n, t in HISTORY_SCHEMA.items() if n != "rows"}) for r in (*held, forgotten)]
    )
    by = [name for name in HISTORY_SCHEMA if name not in ("rows", "chars")]
    counted = rows.group_by(by).agg(rows=pl.len().cast(pl.Int64), chars=pl.col("chars").sum())
    return (
        counted.collect(engine="streaming")
        .select(HISTORY_SCHEMA.names())
        .cast(HISTORY_SCHEMA)
        .sort(by, nulls_last=True)
    )


def _past(job: Job, table: Table, due: pl.Expr) -> pl.LazyFrame:
    rows = tables.scan(job.lake, table, as_stored=True)
    known = rows.filter(
        (pl.col("event_at") <= instant(job.as_of)) & (pl.col("ingested_at") <= instant(job.as_of))
    )
    lived = (pl.col("due_at") - pl.col("event_at")).dt.total_seconds() / _DAY.total_seconds()
    late = timedelta(days=job.policy.plan.late_days)
    return known.with_columns(due).select(
        "tenant_id",
        "kind",
        day=pl.col("event_at").dt.date(),
        lifetime_days=lived.ceil().clip(1),
        gone_day=pl.lit(None, dtype=pl.Date),
        is_early=pl.lit(False),
        is_late=pl.col("ingested_at") - pl.col("event_at") > late,
        chars="content_chars",
    )


def distinct_texts(job: Job) -> tuple[tuple[int, int], tuple[int, int]]:
    """Episodes and distinct texts of their tenants: of all, and of about half of the persons."""
    rows = tables.scan(job.lake, EPISODES, as_stored=True)
    is_half = pl.col("user_id").fill_null("").hash(0) % 2 == 0
    text = pl.struct("tenant_id", "content_hash")
    counted = rows.select(
        all_rows=pl.len(),
        all_texts=text.n_unique(),
        half_rows=is_half.sum(),
        half_texts=text.filter(is_half).n_unique(),
    ).collect(engine="streaming")
    whole, texts, half, half_texts = counted.row(0)
    return (int(whole), int(texts)), (int(half), int(half_texts))


def groups(job: Job) -> pl.DataFrame:
    """Rows of each table by tenant and kind (``sizes.GROUPS_SCHEMA``), as they lie in the files."""
    counted = [pl.DataFrame(schema=GROUPS_SCHEMA)]
    for table in STORED:
        if "tenant_id" not in table.names:
            continue
        rows = tables.scan(job.lake, table, as_stored=True).select(
            pl.col("tenant_id").fill_null(NO_TENANT),
            kind=pl.col("kind") if table.name in KINDS else pl.lit(""),
            chars=pl.col("content_chars") if "content_chars" in table.names else pl.lit(0, pl.Int64),
        )
        found = rows.group_by("tenant_id", "kind").agg(
            rows=pl.len().cast(pl.Int64), chars=pl.col("chars").sum()
        )
        named = found.with_columns(table=pl.lit(table.name)).select(GROUPS_SCHEMA.names())
        counted.append(named.collect(engine="streaming").cast(GROUPS_SCHEMA))
    return pl.concat(counted).sort("table", "tenant_id", "kind")


def standing_counts(job: Job) -> dict[str, int]:
    """Rows that stand of each revisioned table, by table."""
    found = {}
    for table in STORED:
        if "revision" not in table.names or "tenant_id" not in table.names:
            continue
        rows = tables.scan(job.lake, table, as_stored=True).select(*table.key, "revision", "is_removed")
        newest = rows.group_by(table.key).agg(pl.col("is_removed").sort_by("revision").last())
        alive = newest.select((~pl.col("is_removed")).sum()).collect(engine="streaming")
        found[table.name] = int(alive.item() or 0)
    return found


def tiers(job: Job) -> dict[str, str]:
    """Tier that most rows have of each table whose rows name one."""
    found = {}
    for table in STORED:
        if table.name not in TIERED:
            continue
        rows = tables.scan(job.lake, table, as_stored=True).group_by("retention_tier").len()
        counted = rows.collect(engine="streaming").sort(["len", "retention_tier"], descending=[True, False])
        if counted.height:
            found[table.name] = str(counted["retention_tier"][0])
    return found


def landed_until(job: Job) -> date | None:
    """Day of the last landing until the as-of; None before the first."""
    rows = tables.scan(job.lake, EPISODES, as_stored=True).filter(pl.col("ingested_at") <= instant(job.as_of))
    last = rows.select(pl.col("ingested_at").max()).collect(engine="streaming").item()
    return last.date() if isinstance(last, datetime) else None


def agents(job: Job, window: Window) -> int:
    """Pairs of agent and person that wrote in the window: each counts as an agent with a scope of its own."""
    day = pl.col("event_at").dt.date()
    rows = tables.scan(job.lake, EPISODES, as_stored=True).filter(day.is_between(window.first, window.last))
    counted = rows.select(pl.struct("tenant_id", "agent_id", "user_id").n_unique().alias("agents")).collect(
        engine="streaming"
    )
    return int(counted.item())


def calls(job: Job) -> tuple[pl.DataFrame, float]:
    """Logged calls of the window by hour (``rates.CALLS_SCHEMA``), and the days they span."""
    until, since = instant(job.as_of), instant(job.as_of) - timedelta(days=job.policy.plan.window_days)
    wanted = ("call_id", "recalled_at", "seconds", "verb")
    folded = tables.scan(job.lake, RECALLS, as_stored=True).select(wanted)
    waiting = [waiting_recalls(job.lake, bucket).select(wanted).lazy() for bucket in range(job.lake.buckets)]
    rows = pl.concat([folded, *waiting]).filter(
        (pl.col("recalled_at") > since) & (pl.col("recalled_at") <= until) & (pl.col("verb") != "restore")
    )
    each = rows.group_by("call_id").agg(
        pl.col("recalled_at").min(), pl.col("seconds").max(), rows=pl.len().cast(pl.Int64)
    )
    hours = (
        each.group_by(hour=pl.col("recalled_at").dt.truncate("1h"))
        .agg(
            calls=pl.len().cast(pl.Int64),
            rows=pl.col("rows").sum(),
            seconds=pl.col("seconds").drop_nulls().sort(),
            first=pl.col("recalled_at").min(),
        )
        .sort("hour")
        .collect(engine="streaming")
    )
    if hours.is_empty():
        return pl.DataFrame(schema=rates.CALLS_SCHEMA), 0.0
    first = hours["first"][0]
    days = max((job.as_of - first) / _DAY, 1.0)  # of less than a day nothing is known of the others
    return hours.select(rates.CALLS_SCHEMA.names()).cast(rates.CALLS_SCHEMA), days
