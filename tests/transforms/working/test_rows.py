from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.working.made import START, row
from transforms.policy import Policy
from transforms.policy_retention import RetentionPolicy
from transforms.presets import PRESETS
from transforms.retention import expiry_expr
from transforms.schemas import EPISODES, KINDS, RETENTION_TIERS
from transforms.standing import PERIODS_SCHEMA
from transforms.working.rows import due_at, ordered, row_of, shown_until

POLICIES = [
    RetentionPolicy(),
    Policy.model_validate(PRESETS["per_type_ttl"]).retention,
    RetentionPolicy(session_seconds=None, user_cap_seconds=100_000, by_kind_seconds={"outcome": 60}),
]


@given(
    st.sampled_from([*RETENTION_TIERS, "misspelt"]),
    st.sampled_from(KINDS),
    st.sampled_from(POLICIES),
    st.one_of(st.none(), st.integers(2_592_000, 200_000_000)),
    st.one_of(st.none(), st.integers(-5_000, 900_000)),
)
def test_a_row_is_due_when_the_frame_says_so(
    tier: str, kind: str, policy: RetentionPolicy, period: int | None, own: int | None
) -> None:
    expires = None if own is None else START + timedelta(seconds=own)
    one = row(0, "u", retention_tier=tier, kind=kind, expires_at=expires, user_id="ana")
    frame = pl.DataFrame([dict(one.raw)], schema=EPISODES.polars)
    wishes = [] if period is None else [("acme", "ana", period)]
    periods = pl.DataFrame(wishes, schema=PERIODS_SCHEMA, orient="row")
    assert due_at(one.raw, policy, period) == frame.select(expiry_expr(policy, periods)).item()


def test_a_window_ends_before_a_long_lifetime() -> None:
    policy = Policy()
    long = row(0, "u", retention_tier="permanent")
    assert shown_until(long.raw, policy.working, policy.retention) == START + timedelta(hours=24)
    short = row(0, "u", retention_tier="transient")
    assert shown_until(short.raw, policy.working, policy.retention) == START + timedelta(hours=1)


def test_rows_by_time_and_each_once() -> None:
    early, late, same = row(1, "u"), row(3, "u"), row(2, "a", event_at=START + timedelta(seconds=3))
    assert [one.id for one in ordered([late, early, same, late])] == [early.id, late.id, same.id]


@pytest.mark.parametrize(
    ("what", "columns", "expected"),
    [
        ("c1", {}, (True, False, False, "1")),
        ("r1", {}, (False, True, False, "1")),
        ("w", {}, (True, False, True, None)),
        ("c", {}, (True, False, False, None)),
        ("c", {"metadata": "[1]"}, (True, False, False, None)),
        ("c", {"metadata": "{"}, (True, False, False, None)),
        ("c", {"metadata": '{"tool_call_id": 7}'}, (True, False, False, None)),
        ("u", {"tool_name": "t"}, (True, False, True, None)),
    ],
)
def test_what_a_row_is(what: str, columns: dict[str, Any], expected: tuple[Any, ...]) -> None:
    one = row(0, what, **columns)
    assert (one.is_call, one.is_result, one.is_answered, one.link) == expected


def test_instants_may_be_text() -> None:
    raw = {**row(0, "u").raw, "event_at": "2026-03-14T13:00:00+01:00"}
    assert row_of(raw).at == datetime(2026, 3, 14, 12, tzinfo=UTC)


def test_tokens_are_never_too_few_by_much() -> None:
    assert row(0, "u", content="").tokens >= 4
    assert row(0, "u", content="word " * 100).tokens >= 100
    assert row(0, "u", content="日本語" * 40).tokens >= 80
