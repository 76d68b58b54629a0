"""Policy of replay and tuning: spans, searches, and when a gain is one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from transforms.policy_entries import Section


class TunePolicy(Section):
    """Replay of logged recalls under other policies."""

    window_days: float = Field(90.0, gt=0, le=36_500)
    """How far back recalls are replayed."""
    train_ratio: float = Field(0.7, gt=0, lt=1)
    """Earlier part of the labelled calls, by time, that is searched on; the later rest is reported on."""
    metric: Literal["ndcg", "recall", "mrr", "hit"] = "ndcg"
    """What is maximised, of the memories that were of use."""
    metric_at: int = Field(10, ge=1, le=1_000)
    """Places of an answer that count."""
    trials: int = Field(300, ge=1, le=100_000)
    """Policies that a random or guided search tries."""
    min_calls: int = Field(100, ge=2, le=10_000_000)
    """Fewest labelled calls in each span; with fewer nothing is searched."""
    level: float = Field(0.95, gt=0, lt=1)
    """Confidence of the intervals."""
    resamples: int = Field(2_000, ge=100, le=1_000_000)
    """Draws of the paired bootstrap."""
    block_bytes: int = Field(64_000_000, ge=1_000_000, le=10_000_000_000)
    """Memory that a block of scores may take."""
    seed: int = Field(0, ge=0, le=2**31)
    """Of searches and draws."""
