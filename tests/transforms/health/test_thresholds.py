"""States of measures and checks: monotone, complete, and told by what is worst."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.health.checks import broken_off, check_of, findings_frame, shown_as
from transforms.health.remedies import MEASURES, TITLES
from transforms.health.thresholds import (
    STATES,
    Limit,
    Measure,
    as_counts,
    limits,
    state_of,
    verdict,
    worst,
)
from transforms.policy_health import HealthPolicy

VALUES = st.floats(0, 1e9)
ORDER = {"ok": 0, "warn": 1, "fail": 2}


@given(VALUES, VALUES, VALUES, VALUES)
def test_more_is_never_better(a: float, b: float, warn: float, fail: float) -> None:
    limit = Limit(min(warn, fail), max(warn, fail))
    assert ORDER[state_of(min(a, b), limit)] <= ORDER[state_of(max(a, b), limit)]


@pytest.mark.parametrize(
    ("value", "limit", "state"),
    [
        (None, Limit(1, 2), "unknown"),
        (5.0, None, "ok"),
        (0.9, Limit(1, 2), "ok"),
        (1.0, Limit(1, 2), "warn"),
        (2.0, Limit(1, 2), "fail"),
        (1.0, Limit(1, 1), "fail"),
    ],
)
def test_from_a_threshold_on(value: float | None, limit: Limit | None, state: str) -> None:
    assert state_of(value, limit) == state


def test_every_measure_has_thresholds_of_its_own_keys() -> None:
    policy = HealthPolicy()
    known = limits(policy)
    shown = {"lake_bytes", "lake_rows"}
    assert set(known) == set(MEASURES) - shown
    for name, limit in known.items():
        assert (limit.warn, limit.fail) == (getattr(policy, f"{name}_warn"), getattr(policy, f"{name}_fail"))
        assert limit.warn <= limit.fail
        changed = policy.model_copy(update={f"{name}_warn": -1.0, f"{name}_fail": -2.0})
        assert limits(changed)[name] == Limit(-1.0, -2.0)
        assert MEASURES[name].remedy.endswith(".")
    assert [*dict.fromkeys(kind.check for kind in MEASURES.values())] == list(TITLES)


def test_a_check_is_its_worst_measure_and_told_by_it() -> None:
    known = {
        "failed_erasures": Limit(1, 1),
        "open_erasure_days": Limit(2, 14),
        "bad_certificates": Limit(1, 9),
    }
    taken = [
        Measure("failed_erasures", 0.0),
        Measure("overdue_erasures", None, "too few"),
        Measure("open_erasure_days", 7.0),
        Measure("bad_certificates", 8.0, "of 9 certificates"),
    ]
    check = check_of("erasure", taken, known)
    assert check.state == "warn"
    assert check.leading is not None
    assert check.leading.measure == "bad_certificates"  # 8 of 9 is nearer to failing than 7 of 14
    told = check.as_dict()
    assert told["sentence"] == "Certificates that do not hold: 8 certificates (of 9 certificates)"
    assert (told["value"], told["warn_at"], told["fail_at"]) == (8.0, 1, 9)
    assert told["runbook"] == "docs/health.md#erasure-not-verified"
    assert [m["state"] for m in told["measures"]] == ["ok", "unknown", "warn", "warn"]
    assert findings_frame([check])["state"].to_list() == ["ok", "unknown", "warn", "warn"]


def test_figures_without_thresholds_decide_nothing() -> None:
    check = check_of(
        "growth", [Measure("lake_rows", 7.0), Measure("overdue_rows", None)], limits(HealthPolicy())
    )
    assert check.state == "unknown"
    broken = broken_off("growth", "no table").as_dict()
    assert (broken["state"], broken["sentence"]) == ("warn", "not known: no table")


@given(st.lists(st.sampled_from(STATES)))
def test_the_worst_state_is_the_gravest_known_one(states: list[str]) -> None:
    found = worst(states)
    for grave in ("fail", "warn", "ok"):
        if grave in states:
            assert found == grave
            return
    assert found == "unknown"


def test_what_a_night_tells() -> None:
    told = as_counts({"growth": "ok", "audit": "fail", "runs": "warn", "drift": "unknown"})
    assert told == {"state": "fail", "failing": ["audit"], "warnings": ["runs"], "unknown": ["drift"]}
    assert verdict(told) == "health: fail; FAILING audit; warnings runs; not known drift"
    assert verdict({**as_counts({"growth": "ok"}), "reason": "x"}) == "health: ok (x)"
    assert as_counts({"drift": "unknown"})["state"] == "unknown"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.1234, "ratio", "12.3 %"),
        (1.0, "rows", "1 row"),
        (12_345.0, "rows", "12,345 rows"),
        (2.5e9, "bytes", "2.5 GB"),
        (999.0, "bytes", "999 bytes"),
        (26.456, "hours", "26.5 hours"),
        (140.6, "hours", "141 hours"),
    ],
)
def test_figures_have_units(value: float, unit: str, shown: str) -> None:
    assert shown_as(value, unit) == shown
