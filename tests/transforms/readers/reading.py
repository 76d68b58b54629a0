"""Reads inline sources for the tests of readers."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import NamedTuple

import polars as pl

from transforms.policy import IngestPolicy
from transforms.readers.registry import reader_named
from transforms.schemas import DRAFTS, REFUSALS


class Read(NamedTuple):
    """All batches of one source together."""

    drafts: list[dict[str, object]]
    refusals: list[dict[str, object]]
    left_out: dict[str, int]
    rows_in: int


def read(name: str, data: bytes | str, policy: IngestPolicy | None = None) -> Read:
    """Read a source whole; checks the schemas and that every row is accounted for."""
    raw = data.encode() if isinstance(data, str) else data
    batches = list(reader_named(name).read(io.BytesIO(raw), "source", policy or IngestPolicy()))
    left_out: Counter[str] = Counter()
    for batch in batches:
        assert batch.drafts.schema == DRAFTS.polars
        assert batch.refusals.schema == REFUSALS.polars
        assert batch.rows_in == batch.drafts.height + batch.refusals.height + sum(batch.left_out.values())
        assert batch.drafts["content"].null_count() == 0
        left_out.update(batch.left_out)
    drafts = pl.concat([DRAFTS.empty(), *(b.drafts for b in batches)]).to_dicts()
    refusals = pl.concat([REFUSALS.empty(), *(b.refusals for b in batches)]).to_dicts()
    return Read(drafts, refusals, dict(left_out), sum(b.rows_in for b in batches))


def column(rows: list[dict[str, object]], name: str) -> list[object]:
    """One column of the rows."""
    return [row[name] for row in rows]


def lines(*records: object) -> str:
    """Records as JSON lines."""
    return "\n".join(json.dumps(record) for record in records) + "\n"
