"""What the next consolidation would cost at the configured model: asked of a dry run that sends nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from flows.consolidate import run_consolidate
from flows.job import Job
from lake.embedders.protocol import Embedded
from lake.models.config import ModelConfig
from lake.models.dry import DryModel
from transforms.costs import EMBEDDING

UNSENT = "unsent"


@dataclass(frozen=True)
class UnsentEmbedder:
    """Stands for the configured embedder and sends nothing: only vectors that are held are used."""

    model_key: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Every text refused."""
        nothing = np.zeros((len(texts), self.dimensions), np.float32)
        return Embedded(nothing, dict.fromkeys(range(len(texts)), UNSENT))


def next_run(job: Job, model: ModelConfig, lines: pl.DataFrame) -> dict[str, Any]:
    """Requests, tokens and money of the next consolidation.

    Args:
        job: On which lake, at which instant; nothing is written, and no text leaves.
        model: Its prices; what its batches hold already is paid for.
        lines: ``cost_report.LINES_SCHEMA``: what requests to this model took before.

    Returns:
        ``requests`` to send, ``pending`` in batches, ``cached``; ``input_tokens``, ``output_tokens``,
        ``live_money`` and ``batch_money`` at the longest answers; ``likely_live_money`` and
        ``likely_batch_money`` at the mean of earlier requests, null where there are none.
    """
    held = job.embedder
    dry = replace(
        job,
        is_dry=True,
        make_embedder=lambda: UnsentEmbedder(held.model_key, held.dimensions),
        make_previous=None,
        make_model=lambda: DryModel(model, job.lake, job.as_of),
        spending=[],
    )
    run_consolidate(dry)
    most = dry.model.spent if dry.model else None
    if most is None:
        return {}
    live = _price(model, most.input_tokens, most.output_tokens)
    before = lines.filter(pl.col("model_key") == model.key, pl.col("task") != EMBEDDING)
    sums = before.select(pl.col(n).sum() for n in ("requests", "input_tokens", "output_tokens"))
    requests, sent, received = sums.row(0)
    likely = most.requests * _price(model, sent, received) / requests if requests else None
    ratio = model.batch_price_ratio
    return {
        "requests": most.requests,
        "pending": most.pending,
        "cached": most.cached,
        "input_tokens": most.input_tokens,
        "output_tokens": most.output_tokens,
        "live_money": live,
        "batch_money": live * ratio,
        "likely_live_money": likely,
        "likely_batch_money": None if likely is None else likely * ratio,
    }


def _price(model: ModelConfig, sent: float, received: float) -> float:
    return (sent * model.input_price + received * model.output_price) / 1_000_000
