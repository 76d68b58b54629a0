"""Refusals to quarantine rows: redacted, named by place and text, so a second try adds nothing."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from transforms import ids
from transforms.policy import RedactPolicy
from transforms.redact import redact
from transforms.schemas import INSTANT, QUARANTINE

_REDACTED = ("raw", "source_file")
CONFINED = "Its source may hold rows of this tenant only."
"""How the detail of a refusal ends that came of a confined source: read again, it may not leave it either."""


def quarantined(
    refusals: pl.DataFrame, *, source: str, policy: RedactPolicy, as_of: datetime, buckets: int
) -> pl.DataFrame:
    """Quarantine rows (``schemas.QUARANTINE``) of refusals (``schemas.REFUSALS``), as many and in order.

    Refusals that agree in tenant, reason, place and text share their id: whoever stores them keeps
    one, and can count the others.
    """
    if refusals.is_empty():  # as of nearly every file, where there are thousands
        return QUARANTINE.empty()
    tenants = refusals["tenant_id"].fill_null("")
    if policy.is_enabled:
        read = [redact(refusals[name], keep_kinds=policy.keep_kinds)["text"] for name in _REDACTED]
        refusals = refusals.with_columns(text.alias(name) for text, name in zip(read, _REDACTED, strict=True))
    frame = refusals.with_columns(
        tenant_bucket=ids.tenant_buckets(tenants, buckets),
        source=pl.lit(source),
        retry_count=pl.lit(0),
        quarantined_at=pl.lit(as_of).cast(INSTANT),
    )
    key = ids.row_ids(frame, "tenant_id", "reason", "source_file", "source_line", "raw")
    return frame.with_columns(quarantine_id=key).select(QUARANTINE.names)


def confined(refusals: pl.DataFrame, only_tenant: str | None) -> pl.DataFrame:
    """Refusals, those of a source of one tenant kept with it, whatever tenant they name."""
    if only_tenant is None:
        return refusals
    told = pl.concat_str("detail", pl.lit(CONFINED), separator=" ", ignore_nulls=True)
    return refusals.with_columns(tenant_id=pl.lit(only_tenant), detail=told)
