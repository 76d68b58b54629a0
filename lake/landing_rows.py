"""Rows of a landing call as plain values: what the caller passed, normalised, and what may not land."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import orjson
import polars as pl

from lake.lake import Lake
from transforms.few_rows import episodes_of
from transforms.normalise import normalise
from transforms.policy import Policy
from transforms.quarantine import quarantined
from transforms.readers.row_shape import ALIASES
from transforms.readers.rows import refusal, rows_batch
from transforms.readers.text import JsonFault, load_object
from transforms.schemas import REFUSALS
from transforms.validate import Defaults

SOURCE = "landing"
Rows = list[dict[str, Any]]
"""Rows of one table, by column."""
_NONE = REFUSALS.empty()
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def normalised(
    lake: Lake,
    rows: Sequence[Mapping[str, Any]],
    policy: Policy,
    now: datetime,
    source: str,
    defaults: Defaults,
    *,
    is_shared: bool = False,
) -> tuple[Rows, pl.DataFrame]:
    """Rows of ``schemas.EPISODES``, and ``schemas.REFUSALS`` by line, of plain rows.

    A few ordinary rows never become a frame: of one row its fixed cost is ten times that of all the rest.
    """
    records, numbers, faults = _records(rows, now)
    told: dict[str, Any] = {
        "source": source,
        "defaults": defaults,
        "policy": policy,
        "as_of": now,
        "buckets": lake.buckets,
    }
    if not (faults or is_shared):
        few = episodes_of(records, file_name=SOURCE, **told)
        if few is not None:
            return few, _NONE
    batch = rows_batch(records, numbers, lambda i: json.dumps(records[i], ensure_ascii=False), SOURCE, faults)
    done = normalise(batch.drafts, is_shared=is_shared, **told)
    known = batch.refusals.with_columns(
        pl.col(name).fill_null(pl.lit(value, pl.String))
        for name, value in (("tenant_id", defaults.tenant_id), ("user_id", defaults.user_id))
    )
    return done.episodes.to_dicts(), pl.concat([done.refusals, known]).sort("source_line")


def quarantine_rows(lake: Lake, refusals: pl.DataFrame, policy: Policy, now: datetime, source: str) -> Rows:
    """Rows of ``schemas.QUARANTINE`` of refusals."""
    if refusals.is_empty():
        return []
    made = quarantined(refusals, source=source, policy=policy.redact, as_of=now, buckets=lake.buckets)
    return made.to_dicts()


def _records(
    rows: Sequence[Mapping[str, Any]], now: datetime
) -> tuple[list[dict[str, object]], list[int], list[dict[str, object]]]:
    """Records with their numbers, and refusals; every row is in one of them."""
    records, numbers, faults = [], [], []
    for number, row in enumerate(rows, 1):
        try:
            records.append(_record(row, now))
            numbers.append(number)
        except JsonFault as fault:
            faults.append(refusal(fault, ascii(row), number, SOURCE))
    return records, numbers, faults


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
