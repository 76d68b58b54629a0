"""The checks of the health report: which measures each has, in which unit, and what to do where one fails.

A check stands for one way in which a memory goes wrong. Its state is the worst of its measures', and it is
told by the measure that is nearest to failing. ``docs/health.md`` has a paragraph for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from transforms.health.remedies import MEASURES, TITLES, Kind
from transforms.health.thresholds import UNKNOWN, WARN, Limit, Measure, state_of, strain, worst

RUNBOOK = "docs/health.md"
_FINDINGS: dict[str, pl.DataType | type[pl.DataType]] = {
    "check": pl.String,
    "measure": pl.String,
    "state": pl.String,
    "value": pl.Float64,
    "unit": pl.String,
    "warn_at": pl.Float64,
    "fail_at": pl.Float64,
    "detail": pl.String,
}
FINDINGS_SCHEMA = pl.Schema(_FINDINGS)


@dataclass(frozen=True, slots=True)
class Finding:
    """A measure beside its thresholds.

    Attributes:
        measure: Its name.
        label: The same in words.
        state: One of ``thresholds.STATES``.
        value: None where it is not known.
        unit: Of the value and the thresholds.
        warn_at: Value from which on it warns; None where it is only shown.
        fail_at: Value from which on it fails.
        detail: What it rests on, or why it is not known.
        remedy: What to do where it is not ok.
    """

    measure: str
    label: str
    state: str
    value: float | None
    unit: str
    warn_at: float | None
    fail_at: float | None
    detail: str
    remedy: str

    @property
    def sentence(self) -> str:
        """The figure in words."""
        shown = UNKNOWN if self.value is None else shown_as(self.value, self.unit)
        told = f"{self.label}: {'not known' if self.value is None else shown}"
        return f"{told} ({self.detail})" if self.detail else told


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: One of ``remedies.TITLES``.
        state: The worst of its measures'; ``unknown`` where none is known, ``warn`` where it broke off.
        findings: Its measures, as they were taken.
        reason: Why it broke off; empty where it did not.
    """

    name: str
    state: str
    findings: tuple[Finding, ...]
    reason: str = ""

    @property
    def leading(self) -> Finding | None:
        """The measure it is told by: of the worst ones the nearest to failing."""
        told = [one for one in self.findings if one.state == self.state] or list(self.findings)
        if not told:
            return None
        return max(told, key=lambda one: strain(one.value, _limit(one)))  # of equals the first

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: what the check comes to, then each of its measures."""
        told = self.leading
        return {
            "name": self.name,
            "title": TITLES[self.name],
            "state": self.state,
            "measure": told.measure if told else None,
            "value": told.value if told else None,
            "unit": told.unit if told else None,
            "warn_at": told.warn_at if told else None,
            "fail_at": told.fail_at if told else None,
            "sentence": self.sentence,
            "remedy": told.remedy if told else "",
            "runbook": self.runbook,
            "reason": self.reason,
            "measures": [{**asdict(one), "sentence": one.sentence} for one in self.findings],
        }

    @property
    def sentence(self) -> str:
        """What there is to say, in one line."""
        if self.reason:
            return f"not known: {self.reason}"
        return self.leading.sentence if self.leading else "nothing to look at"

    @property
    def runbook(self) -> str:
        """Where it is told what the check means and what to do."""
        return f"{RUNBOOK}#{TITLES[self.name].lower().replace(' ', '-')}"


def _limit(finding: Finding) -> Limit | None:
    if finding.warn_at is None or finding.fail_at is None:
        return None
    return Limit(finding.warn_at, finding.fail_at)


def check_of(name: str, measures: Iterable[Measure], limits: Mapping[str, Limit]) -> Check:
    """A check of its measures.

    Args:
        name: One of ``remedies.TITLES``.
        measures: Taken; each is one of ``remedies.MEASURES`` of this check.
        limits: ``thresholds.limits``.
    """
    findings = tuple(_finding(one, MEASURES[one.name], limits.get(one.name)) for one in measures)
    judged = [one.state for one in findings if one.fail_at is not None]
    return Check(name, worst(judged), findings)


def broken_off(name: str, reason: str) -> Check:
    """A check that could not be made: a lake that cannot be looked at is not well."""
    return Check(name, WARN, (), reason)


def _finding(measure: Measure, kind: Kind, limit: Limit | None) -> Finding:
    return Finding(
        measure.name,
        kind.label,
        state_of(measure.value, limit),
        measure.value,
        kind.unit,
        limit.warn if limit else None,
        limit.fail if limit else None,
        measure.detail,
        kind.remedy,
    )


def findings_frame(checks: Sequence[Check]) -> pl.DataFrame:
    """Every measure of every check (``FINDINGS_SCHEMA``), in the order of the checks."""
    rows = [
        {"check": check.name, **{name: getattr(one, name) for name in FINDINGS_SCHEMA.names()[1:]}}
        for check in checks
        for one in check.findings
    ]
    return pl.DataFrame(rows, schema=FINDINGS_SCHEMA)


def shown_as(value: float, unit: str) -> str:
    """A figure with its unit, as a person reads it."""
    if unit == "ratio":
        return f"{100 * value:.1f} %"
    if unit == "bytes":
        return _bytes(value)
    amount = f"{value:,.0f}" if value == round(value) else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"
    one = unit.removesuffix("es") if unit.endswith("xes") else unit.removesuffix("s")
    return f"{amount} {one if amount == '1' else unit}".rstrip()


def _bytes(value: float) -> str:
    amount, units = value, ["bytes", "kB", "MB", "GB", "TB", "PB"]
    while amount >= 999.5 and len(units) > 1:
        amount, units = amount / 1_000, units[1:]
    return f"{amount:,.3g} {units[0]}" if amount < 100 else f"{amount:,.0f} {units[0]}"
