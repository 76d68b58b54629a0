"""What is served: kinds, ages, facts that no longer held, rows past their expiry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from tests.lake.made import frame
from transforms.forgetting.due import Wishes
from transforms.health import served as given
from transforms.health.served import LIFETIMES_SCHEMA, SERVED
from transforms.policy import Policy
from transforms.schemas import RECALLS
from transforms.standing import PERIODS_SCHEMA, PINS_SCHEMA

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
POLICY = Policy()


def day(number: float) -> datetime:
    return NOON + timedelta(days=number)


def log(rows: list[dict[str, Any]]) -> pl.LazyFrame:
    plain = {
        "tenant_id": "t", "call_id": "c", "kind": "conversation", "verb": "search", "rank": 1,
        "is_returned": True, "event_at": day(-10), "recalled_at": NOON, "policy_hash": POLICY.hash(),
    }  # fmt: skip
    return frame(RECALLS, [{**plain, "memory_id": f"m{i}", **row} for i, row in enumerate(rows)]).lazy()


def test_only_what_a_caller_was_given_is_served() -> None:
    rows = given.served_rows(
        log([{}, {"is_returned": False}, {"rank": 0, "memory_id": ""}, {"verb": "restore"}])
    )
    assert rows["memory_id"].to_list() == ["m0"]
    assert rows.columns == list(SERVED)


def test_kinds_are_shares_of_what_is_served() -> None:
    rows = given.served_rows(log([{"kind": k, "tenant_id": t} for k, t in ("at", "at", "bt", "au")]))
    assert given.kinds(rows, []).rows() == [("a", 3, 0.75), ("b", 1, 0.25)]
    assert given.kinds(rows, ["tenant_id"]).rows() == [
        ("t", "a", 2, pytest.approx(2 / 3)), ("t", "b", 1, pytest.approx(1 / 3)), ("u", "a", 1, 1.0),
    ]  # fmt: skip


def test_age_is_from_event_to_call_and_never_below_nothing() -> None:
    ages = [("a", -1), ("a", -2), ("a", -30), ("b", 5)]
    rows = given.served_rows(log([{"kind": kind, "event_at": day(at)} for kind, at in ages]))
    assert given.ages(rows, []).rows() == [("", 4, 1.0, 30.0), ("a", 3, 2.0, 30.0), ("b", 1, 0.0, 0.0)]
    assert given.ages(rows.clear(), ["tenant_id"]).is_empty()


FACTS = pl.DataFrame(
    [
        ("t", "holds", None, None),
        ("t", "retired", day(-1), day(-1)),
        ("t", "at-once", day(0), day(0)),
        ("t", "learned-later", day(-5), day(3)),
        ("t", "ends-later", day(2), day(2)),
        ("u", "holds", day(-9), day(-9)),
    ],
    schema={
        "tenant_id": pl.String,
        "fact_id": pl.String,
        "valid_until": pl.Datetime("us", "UTC"),
        "retired_at": pl.Datetime("us", "UTC"),
    },
    orient="row",
)


@pytest.mark.parametrize(
    ("fact", "superseded", "outdated"),
    [
        ("holds", False, False),
        ("retired", True, True),
        ("at-once", True, True),
        ("learned-later", False, True),
        ("ends-later", False, False),
    ],
)
def test_a_fact_is_superseded_once_the_lake_knows_and_outdated_once_it_ended(
    fact: str, superseded: bool, outdated: bool
) -> None:
    rows = given.served_rows(log([{"kind": "fact", "memory_id": fact}]))
    (found,) = given.with_ends(rows, FACTS).select("is_superseded", "is_outdated").rows()
    assert found == (superseded, outdated)


def test_staleness_is_of_facts_that_are_still_held() -> None:
    names = ["holds", "retired", "learned-later", "gone"]
    rows = given.served_rows(
        log([*({"kind": "preference", "memory_id": n} for n in names), {"memory_id": "retired"}])
    )
    assert given.staleness(given.with_ends(rows, FACTS), []).rows() == [
        (3, pytest.approx(1 / 3), pytest.approx(2 / 3))
    ]


def lifetimes(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=LIFETIMES_SCHEMA, orient="row")


HELD = lifetimes(
    ("t", "m0", "ana", "session", None),
    ("t", "m1", "ana", "permanent", None),
    ("t", "m2", "ana", "permanent", day(0)),
    ("t", "m3", "ana", "permanent", day(0.1)),
    ("u", "m4", "ana", "session", None),
)


def test_rows_past_their_own_or_their_tiers_expiry_are_found() -> None:
    rows = given.served_rows(log([{}] * 5))
    judged = given.with_expiry(rows, HELD, POLICY, Wishes(), None)
    assert judged.select("memory_id", "is_expired").rows() == [
        ("m0", True), ("m1", False), ("m2", True), ("m3", False),
    ]  # fmt: skip
    assert given.expired(judged, []).rows() == [(4, 2, 0.5)]


def test_calls_under_another_policy_or_before_a_wish_are_not_judged() -> None:
    rows = given.served_rows(log([{}, {"policy_hash": "other"}]))
    assert given.with_expiry(rows, HELD, POLICY, Wishes(), None)["memory_id"].to_list() == ["m0"]
    assert given.with_expiry(rows, HELD, POLICY, Wishes(), NOON).is_empty()
    assert given.with_expiry(rows, HELD, POLICY, Wishes(), day(-0.1)).height == 1


def test_a_pin_and_a_period_of_a_person_change_what_is_late() -> None:
    rows = given.served_rows(log([{}, {}]))
    pins = pl.DataFrame([("t", "m0")], schema=PINS_SCHEMA, orient="row")
    periods = pl.DataFrame([("t", "ana", 5 * 86_400)], schema=PERIODS_SCHEMA, orient="row")
    late = [
        given.with_expiry(rows, HELD, POLICY, wishes, None)["is_expired"].to_list()
        for wishes in (Wishes(pins=pins), Wishes(periods=periods))
    ]
    assert late == [[False, False], [True, True]]
