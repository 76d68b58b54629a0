"""Vectors whose text no row of the tenant has any more; somebody else's same sentence keeps its own."""

from __future__ import annotations

import polars as pl

from flows.erase_work import Work
from lake import tables
from lake.erasure.removal import Rule, count, files_of, remove
from transforms.embedding import EMBEDDED, embedded_columns, hashed_texts
from transforms.schemas import CLAIMS, COLD, EPISODES, FACTS, VECTORS, Table

_TEXTS: tuple[tuple[Table, Table], ...] = (
    *((table, table) for table in EMBEDDED),
    (COLD, EPISODES),
    (CLAIMS, FACTS),
)
"""Tables with texts that have vectors, and the table whose form of text that is."""


def drop_vectors(work: Work) -> None:
    """Take out the tenant's vectors of texts that nobody has; their count is kept before they go."""
    with tables.held_open():
        rule = _rule(work, _living(work))
        found = count(work.lake, rule)
    stores = work.evidence["stores"]
    known = stores.get(VECTORS.name, {"before": 0, "files_rewritten": 0, "bytes_rewritten": 0})
    told = {"before": found.rows, "files_rewritten": len(found.files), "bytes_rewritten": found.bytes}
    stores[VECTORS.name] = {name: max(value, known[name]) for name, value in told.items()}
    work.save()
    remove(work.lake, rule)


def stray_vectors(work: Work) -> int:
    """Vectors of the tenant that stand for no text."""
    return count(work.lake, _rule(work, _living(work))).rows


def _rule(work: Work, living: pl.DataFrame) -> Rule:
    def goes(rows: pl.DataFrame) -> pl.Series:
        mine = rows.with_row_index("row").filter(pl.col("tenant_id") == work.tenant)
        dead = mine.select("row", *_halves()).join(living, on=["first", "last"], how="anti")["row"]
        return pl.select(pl.int_range(rows.height).is_in(dead.implode()).alias("goes")).to_series()

    return Rule(VECTORS, ["tenant_id", "text_hash"], goes, work.buckets)


def _living(work: Work) -> pl.DataFrame:
    """``first`` and ``last`` half of the hash of every text that a row of the tenant has, file by file.

    Sixteen bytes a text: ten million of them take 160 MB, a quarter of what they take as strings.
    """
    found: list[pl.DataFrame] = []
    most = work.job.policy.embed.max_text_chars
    for table, form in _TEXTS:
        for name in files_of(work.lake, table, work.buckets):
            rows = tables.scan(work.lake, table, files=[name]).select(embedded_columns(form))
            mine = rows.filter(pl.col("tenant_id") == work.tenant).unique().collect()
            found.append(hashed_texts(mine, form, most).select(_halves()).unique())
    if not found:
        return pl.DataFrame(schema={"first": pl.UInt64, "last": pl.UInt64})
    return pl.concat(found).unique()


def _halves() -> list[pl.Expr]:
    """A hash of 32 hexadecimal digits as two numbers; null, which equals nothing, where it is none."""
    digits = pl.when(pl.col("text_hash").str.contains(_HASH)).then("text_hash")
    halves = {"first": digits.str.slice(0, 16), "last": digits.str.slice(16)}
    return [half.str.to_integer(base=16, dtype=pl.UInt64).alias(name) for name, half in halves.items()]


_HASH = "^[0-9a-f]{32}$"
