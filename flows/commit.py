"""What ingest holds back for a commit, the commit itself, and the count of what became of each row."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import polars as pl

from flows import versions
from flows.claimed_ids import own
from flows.job import Job
from lake import cold, locks, tables, upkeep
from lake.rights.admission import Admission, admission
from transforms.policy import IngestPolicy
from transforms.quarantine import quarantined
from transforms.retention import expiry_expr, instant
from transforms.schemas import EPISODES, QUARANTINE, Table
from transforms.subjects import Subject

COMMIT_LOCK = "commit"
COMMIT_WAIT_SECONDS = 600.0


@dataclass
class Tally:
    """What became of the rows of a run: in = landed + duplicates + quarantined + left out.

    ``versions`` are those of the landed that are a new text of a row that was held, ``past_time`` those that
    are past their time to live already, so that the next night takes them out.
    """

    files: int = 0
    unchanged_files: int = 0
    rows_in: int = 0
    landed: int = 0
    versions: int = 0
    past_time: int = 0
    duplicates: int = 0
    quarantined: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Count in what became of the rows of another run."""
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            setattr(self, one.name, mine + theirs)

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        shown = asdict(self)
        return {
            **shown,
            "reasons": dict(sorted(self.reasons.items())),
            "left_out": dict(sorted(self.left_out.items())),
        }


@dataclass
class Buffer:
    """Normalised rows waiting for their commit."""

    episodes: list[pl.DataFrame] = field(default_factory=list)
    quarantine: list[pl.DataFrame] = field(default_factory=list)
    claimed: list[pl.Series] = field(default_factory=list)
    """Ids that rows of an export named themselves."""
    source_bytes: int = 0
    """As ``Batch``: spans repeat their history, so that a GB of them tells few rows."""

    @property
    def height(self) -> int:
        """Rows waiting."""
        return sum(frame.height for frame in (*self.episodes, *self.quarantine))

    def is_full(self, policy: IngestPolicy) -> bool:
        """Whether it holds the rows or bytes of one commit."""
        held = sum(frame.estimated_size() for frame in (*self.episodes, *self.quarantine))
        return self.height >= policy.commit_rows or max(held, self.source_bytes) >= policy.commit_bytes


def to_quarantine(job: Job, refusals: pl.DataFrame, source: str) -> pl.DataFrame:
    """Refusals (``schemas.REFUSALS``) as rows of ``schemas.QUARANTINE``."""
    return quarantined(
        refusals, source=source, policy=job.policy.redact, as_of=job.as_of, buckets=job.lake.buckets
    )


def commit(job: Job, buffer: Buffer, tally: Tally, *, is_chosen: bool = False) -> bool:
    """Write what is new and empty the buffer, under a lock, so that two runs never write one row twice.

    Rows of erased or opted-out subjects and on forbidden topics are left out and counted, no more.

    Args:
        job: The run.
        buffer: What waits.
        tally: Counts what became of it.
        is_chosen: Somebody has decided for these rows: a text is newer than what is held, whatever its time.

    Returns:
        Whether that is final: False where a row left out may come in later, when its subject says so.
    """
    buffer.source_bytes = 0
    if buffer.height == 0:
        return True
    episodes = pl.concat(buffer.episodes or [EPISODES.empty()])
    refused = pl.concat(buffer.quarantine or [QUARANTINE.empty()])
    claimed = pl.concat(buffer.claimed or [pl.Series(dtype=pl.String)])
    for held_back in (buffer.episodes, buffer.quarantine, buffer.claimed):
        held_back.clear()
    with locks.hold(job.lake, COMMIT_LOCK, COMMIT_WAIT_SECONDS):
        held = admission(job.lake)
        episodes, refused, left_out = _admitted(held, episodes, refused)
        episodes, foreign = own(job, episodes, claimed)
        found = versions.split(job, episodes, is_chosen=is_chosen)
        del episodes
        clashes = to_quarantine(job, pl.concat([found.clashes, foreign]), "ingest")
        edited, clashes, others = _admitted(held, found.versions, clashes)
        left_out += others
        refused = pl.concat([refused, clashes])
        strange = _new_quarantine(job, refused)
        tables.append(job.lake, QUARANTINE, strange)
        if edited.height:
            versions.begin(job, edited, found.lineage)
        landed = pl.concat([found.fresh, edited])
        tables.append(job.lake, EPISODES, landed)
        versions.settle(job)
    tally.landed += landed.height
    tally.past_time += landed.filter(expiry_expr(job.policy.retention) <= instant(job.as_of)).height
    tally.versions += edited.height
    tally.quarantined += strange.height
    tally.duplicates += found.duplicates + refused.height - strange.height
    tally.reasons.update(strange["reason"].to_list())
    tally.left_out.update(left_out)
    return not any(held.may_change(reason) for reason in left_out)


def resume_versions(job: Job) -> None:
    """Go on with what a killed commit left: rows that a version replaces and that are not marked yet."""
    if versions.is_pending(job) and not job.is_dry:
        with locks.hold(job.lake, COMMIT_LOCK, COMMIT_WAIT_SECONDS):
            versions.settle(job)


def bring_back(job: Job, subject: Subject) -> int:
    """``cold.restore``; what an edit has replaced comes back as replaced. Returns how many rows came back."""
    with locks.hold(job.lake, COMMIT_LOCK, COMMIT_WAIT_SECONDS):
        # A row that was sent to cold storage while it was being replaced is not marked there.
        versions.note(job, [job.lake.bucket(subject.tenant)])
        count = cold.restore(job.lake, subject, job.as_of)
        versions.settle(job)
    return count


def _admitted(
    held: Admission, episodes: pl.DataFrame, refused: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, Counter[str]]:
    """Episodes and quarantine rows that may be kept, and how many of both may not, by reason."""
    if held.is_open:
        return episodes, refused, Counter()
    reasons = [held.reasons(frame) for frame in (episodes, refused)]
    left_out = Counter(reason for part in reasons for reason in part.drop_nulls())
    return episodes.filter(reasons[0].is_null()), refused.filter(reasons[1].is_null()), left_out


def _new_quarantine(job: Job, refused: pl.DataFrame) -> pl.DataFrame:
    buckets = refused["tenant_bucket"].unique().to_list()
    held = tables.scan(job.lake, QUARANTINE, buckets=buckets).select("quarantine_id")
    return refused.unique("quarantine_id", keep="first", maintain_order=True).join(
        held.collect(), on="quarantine_id", how="anti", maintain_order="left"
    )


def tidy(job: Job, *written: Table) -> None:
    """Keep partitions of these tables from filling with small files; the night's end does the rest.

    Until then files that came tonight stay apart from older ones, so that the steps read the new rows only.
    """
    for table in written:
        upkeep.merge(job.lake, table, job.policy.upkeep, most=job.policy.upkeep.step_files)
