"""Belief at an instant: the rule over facts, its SQL, and the exact fold of what was known then."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake import queries
from tests.transforms.facts.claimed import POLICY, SMALL, at_angles, claim, days, drawn_claims, frame, keyed
from transforms.errors import UsageError
from transforms.facts.belief import as_of, current
from transforms.facts.near import object_groups
from transforms.facts.reconcile import reconcile
from transforms.schemas import CLAIMS, FACTS

Claims = list[dict[str, Any]]
NO_VECTORS = pl.DataFrame(schema={"fact": pl.String, "vector": pl.List(pl.Float32)})


def facts_of(claims: Claims) -> pl.DataFrame:
    held = frame(claims)
    return reconcile(held, keyed(held), POLICY).facts


def objects(facts: pl.DataFrame) -> list[str]:
    return facts["object"].sort().to_list()


MOVES = [claim(1, "Oslo", 0, known=1), claim(2, "Rome", 10, known=12)]


@pytest.mark.parametrize(
    ("known", "asked", "expected"),
    [
        (0, 0, []),  # said, not yet recorded
        (1, 1, ["Oslo"]),
        (11, 11, ["Oslo"]),  # she has moved, the lake does not know yet
        (12, 12, ["Rome"]),
        (12, 9, ["Oslo"]),  # where she lived before the move, as known now
        (12, 10, ["Rome"]),  # the day of the move, as known now
        (11, 10, ["Oslo"]),  # the same day, as known then
    ],
)
def test_both_times_can_be_asked(known: float, asked: float, expected: list[str]) -> None:
    assert objects(current(facts_of(MOVES), days(known), days(asked))) == expected
    assert objects(as_of(frame(MOVES), NO_VECTORS, POLICY, days(known), days(asked))) == expected


def test_an_announced_move_keeps_the_old_home_until_the_day() -> None:
    facts = facts_of([claim(1, "Oslo", 0), claim(2, "Rome", 1, since=30)])
    assert [objects(current(facts, days(d))) for d in (1, 29, 30)] == [["Oslo"], ["Oslo"], ["Rome"]]


def test_a_stated_end_ends() -> None:
    facts = facts_of([claim(1, "Oslo", 0, until=5)])
    assert [objects(current(facts, days(d))) for d in (0, 4.99, 5)] == [["Oslo"], ["Oslo"], []]


def test_of_the_past_the_fold_shows_what_was_known_and_todays_facts_what_is() -> None:
    claims = [claim(1, "Oslo", 0), claim(2, "Oslo", 10)]
    (today,) = current(facts_of(claims), days(5)).to_dicts()
    (then,) = as_of(frame(claims), NO_VECTORS, POLICY, days(5)).to_dicts()
    assert (today["support"], then["support"]) == (2, 1)
    assert today["fact_id"] == then["fact_id"]


def test_where_the_facts_of_today_and_the_fold_differ() -> None:
    """What was recorded late, and an end that reaches back, are known to the facts of today alone."""
    late = [claim(1, "Oslo", 0, known=9), claim(2, "Oslo", 2)]
    assert objects(current(facts_of(late), days(3))) == []  # the fact opens with what was recorded on day 9
    assert objects(as_of(frame(late), NO_VECTORS, POLICY, days(3))) == ["Oslo"]
    back = [claim(1, "Oslo", 0), claim(2, "Rome", 2, since=8), claim(3, "Bonn", 7, since=4)]
    assert objects(current(facts_of(back), days(5))) == []  # Bonn since day 4 is said on day 7
    assert objects(as_of(frame(back), NO_VECTORS, POLICY, days(5))) == ["Oslo"]
    near = [claim(1, "tea", 0), claim(2, "teas", 1), claim(3, "the teas", 2)]
    vectors = at_angles(near, {"tea": 0, "teas": 20, "the teas": 30})
    whole = reconcile(frame(near), object_groups(frame(near), vectors, POLICY), POLICY).facts
    # teas and tea were one, until the teas, closer to teas, came: tea is too far from it to be of the three.
    assert objects(current(whole, days(1.5))) == ["the teas"]
    assert objects(as_of(frame(near), vectors, POLICY, days(1.5))) == ["teas"]


@settings(max_examples=25, deadline=None)
@given(drawn_claims(60, is_tidy=True), st.integers(-1, 61))
def test_of_claims_in_order_today_and_the_fold_believe_the_same(claims: Claims, day: int) -> None:
    """Where claims are recorded in the order of their events and hold from then on."""
    held = frame(claims)
    whole = reconcile(held, keyed(held), SMALL).facts
    seen = held.filter(pl.col("recorded_at") <= days(day))
    then = current(reconcile(seen, keyed(seen), SMALL).facts, days(day))
    assert current(whole, days(day))["fact_id"].sort().equals(then["fact_id"].sort())


@settings(max_examples=15, deadline=None)
@given(drawn_claims(60), st.integers(-1, 11))
def test_the_fold_of_then_holds_nothing_that_was_not_known(claims: Claims, day: int) -> None:
    held = frame(claims)
    then = as_of(held, NO_VECTORS, SMALL, days(day))
    known = held.filter((pl.col("recorded_at") <= days(day)) & (pl.col("event_at") <= days(day)))
    rests = then["claim_ids"].explode(keep_nulls=False, empty_as_null=False)
    assert set(rests) <= set(known["claim_id"])
    assert then.equals(as_of(known, NO_VECTORS, SMALL, days(day)))


def by_sql(facts: pl.DataFrame, known: datetime, asked: datetime, **scope: str) -> pl.DataFrame:
    wanted = queries.statement("facts_as_of")
    frames: Mapping[str, pl.DataFrame] = {"facts": facts.select(wanted.inputs["facts"])}
    return queries.run(wanted, frames, {**scope, "known_at": known, "valid_at": asked})


def standing(facts: pl.DataFrame) -> pl.DataFrame:
    return facts.with_columns(revision=pl.lit(1, pl.Int32), is_removed=pl.lit(False))


@settings(max_examples=15, deadline=None)
@given(drawn_claims(60), st.integers(-1, 11), st.integers(-1, 11))
def test_the_statement_is_the_same_rule(claims: Claims, one: int, two: int) -> None:
    held = frame(claims)
    facts = reconcile(held, keyed(held), SMALL).facts
    known, asked = days(max(one, two)), days(min(one, two))
    for tenant, owner in (
        facts.select("tenant_id", "owner").unique().sort("tenant_id", "owner").head(3).rows()
    ):
        found = by_sql(standing(facts), known, asked, tenant_id=tenant, owner=owner)
        mine = facts.filter((pl.col("tenant_id") == tenant) & (pl.col("owner") == owner))
        expected = current(mine, known, asked)
        assert sorted(found["fact_id"]) == sorted(expected["fact_id"])


def test_the_statement_reads_the_highest_revision_and_no_removed_row() -> None:
    first = standing(facts_of([claim(1, "Oslo", 0)]))
    second = first.with_columns(revision=pl.lit(2, pl.Int32), object=pl.lit("Oslo, Norway"))
    gone = first.with_columns(revision=pl.lit(3, pl.Int32), is_removed=pl.lit(True))
    scope = {"tenant_id": "t", "owner": "user:u"}
    assert by_sql(first, days(1), days(1), **scope)["object"].to_list() == ["Oslo"]
    assert by_sql(pl.concat([second, first]), days(1), days(1), **scope)["object"].to_list() == [
        "Oslo, Norway"
    ]
    assert by_sql(pl.concat([gone, second, first]), days(1), days(1), **scope).is_empty()
    assert by_sql(first, days(1), days(9), **scope).equals(by_sql(first, days(1), days(1), **scope))
    assert by_sql(first, days(1), days(1), tenant_id="w", owner="user:u").is_empty()


def test_wrong_questions_are_said_so() -> None:
    facts = FACTS.empty()
    with pytest.raises(UsageError, match="no time zone"):
        current(facts, datetime(2026, 1, 1))
    with pytest.raises(UsageError, match="after what is known"):
        current(facts, days(1), days(2))
    assert as_of(CLAIMS.empty(), NO_VECTORS, POLICY, days(1)).is_empty()
