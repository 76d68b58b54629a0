"""How long the rows of each table live beside the episodes they come of."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from transforms.planning.forecast import CLASSES_SCHEMA, OWN
from transforms.policy import Policy
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    FACTS,
    FORGOTTEN,
    LINEAGE,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    SUMMARIES,
)

DAY_SECONDS = 86_400
TIERED = (FACTS.name, SUMMARIES.name, PROCEDURES.name)
"""Tables whose rows name their own tier."""


def table_lifetimes(policy: Policy, tiers: Mapping[str, str]) -> dict[str, int | None]:
    """Days that rows of a table live, by table; one that is missing lives as long as its episodes.

    Args:
        policy: Lifetimes.
        tiers: Tier that most rows of each of ``TIERED`` have.
    """
    retention = policy.retention
    of = retention.ttl_seconds()
    seconds: dict[str, int | None] = {
        table: of.get(tiers.get(table, ""), of[retention.default_tier]) for table in TIERED
    }
    # What facts were read from stands as long as they do.
    seconds |= dict.fromkeys((CLAIMS.name, DECISIONS.name, LINEAGE.name), seconds[FACTS.name])
    seconds |= {
        CONVERSATIONS.name: of[retention.conversations_tier],
        ATTEMPTS.name: of[retention.attempts_tier],
        MODEL_RESULTS.name: retention.model_results_seconds,
        RECALLS.name: retention.recalls_seconds,
        QUARANTINE.name: retention.quarantine_seconds,
        FORGOTTEN.name: None,
    }
    return {table: None if s is None else max(1, -(-s // DAY_SECONDS)) for table, s in seconds.items()}


def classes(
    by_tenant: pl.DataFrame, lifetimes: Mapping[str, int | None], index: Mapping[str, float]
) -> pl.DataFrame:
    """Bytes of each tenant by how long they live (``forecast.CLASSES_SCHEMA``).

    Args:
        by_tenant: ``tenant_id``, ``table``, ``bytes``.
        lifetimes: By table.
        index: Bytes of the index by tenant; they live as long as the episodes.
    """
    told = [
        (tenant, OWN if table not in lifetimes else _name(lifetimes[table]), lifetimes.get(table), size)
        for tenant, table, size in by_tenant.select("tenant_id", "table", "bytes").iter_rows()
    ]
    told += [(tenant, OWN, None, size) for tenant, size in sorted(index.items())]
    rows = pl.DataFrame(told, schema=CLASSES_SCHEMA, orient="row")
    by = ["tenant_id", "class", "lifetime_days"]
    return rows.group_by(by).agg(pl.col("bytes").sum()).sort(by, nulls_last=True)


def _name(days: int | None) -> str:
    return "for ever" if days is None else f"{days} days"
