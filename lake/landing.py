"""Rows that agents write online: durable when ``append`` returns, recalled at once, ingested later.

A process appends to one open segment a tenant bucket, under the kernel's file lock, and syncs it
before returning. Ingest seals a segment by renaming it under the same lock, so no writer adds to a
sealed one. On an object store every append is one object. Rows are validated, redacted and tagged
before they touch the disk.

Whether a row may be kept at all (``lake.rights.admission``) is looked up under that lock, so an erasure
that has placed its tombstone and then sealed the segments is never outrun. On an object store it is looked
up before the object is put and again after it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from os import PathLike
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson
import polars as pl

from lake import segments
from lake.faults import wrapped
from lake.forks import require_threads
from lake.lake import Lake, as_lake
from lake.rights.admission import DETAILS, Admission, admission
from lake.storage import LocalStorage
from transforms.errors import UsageError
from transforms.normalise import normalise
from transforms.policy import Policy
from transforms.quarantine import quarantined
from transforms.readers.row_shape import ALIASES
from transforms.readers.rows import refusal, rows_batch
from transforms.readers.text import JsonFault, load_object
from transforms.schemas import EPISODES, QUARANTINE, Table
from transforms.validate import Defaults

SOURCE = "landing"
PREFIX = "landing"
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True)
class Refused:
    """One row that may not land: its position in the call, and why."""

    index: int
    reason: str
    detail: str


@dataclass(frozen=True)
class Receipt:
    """What ``append`` did: ids of the rows that landed, in input order, and what was refused.

    Refused rows are kept too; they reach quarantine with the next ingest. Nothing is kept of those of an
    erased (``erased_subject``) or opted-out subject (``opted_out``) or on a ``forbidden_topic``.
    """

    landed: list[str]
    refused: list[Refused] = field(default_factory=list)


def append(
    lake: Lake | str | PathLike[str],
    rows: Sequence[Mapping[str, Any]],
    *,
    policy: Policy | None = None,
    now: datetime | None = None,
    source: str = SOURCE,
    **scope: str,
) -> Receipt:
    """Land rows. Durable when it returns: killed or powered off afterwards, they are still there.

    Args:
        lake: A lake or its address.
        rows: Mappings in the documented row shape (``content``, ``role``, ``tenant_id``,
            ``user_id``, ``agent_id``, ``session_id``, ``event_at``, ...). A row without
            ``event_at`` happened now.
        policy: Limits and redaction; the default policy where None.
        now: The instant of landing; the clock where None.
        source: What the rows name as their source.
        **scope: Defaults for rows that name none: ``tenant_id``, ``user_id``, ``agent_id``,
            ``session_id``, ``timezone``.

    Returns:
        Ids and refusals.

    Raises:
        StorageError: The disk is full; none of the call's rows of that bucket landed.
        LakeError: There is no lake, or it cannot be written.
        UsageError: A default is unknown, or this process was forked too late (``lake.forks``).
    """
    require_threads()
    lake, policy, now = as_lake(lake), policy or Policy(), now or datetime.now(UTC)
    episodes, refusals = _normalised(lake, rows, policy, now, source, _defaults(scope))
    refused = QUARANTINE.empty()
    if refusals.height:
        refused = quarantined(refusals, source=source, policy=policy.redact, as_of=now, buckets=lake.buckets)
    turned_away = _land(lake, episodes, refused)
    kept = episodes.filter(~pl.col("source_line").is_in(list(turned_away))).sort("source_line")
    told = {r["source_line"] or 1: (r["reason"], r["detail"] or "") for r in refusals.to_dicts()}
    told |= {line: (reason, DETAILS[reason]) for line, reason in turned_away.items()}
    return Receipt(kept["episode_id"].to_list(), [Refused(line - 1, *told[line]) for line in sorted(told)])


def check(
    lake: Lake, row: Mapping[str, Any], policy: Policy, now: datetime, source: str = SOURCE
) -> Refused | None:
    """Why ``append`` would refuse a row; None where it would land. Writes nothing."""
    episodes, refusals = _normalised(lake, [row], policy, now, source, Defaults())
    for told in refusals.to_dicts():
        return Refused(0, told["reason"], told["detail"] or "")
    reason = admission(lake).reasons(episodes)[0]
    return None if reason is None else Refused(0, reason, DETAILS[reason])


def _normalised(
    lake: Lake,
    rows: Sequence[Mapping[str, Any]],
    policy: Policy,
    now: datetime,
    source: str,
    defaults: Defaults,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """``schemas.EPISODES`` and ``schemas.REFUSALS`` of plain rows, the latter by line."""
    drafts, refusals = _drafts(rows, now)
    done = normalise(drafts, source=source, defaults=defaults, policy=policy, as_of=now, buckets=lake.buckets)
    known = refusals.with_columns(
        pl.col(name).fill_null(pl.lit(value, pl.String))
        for name, value in (("tenant_id", defaults.tenant_id), ("user_id", defaults.user_id))
    )
    return done.episodes, pl.concat([done.refusals, known]).sort("source_line")


def _defaults(scope: Mapping[str, str]) -> Defaults:
    unknown = sorted(set(scope) - set(Defaults.__dataclass_fields__))
    if unknown:
        raise UsageError(
            f"append has no argument {', '.join(unknown)}",
            f"Defaults are {', '.join(Defaults.__dataclass_fields__)}.",
        )
    defaults = Defaults(**scope)
    if defaults.timezone is not None:
        try:
            ZoneInfo(defaults.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise UsageError(
                f"no time zone {defaults.timezone}", "Use an IANA name such as Europe/Berlin or UTC."
            ) from error
    return defaults


def _drafts(rows: Sequence[Mapping[str, Any]], now: datetime) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Drafts and refusals of plain Python rows; every row is in one of them."""
    records, numbers, faults = [], [], []
    for number, row in enumerate(rows, 1):
        try:
            records.append(_record(row, now))
            numbers.append(number)
        except JsonFault as fault:
            faults.append(refusal(fault, ascii(row), number, SOURCE))
    batch = rows_batch(records, numbers, lambda i: json.dumps(records[i], ensure_ascii=False), SOURCE, faults)
    return batch.drafts, batch.refusals


