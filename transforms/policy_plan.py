"""Assumptions of the capacity report that no lake can measure: prices, machines, growth."""

from __future__ import annotations

from pydantic import Field

from transforms.policy_entries import Section


class PlanPolicy(Section):
    """Planning of capacity. Prices are in one currency of the planner's choice."""

    window_days: float = Field(90.0, gt=0, le=36_500)
    """How far back growth is measured."""
