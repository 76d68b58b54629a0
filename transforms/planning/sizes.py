"""What memories take: bytes by table and column, by kind and tenant, and what lies beside the tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

from transforms.schemas import COLD, EPISODES

OVERHEAD = "file overhead"
"""Stands for a column: footers and what else a file holds beside its columns."""
FILES_SCHEMA = pl.Schema({"table": pl.String, "file": pl.String, "rows": pl.Int64, "bytes": pl.Int64})
"""One live data file."""
SAMPLED_SCHEMA = pl.Schema({"table": pl.String, "file": pl.String, "column": pl.String, "bytes": pl.Int64})
"""One column of one file, compressed, as its footer says."""
COLUMNS_SCHEMA = pl.Schema(
    {"table": pl.String, "column": pl.String, "rows": pl.Int64, "files": pl.Int64, "bytes": pl.Float64,
     "bytes_per_row": pl.Float64}
)  # fmt: skip
OBJECTS_SCHEMA = pl.Schema({"key": pl.String, "bytes": pl.Int64})
PARTS_SCHEMA = pl.Schema({"part": pl.String, "table": pl.String, "files": pl.Int64, "bytes": pl.Int64})
GROUPS_SCHEMA = pl.Schema(
    {"table": pl.String, "tenant_id": pl.String, "kind": pl.String, "rows": pl.Int64, "chars": pl.Int64}
)
"""Rows of a table by tenant and kind, with the characters of their text (0 where none are counted)."""
SHARED_SCHEMA = pl.Schema([*GROUPS_SCHEMA.items(), ("bytes", pl.Float64), ("bytes_per_row", pl.Float64)])
TEXT_COLUMNS: Mapping[str, str] = {EPISODES.name: "content", COLD.name: "content"}
"""Column of each table whose bytes go by its length, where groups of rows share a table's bytes."""
LIVE, LOG, SUPERSEDED = "live data files", "table logs", "superseded data files"
INDEX_LIVE, INDEX_KEPT, INDEX_STRAY = "live index", "kept index generations", "unfinished index generations"
_FOLDERS = {
    "landing": "landed, not ingested",
    "recall_log": "recalls, not folded",
    "working": "open sessions",
    "state": "notes of jobs",
    "keys": "keys",
    "scratch": "dry run",
}
OTHER = "other"


def by_column(files: pl.DataFrame, sampled: pl.DataFrame) -> pl.DataFrame:
    """Bytes of each column of each table: shares of the sampled files, scaled to the exact bytes.

    Args:
        files: ``FILES_SCHEMA``, all live files.
        sampled: ``SAMPLED_SCHEMA`` of some of them.

    Returns:
        ``COLUMNS_SCHEMA`` by table and column; the columns of a table sum to its bytes.
    """
    seen = files.join(sampled.select("table", "file").unique(), on=["table", "file"], how="semi")
    whole = files.group_by("table").agg(
        pl.col("rows").sum(), files=pl.len().cast(pl.Int64), all_bytes=pl.col("bytes").sum()
    )
    base = seen.group_by("table").agg(seen_bytes=pl.col("bytes").sum())
    parts = sampled.group_by("table", "column").agg(pl.col("bytes").sum())
    known = parts.group_by("table").agg(pl.col("bytes").sum())
    rest = known.join(base, on="table").select(
        "table", pl.lit(OVERHEAD).alias("column"), bytes=pl.col("seen_bytes") - pl.col("bytes")
    )
    joined = pl.concat([parts, rest]).join(base, on="table").join(whole, on="table")
    scaled = joined.with_columns(
        bytes=pl.col("bytes") * (pl.col("all_bytes") / pl.col("seen_bytes").cast(pl.Float64))
    )
    return (
        scaled.with_columns(bytes_per_row=pl.col("bytes") / pl.col("rows"))
        .select(COLUMNS_SCHEMA.names())
        .cast(COLUMNS_SCHEMA)
        .sort("table", "column")
    )


def shared_out(columns: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Bytes of groups of rows: the text column by its characters, everything else by rows.

    A file mixes kinds and tenants, so no footer can say this; text differs most between groups, and its
    length is known.

    Args:
        columns: ``COLUMNS_SCHEMA``.
        groups: ``GROUPS_SCHEMA``; all rows of each table.

    Returns:
        ``SHARED_SCHEMA``; of a table, the bytes sum to its bytes.
    """
    is_text = pl.col("column") == pl.col("table").replace_strict(
        dict(TEXT_COLUMNS), default=None, return_dtype=pl.String
    )
    sums = columns.group_by("table").agg(
        text_bytes=pl.col("bytes").filter(is_text.fill_null(False)).sum(), all_bytes=pl.col("bytes").sum()
    )
    totals = groups.group_by("table").agg(all_rows=pl.col("rows").sum(), all_chars=pl.col("chars").sum())
    joined = groups.join(totals, on="table").join(sums, on="table")
    by_rows = pl.col("rows") / pl.col("all_rows")
    by_chars = pl.when(pl.col("all_chars") > 0).then(pl.col("chars") / pl.col("all_chars")).otherwise(by_rows)
    taken = pl.col("text_bytes") * by_chars + (pl.col("all_bytes") - pl.col("text_bytes")) * by_rows
    return (
        joined.with_columns(bytes=taken)
        .with_columns(bytes_per_row=pl.col("bytes") / pl.col("rows"))
        .select(SHARED_SCHEMA.names())
        .cast(SHARED_SCHEMA)
        .sort("table", "tenant_id", "kind", nulls_last=True)
    )


def by_part(
    objects: pl.DataFrame, files: pl.DataFrame, live: Collection[str], kept: Collection[str]
) -> pl.DataFrame:
    """What every object below the lake's root belongs to.

    Args:
        objects: ``OBJECTS_SCHEMA``, all of them.
        files: ``FILES_SCHEMA``, the live data files.
        live: Generations that are served.
        kept: All generations that are kept.

    Returns:
        ``PARTS_SCHEMA``, largest first; the bytes sum to those of all objects.
    """
    named = files.select(key="tables/" + pl.col("table") + "/" + pl.col("file"), is_live=pl.lit(True))
    pieces = pl.col("key").str.split("/")
    first, second = pieces.list.get(0), pieces.list.get(1, null_on_oob=True)
    part = (
        pl.when(pl.col("is_live").fill_null(False))
        .then(pl.lit(LIVE))
        .when((first == "tables") & pl.col("key").str.contains("/_delta_log/", literal=True))
        .then(pl.lit(LOG))
        .when(first == "tables")
        .then(pl.lit(SUPERSEDED))
        .when((first == "index") & second.is_in(list(live)))
        .then(pl.lit(INDEX_LIVE))
        .when((first == "index") & second.is_in(list(kept)))
        .then(pl.lit(INDEX_KEPT))
        .when((first == "index") & second.str.starts_with("gen-"))
        .then(pl.lit(INDEX_STRAY))
        .otherwise(first.replace_strict(_FOLDERS, default=OTHER, return_dtype=pl.String))
    )
    table = pl.when(first == "tables").then(second).otherwise(pl.lit(""))
    told = objects.join(named, on="key", how="left").with_columns(part=part, table=table)
    counted = told.group_by("part", "table").agg(files=pl.len().cast(pl.Int64), bytes=pl.col("bytes").sum())
    ordered = ["bytes", "part", "table"]
    return (
        counted.select(PARTS_SCHEMA.names()).cast(PARTS_SCHEMA).sort(ordered, descending=[True, False, False])
    )
