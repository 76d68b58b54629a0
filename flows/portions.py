"""What a consolidation has to look at: the new episodes of a lake, in portions of whole owners.

A portion is some buckets, or a slice of one by owner, so that memory is bounded and no owner is cut. What
is derived is derived of whole units (a session, a topic, the claims of one subject and predicate), and
only of those that the new episodes touch; a complete run takes all of them, and removes what has no
source any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from flows.job import Job
from lake import revisions, tables
from lake.revisions import Changes, Writer
from transforms.owners import owner_expr
from transforms.schemas import DERIVED, EPISODES, FORGOTTEN, Table
from transforms.scopes import PATTERNS_OWNER, is_copy

SLICE_ROWS = 100_000
"""New episodes of a bucket above this are taken in slices of whole owners."""
LIGHT_ROWS = 1_000_000
"""Buckets go together up to so many episodes, new and old, about 200 bytes each."""
_BUCKET = re.compile(r"tenant_bucket=(\d+)/")
OWNER = ["tenant_id", "owner"]
SESSION = [*OWNER, "session_id"]
_LIGHT = [
    "episode_id",
    "tenant_id",
    "user_id",
    "agent_id",
    "session_id",
    "month",
    "event_at",
    "is_injected",
    "source",
]


@dataclass(frozen=True)
class Scope:
    """Which episodes a run looks at.

    Attributes:
        files: Data files of episodes that came since the last run; None takes all episodes, and what
            is derived of none is removed.
        ripe: Episodes that reached the age of summaries since then lie after the first instant and at
            or before the second, in microseconds since 1970; equal where none did.
        owners: ``tenant_id`` and ``owner`` of the only ones that a complete run speaks for; None is all.
        erased: ``tenant_id``, ``owner`` and ``session_id`` of episodes that were erased: nothing that was
            said of these sessions as a whole stands on.
    """

    files: frozenset[str] | None
    ripe: tuple[int, int]
    owners: pl.DataFrame | None = None
    erased: pl.DataFrame | None = None

    @property
    def is_complete(self) -> bool:
        """Whether everything is derived anew."""
        return self.files is None

    def of_owners(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with ``tenant_id`` and ``owner`` that the run speaks for."""
        return rows if self.owners is None else rows.join(self.owners, on=OWNER, how="semi")


