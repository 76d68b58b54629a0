"""Parts of tenant buckets: some owners of them, so that a bucket of any size is judged in bounded memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from flows.job import Job
from lake import tables
from transforms.ids import SEPARATOR
from transforms.owners import owner_expr
from transforms.schemas import Table


@dataclass(frozen=True)
class Part:
    """Some owners of a bucket: those whose hash leaves a remainder.

    Args:
        number: The remainder.
        of: What is divided by; 1: all owners.
    """

    number: int = 0
    of: int = 1

    def holds(self, columns: Collection[str]) -> pl.Expr:
        """Whether a row is of one of them; a row of nobody belongs to a part, too."""
        if self.of == 1:
            return pl.lit(True)
        if "owner" in columns:
            owner = pl.col("owner")
        else:
            owner = owner_expr() if "agent_id" in columns else pl.lit("user:") + pl.col("user_id")
        who = pl.concat_str(pl.col("tenant_id").fill_null(""), owner.fill_null(""), separator=SEPARATOR)
        return who.hash(0) % self.of == self.number


WHOLE = Part()


def rows_of(job: Job, table: Table, buckets: Sequence[int], part: Part) -> pl.LazyFrame:
    """Rows of a table of some owners of buckets."""
    rows = tables.scan(job.lake, table, buckets=buckets)
    return rows if part.of == 1 else rows.filter(part.holds(table.names))
