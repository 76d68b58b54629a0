"""Where a measure warns and where it fails, and what a check comes to by its measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transforms.policy_health import HealthPolicy

OK, WARN, FAIL, UNKNOWN = "ok", "warn", "fail", "unknown"
STATES = (OK, WARN, FAIL, UNKNOWN)
_RANKS = {UNKNOWN: 0, OK: 1, WARN: 2, FAIL: 3}
CODES = {OK: 0.0, WARN: 1.0, FAIL: 2.0}
"""States as the measures of a night keep them; what is not known is left out."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Values from which on a measure warns and fails; more is always worse."""

    warn: float
    fail: float


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a check.

    Attributes:
        name: As in ``checks.MEASURES``.
        value: In the unit named there; None where it is not known.
        detail: What it rests on, or why it is not known: counts and names of tables, never content.
    """

    name: str
    value: float | None
    detail: str = ""


def state_of(value: float | None, limit: Limit | None) -> str:
    """The state of a figure: from a limit on, the limit's; without limits it is only shown.

    Args:
        value: None where it is not known.
        limit: Its thresholds.
    """
    if value is None:
        return UNKNOWN
    if limit is None:
        return OK
    if value >= limit.fail:
        return FAIL
    return WARN if value >= limit.warn else OK


def worst(states: Sequence[str]) -> str:
    """The gravest state; what is not known counts only where nothing else is."""
    return max(states, key=_RANKS.__getitem__, default=UNKNOWN)


def strain(value: float | None, limit: Limit | None) -> float:
    """A figure as a part of its failing threshold: 1 is failed; -1 where it has none or is not known."""
    if value is None or limit is None:
        return -1.0
    return value / limit.fail if limit.fail > 0 else float(value >= limit.fail)


def limits(health: HealthPolicy) -> dict[str, Limit]:
    """Thresholds by measure; a measure without is only shown."""
    return {**_of_rows(health), **_of_answers(health), **_of_work(health)}


def _of_rows(health: HealthPolicy) -> dict[str, Limit]:
    return {
        "overdue_rows": Limit(health.overdue_rows_warn, health.overdue_rows_fail),
        "net_growth_ratio": Limit(health.net_growth_ratio_warn, health.net_growth_ratio_fail),
        "bytes_per_row_ratio": Limit(health.bytes_per_row_ratio_warn, health.bytes_per_row_ratio_fail),
        "ledger_bytes": Limit(health.ledger_bytes_warn, health.ledger_bytes_fail),
        "fullest_user_ratio": Limit(health.fullest_user_ratio_warn, health.fullest_user_ratio_fail),
        "contradicting_slots": Limit(health.contradicting_slots_warn, health.contradicting_slots_fail),
        "low_trust_rise_ratio": Limit(health.low_trust_rise_ratio_warn, health.low_trust_rise_ratio_fail),
        "injection_ratio": Limit(health.injection_ratio_warn, health.injection_ratio_fail),
        "writer_rise_ratio": Limit(health.writer_rise_ratio_warn, health.writer_rise_ratio_fail),
        "tool_trust_rows": Limit(health.tool_trust_rows_warn, health.tool_trust_rows_fail),
        "flood_ratio": Limit(health.flood_ratio_warn, health.flood_ratio_fail),
        "quarantine_ratio": Limit(health.quarantine_ratio_warn, health.quarantine_ratio_fail),
        "quarantine_rise": Limit(health.quarantine_rise_warn, health.quarantine_rise_fail),
    }


def _of_answers(health: HealthPolicy) -> dict[str, Limit]:
    return {
        "retired_in_index_rows": Limit(health.retired_in_index_rows_warn, health.retired_in_index_rows_fail),
        "stale_served_ratio": Limit(health.stale_served_ratio_warn, health.stale_served_ratio_fail),
        "expired_served_rows": Limit(health.expired_served_rows_warn, health.expired_served_rows_fail),
        "served_age_days": Limit(health.served_age_days_warn, health.served_age_days_fail),
        "contradictions_served_ratio": Limit(
            health.contradictions_served_ratio_warn, health.contradictions_served_ratio_fail
        ),
        "low_trust_served_ratio": Limit(
            health.low_trust_served_ratio_warn, health.low_trust_served_ratio_fail
        ),
        "foreign_index": Limit(health.foreign_index_warn, health.foreign_index_fail),
        "other_space_ratio": Limit(health.other_space_ratio_warn, health.other_space_ratio_fail),
        "bare_ratio": Limit(health.bare_ratio_warn, health.bare_ratio_fail),
        "mean_shift": Limit(health.mean_shift_warn, health.mean_shift_fail),
        "cosine_fall": Limit(health.cosine_fall_warn, health.cosine_fall_fail),
        "similar_pairs_ratio": Limit(health.similar_pairs_ratio_warn, health.similar_pairs_ratio_fail),
        "empty_ratio": Limit(health.empty_ratio_warn, health.empty_ratio_fail),
        "weak_ratio": Limit(health.weak_ratio_warn, health.weak_ratio_fail),
    }


def _of_work(health: HealthPolicy) -> dict[str, Limit]:
    return {
        "damaged_generations": Limit(health.damaged_generations_warn, health.damaged_generations_fail),
        "landed_hours": Limit(health.landed_hours_warn, health.landed_hours_fail),
        "unembedded_hours": Limit(health.unembedded_hours_warn, health.unembedded_hours_fail),
        "unconsolidated_hours": Limit(health.unconsolidated_hours_warn, health.unconsolidated_hours_fail),
        "unpublished_hours": Limit(health.unpublished_hours_warn, health.unpublished_hours_fail),
        "night_hours": Limit(health.night_hours_warn, health.night_hours_fail),
        "failed_erasures": Limit(health.failed_erasures_warn, health.failed_erasures_fail),
        "overdue_erasures": Limit(health.overdue_erasures_warn, health.overdue_erasures_fail),
        "open_erasure_days": Limit(health.open_erasure_days_warn, health.open_erasure_days_fail),
        "bad_certificates": Limit(health.bad_certificates_warn, health.bad_certificates_fail),
        "files_ratio": Limit(health.files_ratio_warn, health.files_ratio_fail),
        "partition_files": Limit(health.partition_files_warn, health.partition_files_fail),
        "superseded_ratio": Limit(health.superseded_ratio_warn, health.superseded_ratio_fail),
        "landing_segments": Limit(health.landing_segments_warn, health.landing_segments_fail),
        "recall_log_bytes": Limit(health.recall_log_bytes_warn, health.recall_log_bytes_fail),
        "stray_generations": Limit(health.stray_generations_warn, health.stray_generations_fail),
        "broken_links": Limit(health.broken_links_warn, health.broken_links_fail),
        "failed_run_ratio": Limit(health.failed_run_ratio_warn, health.failed_run_ratio_fail),
        "failing_steps": Limit(health.failing_steps_warn, health.failing_steps_fail),
    }


def as_counts(states: Mapping[str, str]) -> dict[str, Any]:
    """What a night tells of its health: state of the whole, and names of checks that are not ok.

    Args:
        states: By check.
    """
    named = {state: [name for name, found in states.items() if found == state] for state in STATES}
    return {
        "state": worst([state for state in states.values() if state != UNKNOWN] or [UNKNOWN]),
        "failing": named[FAIL],
        "warnings": named[WARN],
        "unknown": named[UNKNOWN],
    }


def verdict(counts: Mapping[str, Any]) -> str:
    """``as_counts`` in one line: what fails, what warns, what is not known and why."""
    parts = [
        f"{word} {', '.join(counts[name])}"
        for word, name in (("FAILING", "failing"), ("warnings", "warnings"), ("not known", "unknown"))
        if counts[name]
    ]
    reason = f" ({counts['reason']})" if counts.get("reason") else ""
    return f"health: {'; '.join([counts['state'], *parts])}{reason}"
