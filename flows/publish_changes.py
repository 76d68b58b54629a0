"""Which memories a publish has to look at: those that changed since the live generation was built.

A memory rests on its own episode or derived row, on the vector of its text, on the recalls of it and on
the instant. So the rows of data files that came or went since tell which ones those are; a row that a
rewrite only moved from one file to another is told by its values. What rows cannot tell (policy, wishes,
keys, vector space) is compared by ``flows.publish_build``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from flows.job import Job
from flows.published import SOURCES
from lake import lineage, tables
from lake.data_files import in_partitions, scan_files
from lake.index import Manifest
from lake.lake import Lake
from transforms.derived_memories import PUBLISHED
from transforms.errors import LakeError
from transforms.retention import instant
from transforms.schemas import EPISODES, FACTS, RECALLS, VECTORS, Table


@dataclass(frozen=True)
class Files:
    """Data files of a table that came and went since a commit."""

    came: tuple[str, ...]
    went: tuple[str, ...]

    def of(self, buckets: Sequence[int]) -> Files:
        """Those of some buckets."""
        return Files(
            tuple(in_partitions(self.came, buckets, None)), tuple(in_partitions(self.went, buckets, None))
        )


@dataclass(frozen=True)
class Since:
    """What came to the lake since a generation was built.

    Attributes:
        files: By table.
        began: The instant that the generation was built at.
        bare: ``memory_id`` of its rows that had no vector, where vectors came since.
    """

    files: dict[str, Files]
    began: datetime
    bare: tuple[str, ...] = ()

    @property
    def has_vectors(self) -> bool:
        """Whether vectors came."""
        return bool(self.files[VECTORS.name].came)


def since(job: Job, manifest: Manifest) -> Since | None:
    """What came since a generation was built; None where the tables' history does not tell any more."""
    found: dict[str, Files] = {}
    for place, table in enumerate(SOURCES):
        version, entry = int(manifest.inputs[table.name]), str(manifest.inputs["marks"][place])
        files = _files(job.lake, table, (version, entry))
        if files is None:
            return None
        found[table.name] = files
    # Of vectors only new ones count: files that were merged or rewritten hold none.
    came = tables.added_files(job.lake, VECTORS, int(manifest.inputs[VECTORS.name]))
    found[VECTORS.name] = Files(tuple(sorted(came)), ())
    return Since(found, datetime.fromisoformat(manifest.as_of))


def _files(lake: Lake, table: Table, mark: lineage.Mark) -> Files | None:
    if not lineage.holds(lake, table, mark):
        return None
    now = tables.data_files(lake, table)
    try:
        # A file that was only merged since is the same under another name, wherever its bytes are by now.
        then = tables.files_followed(lake, table, mark[0]) if mark[0] >= 0 else frozenset()
    except LakeError:
        return None
    return Files(tuple(sorted(now - then)), tuple(sorted(then - now)))


def changed_ids(job: Job, buckets: Sequence[int], came: Since) -> pl.Series | None:
    """``memory_id`` of what may have changed in some buckets; None where a file that went cannot be read."""
    found: list[pl.Series] = []
    for table, key, told in (
        (EPISODES, "episode_id", _told(EPISODES)),
        *((one, one.key[0], ["revision", "is_removed"]) for one in PUBLISHED),
        (RECALLS, "memory_id", ["call_id", "recalled_at", "is_returned", "is_used"]),
    ):
        ids = _differing(job.lake, table, came.files[table.name].of(buckets), key, told)
        if ids is None:
            return None
        found.append(ids)
    found += _by_time(job, buckets, came)
    found.append(_spoken(job, buckets, found[0]))
    return pl.concat(found).unique().sort()


def _told(table: Table) -> list[str]:
    """Columns whose values tell one row of an id from another: of free text its hash is among them."""
    skipped = {*table.key, *table.free_text, *table.partition_by}
    return [name for name, kind in table.polars.items() if name not in skipped and not kind.is_nested()]


def _differing(lake: Lake, table: Table, files: Files, key: str, told: Sequence[str]) -> pl.Series | None:
    """Ids of rows that are only in files that came, or only in those that went."""
    came = _values(lake, table, files.came, key, told if files.went else ())
    if not files.went:
        return came["memory_id"].unique()
    try:
        went = _values(lake, table, files.went, key, told)
    except (OSError, pl.exceptions.PolarsError):  # vacuumed: then all that is there is looked at
        return None
    both = ["memory_id", "told"]
    return pl.concat([came.join(went, on=both, how="anti"), went.join(came, on=both, how="anti")])[
        "memory_id"
    ]


def _values(lake: Lake, table: Table, files: Sequence[str], key: str, told: Sequence[str]) -> pl.DataFrame:
    """``memory_id`` and ``told``, a hash of some columns, of the rows of data files."""
    rows = scan_files(lake, table, files)
    value = pl.struct(told).hash(0) if told else pl.lit(0, pl.UInt64)
    return rows.select(memory_id=pl.col(key), told=value).collect(engine="streaming")


def _by_time(job: Job, buckets: Sequence[int], came: Since) -> list[pl.Series]:
    """Ids of what time alone brought: recalls that were still to come, facts that begin to hold."""
    began, now = instant(came.began), instant(job.as_of)
    found = []
    for table, key, at in ((RECALLS, "memory_id", "recalled_at"), (FACTS, "fact_id", "valid_from")):
        rows = tables.scan(job.lake, table, buckets=buckets)
        is_due = (pl.col(at) > began) & (pl.col(at) <= now)
        found.append(rows.filter(is_due).select(memory_id=key).collect(engine="streaming")["memory_id"])
    return found


def _spoken(job: Job, buckets: Sequence[int], episodes: pl.Series) -> pl.Series:
    """Facts whose phrasing is of a changed episode: they show its speaker."""
    facts = tables.scan(job.lake, FACTS, buckets=buckets).select("fact_id", episode_id="span_episode_id")
    mine = facts.join(episodes.to_frame("episode_id").lazy(), on="episode_id", how="semi")
    return mine.select(memory_id="fact_id").collect(engine="streaming")["memory_id"]
