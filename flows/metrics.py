"""Measures of memory: of a window of calls, and of a night as rows of the table ``metrics``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from flows import metrics_read as read
from flows.job import Job
from flows.metrics_read import Window
from flows.retain_groups import grouped
from lake import queries, tables
from lake.rights import standing
from lake.rights.subjects import salt, tenant_hash
from lake.row_counts import rows_by_bucket
from transforms.forgetting.access import fold
from transforms.forgetting.due import Wishes
from transforms.health import crowding as near
from transforms.health import measures, scores
from transforms.health import served as given
from transforms.health.metric_rows import VALUES_SCHEMA, metric_rows, values
from transforms.schemas import COLD, EPISODES, METRICS, RECALLS


@dataclass(frozen=True)
class Looked:
    """What a window of calls was made of.

    Attributes:
        calls: ``measures.CALLS_SCHEMA``.
        served: ``served.SERVED``.
        facts: Served facts, from ``served.with_ends``.
        judged: Served rows, from ``served.with_expiry``.
        answers: A sample of answers, ``crowding.ANSWERS_SCHEMA`` with ``recalled_at``.
    """

    calls: pl.DataFrame
    served: pl.DataFrame
    facts: pl.DataFrame
    judged: pl.DataFrame
    answers: pl.DataFrame


def looked_at(job: Job, window: Window, *, has_waiting: bool = False) -> Looked:
    """Read a window of calls, a tenant bucket at a time.

    Args:
        job: On which lake, with which policy.
        window: Which calls.
        has_waiting: Calls that no night has folded yet, too.
    """
    wishes = Wishes.of(standing.load_all(job.lake))
    since = read.wishes_changed_at(job)
    calls, served, facts, judged = [], [], [], []
    for bucket in read.called_buckets(job, window, has_waiting=has_waiting):
        log = read.log_of(job, window, bucket, has_waiting=has_waiting)
        calls.append(measures.by_call(log))
        rows = given.served_rows(log)
        served.append(rows)
        wanted = rows.select("tenant_id", "memory_id").unique(maintain_order=True)
        facts.append(given.with_ends(rows, read.fact_ends(job, bucket, wanted)))
        held = read.lifetimes(job, bucket, wanted)
        judged.append(given.with_expiry(rows, held, job.policy, wishes, since))
    order = ("recalled_at", "tenant_id", "call_id")
    every = [pl.concat(frames).sort(order, maintain_order=True) for frames in (calls, served, facts, judged)]
    return Looked(every[0], every[1], every[2], every[3], _answers(job, every[0], every[1]))


def _answers(job: Job, calls: pl.DataFrame, served: pl.DataFrame) -> pl.DataFrame:
    """Near-identical rows in a sample of answers of two rows or more."""
    many = calls.filter(pl.col("returned") > 1)
    sample = near.sampled(many, job.policy.metrics.crowding_calls)
    rows = served.join(sample, on=["tenant_id", "call_id"], how="semi", maintain_order="left")
    space = read.served_space(job)
    found = [pl.DataFrame(schema=read.TEXTS_SCHEMA)]
    buckets = {tenant: job.lake.bucket(tenant) for tenant in rows["tenant_id"].unique().sort()}
    for bucket in sorted(set(buckets.values())):
        here = rows.filter(pl.col("tenant_id").is_in([t for t, b in buckets.items() if b == bucket]))
        found.append(read.texts(job, bucket, here.select("tenant_id", "memory_id").unique(), space))
    held = rows.join(pl.concat(found), on=["tenant_id", "memory_id"], how="inner", maintain_order="left")
    counted = near.answers(held, job.policy.recall.duplicate_cosine)
    dated = sample.select("tenant_id", "call_id", "recalled_at")
    return counted.join(dated, on=["tenant_id", "call_id"], maintain_order="left")


def measure_night(job: Job) -> pl.DataFrame:
    """The measures of a night: of the whole lake, and of the tenants with the most calls.

    Calls of ``metrics.window_days`` up to the as-of; nothing is written. A measure of which nothing is known,
    such as the latency of no call, has no row.

    Args:
        job: The night.

    Returns:
        ``schemas.METRICS``, each ``metric_id`` once: the same as-of gives the same ids.
    """
    window = read.window_of(job)
    looked = looked_at(job, window)
    most = looked.calls.group_by("tenant_id").len().sort(["len", "tenant_id"], descending=[True, False])
    names = most.head(job.policy.metrics.tenants)["tenant_id"].to_list()
    key = salt(job.lake)
    hashes = {name: tenant_hash(key, name) for name in sorted(names)}
    told = pl.concat([_recall_values(looked), _score_values(job), _forgetting_values(job, window, hashes)])
    return metric_rows(told, hashes, window_days=window.days, as_of=job.as_of, measured_at=datetime.now(UTC))


def record_night(job: Job) -> int:
    """Append the measures of a night that the table does not hold yet; returns how many it were."""
    fresh = unrecorded(job, measure_night(job))
    tables.append(job.lake, METRICS, fresh)
    return fresh.height


def unrecorded(job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``schemas.METRICS`` whose id the table does not hold yet."""
    held = tables.scan(job.lake, METRICS).filter(pl.col("as_of_at") == job.as_of).select("metric_id")
    return rows.join(held.collect(), on="metric_id", how="anti", maintain_order="left")


