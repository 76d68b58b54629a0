"""What procedures, lessons and patterns share: what a group of attempts comes to, and the shape of a row."""

from __future__ import annotations

import polars as pl

from transforms import ids
from transforms.schemas import PROCEDURES
from transforms.skills.attempts import PRIVACY, REVISION
from transforms.skills.tries import without_orders


def totals() -> dict[str, pl.Expr]:
    """Aggregates of a group of attempts, by column of ``schemas.PROCEDURES``."""
    bucket = pl.col("tenant_bucket")
    return {
        "tenant_bucket": bucket.first(),
        "user_id": pl.col("user_id").min(),
        **{f"{word}_count": (pl.col("feedback") == word).sum() for word in ("helpful", "wrong", "fine")},
        "importance": pl.col("importance").max(),
        "trust": pl.col("trust").min(),
        "sensitivity": pl.col("sensitivity").cast(PRIVACY).max(),
        "source_refs": pl.col("source_refs")
        .list.explode(keep_nulls=False, empty_as_null=False)
        .unique()
        .sort(),
        "session_count": pl.coalesce("session_id", "attempt_id").n_unique(),
        "first_event_at": pl.col("event_at").min(),
        "last_event_at": pl.col("event_at").max(),
    }


def one_agent() -> pl.Expr:
    """The agent, where all rows of a group have the same one; else null."""
    agent = pl.col("agent_id")
    return pl.when((agent.n_unique() == 1) & agent.is_not_null().all()).then(agent.min())


def procedure_rows(found: pl.DataFrame, kind: str, *key: str | pl.Expr) -> pl.DataFrame:
    """Rows of ``schemas.PROCEDURES`` without the columns of the revision, sorted.

    Args:
        found: All other columns but id and kind; the sentence in ``policy``. A row whose sentence
            reads as an order to the agent is left out, as is one whose trigger does.
        kind: procedure, lesson or pattern.
        *key: What tells rows of one tenant, owner and kind apart.
    """
    safe = found.filter(
        without_orders(found["policy"]).is_not_null() & without_orders(found["trigger"]).is_not_null()
    ).with_columns(kind=pl.lit(kind))
    named = safe.with_columns(procedure_id=ids.row_ids(safe, "tenant_id", "owner", "kind", *key))
    names = [name for name in PROCEDURES.names if name not in REVISION]
    return named.select(pl.col(n).cast(PROCEDURES.polars[n]) for n in names).sort(PROCEDURES.sort_by)
