"""Logged calls to rows of ``recalls``, and what agents say they used to marks on those rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from transforms import ids
from transforms.rights_tables import RECALLS
from transforms.schemas import INSTANT

ROW_COLUMNS = (
    "memory_id", "kind", "tier", "outcome", "rank", "score", "relevance", "recency", "importance",
    "frequency", "type", "closeness", "cosine", "word_match", "memory_importance", "access_count",
    "last_accessed_at",    "event_at", "tokens", "is_returned", "is_packed",
)  # fmt: skip
"""Columns of which a logged call holds a list, one value a candidate; instants in microseconds since 1970."""
HEAD_COLUMNS = (
    "call_id", "tenant_id", "user_id", "agent_id", "session_id", "query", "verb", "route", "weighting",
    "policy_hash", "seconds", "budget_tokens", "generation", "recalled_at",
)  # fmt: skip
"""Columns that are one value a call."""
USES_SCHEMA = pl.Schema(
    {
        "use": pl.UInt32(),
        "call_id": pl.String(),
        "tenant_id": pl.String(),
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "session_id": pl.String(),
        "memory_id": pl.String(),
        "used_at": INSTANT,
    }
)
"""What agents say they used, one row a memory; a null call or part of the scope leaves it open."""
_SCOPE = ("user_id", "agent_id", "session_id")
_NAMES = ("call_id", "memory_id")


def _stored(name: str) -> pl.DataType:
    kind = RECALLS.polars[name]
    return pl.Int64() if kind == INSTANT else kind


def recall_rows(calls: Sequence[Mapping[str, Any]], buckets: int) -> pl.DataFrame:
    """Logged calls as ``schemas.RECALLS``, each row once, ``is_used`` unknown.

    Args:
        calls: ``HEAD_COLUMNS`` of each, and under ``rows`` a list of each of ``ROW_COLUMNS``.
        buckets: Tenant buckets of the lake.

    Raises:
        ValueError: The lists of a call differ in length.
        TypeError: A value is of a wrong type.
        KeyError: A column is missing.
        LakeError: A value is null where it may not be, or outside its closed list.
    """
    counts = [len(call["rows"]["memory_id"]) for call in calls]
    found = {name: [call[name] for call in calls] for name in HEAD_COLUMNS}
    heads = pl.DataFrame([pl.Series(name, values, _stored(name)) for name, values in found.items()])
    places = np.repeat(np.arange(len(calls)), counts)
    rows = heads[places].hstack([_flat(name, calls, len(places)) for name in ROW_COLUMNS])
    instants = [name for name in (*HEAD_COLUMNS, *ROW_COLUMNS) if RECALLS.polars[name] == INSTANT]
    rows = rows.with_columns(
        *(pl.col(name).cast(INSTANT) for name in instants),
        tenant_bucket=ids.tenant_buckets(rows["tenant_id"].fill_null(""), buckets),
        is_used=pl.lit(None, pl.Boolean),
    )
    rows = rows.with_columns(month=pl.col("recalled_at").dt.strftime("%Y-%m"))
    return RECALLS.conform(rows).unique(list(RECALLS.key), keep="first", maintain_order=True)


def _flat(name: str, calls: Sequence[Mapping[str, Any]], count: int) -> pl.Series:
    values = list(chain.from_iterable(call["rows"][name] for call in calls))
    if len(values) != count:
        raise ValueError(name)
    return pl.Series(name, values, _stored(name))


def use_rows(uses: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """``USES_SCHEMA`` of lines that say what was used.

    Raises:
        TypeError: A value is of a wrong type.
        KeyError: A column is missing.
    """
    names = [name for name in USES_SCHEMA if name not in ("use", "memory_id")]
    kinds = {n: pl.Int64() if k == INSTANT else k for n, k in USES_SCHEMA.items() if n in names}
    columns = [pl.Series(name, [use[name] for use in uses], kinds[name]) for name in names]
    named = pl.Series("memory_id", [use["memory_ids"] for use in uses], pl.List(pl.String))
    frame = pl.DataFrame([*columns, named]).with_row_index("use")
    rows = frame.explode("memory_id", empty_as_null=False)
    dated = rows.with_columns(pl.col("used_at").cast(INSTANT))
    return dated.select(list(USES_SCHEMA)).drop_nulls("memory_id")


def used_rows(uses: pl.DataFrame, recalls: pl.LazyFrame) -> pl.DataFrame:
    """The rows of recalls that uses are about.

    A use that names its call is about that call's rows; one that names none is about the newest call of its
    scope that gave the memory to the caller, up to when it was used.

    Args:
        uses: ``USES_SCHEMA``.
        recalls: ``schemas.RECALLS``.

    Returns:
        ``use``, ``call_id``, ``memory_id``: one row at most of each use and memory; what no call knows is
        missing.
    """
    wanted = recalls.select("tenant_id", *_SCOPE, "call_id", "memory_id", "recalled_at", "is_returned")
    asked = uses.lazy().rename({"call_id": "named", **{n: f"{n}_of_use" for n in _SCOPE}})
    met = asked.join(wanted, on=["tenant_id", "memory_id"], how="inner")
    is_open = pl.col("named").is_null()
    in_scope = [pl.col(f"{n}_of_use").is_null() | pl.col(n).eq_missing(pl.col(f"{n}_of_use")) for n in _SCOPE]
    guessed = pl.all_horizontal(*in_scope, "is_returned", pl.col("recalled_at") <= pl.col("used_at"))
    found = met.filter((pl.col("named") == pl.col("call_id")).fill_null(False) | (is_open & guessed))
    newest = found.sort("recalled_at", "call_id").group_by("use", "memory_id").agg(pl.col("call_id").last())
    return newest.select("use", *_NAMES).collect(engine="streaming")


def marked(recalls: pl.DataFrame, used: pl.DataFrame) -> pl.DataFrame:
    """Recalls with ``is_used`` set where ``used_rows`` says so."""
    mine = used.select(*_NAMES, said=pl.lit(True)).unique()
    rows = recalls.join(mine, on=list(_NAMES), how="left", maintain_order="left")
    return rows.with_columns(is_used=pl.coalesce("said", "is_used")).select(RECALLS.names)
