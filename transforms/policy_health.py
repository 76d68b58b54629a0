"""Thresholds of the health report: where a check warns and where it fails."""

from __future__ import annotations

from pydantic import Field

from transforms.policy_entries import Section


class HealthPolicy(Section):
    """One check per way in which a memory goes wrong."""

    window_days: float = Field(30.0, gt=0, le=36_500)
    """How far back rates and recalls are looked at."""
