"""What measures read of a lake: the recall log of a window, and what is held of the memories it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl

from flows.job import Job
from flows.recalled import waiting_recalls
from lake import tables
from lake.data_files import bucket_of
from lake.index_record import load_manifest, read_pointer
from lake.vectors import vectors_of
from transforms import ids
from transforms.embedding import DERIVED_TEXTS, embedded_columns, hashed_texts
from transforms.errors import LakeError
from transforms.forgetting.verdicts import SINCE
from transforms.health.scores import SCORED, in_sample
from transforms.health.served import LIFETIMES_SCHEMA
from transforms.retention import instant
from transforms.schemas import COLD, EPISODES, FACTS, PROCEDURES, RECALLS, REQUESTS, SUMMARIES, Table

MEMORIES: tuple[Table, ...] = (EPISODES, COLD, FACTS, SUMMARIES, PROCEDURES)
"""Where a memory that is named by its id may stand."""
WISHES_CHANGED = ("period", "pin", "unpin")
"""Requests after which another lifetime holds."""
TEXTS_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "memory_id": pl.String(),
        "text": pl.String(),
        "content_hash": pl.String(),
        "vector": pl.List(pl.Float32()),
    }
)


BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
"""Before any call."""


@dataclass(frozen=True)
class Window:
    """Calls that are looked at: after ``since``, up to and with ``until``.

    Args:
        since: UTC.
        until: UTC.
        tenant: Only this one's; None is all.
    """

    since: datetime
    until: datetime
    tenant: str | None = None

    @property
    def days(self) -> float:
        """Its length."""
        return (self.until - self.since) / timedelta(days=1)

    @property
    def months(self) -> list[str]:
        """Months that it touches, as partitions are named."""
        first, last = self.since.astimezone(UTC), self.until.astimezone(UTC)
        places = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
        return [f"{place // 12:04d}-{place % 12 + 1:02d}" for place in places]


def window_of(job: Job, days: float | None = None, tenant: str | None = None) -> Window:
    """The window that ends at the job's as-of; ``metrics.window_days`` long where ``days`` is None."""
    length = timedelta(days=job.policy.metrics.window_days if days is None else days)
    return Window(job.as_of - length, job.as_of, tenant)


def is_known(job: Job, tenant: str) -> bool:
    """Whether the lake holds a memory or a call of a tenant."""
    bucket = job.lake.bucket(tenant)
    for table in (*MEMORIES, RECALLS):
        rows = tables.scan(job.lake, table, buckets=[bucket]).filter(pl.col("tenant_id") == tenant)
        if rows.select("tenant_id").head(1).collect().height:
            return True
    return not waiting_recalls(job.lake, bucket).filter(pl.col("tenant_id") == tenant).is_empty()


def buckets_of(job: Job, window: Window) -> list[int]:
    """Tenant buckets of a window."""
    if window.tenant is not None:
        return [job.lake.bucket(window.tenant)]
    return list(range(job.lake.buckets))


def called_buckets(job: Job, window: Window, *, has_waiting: bool = False) -> list[int]:
    """Tenant buckets of a window that may hold calls; at least one.

    Args:
        job: On which lake.
        window: Which calls.
        has_waiting: Calls that no night has folded yet, too: they may be of any bucket.
    """
    buckets = buckets_of(job, window)
    if has_waiting:
        return buckets
    held = {bucket_of(name) for name in tables.data_files(job.lake, RECALLS)}
    return [bucket for bucket in buckets if bucket in held] or buckets[:1]


def log_of(job: Job, window: Window, bucket: int, *, has_waiting: bool = False) -> pl.LazyFrame:
    """Recalls of a bucket in a window; the tenant is in the store's predicate.

    Args:
        job: On which lake.
        window: Which calls.
        bucket: Which.
        has_waiting: Calls that no night has folded yet, too.
    """
    # First what waits: a night that folds it meanwhile has then put it into the table that is read next.
    waiting = RECALLS.empty() if not has_waiting else waiting_recalls(job.lake, bucket)
    waiting = waiting.filter(*_within(window))
    held = tables.scan(job.lake, RECALLS, buckets=[bucket], months=window.months).filter(*_within(window))
    if waiting.is_empty():
        return held
    calls = waiting.lazy().select("call_id").unique()
    both = held.select("call_id").join(calls, on="call_id", how="semi").unique().collect()
    return pl.concat([held, waiting.join(both, on="call_id", how="anti").lazy()])


def _within(window: Window) -> list[pl.Expr]:
    at = pl.col("recalled_at")
    found = [at > instant(window.since), at <= instant(window.until)]
    return found if window.tenant is None else [pl.col("tenant_id") == window.tenant, *found]


def fact_ends(job: Job, bucket: int, wanted: pl.DataFrame) -> pl.DataFrame:
    """When facts that are wanted stopped to hold: columns of ``served.with_ends``.

    Args:
        job: On which lake.
        bucket: Which.
        wanted: ``tenant_id`` and ``memory_id``.
    """
    names = ("tenant_id", "fact_id", "valid_until", "retired_at", "revision", "is_removed")
    return _newest(_named(job, bucket, FACTS, wanted, names), "fact_id").drop("revision", "is_removed")


