"""The working of a scenario: every number with its unit and how it comes about."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

STEPS_SCHEMA = pl.Schema(
    {
        "scenario": pl.String,
        "part": pl.String,
        "name": pl.String,
        "value": pl.Float64,
        "unit": pl.String,
        "formula": pl.String,
    }
)


@dataclass
class Sheet:
    """The working of one scenario, line by line.

    Attributes:
        scenario: Its name.
        lines: ``STEPS_SCHEMA`` without the scenario.
    """

    scenario: str
    lines: list[tuple[str, str, float, str, str]] = field(default_factory=list)

    def add(self, part: str, name: str, value: float, unit: str, formula: str) -> float:
        """Write a line down and give its value back."""
        self.lines.append((part, name, float(value), unit, formula))
        return float(value)

    def frame(self) -> pl.DataFrame:
        """``STEPS_SCHEMA``, in the order of the working."""
        return pl.DataFrame(
            [(self.scenario, *line) for line in self.lines], schema=STEPS_SCHEMA, orient="row"
        )
