"""Refused rows: which there are, a second try, and taking them out.

A row in quarantine is what its reader could not take, or what the next stage refused. The first kind is read
again by the reader that refused it, the second, a draft as JSON, as a row of the row shape. Quarantine keeps
redacted text, so a row whose own ids were redacted is not tried: it would land under another name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from flows.commit import Tally, tidy
from flows.job import Job, record, step
from flows.quarantine_trial import Trial, rewritten
from lake import tables
from lake.rights import audit
from transforms import ids
from transforms.errors import UsageError
from transforms.schemas import EPISODES, QUARANTINE, RUNS
from transforms.validate import Defaults

PREFIX_CHARS = 8
"""Fewest characters of an id that name a row."""
AT_ONCE = 50_000
"""Rows tried at once, about: each is held with its text."""
_SHOWN = ("quarantine_id", "tenant_id", "user_id", "reason", "detail", "source", "source_file", "source_line",
          "retry_count", "quarantined_at")  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """Which refused rows are meant; what is None allows all.

    Args:
        names: Ids, or how they begin.
        reason: Why they were refused.
        source_file: Where they came from.
        tenant: Tenant that they name; empty: those that name none.
        user: Person that they name.
    """

    names: Sequence[str] = ()
    reason: str | None = None
    source_file: str | None = None
    tenant: str | None = None
    user: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is asked."""
        return self == Chosen()

    def holds(self) -> pl.Expr:
        """Whether a row is meant."""
        wanted = pl.lit(True)
        if self.names:
            wanted &= pl.any_horizontal(
                [pl.col("quarantine_id").str.starts_with(name) for name in self.names]
            )
        exactly = {"reason": self.reason, "source_file": self.source_file, "user_id": self.user}
        for column, value in exactly.items():
            if value is not None:
                wanted &= pl.col(column).eq_missing(pl.lit(value))
        if self.tenant is not None:
            wanted &= pl.col("tenant_id").fill_null("") == self.tenant
        return wanted


@dataclass(frozen=True)
class Retried:
    """What became of refused rows that were read again.

    Attributes:
        tried: How many.
        landed: Rows that are out of quarantine, their episodes now new.
        held: Rows that are out of quarantine, their episodes held already or not to be kept.
        refused: Rows that stay, by the reason that refuses them now.
    """

    tried: int
    landed: int
    held: int
    refused: dict[str, int]


def held(job: Job, chosen: Chosen) -> pl.DataFrame:
    """Refused rows without their text, in the order of file and line.

    Raises:
        UsageError: An id is too short, or names several rows.
    """
    _require_names(chosen)
    buckets = None if chosen.tenant is None else [job.lake.bucket(chosen.tenant)]
    rows = tables.scan(job.lake, QUARANTINE, buckets=buckets).filter(chosen.holds()).select(_SHOWN).collect()
    for name in chosen.names:
        found = rows.filter(pl.col("quarantine_id").str.starts_with(name)).height
        if found != 1:
            what = "no refused row" if not found else f"{found} refused rows"
            raise UsageError(f"{name}: {what} of this id", "See slowwave quarantine list.")
    return rows.sort("source_file", "source_line", "quarantine_id", nulls_last=True)


def with_text(job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    """Some of ``held`` with their text (``raw``), in the same order; without those whose key is destroyed."""
    buckets = ids.tenant_buckets(rows["tenant_id"].fill_null(""), job.lake.buckets).unique().to_list()
    texts = tables.scan(job.lake, QUARANTINE, buckets=buckets).select("quarantine_id", "raw")
    mine = texts.filter(pl.col("quarantine_id").is_in(rows["quarantine_id"].implode()))
    return rows.join(mine.collect(), on="quarantine_id", how="inner", maintain_order="left")


def _require_names(chosen: Chosen) -> None:
    short = next((name for name in chosen.names if len(name) < PREFIX_CHARS), None)
    if short is not None:
        raise UsageError(f"{short}: too short for an id", f"Write {PREFIX_CHARS} characters or more.")


def drop(job: Job, chosen: Chosen) -> int:
    """Take refused rows out for good; the audit gets their number. Returns how many.

    Raises:
        UsageError: As ``held``.
    """
    with step(job, "quarantine drop") as result, tables.held_open():
        rows = held(job, chosen)
        result.rows_in = result.rows_out = rows.height
        if job.is_dry or rows.is_empty():
            result.state = "unchanged"
        else:
            rewritten(job, lambda frame: frame.join(rows, on="quarantine_id", how="anti"), rows)
            audit.append(job.lake, "quarantine_dropped", at=job.as_of, counts={"rows": rows.height})
    record(job, result)
    return rows.height


def retry(job: Job, chosen: Chosen, defaults: Defaults) -> Retried:
    """Read refused rows again.

    Rows land first, and only then leave quarantine: one that was killed between is held already when it is
    tried once more. A row that comes to several episodes leaves only where all of them may land.

    Args:
        job: The run.
        chosen: Which.
        defaults: What rows are given that they lack.

    Raises:
        UsageError: As ``held``.
    """
    tally, refused = Tally(), Counter[str]()
    tried = gone = 0
    with step(job, "quarantine retry") as result, tables.held_open():
        rows = held(job, chosen)
        with job.progress.task("retry", rows.height) as advance:
            is_twin = pl.col("reason") == "duplicate_id"
            parts = rows.filter(~is_twin), rows.filter(is_twin)
            for some in (few for part in parts for few in part.iter_slices(AT_ONCE)):
                done = Trial(job, with_text(job, some), defaults).run(tally)
                tried, gone = tried + some.height, gone + len(done.gone)
                refused.update(done.stays.values())
                advance(some.height)
        result.rows_in, result.rows_out = tried, tally.landed
        refused += tally.reasons  # they left as what they were, and are held anew as what they are now
        result.rejected, result.duplicates = refused.total(), tally.duplicates
        if job.is_dry or not tried:
            result.state = "unchanged"
        elif gone:
            tidy(job, EPISODES, QUARANTINE, RUNS)
    record(job, result)
    gone = max(gone - tally.reasons.total(), 0)
    landed = gone if job.is_dry else min(tally.landed, gone)
    return Retried(tried, landed, gone - landed, dict(sorted(refused.items())))


def counted(rows: pl.DataFrame) -> pl.DataFrame:
    """How many rows there are by reason, format and file, most first."""
    groups = rows.group_by("reason", "source", "source_file").agg(
        rows=pl.len(), newest_at=pl.col("quarantined_at").max()
    )
    return groups.sort(["rows", "reason", "source_file"], descending=[True, False, False])