def lifetimes(job: Job, bucket: int, wanted: pl.DataFrame) -> pl.DataFrame:
    """``LIFETIMES_SCHEMA`` of memories that are wanted (see ``fact_ends``) and still held."""
    found = []
    for table in MEMORIES:
        key = table.key[0]
        names = [n for n in (*LIFETIMES_SCHEMA, key, "revision", "is_removed") if n in table.names]
        held = _newest(_named(job, bucket, table, wanted, names), key).rename({key: "memory_id"})
        missing = {n: pl.lit(None, t) for n, t in LIFETIMES_SCHEMA.items() if n not in held.columns}
        found.append(held.with_columns(**missing).select(list(LIFETIMES_SCHEMA)).cast(LIFETIMES_SCHEMA))
    return pl.concat(found).unique(["tenant_id", "memory_id"], keep="first", maintain_order=True)


def texts(job: Job, bucket: int, wanted: pl.DataFrame, space: str | None) -> pl.DataFrame:
    """Text, content hash and vector of memories that are wanted (see ``fact_ends``) and still held.

    Args:
        job: On which lake.
        bucket: Which.
        wanted: ``tenant_id`` and ``memory_id``.
        space: Vector space; None for no vectors.

    Returns:
        ``TEXTS_SCHEMA``; the vector is null where the text has none.
    """
    found = []
    for table in MEMORIES:
        of_what = EPISODES if table is COLD else table
        extra = [n for n in ("content_hash", "revision", "is_removed") if n in table.names]
        names = [*dict.fromkeys([table.key[0], *embedded_columns(of_what), *extra])]
        held = _newest(_named(job, bucket, table, wanted, names), table.key[0])
        if held.height:
            found.append(_with_vectors(job, bucket, held, of_what, space))
    if not found:
        return pl.DataFrame(schema=TEXTS_SCHEMA)
    return pl.concat(found).unique(["tenant_id", "memory_id"], keep="first", maintain_order=True)


def served_space(job: Job) -> str | None:
    """The vector space of the live index, so that no model has to be loaded; None where none can be read."""
    try:
        pointer = read_pointer(job.lake)
        return None if pointer is None else load_manifest(job.lake, pointer.generation).space
    except LakeError:  # the doctor tells of a damaged index; measures do without its vectors
        return None


def scorable(job: Job, buckets: Sequence[int], ratio: float) -> pl.DataFrame:
    """``scores.SCORED`` and ``memory_id`` of a sample of the memories of buckets, injected rows apart."""
    episodes = tables.scan(job.lake, EPISODES, buckets=buckets).filter(
        ~pl.col("is_injected"), in_sample("episode_id", ratio)
    )
    parts = [episodes.select(*SCORED, memory_id="episode_id").collect(engine="streaming")]
    for table in (FACTS, SUMMARIES, PROCEDURES):
        key, since = table.key[0], SINCE[table.name]
        names = [n for n in (key, "tenant_id", "kind", "importance", since, "revision", "is_removed")
                 if n in table.names]  # fmt: skip
        rows = tables.scan(job.lake, table, buckets=buckets).filter(in_sample(key, ratio))
        stood = _newest(rows.select(names).collect(), key)
        kind = pl.col("kind") if "kind" in names else pl.lit("summary").alias("kind")
        parts.append(stood.select("tenant_id", kind, "importance", event_at=since, memory_id=key))
    return pl.concat(parts)


def wishes_changed_at(job: Job) -> datetime | None:
    """When a person's period or a pin was changed last, up to the as-of; None: never."""
    rows = tables.scan(job.lake, REQUESTS).filter(pl.col("kind").is_in(WISHES_CHANGED))
    moments = rows.select(at=pl.coalesce("closed_at", "requested_at")).filter(
        pl.col("at") <= instant(job.as_of)
    )
    last = moments.select(pl.col("at").max()).collect().item()
    return last if isinstance(last, datetime) else None


def _named(job: Job, bucket: int, table: Table, wanted: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """Rows of memories by tenant and id: no row of another tenant answers to an id.

    Asked for in a filter, not a join, so that text of other rows is neither read nor opened.
    """
    key = table.key[0]
    if wanted.is_empty():
        return table.empty().select(columns)
    tenants, names = (wanted[name].unique().sort() for name in ("tenant_id", "memory_id"))
    rows = tables.scan(job.lake, table, buckets=[bucket]).filter(
        pl.col("tenant_id").is_in(tenants.implode()), pl.col(key).is_in(names.implode())
    )
    pairs = wanted.select("tenant_id", pl.col("memory_id").alias(key))
    return (
        rows.select(columns).collect().join(pairs, on=["tenant_id", key], how="semi", maintain_order="left")
    )


def _newest(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Of a revisioned table, the rows that stand."""
    if "revision" not in rows.columns:
        return rows
    newest = rows.sort(key, "revision").unique(key, keep="last", maintain_order=True)
    return newest.filter(~pl.col("is_removed"))


def _with_vectors(job: Job, bucket: int, held: pl.DataFrame, table: Table, space: str | None) -> pl.DataFrame:
    """``TEXTS_SCHEMA`` of rows of one of ``embedding.EMBEDDED``."""
    text = DERIVED_TEXTS.get(table.name, "content")
    hashed = hashed_texts(held, table, job.policy.embed.max_text_chars)
    if "content_hash" not in hashed.columns:
        hashed = hashed.with_columns(content_hash=ids.row_ids(hashed, "tenant_id", text))
    nothing = pl.DataFrame(schema={"text_hash": pl.String, "vector": pl.List(pl.Float32)})
    vectors = nothing if space is None else vectors_of(job.lake, [bucket], space, hashed)
    joined = hashed.join(vectors, on="text_hash", how="left", maintain_order="left")
    shaped = joined.select("tenant_id", "content_hash", "vector", memory_id=table.key[0], text=text)
    return shaped.select(list(TEXTS_SCHEMA)).cast(TEXTS_SCHEMA)
