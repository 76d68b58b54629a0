"""Expiry of rows: tier TTL, explicit expiry, and the boundary to the microsecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.policy_retention import RetentionPolicy
from transforms.retention import expiry, expiry_expr, is_live
from transforms.schemas import INSTANT, RETENTION_TIERS
from transforms.standing import PERIODS_SCHEMA, PINS_SCHEMA

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SCHEMA: dict[str, Any] = {"retention_tier": pl.String, "event_at": INSTANT, "expires_at": INSTANT}

Row = tuple[str | None, datetime, datetime | None]


def frame(*rows: Row) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def expiry_oracle(row: Row, policy: RetentionPolicy) -> datetime | None:
    tier, event_at, explicit = row
    seconds = getattr(policy, f"{tier if tier in RETENTION_TIERS else policy.default_tier}_seconds")
    seconds = policy.user_cap_seconds if seconds is None else min(seconds, policy.user_cap_seconds)
    due = event_at + timedelta(seconds=seconds)
    return due if explicit is None else min(due, explicit)


@pytest.mark.parametrize(
    ("tier", "ttl"),
    [
        ("transient", timedelta(hours=1)),
        ("session", timedelta(hours=24)),
        ("short_term", timedelta(days=7)),
        ("medium_term", timedelta(days=90)),
        ("long_term", timedelta(days=365)),
        ("permanent", timedelta(days=3 * 365)),  # the user's own cap
        ("no_such_tier", timedelta(days=90)),  # the default tier, not for ever
        (None, timedelta(days=90)),
    ],
)
def test_each_tier_has_its_ttl(tier: str | None, ttl: timedelta) -> None:
    assert expiry(frame((tier, T0, None)), RetentionPolicy()).to_list() == [T0 + ttl]


@pytest.mark.parametrize(
    ("explicit", "expected"),
    [
        (T0 + timedelta(minutes=5), T0 + timedelta(minutes=5)),
        (T0 + timedelta(hours=5), T0 + timedelta(hours=1)),
        (T0 - timedelta(days=1), T0 - timedelta(days=1)),
        (None, T0 + timedelta(hours=1)),
    ],
)
def test_the_earlier_of_explicit_expiry_and_ttl_wins(explicit: datetime | None, expected: datetime) -> None:
    assert expiry(frame(("transient", T0, explicit)), RetentionPolicy()).to_list() == [expected]


def test_the_users_cap_shortens_a_longer_tier() -> None:
    policy = RetentionPolicy(user_cap_seconds=30 * 86_400)
    due = expiry(frame(("long_term", T0, None), ("session", T0, None)), policy)
    assert due.to_list() == [T0 + timedelta(days=30), T0 + timedelta(days=1)]


def scoped(*rows: tuple[str, str | None, str, datetime | None]) -> pl.DataFrame:
    """Rows of T0 by tenant, user, id and own expiry, of the tier medium_term."""
    schema = {"tenant_id": pl.String, "user_id": pl.String, "episode_id": pl.String, **SCHEMA}
    made = [(tenant, user, name, "medium_term", T0, own) for tenant, user, name, own in rows]
    return pl.DataFrame(made, schema=schema, orient="row")


def test_a_persons_own_period_caps_their_rows_only() -> None:
    periods = pl.DataFrame([("acme", "ana", 40 * 86_400)], schema=PERIODS_SCHEMA, orient="row")
    rows = scoped(
        ("acme", "ana", "1", None),
        ("acme", "ana", "2", T0 + timedelta(days=5)),
        ("acme", "anabel", "3", None),
        ("acme", None, "4", None),
        ("umbrella", "ana", "5", None),
    )
    due = rows.select(expiry_expr(RetentionPolicy(), periods)).to_series().to_list()
    assert due == [T0 + timedelta(days=days) for days in (40, 5, 90, 90, 90)]


def test_a_period_above_the_policys_cap_is_what_the_person_asked_for() -> None:
    periods = pl.DataFrame([("acme", "ana", 2_000 * 86_400)], schema=PERIODS_SCHEMA, orient="row")
    rows = scoped(("acme", "ana", "1", None)).with_columns(retention_tier=pl.lit("permanent"))
    assert expiry(rows, RetentionPolicy()).to_list() == [T0 + timedelta(days=1_095)]
    assert rows.select(expiry_expr(RetentionPolicy(), periods)).item() == T0 + timedelta(days=2_000)


def test_a_pinned_row_lives_as_a_permanent_one_within_its_persons_period() -> None:
    pins = pl.DataFrame([("acme", "1"), ("acme", "2"), ("acme", "3")], schema=PINS_SCHEMA, orient="row")
    periods = pl.DataFrame([("acme", "ben", 100 * 86_400)], schema=PERIODS_SCHEMA, orient="row")
    rows = scoped(
        ("acme", "ana", "1", None),
        ("acme", "ben", "2", None),
        ("acme", "ana", "3", T0 + timedelta(days=1)),
        ("umbrella", "ana", "1", None),
    )
    policy = RetentionPolicy(by_kind_seconds={"conversation": 60})
    shown = rows.with_columns(kind=pl.lit("conversation"))
    due = shown.select(expiry_expr(policy, periods, pins)).to_series().to_list()
    assert due == [T0 + timedelta(days=days) for days in (1_095, 100, 1)] + [T0 + timedelta(seconds=60)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*RETENTION_TIERS, "odd", None]),
            st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
            st.none() | st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
        ),
        max_size=8,
    ),
    st.integers(1, 10**9),
    st.sampled_from(RETENTION_TIERS),
)
def test_expiry_is_the_oracles(rows: list[Row], cap: int, default: str) -> None:
    policy = RetentionPolicy.model_validate({"user_cap_seconds": cap, "default_tier": default})
    expected = [expiry_oracle(row, policy) for row in rows]
    assert expiry(frame(*rows), policy).to_list() == expected
    lazy = frame(*rows).lazy().select(expiry_expr(policy)).collect()
    assert lazy.schema == {"expires_at": INSTANT}
    assert lazy["expires_at"].to_list() == expected


@pytest.mark.parametrize(
    ("as_of", "live"),
    [(T0 - MICROSECOND, True), (T0, False), (T0 + MICROSECOND, False)],
)
def test_a_row_is_gone_exactly_at_its_expiry(as_of: datetime, live: bool) -> None:
    rows = frame(("session", T0, T0))
    assert rows.select(is_live(as_of)).to_series().to_list() == [live]


def test_ttl_boundary_through_both_steps() -> None:
    rows = frame(("transient", T0, None)).with_columns(expiry_expr(RetentionPolicy()))
    due = T0 + timedelta(hours=1)
    for as_of, live in ((due - MICROSECOND, True), (due, False)):
        assert rows.select(is_live(as_of)).item() is live


def test_no_expiry_is_for_ever() -> None:
    rows = frame(("permanent", T0, None))
    assert rows.select(is_live(datetime(9000, 1, 1, tzinfo=UTC))).item() is True


def test_as_of_is_an_instant_in_any_zone_and_needs_one() -> None:
    rows = frame(("session", T0, T0))
    tokyo = timezone(timedelta(hours=9))
    assert rows.select(is_live(T0.astimezone(tokyo))).item() is False
    assert rows.select(is_live((T0 - MICROSECOND).astimezone(tokyo))).item() is True
    with pytest.raises(UsageError, match="time zone"):
        is_live(T0.replace(tzinfo=None))
