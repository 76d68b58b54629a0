"""Rows that agents write online: durable when ``append`` returns, recalled at once, ingested later.

A process appends to one open segment a tenant bucket, under the kernel's file lock, and syncs it
before returning. Ingest seals a segment by renaming it under the same lock, so no writer adds to a
sealed one. On an object store every append is one object. Rows are validated, redacted and tagged
before they touch the disk.
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
from lake.storage import LocalStorage
from transforms.errors import UsageError
from transforms.normalise import normalise
from transforms.policy import Policy
from transforms.quarantine import quarantined
from transforms.readers.row_shape import ALIASES
from transforms.readers.rows import refusal, rows_batch
from transforms.readers.text import JsonFault, load_object
from transforms.schemas import EPISODES, QUARANTINE, TEXTS, Table
from transforms.validate import Defaults

SOURCE = "landing"
PREFIX = "landing"
_COLUMNS = {table.name: set(table.names) for table in (EPISODES, QUARANTINE)}
_REQUIRED = {t.name: {c.name for c in t.columns if not c.is_nullable} for t in (EPISODES, QUARANTINE)}
_TEXT_COLUMNS = {
    t.name: [c.name for c in t.columns if c.dtype in (pl.String, TEXTS)] for t in (EPISODES, QUARANTINE)
}
_SHARES = ("importance", "trust")
_MISFITS = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)
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

    Refused rows are kept too; they reach quarantine with the next ingest.
    """

    landed: list[str]
    refused: list[Refused] = field(default_factory=list)


def append(
    lake: Lake | str | PathLike[str],
    rows: Sequence[Mapping[str, Any]],
    *,
    policy: Policy | None = None,
    now: datetime | None = None,
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
    defaults = _defaults(scope)
    drafts, refusals = _drafts(rows, now)
    done = normalise(drafts, source=SOURCE, defaults=defaults, policy=policy, as_of=now, buckets=lake.buckets)
    known = refusals.with_columns(
        pl.col(name).fill_null(pl.lit(value, pl.String))
        for name, value in (("tenant_id", defaults.tenant_id), ("user_id", defaults.user_id))
    )
    refusals = pl.concat([done.refusals, known]).sort("source_line")
    refused = QUARANTINE.empty()
    if refusals.height:
        refused = quarantined(refusals, source=SOURCE, policy=policy.redact, as_of=now, buckets=lake.buckets)
    for bucket, data in sorted(_lines(done.episodes, refused).items()):
        _write(lake, bucket, data)
    landed = done.episodes.sort("source_line")["episode_id"].to_list()
    told = [Refused((r["source_line"] or 1) - 1, r["reason"], r["detail"] or "") for r in refusals.to_dicts()]
    return Receipt(landed, told)


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


def _lines(episodes: pl.DataFrame, refused: pl.DataFrame) -> dict[int, bytes]:
    """JSON lines by tenant bucket."""
    parts: dict[int, list[bytes]] = {}
    for table, frame in ((EPISODES, episodes), (QUARANTINE, refused)):
        for row in frame.to_dicts():
            line = orjson.dumps({table.name: row}, option=orjson.OPT_APPEND_NEWLINE)
            parts.setdefault(row["tenant_bucket"], []).append(line)
    return {bucket: b"".join(lines) for bucket, lines in parts.items()}


def _write(lake: Lake, bucket: int, data: bytes) -> None:
    if isinstance(lake.storage, LocalStorage):
        with wrapped("landing rows"):
            segments.segment(lake.storage.root / PREFIX / f"{bucket:03d}").append(data)
    else:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        name = f"{segments.SEALED}{stamp}-{secrets.token_hex(6)}.jsonl"
        lake.storage.write(f"{PREFIX}/{bucket:03d}/{name}", data)


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


def segment_rows(lines: Sequence[bytes], table: Table) -> tuple[pl.DataFrame, list[bytes]]:
    """Rows of one table among landed lines, and the lines that are none: torn, or against its rules."""
    rows, torn = [], []
    for line in lines:
        name, row = _landed_row(line)
        if row is None:
            torn.append(line)
        elif name == table.name:
            rows.append((line, row))
    try:
        frame = _frame([row for _, row in rows], table)
    except _MISFITS:
        return _frames(rows, table, torn)
    is_broken = frame.select(pl.any_horizontal(_breaches(table))).to_series()
    if is_broken.any():
        torn += [rows[i][0] for i in is_broken.arg_true()]
        frame = frame.filter(~is_broken)
    return frame, torn


def _breaches(table: Table) -> list[pl.Expr]:
    """Where a row is what the table's own rules forbid; never null."""
    found = [pl.lit(False)]
    for column in table.columns:
        held = pl.col(column.name)
        if not column.is_nullable:
            found.append(held.is_null())
        if column.allowed:
            found.append(~held.is_in(column.allowed).fill_null(True))
        if column.dtype.is_nested():
            found.append((held.list.eval(pl.element().is_null()).list.any()).fill_null(False))
        if column.name in _SHARES:
            found.append(~held.is_between(0, 1).fill_null(True))
    return found


def _landed_row(line: bytes) -> tuple[str, dict[str, Any] | None]:
    """Table and row of one line; no row where the line is not one of ours, whole."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return "", None
    if isinstance(record, dict) and len(record) == 1:
        name, row = next(iter(record.items()))
        if name in _COLUMNS and isinstance(row, dict) and _REQUIRED[name] <= row.keys() <= _COLUMNS[name]:
            return (name, row) if all(_is_text(row.get(n)) for n in _TEXT_COLUMNS[name]) else ("", None)
    return "", None


def _is_text(value: object) -> bool:
    """Whether it is text, texts or null; a number would quietly become text."""
    if isinstance(value, list):
        return all(isinstance(part, str) for part in value)
    return value is None or isinstance(value, str)


def _frames(
    rows: Sequence[tuple[bytes, dict[str, Any]]], table: Table, torn: list[bytes]
) -> tuple[pl.DataFrame, list[bytes]]:
    """Row by row, where a value of one of them is of a wrong type."""
    kept, torn = [table.empty()], list(torn)
    for line, row in rows:
        try:
            frame = _frame([row], table)
        except _MISFITS:
            torn.append(line)
            continue
        if frame.select(pl.any_horizontal(_breaches(table))).item():
            torn.append(line)
        else:
            kept.append(frame)
    return pl.concat(kept), torn


def _frame(rows: list[dict[str, Any]], table: Table) -> pl.DataFrame:
    instants = [name for name, dtype in table.polars.items() if isinstance(dtype, pl.Datetime)]
    loose = pl.Schema({n: pl.String if n in instants else d for n, d in table.polars.items()})
    frame = pl.DataFrame(rows, schema=loose, orient="row") if rows else pl.DataFrame(schema=loose)
    return frame.with_columns(
        pl.col(n).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", time_zone="UTC")
        for n in instants
    ).select(table.names)


def lines_of(data: bytes, *, is_sealed: bool) -> list[bytes]:
    """Complete lines of a segment; an open one's unfinished last line is not yet there."""
    if not is_sealed and not data.endswith(b"\n"):
        data = data[: data.rfind(b"\n") + 1]
    return [line for line in data.split(b"\n") if line]
