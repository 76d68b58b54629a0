"""Spending at models to rows of the cost ledger: hashes and numbers only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from transforms import ids
from transforms.ledgers import COSTS
from transforms.model_requests import Spending

EMBEDDING = "embedding"
_KEY = ("tenant_hash", "model_key", "task", "mode")
_COUNTS = ("requests", "cached", "input_tokens", "output_tokens", "money")
_MILLION = 1_000_000


def cost_rows(
    spending: Sequence[Spending],
    hashes: Mapping[str, str],
    *,
    run_id: str,
    step: str,
    as_of: datetime,
    at: datetime,
) -> pl.DataFrame:
    """Rows of one step of a run.

    Args:
        spending: In any order; of one tenant, model, task and mode possibly many.
        hashes: Salted hash by tenant.
        run_id: Of the run.
        step: Its name.
        as_of: The instant it reasoned at.
        at: When it started.

    Returns:
        ``schemas.COSTS``, a row a tenant, model, task and mode.
    """
    told = [
        (hashes[s.tenant_id], s.model_key, s.task, s.mode, *(getattr(s, n) for n in _COUNTS))
        for s in spending
    ]
    names = (*_KEY, *_COUNTS)
    frame = pl.DataFrame(told, schema={n: COSTS.polars[n] for n in names}, orient="row")
    # Sorted, so that the sum of money is the same in any order of what was spent.
    summed = frame.sort(*names).group_by(*_KEY, maintain_order=True).agg(pl.col(n).sum() for n in _COUNTS)
    given = summed.with_columns(
        run_id=pl.lit(run_id), step=pl.lit(step), as_of_at=pl.lit(as_of), spent_at=pl.lit(at)
    )
    return COSTS.conform(given.with_columns(cost_id=ids.row_ids(given, "run_id", *_KEY)))


def by_tenant(
    tenants: pl.Series, texts: pl.Series, tokens: int, *, model_key: str, mode: str, price: float
) -> list[Spending]:
    """Tokens of texts that were embedded together, split between their tenants by length of text.

    An endpoint counts a request, not its texts; what the tenants are charged sums to its count.

    Args:
        tenants: Of each text.
        texts: As sent.
        tokens: That the model counted in all.
        model_key: Of the model.
        mode: ``live`` or ``local``.
        price: Of a million tokens.
    """
    chars = pl.DataFrame({"tenant": tenants, "chars": texts.str.len_chars()})
    held = chars.group_by("tenant").agg(texts=pl.len(), chars=pl.col("chars").sum()).sort("tenant")
    parts = apportioned(tokens, held["chars"].to_list())
    return [
        Spending(tenant, model_key, EMBEDDING, mode, count, 0, part, 0, part * price / _MILLION)
        for tenant, count, part in zip(held["tenant"], held["texts"], parts, strict=True)
    ]


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """A whole number in whole parts by weights: largest remainders, the first of equals."""
    shares = list(weights) if sum(weights) else [1] * len(weights)
    whole = sum(shares)
    parts = [total * share // whole for share in shares]
    order = sorted(range(len(shares)), key=lambda place: (-(total * shares[place] % whole), place))
    for place in order[: total - sum(parts)]:
        parts[place] += 1
    return parts