@dataclass(frozen=True)
class Portion:
    """Some whole owners of some buckets and their new episodes.

    Attributes:
        job: The run.
        scope: What the run looks at.
        writer: Takes up what changes.
        buckets: Tenant buckets.
        part: Which slice of their owners, and of how many.
        light: All episodes of these owners without their texts, with ``owner``.
        fresh: The new ones whole, with ``owner``; injected context is not among them.
    """

    job: Job
    scope: Scope
    writer: Writer
    buckets: tuple[int, ...]
    part: tuple[int, int]
    light: pl.DataFrame
    fresh: pl.DataFrame

    def episodes(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Whole episodes that match the keys on all of their columns, with ``owner``; never injected.

        Args:
            keys: Some columns of ``light``; null matches null.
        """
        wanted = self.light.join(keys, on=keys.columns, how="semi", nulls_equal=True)
        if wanted.height == self.fresh.height and self.scope.is_complete:
            return self.fresh
        months = wanted["month"].unique().to_list()
        rows = tables.scan(self.job.lake, EPISODES, buckets=self.buckets, months=months)
        found = rows.join(wanted.lazy().select("episode_id", "owner"), on="episode_id", how="inner")
        return found.collect(engine="streaming").sort("episode_id")

    @cached_property
    def sessions(self) -> pl.DataFrame:
        """Sessions that have a new episode."""
        return self.fresh.filter(pl.col("session_id").is_not_null()).select(SESSION).unique()

    @cached_property
    def in_sessions(self) -> pl.DataFrame:
        """All episodes of the sessions that have a new one."""
        return self.episodes(self.sessions)

    @cached_property
    def forgotten(self) -> pl.DataFrame:
        """``episode_id``, ``tenant_id``, ``owner``, ``session_id`` of episodes that retention took out.

        What was derived of them stands until its own time; of an erased one nothing does.
        """
        rows = tables.scan(self.job.lake, FORGOTTEN, buckets=self.buckets).with_columns(owner_expr())
        mine = rows.filter(pl.col("owner").is_not_null(), in_part(OWNER, *self.part))
        found = mine.select("episode_id", *SESSION).collect().unique("episode_id")
        return self.scope.of_owners(found).join(self.light, on="episode_id", how="anti")

    @cached_property
    def sources(self) -> pl.DataFrame:
        """``episode_id`` of every episode that a derived row may rest on, here or forgotten."""
        return pl.concat([self.light.select("episode_id"), self.forgotten.select("episode_id")])

    def before(self, table: Table, keys: pl.DataFrame) -> pl.DataFrame:
        """``revisions.latest`` of the units a derivation speaks for.

        Args:
            table: A revisioned table that has ``tenant_id`` and ``owner``.
            keys: The units by columns that no revision changes; a complete run speaks for all of the
                portion's owners.
        """
        units = None if self.scope.is_complete else keys
        held = revisions.latest(self.job.lake, table, buckets=self.buckets, keys=units)
        # Patterns of several tenants are derived of no episodes: flows.global_patterns speaks for them.
        mine = held.filter(in_part(OWNER, *self.part), pl.col("owner") != PATTERNS_OWNER)
        return self.scope.of_owners(mine)

    def revise(self, table: Table, keys: pl.DataFrame, after: pl.DataFrame) -> Changes:
        """Take up what a derivation of some units comes to."""
        return self.writer.revise(table, self.before(table, keys), after)


def in_part(keys: Sequence[str], part: int, parts: int) -> pl.Expr:
    """Whether a row belongs to a slice of a bucket; rows of the same keys go together."""
    if parts == 1:
        return pl.lit(True)
    return pl.concat_str(pl.col(name).fill_null("") for name in keys).hash(0) % parts == part


def portions(job: Job, scope: Scope, writer: Writer) -> Iterator[Portion]:
    """Every portion that has something to do; small buckets go together, large ones are cut."""
    waiting: list[int] = []
    light, fresh = _light(job, [], scope), _fresh(job, [], scope)
    for bucket in _due(job, scope):
        more = _light(job, [bucket], scope), _fresh(job, [bucket], scope)
        if waiting and (
            fresh.height + more[1].height > SLICE_ROWS or light.height + more[0].height > LIGHT_ROWS
        ):
            yield from _cut(job, scope, writer, waiting, light, fresh)
            waiting, light, fresh = [], light.clear(), fresh.clear()
        waiting.append(bucket)
        light, fresh = pl.concat([light, more[0]]), pl.concat([fresh, more[1]])
    if waiting:
        yield from _cut(job, scope, writer, waiting, light, fresh)


def _cut(
    job: Job, scope: Scope, writer: Writer, buckets: list[int], light: pl.DataFrame, fresh: pl.DataFrame
) -> Iterator[Portion]:
    parts = max(-(-fresh.height // SLICE_ROWS), 1)
    for part in range(parts):
        mine = in_part(OWNER, part, parts)
        yield Portion(
            job, scope, writer, tuple(buckets), (part, parts), light.filter(mine), fresh.filter(mine)
        )


def _due(job: Job, scope: Scope) -> list[int]:
    """Buckets that have a new or a newly ripe episode; for a complete run all that hold anything."""
    if scope.owners is not None:
        return sorted({job.lake.bucket(tenant) for tenant in scope.owners["tenant_id"]})
    if scope.is_complete:
        return sorted(_buckets_of(job, EPISODES).union(*(_buckets_of(job, table) for table in DERIVED)))
    found = {int(match[1]) for name in scope.files or () if (match := _BUCKET.search(name))}
    after, until = scope.ripe
    if until > after:
        months = pl.select(
            pl.datetime_range(
                pl.from_epoch(pl.lit(after), "us").dt.month_start(), pl.from_epoch(pl.lit(until), "us"), "1mo"
            ).dt.strftime("%Y-%m")
        ).to_series()
        rows = tables.scan(job.lake, EPISODES, months=months.to_list()).filter(_is_ripe(scope))
        found |= set(rows.select("tenant_bucket").unique().collect().to_series())
    return sorted(found)


def _buckets_of(job: Job, table: Table) -> set[int]:
    return {int(m[1]) for name in tables.data_files(job.lake, table) if (m := _BUCKET.search(name))}


def _light(job: Job, buckets: list[int], scope: Scope) -> pl.DataFrame:
    rows = tables.scan(job.lake, EPISODES, buckets=buckets).select(_LIGHT)
    return _owned(rows, scope).collect()


def _fresh(job: Job, buckets: list[int], scope: Scope) -> pl.DataFrame:
    rows = tables.scan(job.lake, EPISODES, buckets=buckets, files=scope.files if buckets else None)
    return _owned(rows, scope).collect(engine="streaming").sort("episode_id")


def _owned(rows: pl.LazyFrame, scope: Scope) -> pl.LazyFrame:
    """Rows that something may be derived of, with ``owner``; of a copy that was shared nothing is."""
    mine = rows.filter(~pl.col("is_injected"), ~is_copy()).with_columns(owner_expr())
    mine = mine.filter(pl.col("owner").is_not_null())
    return mine if scope.owners is None else mine.join(scope.owners.lazy(), on=OWNER, how="semi")


def _is_ripe(scope: Scope) -> pl.Expr:
    after, until = scope.ripe
    happened = pl.col("event_at").dt.epoch("us")
    return (happened > after) & (happened <= until)


def ripe_episodes(portion: Portion) -> pl.DataFrame:
    """Episodes of a portion that are old enough to be summarised, without their texts."""
    return portion.light.filter(pl.col("event_at").dt.epoch("us") <= portion.scope.ripe[1])


def newly_ripe(portion: Portion) -> pl.DataFrame:
    """Those of them that were not at the last run."""
    return portion.light.filter(_is_ripe(portion.scope))
