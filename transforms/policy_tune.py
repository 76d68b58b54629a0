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
    batch: int = Field(10, ge=1, le=10_000)
    """Policies that a guided search asks for at once: more are quicker, fewer learn sooner. On the
    sample traces 300 trials, 10 at once, come as far as 1,000 of which 25 are asked for at once."""
    grid_limit: int = Field(20_000, ge=1, le=10_000_000)
    """Most policies of a grid."""
    tolerance: float = Field(0.001, ge=0, le=1)
    """A change of the best policy is taken back if that costs no more of the metric: what remains matters."""
    finalists: int = Field(5, ge=1, le=1_000)
    """Best policies of the search whose gain on the later span is shown, adjusted for their number."""
    sweep_steps: int = Field(9, ge=2, le=1_000)
    """Values at which each knob is looked at, and of either side of the heat map."""
    search_calls: int = Field(20_000, ge=100, le=100_000_000)
    """Most calls of the earlier span that are searched on, evenly over its time; the verdict takes every
    later call. A policy takes up to a second on 100,000 calls of 50 candidates, and hundreds are tried."""
    min_calls: int = Field(100, ge=2, le=10_000_000)
    """Fewest labelled calls in each span; with fewer nothing is searched."""
    min_clusters: int = Field(10, ge=2, le=1_000_000)
    """Fewest users, else sessions, that a gain must be seen in: of fewer no interval tells anything."""
    level: float = Field(0.95, gt=0, lt=1)
    """Confidence of the intervals."""
    resamples: int = Field(2_000, ge=100, le=1_000_000)
    """Draws of the paired bootstrap."""
    block_bytes: int = Field(64_000_000, ge=1_000_000, le=10_000_000_000)
    """Memory that a block of scores may take."""
    seed: int = Field(0, ge=0, le=2**31)
    """Of searches and draws."""
    feedback_minutes: float = Field(60.0, gt=0, le=10_080)
    """How long after a call feedback of its user is taken to be of it."""
    echo_share: float = Field(0.5, gt=0, le=1)
    """Part of a memory's rare words that an answer must repeat to count as having used it."""
    echo_terms: int = Field(12, ge=2, le=1_000)
    """Rarest words of a memory that are looked for in the answer."""
    echo_minutes: float = Field(10.0, gt=0, le=1_440)
    """How long after a call what the agent says is taken for its answer."""
