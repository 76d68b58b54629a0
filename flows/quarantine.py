"""Refused rows: which there are, a second try, and taking them out.

A row in quarantine is what its reader could not take, or what the next stage refused. The first kind is read
again by the reader that refused it, the second, a draft as JSON, as a row of the row shape. Quarantine keeps
redacted text, so a row whose own ids were redacted is not tried: it would land under another name.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from flows.commit import Buffer, Tally, commit, tidy
from flows.job import Job, record, step
from lake import tables
from lake.rights import audit
from transforms.errors import InputError, UsageError
from transforms.normalise import normalise
from transforms.readers.batch import ID_COLUMNS
from transforms.readers.registry import reader_named
from transforms.readers.rows import rows_batch
from transforms.readers.text import JsonFault, load_object
from transforms.schemas import DRAFTS, EPISODES, QUARANTINE, RUNS
from transforms.validate import Defaults

PREFIX_CHARS = 8
"""Fewest characters of an id that name a row."""
AT_ONCE = 50_000
"""Rows tried at once, about: each is held with its text."""
_ROW_SHAPES = ("slowwave-jsonl", "slowwave-csv", "slowwave-parquet", "landing", "ingest")
"""Sources whose refused rows are JSON of the row shape, as far as they are JSON."""
_MARK = "[REDACTED:"
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


def held(job: Job, chosen: Chosen, *, with_text: bool = False) -> pl.DataFrame:
    """Refused rows, without their text where it is not asked for, in the order of file and line.

    Raises:
        UsageError: An id is too short, or names several rows.
    """
    _require_names(chosen)
    buckets = None if chosen.tenant is None else [job.lake.bucket(chosen.tenant)]
    columns = [*_SHOWN, *(("raw", "tenant_bucket") if with_text else ())]
    rows = tables.scan(job.lake, QUARANTINE, buckets=buckets).filter(chosen.holds()).select(columns).collect()
    for name in chosen.names:
        found = rows.filter(pl.col("quarantine_id").str.starts_with(name)).height
        if found != 1:
            what = "no refused row" if not found else f"{found} refused rows"
            raise UsageError(f"{name}: {what} of this id", "See slowwave quarantine list.")
    return rows.sort("source_file", "source_line", "quarantine_id", nulls_last=True)


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
            _rewritten(job, lambda frame: frame.join(rows, on="quarantine_id", how="anti"), rows)
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
    tally, refused = Tally(), dict[str, int]()
    tried = gone = 0
    with step(job, "quarantine retry") as result, tables.held_open():
        rows = held(job, chosen, with_text=True)
        with job.progress.task("retry", rows.height) as advance:
            for some in rows.iter_slices(AT_ONCE):
                done = _Try(job, some, defaults).run(tally)
                tried, gone = tried + some.height, gone + len(done.gone)
                for reason in done.stays.values():
                    refused[reason] = refused.get(reason, 0) + 1
                advance(some.height)
        result.rows_in, result.rows_out = tried, tally.landed
        result.rejected, result.duplicates = sum(refused.values()), tally.duplicates
        if job.is_dry or not tried:
            result.state = "unchanged"
        elif gone:
            tidy(job, EPISODES, QUARANTINE, RUNS)
    record(job, result)
    landed = gone if job.is_dry else min(tally.landed, gone)
    return Retried(tried, landed, gone - landed, dict(sorted(refused.items())))


@dataclass
class _Done:
    """What became of rows: those that leave quarantine, and why the others stay, by their id."""

    gone: list[str]
    stays: dict[str, str]


class _Try:
    """One more reading of some refused rows."""

    def __init__(self, job: Job, rows: pl.DataFrame, defaults: Defaults) -> None:
        self._job = job
        self._rows = rows.with_row_index("at")
        self._defaults = defaults
        self._stays: dict[int, str] = {}

    def run(self, tally: Tally) -> _Done:
        """Read, land what can, and take it out of quarantine."""
        buffer, lands = Buffer(), set[int]()
        for (source,), some in self._rows.group_by("source", maintain_order=True):
            drafts = self._drafts(str(source or ""), some)
            if drafts.height:
                self._normalised(str(source or ""), drafts, buffer, lands)
        lands -= self._stays.keys()
        ids = self._rows["quarantine_id"]
        done = _Done([ids[at] for at in sorted(lands)], {ids[at]: why for at, why in self._stays.items()})
        if not self._job.is_dry:
            buffer.episodes = [self._placed(frame, lands) for frame in buffer.episodes]
            commit(self._job, buffer, tally)
            self._settle(done)
        return done

    def _drafts(self, source: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Drafts of the rows of one source; ``source_line`` is the row's place among all."""
        found, shaped = [DRAFTS.empty()], dict[int, dict[str, object]]()
        for at, raw, reason in rows.select("at", "raw", "reason").iter_rows():
            record = _row_of(raw, source)
            if record is not None:
                shaped[at] = record
            elif (read := _read_alone(self._job, source, raw)) is None:
                self._stays[at] = reason
            else:
                found.append(read.with_columns(source_line=pl.lit(at, pl.Int64)))
        if shaped:
            batch = rows_batch(list(shaped.values()), list(shaped), lambda _: "", source)
            found.append(batch.drafts)
            self._stays |= dict(batch.refusals.select("source_line", "reason").iter_rows())
        drafts = pl.concat(found)
        is_hidden = pl.any_horizontal(pl.col(c).str.contains(_MARK, literal=True) for c in ID_COLUMNS)
        hidden = drafts.filter(is_hidden)["source_line"]
        self._stays |= dict.fromkeys(hidden, "redacted_id")
        return drafts.filter(~pl.col("source_line").is_in(hidden.implode()))

    def _normalised(self, source: str, drafts: pl.DataFrame, buffer: Buffer, lands: set[int]) -> None:
        job = self._job
        done = normalise(
            drafts,
            source=source,
            defaults=self._defaults,
            policy=job.policy,
            as_of=job.as_of,
            buckets=job.lake.buckets,
        )
        self._stays |= dict(done.refusals.select("source_line", "reason").iter_rows())
        buffer.episodes.append(done.episodes)
        lands |= set(done.episodes["source_line"])

    def _placed(self, episodes: pl.DataFrame, lands: Iterable[int]) -> pl.DataFrame:
        """Those that land, with the file and line that they came from."""
        here = pl.DataFrame({"source_line": sorted(lands)}, schema={"source_line": pl.Int64})
        places = self._rows.select(
            pl.col("at").cast(pl.Int64).alias("source_line"), file="source_file", line="source_line"
        )
        kept = episodes.join(here, on="source_line", how="semi", maintain_order="left")
        placed = kept.join(places, on="source_line", how="left", maintain_order="left")
        return placed.with_columns(source_file="file", source_line="line").select(EPISODES.names)

    def _settle(self, done: _Done) -> None:
        """Take out what landed, and count the try of what stays."""
        gone = pl.DataFrame({"quarantine_id": done.gone}, schema={"quarantine_id": pl.String})
        stays = pl.DataFrame({"quarantine_id": list(done.stays)}, schema={"quarantine_id": pl.String})
        again = pl.col("quarantine_id").is_in(stays["quarantine_id"].implode()).cast(pl.Int32)

        def mended(frame: pl.DataFrame) -> pl.DataFrame:
            left = frame.join(gone, on="quarantine_id", how="anti", maintain_order="left")
            return left.with_columns(retry_count=pl.col("retry_count") + again)

        _rewritten(self._job, mended, self._rows)


