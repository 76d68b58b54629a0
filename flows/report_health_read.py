"""What the checks of the health report read of a lake: each thing once, none of it the text of a row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from flows.job import Job
from flows.metrics_read import (
    Window,
    called_buckets,
    fact_ends,
    lifetimes,
    log_of,
    window_of,
    wishes_changed_at,
)
from flows.published import wishes_of
from flows.report_due import past_due
from lake import queries, revisions, tables
from lake.index import Generation
from lake.index_record import load_manifest, readable_pointer
from lake.index_sample import HELD_SCHEMA, held_rows
from lake.rights.anchors import examined_since
from lake.rights.audit import Verified
from transforms.health.checks_answers import CALL_COLUMNS, answers
from transforms.health.checks_rows import WRITER_KINDS, writers
from transforms.health.crowding import sampled
from transforms.health.scores import in_sample
from transforms.health.served import served_rows, with_ends, with_expiry
from transforms.predicates import SINGLE_VALUED
from transforms.retention import instant
from transforms.schemas import CLAIMS, EPISODES, FACTS, METRICS, QUARANTINE, STORED

FAULTS = (OSError, ValueError, RuntimeError, KeyError, TypeError, ArithmeticError)
"""What libraries raise of data that is damaged; our own errors come beside them."""

FLOAT32 = 1e-6
"""Trust is stored as float32: 0.4 is a little more than 0.4 in it."""
SHOWN_WRITERS = 50
PREFIX = "health."
"""Of names of measures of health."""
STATE_NAME = f"{PREFIX}state"
"""Name of the measure that keeps the state of a check, which is its part."""


@dataclass(frozen=True)
class Sources:
    """The lake as the checks look at it; what several of them need is read once.

    Args:
        job: Lake, policy and instant.
        days: How far back the window reaches.
        checkpoint: Number and hash of the event up to which the audit chain was found whole before; None: it
            is walked from its first event on.
    """

    job: Job
    days: float
    checkpoint: tuple[int, str] | None = None

    @cached_property
    def window(self) -> Window:
        """Calls and rows from the window on, up to the as-of."""
        return window_of(self.job, self.days)

    @cached_property
    def recalls(self) -> pl.DataFrame:
        """Candidates of the window's calls (``CALL_COLUMNS``), of a sample of calls where there are many."""
        logs = [log_of(self.job, self.window, bucket) for bucket in called_buckets(self.job, self.window)]
        heads = [rows.filter(pl.col("rank") <= 1).select(pl.len()) for rows in logs]
        calls = sum(int(found.item()) for found in pl.collect_all(heads, engine="streaming"))
        wanted = self.job.policy.health.sample_calls
        mine = in_sample("call_id", min(wanted / max(calls, 1), 1.0))
        found = pl.collect_all([rows.filter(mine).select(CALL_COLUMNS) for rows in logs], engine="streaming")
        return pl.concat(found).sort("recalled_at", "tenant_id", "call_id", "rank", "memory_id")

    @cached_property
    def served(self) -> pl.DataFrame:
        """Rows that callers were given, of ``recalls``, with their bucket."""
        return served_rows(self.recalls.lazy()).join(
            self.recalls.select("tenant_id", "tenant_bucket").unique(), on="tenant_id", how="left"
        )

    @cached_property
    def served_facts(self) -> pl.DataFrame:
        """Facts among ``served`` that are still held, with what was known of their end at the call."""
        parts = [with_ends(rows, fact_ends(self.job, bucket, rows)) for bucket, rows in self._by_bucket()]
        return pl.concat(parts) if parts else with_ends(self.served.drop("tenant_bucket"), FACTS.empty())

    @cached_property
    def judged(self) -> pl.DataFrame:
        """Rows of ``served`` whose expiry at the call can be told."""
        since, wishes = wishes_changed_at(self.job), wishes_of(self.job)
        parts = [
            with_expiry(rows, lifetimes(self.job, bucket, rows), self.job.policy, wishes, since)
            for bucket, rows in self._by_bucket()
        ]
        return pl.concat(parts) if parts else pl.DataFrame(schema={"is_expired": pl.Boolean})

    def _by_bucket(self) -> list[tuple[int, pl.DataFrame]]:
        parts = self.served.partition_by("tenant_bucket", as_dict=True)
        return sorted((int(key[0]), rows.drop("tenant_bucket")) for key, rows in parts.items())

    @cached_property
    def answers(self) -> pl.DataFrame:
        """``checks_answers.answers``: one row a call."""
        return answers(self.recalls)

    @cached_property
    def sampled(self) -> pl.DataFrame:
        """Rows of a sample of answers as the live index holds them: rank, text hash, trust, vector."""
        key = ["tenant_id", "call_id"]
        calls = sampled(self.answers.filter(pl.col("returned") > 0), self.job.policy.health.sample_answers)
        rows = self.served.join(calls.select(key), on=key, how="semi")
        if self.generation is None:
            return rows.clear().join(pl.DataFrame(schema=HELD_SCHEMA), on=["tenant_id", "memory_id"])
        held = held_rows(self.generation, rows)
        return rows.join(held, on=["tenant_id", "memory_id"], how="inner", maintain_order="left")

    @cached_property
    def contested(self) -> pl.DataFrame:
        """``tenant_id``, ``fact_id``, ``predicate``, ``slot`` of facts of one slot that contradict."""
        names = queries.statement("contested_facts").inputs["facts"]
        rows = tables.scan(self.job.lake, FACTS).filter(pl.col("predicate").is_in(list(SINGLE_VALUED)))
        stood = revisions.newest_rows(FACTS, rows.select(names).collect())
        # A fact that is alone in its slot contradicts none: nearly all are, and go before they are compared.
        slot = pl.struct(pl.col("tenant_id", "owner", "subject_key", "predicate", "aspect").hash(0))
        extra = {
            "facts": stood.filter(slot.is_duplicated()),
            "single_valued": pl.DataFrame({"predicate": list(SINGLE_VALUED)}),
        }
        return queries.query(self.job.lake, "contested_facts", {"as_of": self.job.as_of}, extra=extra)

    @cached_property
    def episodes(self) -> pl.LazyFrame:
        """Episodes that the lake had by the as-of."""
        rows = tables.scan(self.job.lake, EPISODES)
        return rows.filter(pl.col("ingested_at") <= instant(self.job.as_of))

    @cached_property
    def counts(self) -> dict[str, Any]:
        """Episodes: ``rows``, ``new`` in the window, ``low`` and ``low_new`` of low trust, ``first_at``."""
        is_new = pl.col("ingested_at") > instant(self.window.since)
        is_low = pl.col("trust") <= self.job.policy.health.low_trust + FLOAT32
        found = self.episodes.select(
            rows=pl.len(),
            new=is_new.sum(),
            low=is_low.sum(),
            low_new=(is_new & is_low).sum(),
            first_at=pl.col("ingested_at").min(),
        )
        return found.collect(engine="streaming").row(0, named=True)

    @cached_property
    def refused(self) -> pl.DataFrame:
        """``reason``, ``rows``, ``rows_before``: rows in quarantine of the window and from before it."""
        at, since = instant(self.job.as_of), instant(self.window.since)
        rows = tables.scan(self.job.lake, QUARANTINE).filter(pl.col("quarantined_at") <= at)
        is_new = pl.col("quarantined_at") > since
        counted = rows.group_by("reason").agg(
            rows=is_new.sum().cast(pl.Int64), rows_before=(~is_new).sum().cast(pl.Int64)
        )
        return counted.collect(engine="streaming").sort(["rows", "reason"], descending=[True, False])

    @cached_property
    def overdue(self) -> pl.DataFrame:
        """``table`` and ``overdue``: rows past their time and past the grace of a night, by table."""
        found = past_due(self.job).group_by("table").agg(pl.col("overdue").sum())
        return found.filter(pl.col("overdue") > 0).sort("table")

    @cached_property
    def sizes(self) -> pl.DataFrame:
        """``table``, ``files``, ``size_bytes``: what the tables take as they stand."""
        lake = self.job.lake
        rows = [(t.name, len(tables.data_files(lake, t)), tables.size_bytes(lake, t)) for t in STORED]
        schema = {"table": pl.String, "files": pl.Int64, "size_bytes": pl.Int64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    @cached_property
    def writers(self) -> pl.DataFrame:
        """``checks_rows.WRITERS_SCHEMA``: the writers of claims that rose most."""
        health, at = self.job.policy.health, instant(self.job.as_of)
        is_new = pl.col("recorded_at") > instant(self.window.since)
        rows = tables.scan(self.job.lake, CLAIMS).filter(pl.col("recorded_at") <= at)
        counted = [
            rows.group_by("tenant_id", pl.lit(kind).alias("kind"), pl.col(kind).alias("writer")).agg(
                claims=is_new.sum().cast(pl.Int64), claims_before=(~is_new).sum().cast(pl.Int64)
            )
            for kind in WRITER_KINDS
        ]
        claims = pl.concat(pl.collect_all(counted, engine="streaming"))
        return writers(claims, health.min_rows, health.min_writers).head(SHOWN_WRITERS)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """``sql/runs_by_step.sql``."""
        at = {"since": self.window.since, "as_of": self.job.as_of}
        return queries.query(self.job.lake, "runs_by_step", at)

    @cached_property
    def measured(self) -> pl.DataFrame:
        """Measures of health that earlier nights took (``schemas.METRICS``), oldest first."""
        rows = tables.scan(self.job.lake, METRICS).filter(
            pl.col("name").str.starts_with(PREFIX), pl.col("as_of_at") <= instant(self.job.as_of)
        )
        return rows.collect().sort("as_of_at", "measured_at", "name", "part")

    @cached_property
    def audited(self) -> Verified:
        """The audit chain, read from the checkpoint on."""
        return examined_since(self.job.lake, self.checkpoint)

    @cached_property
    def generation(self) -> Generation | None:
        """The live index, opened; None before the first publish.

        Raises:
            LakeError: Its manifest is damaged.
        """
        pointer = readable_pointer(self.job.lake)
        return (
            None
            if pointer is None
            else Generation(self.job.lake, load_manifest(self.job.lake, pointer.generation))
        )
