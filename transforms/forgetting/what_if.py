"""What another policy would make of the rows of the lake now, beside the one in force."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

ROW_SCHEMA = pl.Schema(
    {
        "table": pl.String,
        "kind": pl.String,
        "tier": pl.String,
        "tenant": pl.String,
        "state": pl.String,
        "reason": pl.String,
        "is_served": pl.Boolean,
        "content_bytes": pl.Int64,
    }
)
"""A row of the lake under one policy: what becomes of it, why, and the UTF-8 bytes of its free text."""
WHERE = ("table", "kind", "tier", "tenant")
SIDES = ("current", "new")
NONE = "none"
"""Why a row stays."""


def compared(current: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """The same rows under two policies, counted.

    Args:
        current: ``ROW_SCHEMA`` and ``key``, each row of a table once.
        new: The same rows under the other policy.

    Returns:
        ``WHERE``, ``state_current``, ``reason_current``, ``state_new``, ``reason_new``, ``is_served``, with
        ``rows`` and ``content_bytes``. A row that one policy does not list stays under it.
    """
    on = ["table", "key"]
    both = current.join(new, on=on, how="full", coalesce=True, suffix="_new")
    facts = [pl.coalesce(name, f"{name}_new").alias(name) for name in ("kind", "tier", "tenant", "is_served")]
    told = both.select(
        "table",
        *facts,
        pl.coalesce("content_bytes", "content_bytes_new").alias("content_bytes"),
        state_current=pl.col("state").fill_null("stays"),
        state_new=pl.col("state_new").fill_null("stays"),
        reason_current=pl.col("reason").fill_null(NONE),
        reason_new=pl.col("reason_new").fill_null(NONE),
    )
    return summed(told.with_columns(rows=pl.lit(1, pl.Int64)), VERDICTS, ("rows", "content_bytes"))


VERDICTS = (*WHERE, "state_current", "reason_current", "state_new", "reason_new", "is_served")
"""What ``compared`` counts by."""


def summed(rows: pl.DataFrame, by: Sequence[str], counts: Sequence[str]) -> pl.DataFrame:
    """Counts added up by some columns, in their order."""
    if not by:
        return rows.select(pl.col(name).sum() for name in counts)
    return rows.group_by(by).agg(pl.col(name).sum() for name in counts).sort(by, nulls_last=True)


def going(counts: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Rows and bytes that go now, under either policy, by some of ``WHERE``.

    Args:
        counts: From ``compared``.
        by: Columns; none for a single line.

    Returns:
        ``by``, ``rows``, ``content_bytes``, and of each side ``goes_*``, ``goes_bytes_*``, ``waiting_*`` and
        ``held_*``; ``more`` and ``more_bytes`` go under the new policy only, ``fewer`` and ``fewer_bytes``
        under the current one only.
    """
    goes = {side: pl.col(f"state_{side}") == "goes" for side in SIDES}
    wanted: dict[str, pl.Expr] = {"rows": pl.lit(True)}
    for side in SIDES:
        wanted[f"goes_{side}"] = goes[side]
        wanted[f"waiting_{side}"] = pl.col(f"state_{side}") == "waiting"
        wanted[f"held_{side}"] = pl.col(f"state_{side}") == "held"
    wanted |= {"more": goes["new"] & ~goes["current"], "fewer": goes["current"] & ~goes["new"]}
    sizes = {"content_bytes": "rows", "more_bytes": "more", "fewer_bytes": "fewer"}
    sizes |= {f"goes_bytes_{side}": f"goes_{side}" for side in SIDES}
    counted = counts.with_columns(
        *(pl.when(flag).then("rows").otherwise(0).alias(name) for name, flag in wanted.items()),
        *(pl.when(wanted[flag]).then("content_bytes").otherwise(0).alias(n) for n, flag in sizes.items()),
    )
    return summed(counted, by, [*wanted, *sizes])


def reasons(counts: pl.DataFrame, by: Sequence[str] = ("table",)) -> pl.DataFrame:
    """``by``, ``reason``, ``rows_*`` and ``bytes_*`` of each side: why rows go.

    Args:
        counts: From ``compared``.
        by: Columns of ``WHERE``.
    """
    parts = []
    for side in SIDES:
        gone = counts.filter(pl.col(f"state_{side}") == "goes")
        parts.append(
            gone.select(
                *by,
                pl.col(f"reason_{side}").alias("reason"),
                *(pl.when(side == other).then("rows").otherwise(0).alias(f"rows_{other}") for other in SIDES),
                *(
                    pl.when(side == other).then("content_bytes").otherwise(0).alias(f"bytes_{other}")
                    for other in SIDES
                ),
            )
        )
    columns = [f"{name}_{side}" for name in ("rows", "bytes") for side in SIDES]
    return summed(pl.concat(parts), [*by, "reason"], columns)


def standing(counts: pl.DataFrame) -> dict[str, int]:
    """Rows that the index would hold when what is due has gone, by side."""
    served = counts.filter("is_served")
    return {side: int(served.filter(pl.col(f"state_{side}") != "goes")["rows"].sum()) for side in SIDES}