def _record(row: Mapping[str, Any], now: datetime) -> dict[str, object]:
    """The row as JSON would carry it: datetimes as ISO text, lone surrogates replaced; timed.

    Raises:
        JsonFault: It is no mapping, or holds what JSON cannot.
    """
    try:
        raw = orjson.dumps(row, default=_plain, option=_OPTIONS)
    except TypeError:  # lone surrogates and numbers beyond 64 bits, which the slow encoder takes
        try:
            raw = json.dumps(row, default=_plain).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise JsonFault("invalid_json", "the row holds a value that JSON cannot") from error
    record = load_object(raw)
    has_time = any(record.get(name) is not None for name in ALIASES["event_at"])
    return record if has_time else {**record, "event_at": now.isoformat()}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)


def _land(lake: Lake, episodes: pl.DataFrame, refused: pl.DataFrame) -> dict[int, str]:
    """Write what may be kept. Returns the reason of each row that may not, by its line."""
    turned_away: dict[int, str] = {}
    frames = {EPISODES.name: episodes, QUARANTINE.name: refused}
    for bucket in sorted({b for frame in frames.values() for b in frame["tenant_bucket"].unique()}):
        mine = {name: frame.filter(pl.col("tenant_bucket") == bucket) for name, frame in frames.items()}
        _write(lake, bucket, _Part(lake, mine, turned_away))
    return turned_away


@dataclass
class _Part:
    """The rows of one call for one bucket, by table, and the reasons of rows of all of them turned away."""

    lake: Lake
    frames: dict[str, pl.DataFrame]
    turned_away: dict[int, str]

    @property
    def height(self) -> int:
        """Rows that may be kept, as of the last look."""
        return sum(frame.height for frame in self.frames.values())

    def lines(self) -> bytes:
        """JSON lines of the rows that may be kept now; the others are left out from here on."""
        held = admission(self.lake)
        if not held.is_open:
            self.frames = {name: self._admitted(held, frame) for name, frame in self.frames.items()}
        frames = {t.name: self._sealed(t) for t in (EPISODES, QUARANTINE)}
        rows = ({name: row} for name, frame in frames.items() for row in frame.iter_rows(named=True))
        return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)

    def _sealed(self, table: Table) -> pl.DataFrame:
        if self.lake.encryption is None:
            return self.frames[table.name]
        from lake.crypto.frames import seal  # only where a lake is encrypted

        return seal(self.lake, table, self.frames[table.name])

    def _admitted(self, held: Admission, frame: pl.DataFrame) -> pl.DataFrame:
        reasons = held.reasons(frame)
        lines = frame["source_line"].fill_null(1)
        self.turned_away |= {n: r for n, r in zip(lines, reasons, strict=True) if r is not None}
        return frame.filter(reasons.is_null())


def _write(lake: Lake, bucket: int, part: _Part) -> None:
    if isinstance(lake.storage, LocalStorage):
        with wrapped("landing rows"):
            segments.segment(lake.storage.root / PREFIX / f"{bucket:03d}").append(part.lines)
        return
    data = part.lines()
    while data:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        key = f"{PREFIX}/{bucket:03d}/{segments.SEALED}{stamp}-{secrets.token_hex(6)}.jsonl"
        lake.storage.write(key, data)
        # An erasure may have looked for landed rows between the look-up and the put: it has placed its
        # tombstone by then, and what it missed goes here.
        put, data = part.height, part.lines()
        if part.height == put:  # not the bytes: sealed anew, the same text looks another way
            return
        lake.storage.delete(key)


def seal(lake: Lake) -> list[str]:
    """Close every open segment to its writers. Returns the keys of all sealed ones, by name."""
    if isinstance(lake.storage, LocalStorage):
        for entry in lake.storage.entries(PREFIX):
            if f"/{segments.OPEN}" in entry.key:
                with wrapped("sealing landed rows"):
                    segments.seal_file(lake.storage.path(entry.key))
    return [e.key for e in lake.storage.entries(PREFIX) if f"/{segments.SEALED}" in e.key]


def remove(lake: Lake, keys: Sequence[str]) -> None:
    """Remove sealed segments whose rows are committed and on disk."""
    for key in keys:
        lake.storage.delete(key)
