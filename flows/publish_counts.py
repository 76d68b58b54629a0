"""What a publish must come to, counted without the code that builds it, a few buckets at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from flows.job import Job
from flows.published import dropped_episodes, wishes_of
from lake import revisions, tables
from lake.index import scope_hash
from lake.row_counts import rows_by_bucket
from transforms import retention
from transforms.derived_memories import PUBLISHED, live_rows
from transforms.forgetting.due import Wishes
from transforms.schemas import EPISODES, Table

GROUP_ROWS = 100_000
"""Buckets go together up to so many episodes and derived rows: about 400 MB of a worker's memory."""
_LIGHT = ("episode_id", "tenant_id", "user_id", "kind", "is_injected", "retention_tier", "expires_at",
          "event_at")  # fmt: skip
_COUNTED = ("live", "expired", "injected", "dropped", *(table.name for table in PUBLISHED))


@dataclass(frozen=True)
class Served:
    """Rows of some buckets by what becomes of them.

    Attributes:
        counts: Episodes that must be served (``live``), are past their time to live (``expired``), are
            ``injected`` context or ``dropped`` for their summary; and rows to be served of each derived
            table, by its name.
        large: Hashes of the scopes that get a table of their own, sorted.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    large: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Rows that a generation must hold."""
        return self.counts["live"] + sum(self.derived().values())

    def derived(self) -> dict[str, int]:
        """Derived rows that are served, by table."""
        return {table.name: self.counts[table.name] for table in PUBLISHED}

    def withheld(self) -> dict[str, int]:
        """Landed rows that are not served, by why."""
        always = {key: self.counts[key] for key in ("expired", "injected")}
        return always | ({"dropped": self.counts["dropped"]} if self.counts["dropped"] else {})

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def summed(parts: Iterable[Served]) -> Served:
    """Of several buckets together."""
    found = list(parts)
    counts = {name: sum(part.counts[name] for part in found) for name in _COUNTED}
    return Served(counts, sorted(scope for part in found for scope in part.large))


def bucket_groups(job: Job) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every bucket of the lake, in order, in groups that one worker holds; and about how many rows each."""
    counts = [rows_by_bucket(job.lake, table) for table in (EPISODES, *PUBLISHED)]
    group: list[int] = []
    rows = 0
    for bucket in range(job.lake.buckets):
        more = sum(held.get(bucket, 0) for held in counts)
        if group and rows + more > GROUP_ROWS:
            yield tuple(group), rows
            group, rows = [], 0
        group.append(bucket)
        rows += more
    yield tuple(group), rows


def served_of(job: Job, buckets: Sequence[int], wishes: Wishes | None = None) -> Served:
    """Count the rows of some buckets."""
    wishes = wishes or wishes_of(job)
    rows = tables.scan(job.lake, EPISODES, buckets=buckets).select(_LIGHT).collect(engine="streaming")
    expiry = retention.expiry_expr(job.policy.retention, wishes.periods, wishes.pins)
    dropped = dropped_episodes(job, buckets, wishes)["episode_id"]
    is_injected, is_live = pl.col("is_injected"), retention.is_live(job.as_of)
    is_dropped = pl.col("episode_id").is_in(dropped.implode()) if dropped.len() else pl.lit(False)
    counts = rows.with_columns(expires_at=expiry).select(
        live=(~is_injected & is_live & ~is_dropped).sum(),
        expired=(~is_injected & ~is_live).sum(),
        injected=is_injected.sum(),
        dropped=(~is_injected & is_live & is_dropped).sum(),
    )
    found = {name: int(count) for name, count in counts.row(0, named=True).items()}
    for table in PUBLISHED:
        stood = revisions.standing(job.lake, table, buckets=buckets, columns=_counted_by(job, table))
        found[table.name] = live_rows(stood, table, job.policy, job.as_of, wishes).height
    return Served(found, _large(rows, job.policy.publish.large_scope_rows))


def _counted_by(job: Job, table: Table) -> list[str] | None:
    """Columns that tell whether a row is served; all where text is sealed: a row without its key is gone."""
    if job.lake.encryption is not None:
        return None
    return [n for n, kind in table.polars.items() if n not in table.free_text and not kind.is_nested()]


def _large(rows: pl.DataFrame, limit: int) -> list[str]:
    scopes = rows.group_by("tenant_id", "user_id").len().filter(pl.col("len") > limit)
    return sorted(scope_hash(tenant, user) for tenant, user, _ in scopes.iter_rows())
