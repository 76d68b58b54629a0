"""How memory is measured: how much is looked at, so that a night's measures cost little."""

from __future__ import annotations

from pydantic import Field

from transforms.policy_entries import Section


class MetricsPolicy(Section):
    """Bounds of what the measures of a night and the report on quality look at."""

    window_days: float = Field(30.0, gt=0, le=36_500)
    """How far back measures of recall and forgetting look, and the report where ``--days`` is not given."""
    tenants: int = Field(100, ge=0, le=1_000_000)
    """Tenants, those with the most calls, that a night measures one by one beside the whole lake."""
    crowding_calls: int = Field(500, ge=1, le=1_000_000)
    """Most answers in which near-identical memories are looked for, evenly spread over the window."""
    score_rows: int = Field(200_000, ge=1, le=1_000_000_000)
    """The spread of retention scores is told from about so many memories; of more, from a fair sample."""
    audit_rows: int = Field(5_000, ge=2, le=100_000)
    """Most memories of one person that are compared with each other; of more, those used and served most."""
    audit_shown: int = Field(1_000, ge=1, le=1_000_000)
    """Most rows of each list of an audit."""
    audit_chars: int = Field(200, ge=10, le=100_000)
    """A longer text of a memory is cut where an audit shows it."""
