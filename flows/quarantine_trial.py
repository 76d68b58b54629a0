"""Refused rows read once more: their drafts, their episodes, and what becomes of their rows in quarantine."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from flows.commit import Buffer, Tally, commit
from flows.job import Job
from flows.shared_commits import unplaced
from lake import tables
from transforms.errors import InputError
from transforms.exported import claim_of
from transforms.normalise import normalise
from transforms.quarantine import CONFINED
from transforms.readers.batch import ID_COLUMNS, Leaning, Resumable
from transforms.readers.chats import Accompanied, for_owner
from transforms.readers.registry import reader_named
from transforms.readers.rows import rows_batch
from transforms.readers.slowwave_export import KEPT
from transforms.readers.text import JsonFault, load_object
from transforms.schemas import DRAFTS, EPISODES, QUARANTINE
from transforms.validate import OTHER_TENANT, Defaults

_ROW_SHAPES = ("slowwave-jsonl", "slowwave-csv", "slowwave-parquet", "landing", "ingest")
"""Sources whose refused rows are JSON of the row shape, as far as they are JSON."""
_MARK = "[REDACTED:"


@dataclass
class Done:
    """What became of rows: those that leave quarantine, and why the others stay, by their id."""

    gone: list[str]
    stays: dict[str, str]


class Trial:
    """One more reading of some refused rows."""

    def __init__(self, job: Job, rows: pl.DataFrame, defaults: Defaults) -> None:
        self._job = job
        self._rows = rows.with_row_index("at")
        self._defaults = defaults
        self._stays: dict[int, str] = {}
        self._exported: dict[int, tuple[object, object]] = {}

    def run(self, tally: Tally) -> Done:
        """Read, land what can, and take it out of quarantine."""
        buffer, lands = Buffer(), set[int]()
        for (source,), some in self._rows.group_by("source", maintain_order=True):
            drafts = self._drafts(str(source or ""), some)
            if drafts.height:
                self._normalised(str(source or ""), drafts, buffer, lands)
        lands -= self._stays.keys()
        ids = self._rows["quarantine_id"]
        done = Done([ids[at] for at in sorted(lands)], {ids[at]: why for at, why in self._stays.items()})
        if not self._job.is_dry:
            buffer.episodes = [self._placed(frame, lands) for frame in buffer.episodes]
            # Who tries a text again that could not be told from another has decided for it.
            is_chosen = bool((self._rows["reason"] == "duplicate_id").all())
            commit(self._job, buffer, tally, is_chosen=is_chosen)
            self._settle(done)
        return done

    def _drafts(self, source: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Drafts of the rows of one source; ``source_line`` is the row's place among all."""
        found, shaped = [DRAFTS.empty()], dict[int, dict[str, object]]()
        claims: dict[int, str] = {}
        wanted = rows.select("at", "raw", "reason", "source_file", "user_id")
        for at, raw, reason, file_name, user in wanted.iter_rows():
            record = _row_of(raw, source)
            if record is not None:
                shaped[at] = record
                if reason == "duplicate_id" and (claim := _claim_of(record, at)):
                    claims[at] = claim
                    shaped[at] = {name: value for name, value in record.items() if name in KEPT}
            elif (read := self._read_alone(source, raw, file_name, user)) is None:
                self._stays[at] = reason
            else:
                found.append(self._marked(read, at))
        if shaped:
            batch = rows_batch(list(shaped.values()), list(shaped), lambda _: "", source)
            lines = batch.drafts["source_line"].to_list()
            named = pl.Series("exported", [claims.get(line) for line in lines], dtype=pl.String)
            found.append(batch.drafts.with_columns(named))
            self._stays |= dict(batch.refusals.select("source_line", "reason").iter_rows())
        drafts = self._owned(pl.concat(found))
        is_hidden = pl.any_horizontal(pl.col(c).str.contains(_MARK, literal=True) for c in ID_COLUMNS)
        hidden = drafts.filter(is_hidden)["source_line"]
        self._stays |= dict.fromkeys(hidden, "redacted_id")
        return drafts.filter(~pl.col("source_line").is_in(hidden.implode()))

    def _read_alone(
        self, source: str, raw: str, file_name: str | None, user: str | None
    ) -> pl.DataFrame | None:
        """Drafts of one row as its reader takes it now, by the name and the owner that its file had.

        None where it still refuses any of it, and of readers whose records lean on others or on files
        beside them: read alone, a row would land under another name than its mended file gives it.
        """
        try:
            reader = for_owner(reader_named(source), user or self._defaults.user_id)
        except InputError:
            return None
        if not isinstance(reader, Resumable) or isinstance(reader, Accompanied | Leaning):
            return None
        name, limits = unplaced(file_name or ""), self._job.policy.ingest
        batches = list(reader.read(io.BytesIO(raw.encode()), name, limits))
        if not batches or any(batch.refusals.height for batch in batches):
            return None
        drafts = pl.concat([batch.drafts for batch in batches])
        return drafts if drafts.height else None

    def _marked(self, drafts: pl.DataFrame, at: int) -> pl.DataFrame:
        """Drafts of one row that tell its place among all: one of an export has a file and a line itself."""
        claims = drafts["exported"].to_list()
        for place, claim in enumerate(claims):
            if claim is not None:
                told = json.loads(claim)
                self._exported[at] = told["source_file"], told["source_line"]
                claims[place] = json.dumps({**told, "source_line": at})
        return drafts.with_columns(
            source_line=pl.lit(at, pl.Int64), exported=pl.Series(claims, dtype=pl.String)
        )

    def _owned(self, drafts: pl.DataFrame) -> pl.DataFrame:
        """Drafts, those that name no tenant or user with what their rows were given when they came."""
        whose = self._rows.select(
            pl.col("at").cast(pl.Int64), "detail", was_tenant="tenant_id", was_user="user_id"
        )
        known = drafts.join(whose, left_on="source_line", right_on="at", how="left", maintain_order="left")
        is_other = pl.col("tenant_id").replace("", None) != pl.col("was_tenant")
        others = known.filter(is_other & pl.col("detail").str.ends_with(CONFINED))["source_line"]
        self._stays |= dict.fromkeys(others, OTHER_TENANT)
        mine = known.filter(~pl.col("source_line").is_in(others.implode()))
        return mine.with_columns(
            tenant_id=pl.coalesce(pl.col("tenant_id").replace("", None), "was_tenant"),
            user_id=pl.coalesce(pl.col("user_id").replace("", None), "was_user"),
        ).select(DRAFTS.names)

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
        buffer.claimed.append(done.claimed)
        lands |= set(done.episodes["source_line"])

    def _placed(self, episodes: pl.DataFrame, lands: Iterable[int]) -> pl.DataFrame:
        """Those that land, with the file and line that they came from."""
        here = pl.DataFrame({"source_line": sorted(lands)}, schema={"source_line": pl.Int64})
        came = self._rows.select("source_file", "source_line").rows()
        known = [self._exported.get(at, place) for at, place in enumerate(came)]
        schema = {"file": pl.String, "line": pl.Int64}
        places = pl.DataFrame(known, schema=schema, orient="row").with_row_index("source_line")
        places = places.with_columns(pl.col("source_line").cast(pl.Int64))
        kept = episodes.join(here, on="source_line", how="semi", maintain_order="left")
        placed = kept.join(places, on="source_line", how="left", maintain_order="left")
        return placed.with_columns(source_file="file", source_line="line").select(EPISODES.names)

    def _settle(self, done: Done) -> None:
        """Take out what landed, and count the try of what stays."""
        gone = pl.DataFrame({"quarantine_id": done.gone}, schema={"quarantine_id": pl.String})
        stays = pl.DataFrame({"quarantine_id": list(done.stays)}, schema={"quarantine_id": pl.String})
        again = pl.col("quarantine_id").is_in(stays["quarantine_id"].implode()).cast(pl.Int32)

        def mended(frame: pl.DataFrame) -> pl.DataFrame:
            left = frame.join(gone, on="quarantine_id", how="anti", maintain_order="left")
            return left.with_columns(retry_count=pl.col("retry_count") + again)

        rewritten(self._job, mended, self._rows)


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


def _claim_of(record: Mapping[str, object], at: int) -> str | None:
    """What makes a refused row again the episode that it was about to be; None: it does not tell."""
    try:
        return claim_of({**record, "source_line": at})
    except JsonFault:
        return None


def rewritten(job: Job, change: Callable[[pl.DataFrame], pl.DataFrame], rows: pl.DataFrame) -> None:
    """Write those files of quarantine anew that hold some of the rows."""
    names = rows.select("quarantine_id")
    for name in sorted(tables.data_files(job.lake, QUARANTINE)):
        held_rows = tables.scan(job.lake, QUARANTINE, files=[name], as_stored=True).collect()
        if held_rows.join(names, on="quarantine_id", how="semi").height:
            tables.rewrite(job.lake, QUARANTINE, [name], change(held_rows), as_stored=True)