def _recall_values(looked: Looked) -> pl.DataFrame:
    """What calls come to, of the whole and of each tenant."""
    found = []
    for by in ([], ["tenant_id"]):
        timed = ("timed_calls", "seconds_p50", "seconds_p95", "seconds_p99")
        by_verb = measures.measured(looked.calls, [*by, "verb"]).select(*by, "verb", *timed)
        kinds = given.kinds(looked.served, by).drop("rows")
        found += [
            values(measures.measured(looked.calls, by)),
            values(by_verb, "verb"),
            values(kinds, "kind"),
            values(given.ages(looked.served, by).drop("rows"), "kind"),
            values(given.staleness(looked.facts, by)),
            values(given.expired(looked.judged, by)),
            values(near.crowding(looked.answers, by)),
        ]
    return pl.concat(found)


def _score_values(job: Job) -> pl.DataFrame:
    """How the retention scores of a sample of all memories are spread, by kind."""
    rows = sum(rows_by_bucket(job.lake, EPISODES).values())
    ratio = min(1.0, job.policy.metrics.score_rows / max(rows, 1))
    frames = [scored(job, group.buckets, ratio) for group in grouped(job, range(job.lake.buckets))]
    both = pl.concat(frames)
    # Once in the order that quantiles are taken in; the frame knows that it is.
    every = pl.concat([both, both.with_columns(kind=pl.lit(given.ALL))]).sort("score")
    return pl.concat([values(scores.scores(every, [*by, "kind"]), "kind") for by in ([], ["tenant_id"])])


def scored(job: Job, buckets: Sequence[int], ratio: float) -> pl.DataFrame:
    """``tenant_id``, ``kind`` and ``score`` of a sample of the memories of buckets."""
    memories = read.scorable(job, buckets, ratio)
    names = memories["memory_id"].implode()
    recalls = tables.scan(job.lake, RECALLS, buckets=buckets).filter(pl.col("memory_id").is_in(names))
    access = fold(recalls, job.policy.decay, job.as_of).collect(engine="streaming").lazy()
    return scores.with_score(memories.lazy(), access, job.policy.decay, job.as_of)


_MOVED = "cold"
"""Reason of episodes that went to cold storage: they count as deleted when they leave that."""


def _forgetting_values(job: Job, window: Window, hashes: dict[str, str]) -> pl.DataFrame:
    """Rows that retention took out a day, by reason, and rows that landed a day."""
    span = {"from_at": window.since, "until_at": window.until}
    removed = queries.query(job.lake, "removed_by_day", span)
    landed = int(queries.query(job.lake, "landed_by_day", span)["landed"].sum())
    names = {digest: name for name, digest in hashes.items()}
    named = removed.with_columns(
        tenant_id=pl.col("tenant_hash").replace_strict(names, default=None, return_dtype=pl.String)
    )
    per_day = pl.col("removed").sum() / window.days
    by_tenant = named.drop_nulls("tenant_id").group_by("tenant_id", "reason").agg(removed_rows_a_day=per_day)
    by_reason = removed.group_by("reason").agg(removed_rows_a_day=per_day)
    deleted = removed.filter(pl.col("reason") != _MOVED)
    gone = int(deleted.filter(pl.col("table").is_in([EPISODES.name, COLD.name]))["removed"].sum())
    whole = pl.DataFrame(
        {
            "removed_rows_a_day": [int(deleted["removed"].sum()) / window.days],
            "landed_rows_a_day": [landed / window.days],
            "removed_per_landed": [gone / landed if landed else None],
        },
        schema=dict.fromkeys(("removed_rows_a_day", "landed_rows_a_day", "removed_per_landed"), pl.Float64),
    )
    found = [values(whole), values(by_reason, "reason"), values(by_tenant, "reason")]
    return pl.concat(found).select(list(VALUES_SCHEMA))
