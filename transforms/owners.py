"""Whose a row is: the bound that no derivation crosses."""

from __future__ import annotations

import polars as pl


def owner_expr() -> pl.Expr:
    """``user:`` and the user, where the row has one, else ``agent:`` and the agent; null for neither.

    Rows without an owner are recalled as they are, and nothing is derived from them.
    """
    user, agent = pl.col("user_id"), pl.col("agent_id")
    return pl.coalesce(pl.lit("user:") + user, pl.lit("agent:") + agent).alias("owner")
