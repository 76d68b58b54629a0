"""What a consolidation has to look at: the new episodes of a lake, in portions of whole owners.

A portion is some buckets, or a slice of one by owner, so that memory is bounded and no owner is cut. What
is derived is derived of whole units (a session, a topic, the claims of one subject and predicate), and
only of those that the new episodes touch; a complete run takes all of them, and removes what has no
source any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from flows.job import Job
from lake import revisions, tables
from lake.revisions import Changes, Writer
from transforms.claims.imported import is_memory
from transforms.owners import owner_expr
from transforms.schemas import EPISODES, FORGOTTEN, Table
from transforms.scopes import PATTERNS_OWNER, is_copy

WHOLE_ROWS = 60_000
"""Episodes of the owners with news that are read once and kept, about 1 KB each; of more the ones that are
asked for are read each time."""
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
        owners: ``tenant_id`` and ``owner`` of those that have news; None in a complete run: all.
        light: All episodes of these owners without their texts, with ``owner``.
        fresh: The new ones whole, with ``owner``; of injected context only memories of other stores, which
            are facts and no more, are among them.
        whole: All episodes of these owners whole; None where they are too many.
    """

    job: Job
    scope: Scope
    writer: Writer
    buckets: tuple[int, ...]
    part: tuple[int, int]
    owners: pl.DataFrame | None
    light: pl.DataFrame
    fresh: pl.DataFrame
    whole: pl.DataFrame | None
    _stood: dict[str, pl.DataFrame] = field(default_factory=dict)

    def episodes(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Whole episodes that match the keys on all of their columns, with ``owner``.

        Args:
            keys: Some columns of ``light``; null matches null.
        """
        wanted = self.light.join(keys, on=keys.columns, how="semi", nulls_equal=True)
        if self.whole is not None:
            if wanted.height == self.light.height:
                return self.whole
            return self.whole.join(wanted, on="episode_id", how="semi", maintain_order="left")
        months = wanted["month"].unique().to_list()
        rows = tables.scan(self.job.lake, EPISODES, buckets=self.buckets, months=months)
        rows = rows.filter(pl.col("episode_id").is_in(wanted["episode_id"].implode()))
        return rows.with_columns(owner_expr()).collect(engine="streaming").sort("episode_id")

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
        mine = rows.filter(pl.col("owner").is_not_null(), in_part(OWNER, *self.part), self.mine)
        found = mine.select("episode_id", *SESSION).collect().unique("episode_id")
        if self.owners is not None:
            found = found.join(self.owners, on=OWNER, how="semi")
        return self.scope.of_owners(found).join(self.light, on="episode_id", how="anti")

    @cached_property
    def sources(self) -> pl.DataFrame:
        """``episode_id`` of every episode that a derived row may rest on, here or forgotten."""
        return pl.concat([self.light.select("episode_id"), self.forgotten.select("episode_id")])

    def before(self, table: Table, keys: pl.DataFrame) -> pl.DataFrame:
        """``revisions.latest`` of the units a derivation speaks for.

        Args:
            table: A revisioned table that has ``tenant_id`` and ``owner``.
            keys: The units by columns that no revision changes, of owners with news; a complete run speaks
                for all of the portion's owners.
        """
        held = self._stood.get(table.name)
        if held is None:
            held = self._stood[table.name] = self._latest(table)
        if self.scope.is_complete:
            return held
        return held.join(keys, on=keys.columns, how="semi", nulls_equal=True, maintain_order="left")

    def revise(self, table: Table, keys: pl.DataFrame, after: pl.DataFrame) -> Changes:
        """Take up what a derivation of some units comes to."""
        return self.writer.revise(table, self.before(table, keys), after)

    def _latest(self, table: Table) -> pl.DataFrame:
        """What stood before the portion of all its owners, removed rows among it."""
        held = revisions.latest(self.job.lake, table, buckets=self.buckets, keys=self.owners, where=self.mine)
        # Patterns of several tenants are derived of no episodes: flows.global_patterns speaks for them.
        return self.scope.of_owners(held.filter(pl.col("owner") != PATTERNS_OWNER))

    @cached_property
    def mine(self) -> pl.Expr:
        """Of rows with ``tenant_id`` and ``owner``: the portion's, and few others; for reading files."""
        named = self.scope.owners if self.owners is None else self.owners
        if named is None:
            return in_part(OWNER, *self.part)
        return pl.all_horizontal(pl.col(name).is_in(named[name].unique().implode()) for name in OWNER)


def in_part(keys: Sequence[str], part: int, parts: int) -> pl.Expr:
    """Whether a row belongs to a slice of a bucket; rows of the same keys go together."""
    if parts == 1:
        return pl.lit(True)
    return pl.concat_str(pl.col(name).fill_null("") for name in keys).hash(0) % parts == part


def portion_of(
    job: Job, scope: Scope, writer: Writer, buckets: Sequence[int], part: tuple[int, int] = (0, 1)
) -> Portion:
    """Read a portion.

    Args:
        job: The run.
        scope: What it looks at.
        writer: Takes up what changes.
        buckets: Tenant buckets.
        part: Which slice of their owners, and of how many.
    """
    held = _owned(tables.scan(job.lake, EPISODES, buckets=buckets), scope, part)
    place = tuple(buckets), part
    if scope.is_complete:
        fresh = held.collect(engine="streaming").sort("episode_id")
        # Where text is sealed, an episode whose key was destroyed is among the light ones only.
        is_sealed = job.lake.encryption is not None
        light = held.select(*_LIGHT, "owner").collect() if is_sealed else fresh.select(*_LIGHT, "owner")
        return Portion(job, scope, writer, *place, None, light, fresh, fresh)
    news = _owned(tables.scan(job.lake, EPISODES, buckets=buckets, files=scope.files), scope, part)
    fresh = news.collect(engine="streaming").sort("episode_id")
    owners = pl.concat([fresh.select(OWNER), _ripening(job, scope, *place)]).unique()
    theirs = held.filter(_may_be_of(owners)).join(owners.lazy(), on=OWNER, how="semi")
    light = theirs.select(*_LIGHT, "owner").collect()
    whole = theirs.collect(engine="streaming").sort("episode_id") if light.height <= WHOLE_ROWS else None
    return Portion(job, scope, writer, *place, owners, light, fresh, whole)


def _ripening(job: Job, scope: Scope, buckets: tuple[int, ...], part: tuple[int, int]) -> pl.DataFrame:
    """Owners of episodes that have reached the age of summaries."""
    after, until = scope.ripe
    if until <= after:
        return EPISODES.empty().with_columns(owner_expr()).select(OWNER)
    rows = tables.scan(job.lake, EPISODES, buckets=buckets, months=months_between(after, until))
    return _owned(rows.filter(_is_ripe(scope)), scope, part).select(OWNER).unique().collect()


def months_between(after: int, until: int) -> list[str]:
    """Months from an instant to another, ``YYYY-MM``; both in microseconds since 1970."""
    first, last = (pl.from_epoch(pl.lit(instant), "us") for instant in (after, until))
    months = pl.datetime_range(first.dt.month_start(), last, "1mo")
    return pl.select(months.dt.strftime("%Y-%m")).to_series().to_list()


def _may_be_of(owners: pl.DataFrame) -> pl.Expr:
    """Of episodes: those of some owners and few others, told by columns that files keep as dictionaries."""
    users = owners["owner"].filter(owners["owner"].str.starts_with("user:")).str.slice(len("user:"))
    agents = owners["owner"].filter(owners["owner"].str.starts_with("agent:")).str.slice(len("agent:"))
    is_named = pl.col("user_id").is_in(users.unique().implode())
    is_agent = pl.col("user_id").is_null() & pl.col("agent_id").is_in(agents.unique().implode())
    return pl.col("tenant_id").is_in(owners["tenant_id"].unique().implode()) & (is_named | is_agent)


def _owned(rows: pl.LazyFrame, scope: Scope, part: tuple[int, int]) -> pl.LazyFrame:
    """Rows that something may be derived of, with ``owner``; of a copy that was shared nothing is."""
    mine = rows.filter(~pl.col("is_injected") | is_memory(), ~is_copy()).with_columns(owner_expr())
    mine = mine.filter(pl.col("owner").is_not_null(), in_part(OWNER, *part))
    if scope.owners is None:
        return mine
    return mine.filter(_may_be_of(scope.owners)).join(scope.owners.lazy(), on=OWNER, how="semi")


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