def _row_of(raw: str, source: str) -> dict[str, object] | None:
    """The record of a refused row of the row shape, or of a draft of any format; None for another."""
    if not raw.lstrip().startswith("{"):
        return None
    try:
        record = load_object(raw.encode())
    except JsonFault:
        return None
    is_draft = {"natural_id", "kind", "content", "event_at", "is_injected"} <= record.keys()
    return record if is_draft or source in _ROW_SHAPES else None


def _read_alone(job: Job, source: str, raw: str) -> pl.DataFrame | None:
    """Drafts of one row as its reader takes it now; None where it still refuses any of it."""
    try:
        reader = reader_named(source)
    except InputError:
        return None
    batches = list(reader.read(io.BytesIO(raw.encode()), "", job.policy.ingest))
    if not batches or any(batch.refusals.height for batch in batches):
        return None
    drafts = pl.concat([batch.drafts for batch in batches])
    return drafts if drafts.height else None


def _rewritten(job: Job, change: Callable[[pl.DataFrame], pl.DataFrame], rows: pl.DataFrame) -> None:
    """Write those files of quarantine anew that hold some of the rows."""
    names = rows.select("quarantine_id")
    for name in sorted(tables.data_files(job.lake, QUARANTINE)):
        held_rows = tables.scan(job.lake, QUARANTINE, files=[name], as_stored=True).collect()
        if held_rows.join(names, on="quarantine_id", how="semi").height:
            tables.rewrite(job.lake, QUARANTINE, [name], change(held_rows), as_stored=True)


def counted(rows: pl.DataFrame) -> pl.DataFrame:
    """How many rows there are by reason, format and file, most first."""
    groups = rows.group_by("reason", "source", "source_file").agg(
        rows=pl.len(), newest_at=pl.col("quarantined_at").max()
    )
    return groups.sort(["rows", "reason", "source_file"], descending=[True, False, False])
