"""Who would have been there: the rules of nights and of serving, held to a lake in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.replay import plain_past
from tests.transforms.replay.plain_past import at, call, calls, is_there, log, memories, memory
from transforms.forgetting.due import Wishes
from transforms.policy import Policy
from transforms.replay.changes import changed
from transforms.replay.lives import seen_in, with_cover
from transforms.replay.survival import REASONS, Masks, Past, held, survival
from transforms.standing import PERIODS_SCHEMA
from transforms.subjects import Subject

DAY_SECONDS = 86_400
CALM = changed(Policy(), {"staleness.is_enabled": False, "decay.forget_below": 0.0})
"""Nothing goes but what expires."""
STALE = changed(
    CALM, {"staleness.is_enabled": True, "staleness.after_days": 10.0, "staleness.below_importance": 0.9}
)
COLD = changed(CALM, {"cold.after_days": 10.0})
DECAYS = changed(
    CALM, {"decay.forget_below": 0.4, "decay.half_life_days.conversation": 5.0, "decay.frequency_weight": 0.0}
)


def flags(masks: Masks, policies: int, rows: int) -> list[list[bool]]:
    """By policy, whether each row is there."""
    found: dict[int, list[bool]] = {}
    for positions, alive in masks.groups:
        for position in positions.tolist():
            assert position not in found
            found[position] = [True] * rows if alive is None else alive.tolist()
    return [found[position] for position in range(policies)]


def there(
    rows: Sequence[dict[str, Any]], recalls: Sequence[dict[str, Any]], policy: Policy, **options: Any
) -> dict[tuple[str, str], bool]:
    """By call and memory, whether a candidate is there."""
    replayed = calls(recalls)
    masks = survival(replayed, memories(rows), [policy], log(recalls), **options)
    alive = flags(masks, 1, replayed.rows.height)[0]
    keys = zip(replayed.rows["call_id"], replayed.rows["memory_id"], strict=True)
    return dict(zip(keys, alive, strict=True))


def asked(rows: Sequence[dict[str, Any]], *days: float, **fields: Any) -> list[dict[str, Any]]:
    """One call a day named, each finding all of the rows, returning none: nothing becomes younger by it."""
    given = {"is_returned": False, **fields}
    return [row for n, day in enumerate(days, start=1) for row in call(n, day, rows, **given)]


def days_there(rows: Sequence[dict[str, Any]], policy: Policy, *days: float, **options: Any) -> list[bool]:
    found = there(rows, asked(rows[:1], *days), policy, **options)
    return [found[f"c{n}", rows[0]["memory_id"]] for n in range(1, len(days) + 1)]


def test_a_lifetime_ends_exactly() -> None:
    policy = changed(CALM, {"retention.short_term_seconds": 10 * DAY_SECONDS})
    one = memory("m", 1.5, retention_tier="short_term")
    assert days_there([one], policy, 2, 11.49999, 11.5, 12) == [True, True, False, False]


def test_an_expiry_of_its_own_counts_of_an_episode_and_not_of_what_was_derived() -> None:
    """The end of a fact's validity may have been learned only after the call that it served."""
    one = memory("m", 1, expires_at=at(3))
    fact = memory("f", 1, expires_at=at(3), stored_in="facts", kind="fact", tier="semantic")
    assert days_there([one], CALM, 2, 4) == [True, False]
    assert days_there([fact], CALM, 2, 4) == [True, True]


def test_a_lifetime_of_a_kind_and_a_persons_own_period_count() -> None:
    one = memory("m", 1)
    brief = changed(CALM, {"retention.by_kind_seconds": {"conversation": 5 * DAY_SECONDS}})
    assert days_there([one], brief, 5.9, 6.1) == [True, False]
    periods = pl.DataFrame([("acme", "ana", 30 * DAY_SECONDS)], schema=PERIODS_SCHEMA, orient="row")
    assert days_there([one], CALM, 30, 32, wishes=Wishes(periods)) == [True, False]


def test_a_pinned_memory_outlives_its_tier_and_does_not_fade() -> None:
    policy = changed(STALE, {"retention.short_term_seconds": 10 * DAY_SECONDS})
    one = memory("m", 1, retention_tier="short_term", is_pinned=True)
    assert days_there([one], policy, 5, 50) == [True, True]


@pytest.mark.parametrize("policy", [STALE, COLD, DECAYS])
def test_a_held_memory_is_taken_out_by_no_night(policy: Policy) -> None:
    one = memory("m", 1)
    wishes = Wishes(holds=[Subject("acme", user="ana")])
    assert days_there([one], policy, 50) == [False]
    assert days_there([one], policy, 50, wishes=wishes) == [True]


def test_what_is_stale_goes_with_the_next_night() -> None:
    """Stale at noon of day 11: it is served until the night of day 12, also by a call at its instant."""
    assert days_there([memory("m", 1.5)], STALE, 11.9, 12, 12.0001) == [True, True, False]


def test_cold_storage_takes_it_out_too() -> None:
    assert days_there([memory("m", 1.5)], COLD, 11.9, 12.1) == [True, False]


def test_what_decayed_goes_with_the_next_night() -> None:
    """0.5 x 0.5 + 0.35 x recency falls below 0.4 at recency 0.43: 6.1 days after the event."""
    assert days_there([memory("m", 1)], DECAYS, 7.9, 8.1) == [True, False]


def test_an_access_before_the_night_saves_it_and_one_after_it_comes_too_late() -> None:
    one = memory("m", 1.5)
    saving = call(90, 11.9, [one])
    late = call(91, 12.5, [one])
    assert there([one], [*saving, *asked([one], 13)], STALE)["c1", "m"]
    assert not there([one], [*late, *asked([one], 13)], STALE)["c1", "m"]


def test_the_access_of_the_call_itself_does_not_save_it() -> None:
    one = memory("m", 1.5)
    assert there([one], call(1, 12.5, [one]), STALE) == {("c1", "m"): False}


def test_with_used_only_what_was_used_keeps_a_memory() -> None:
    one = memory("m", 1.5)
    used = changed(STALE, {"decay.refresh": "used"})
    served, helped = call(90, 11, [one]), call(90, 11, [one], is_used=True)
    assert there([one], [*served, *asked([one], 13)], STALE)["c1", "m"]
    assert not there([one], [*served, *asked([one], 13)], used)["c1", "m"]
    assert there([one], [*helped, *asked([one], 13)], used)["c1", "m"]


@pytest.mark.parametrize("policy", [STALE, DECAYS])
def test_what_fades_waits_for_its_summary(policy: Policy) -> None:
    assert days_there([memory("m", 1, covered_at=None)], policy, 60) == [True]
    assert days_there([memory("m", 1, covered_at=at(30.5))], policy, 30.9, 31.1) == [True, False]


def test_where_summaries_are_not_known_nothing_waits() -> None:
    one = memory("m", 1, covered_at=None)
    recalls = asked([one], 60)
    masks = survival(calls(recalls), memories([one]).drop("covered_at"), [STALE], log(recalls))
    assert flags(masks, 1, 1) == [[False]]


def test_detail_that_drops_after_a_summary_is_served_no_longer() -> None:
    policy = changed(CALM, {"summaries.detail": "drop_after_summary"})
    assert days_there([memory("m", 1, covered_at=at(8.5))], policy, 8.9, 9.1) == [True, False]
    assert days_there([memory("m", 1, covered_at=None)], policy, 60) == [True]


def test_a_budget_takes_the_lowest_score_first() -> None:
    policy = changed(CALM, {"capacity.episodes": 2})
    rows = [memory("a", 1, importance=0.9), memory("b", 2, importance=0.1), memory("c", 3.5, importance=0.5)]
    found = there(rows, asked(rows, 3.9, 4.1), policy)
    assert [name for (number, name), alive in found.items() if not alive and number == "c1"] == []
    assert [name for (number, name), alive in found.items() if not alive and number == "c2"] == ["b"]


def test_a_budget_counts_every_memory_of_the_owner_also_what_was_never_recalled() -> None:
    policy = changed(CALM, {"capacity.episodes": 2})
    low = memory("low", 1, importance=0.1)
    silent = [memory(f"x{n}", 2, importance=0.9) for n in range(2)]
    of_others = [memory(f"y{n}", 2, importance=0.9, user_id="ben") for n in range(2)]
    assert days_there([low, *silent], policy, 5) == [False]
    assert days_there([low, *of_others], policy, 5) == [True]


def test_a_budget_of_text_keeps_the_best_that_fit() -> None:
    policy = changed(CALM, {"capacity.content_chars": 250})
    rows = [memory("low", 1, importance=0.1), memory("a", 1), memory("b", 1)]
    assert days_there(rows, policy, 3) == [False]
    assert days_there([{**rows[0], "content_chars": 50}, *rows[1:]], policy, 3) == [True]


def test_a_budget_evicts_no_held_memory() -> None:
    policy = changed(CALM, {"capacity.episodes": 1})
    rows = [memory("low", 1, importance=0.1), memory("a", 1)]
    wishes = Wishes(holds=[Subject("acme", memory="low")])
    assert days_there(rows, policy, 3) == [False]
    assert days_there(rows, policy, 3, wishes=wishes) == [True]


def test_an_access_at_the_very_instant_of_a_night_is_known_to_it() -> None:
    one = memory("m", 1.5)
    saving = call(90, 12, [one])
    assert there([one], [*saving, *asked([one], 13)], STALE)["c1", "m"]
    crowded = changed(CALM, {"capacity.episodes": 1, "decay.half_life_days.conversation": 0.1})
    rows = [memory("m", 1), memory("n", 1.1)]
    assert there(rows, asked(rows[:1], 3), crowded)["c1", "m"] is False
    assert there(rows, [*call(90, 2, rows[:1]), *asked(rows[:1], 3)], crowded)["c1", "m"]


def test_an_access_to_what_no_night_had_ingested_yet_counts_from_then_on() -> None:
    """Served fresh on day 2, ingested on day 20: nights before that have nothing to take out."""
    one = memory("m", 1, known_at=at(20.5))
    fresh = call(90, 2, [one])
    found = there([one], [*fresh, *asked([one], 20.7, 21.1)], STALE)
    assert [found["c1", "m"], found["c2", "m"]] == [True, False]


def test_what_importance_holds_up_decays_only_where_age_fades_it() -> None:
    """0.5 x 0.7 is below 0.4 and decays when recency is gone; 0.5 x 0.9 is not, until it is halved by age."""
    light, grave = memory("m", 1, importance=0.7), memory("m", 1, importance=0.9)
    assert days_there([light], DECAYS, 10, 60) == [True, False]
    assert days_there([grave], DECAYS, 10, 60) == [True, True]
    fading = changed(DECAYS, {"decay.fade_after_days": 30.0})
    assert days_there([grave], fading, 30, 60) == [True, False]


def test_a_memory_that_retention_took_out_is_judged_as_if_it_had_not() -> None:
    """When it left says what the policy of then did; a budget of another one still counts it."""
    policy = changed(CALM, {"capacity.episodes": 1})
    low, gone = memory("low", 1, importance=0.1), memory("gone", 1, stored_in="forgotten", ended_at=at(1.5))
    assert days_there([low, gone], policy, 3) == [False]
    retired = [memory(n, 1.2, stored_in="facts", kind="fact", tier="semantic") for n in ("low", "old")]
    rows = [{**retired[0], "importance": 0.1}, {**retired[1], "ended_at": at(1.5)}]
    assert days_there(rows, changed(CALM, {"capacity.facts": 1}), 3) == [True]


@pytest.mark.parametrize("later", [{"event_at": at(20)}, {"expires_at": at(2)}, {"ended_at": at(9)}])
def test_a_budget_does_not_know_what_a_fact_will_learn(later: dict[str, Any]) -> None:
    """Confirmed after the call, or told after it to have ended: nights before that count it as it was."""
    policy = changed(
        CALM,
        {
            "capacity.facts": 1,
            "decay.half_life_days.fact": 1.0,
            "retention.long_term_seconds": 4 * DAY_SECONDS,
        },
    )
    fact = {"stored_in": "facts", "kind": "fact", "tier": "semantic", "retention_tier": "long_term"}
    for days in (1, 1.6):  # older or younger than the other one
        other, one = memory("other", days, **fact), memory("one", 1.5, **fact)
        before = days_there([one, other], policy, 3, 5.4)
        assert days_there([one, {**other, **later}], policy, 3, 5.4) == before


def test_a_summary_covers_from_when_it_could() -> None:
    rows = memories([memory("old", 1, known_at=at(30)), memory("new", 1), memory("none", 1)])
    refs = pl.DataFrame({"tenant_id": ["acme", "acme"], "memory_id": ["old", "new"]})
    found = with_cover(rows.drop("covered_at"), refs, 7 * DAY_SECONDS)
    assert dict(found.select("memory_id", "covered_at").iter_rows()) == {
        "old": at(30), "new": at(8), "none": None,
    }  # fmt: skip


def test_facts_and_indexed_rows_have_budgets_of_their_own() -> None:
    facts = [memory(f"f{n}", n, stored_in="facts", kind="fact", tier="semantic") for n in (1, 2, 3)]
    assert days_there(facts, changed(CALM, {"capacity.facts": 2}), 5) == [False]  # equal scores: the oldest
    assert days_there(facts[::-1], changed(CALM, {"capacity.facts": 2}), 5) == [True]
    low = [{**facts[0], "importance": 0.1}, *facts[1:]]
    assert days_there(low, changed(CALM, {"capacity.facts": 2}), 5) == [False]
    assert days_there(low, changed(CALM, {"capacity.indexed_rows": 2}), 5) == [False]
    assert days_there(low, changed(CALM, {"capacity.episodes": 1}), 5) == [True]


def test_what_expired_takes_no_room() -> None:
    policy = changed(CALM, {"capacity.episodes": 2, "retention.short_term_seconds": 2 * DAY_SECONDS})
    low = memory("low", 1, importance=0.1)
    rows = [low, memory("a", 1, retention_tier="short_term"), memory("b", 1, retention_tier="short_term")]
    later = memory("c", 5)
    assert days_there([low, *rows[1:]], policy, 5) == [False]
    assert days_there([low, rows[1], later], policy, 6) == [True]


def test_a_memory_later_than_the_call_does_not_exist_and_takes_no_room() -> None:
    policy = changed(CALM, {"capacity.episodes": 1})
    one, leak = memory("m", 1, importance=0.1), memory("leak", 9, importance=1.0)
    found = there([one, leak], asked([one, leak], 5), policy)
    assert found == {("c1", "m"): True, ("c1", "leak"): False}


def test_a_memory_that_the_lake_does_not_hold_is_judged_by_what_the_log_says() -> None:
    one = memory("m", 1, importance=0.1)
    recalls = asked([one], 5, 60)
    masks = survival(calls(recalls), None, [STALE, CALM], log(recalls))
    assert flags(masks, 2, 2) == [[True, False], [True, True]]
    brief = changed(CALM, {"retention.medium_term_seconds": 30 * DAY_SECONDS})
    assert flags(survival(calls(recalls), None, [brief], log(recalls)), 1, 2) == [[True, False]]


def test_a_lifetime_of_a_fact_counts_from_the_confirmation_known_at_the_call() -> None:
    policy = changed(CALM, {"retention.long_term_seconds": 10 * DAY_SECONDS})
    fact = memory("f", 1, stored_in="facts", kind="fact", tier="semantic", retention_tier="long_term")
    confirmed = {**fact, "event_at": at(12)}
    recalls = [*call(1, 11.5, [fact], is_returned=False), *call(2, 13, [confirmed], is_returned=False)]
    assert there([confirmed], recalls, policy) == {("c1", "f"): False, ("c2", "f"): True}


def test_policies_that_come_to_the_same_share_a_group() -> None:
    one = memory("m", 1.5)
    recalls = asked([one], 5, 60)
    weighed = changed(STALE, {"recall.weights.recency": 0.5})
    masks = survival(calls(recalls), memories([one]), [CALM, STALE, weighed, COLD], log(recalls))
    assert [(positions.tolist(), alive is None) for positions, alive in masks.groups] == [
        ([0], True),
        ([1, 2, 3], False),
    ]


def test_reasons_are_told() -> None:
    one = memory("m", 1.5, retention_tier="short_term")
    recalls = asked([one], 5, 60)
    past = Past.made(seen_in(calls(recalls)), memories([one]), log(recalls))
    told = [[REASONS[place] for place in past.lost(p) if place >= 0] for p in (CALM, STALE, COLD, DECAYS)]
    assert told == [["expired"], ["expired"], ["expired"], ["decayed"]]  # a night before it expires
    long = [memory("m", 1.5)]
    past = Past.made(seen_in(calls(recalls)), memories(long), log(recalls))
    told = [[REASONS[place] for place in past.lost(p) if place >= 0] for p in (CALM, STALE, COLD, DECAYS)]
    assert told == [[], ["stale"], ["cold"], ["decayed"]]


def test_no_calls_and_no_memories() -> None:
    none = survival(calls([]), memories([]), [CALM, STALE], log([]))
    assert [(positions.tolist(), alive) for positions, alive in none.groups] == [([0, 1], None)]
    assert held(memories([]), [CALM], at(9), log([])).rows() == [(0, 0, None)]


def test_what_stands_at_an_instant_is_counted() -> None:
    rows = [memory("a", 1), memory("b", 8), memory("c", 20), memory("shown", 1, is_injected=True)]
    gone = memory("d", 1, stored_in="forgotten")
    found = held(memories([*rows, gone]), [CALM, STALE], at(15), log([]), row_bytes=1000.0)
    assert found.rows() == [(0, 2, 2000), (1, 1, 1000)]


KINDS = (
    ("episodes", "conversation", "episodic"),
    ("episodes", "outcome", "episodic"),
    ("facts", "fact", "semantic"),
    ("summaries", "summary", "episodic"),
)
MEMORIES = st.lists(
    st.builds(
        lambda days, late, importance, tier, sort, user, pinned, cover: {
            "event": days, "late": late, "importance": importance, "retention_tier": tier, "sort": sort,
            "user_id": user, "is_pinned": pinned, "cover": cover,
        },
        st.integers(0, 300).map(lambda tenths: tenths / 10 + 0.03),
        st.sampled_from([0.0, 0.0, 0.7, 4.0]),
        st.sampled_from([0.125, 0.25, 0.5, 0.75]),
        st.sampled_from(["session", "short_term", "medium_term", "permanent"]),
        st.sampled_from(KINDS),
        st.sampled_from(["ana", "ana", "ben", None]),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([None, 0.0, 5.0, 12.0]),
    ),
    min_size=1,
    max_size=9,
)  # fmt: skip
CALLS = st.lists(
    st.tuples(st.integers(0, 450).map(lambda tenths: tenths / 10 + 0.055), st.booleans(), st.booleans()),
    max_size=8,
)
POLICIES = st.builds(
    lambda stale, below, half, forget, cold, episodes, facts, rows, refresh, fade: changed(
        CALM,
        {
            "staleness.is_enabled": stale is not None,
            "staleness.after_days": stale or 1.0,
            "staleness.below_importance": below,
            "decay.half_life_days.conversation": half,
            "decay.forget_below": forget,
            "cold.after_days": cold,
            "capacity.episodes": episodes,
            "capacity.facts": facts,
            "capacity.indexed_rows": rows,
            "decay.refresh": refresh,
            "decay.fade_after_days": fade,
        },
    ),
    st.sampled_from([None, 3.0, 9.5]),
    st.sampled_from([0.3, 0.6]),
    st.sampled_from([1.0, 6.0, None]),
    st.sampled_from([0.0, 0.2, 0.35, 0.5]),
    st.sampled_from([None, None, 8.0]),
    st.sampled_from([1, 3, 500]),
    st.sampled_from([1, 100]),
    st.sampled_from([2, 4, 10_000]),
    st.sampled_from(["served", "used"]),
    st.sampled_from([None, 12.0]),
)


def planted(drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Memories as drawn, with names."""
    rows = []
    for number, one in enumerate(drawn):
        stored_in, kind, tier = one["sort"]
        cover = None if one["cover"] is None else at(one["event"] + one["cover"])
        rows.append(
            memory(
                f"m{number}", one["event"], stored_in=stored_in, kind=kind, tier=tier, user_id=one["user_id"],
                importance=one["importance"], retention_tier=one["retention_tier"],
                is_pinned=one["is_pinned"], known_at=at(one["event"] + one["late"]), covered_at=cover,
            )
        )  # fmt: skip
    return rows


def logged(rows: Sequence[dict[str, Any]], asked: Sequence[tuple[float, bool, bool]]) -> list[dict[str, Any]]:
    """Calls that find everything there is, and return all or nothing."""
    recalls = []
    for number, (days, is_returned, is_used) in enumerate(asked):
        there = [row for row in rows if row["event_at"] <= at(days)]
        recalls += call(number, days, there, is_returned=is_returned, is_used=is_used)
    return recalls


@settings(max_examples=150)
@given(MEMORIES, CALLS, POLICIES)
def test_who_is_there_is_what_a_lake_in_plain_python_comes_to(
    drawn: list[dict[str, Any]], asked: list[tuple[float, bool, bool]], policy: Policy
) -> None:
    rows = planted(drawn)
    recalls = logged(rows, asked)
    gone = plain_past.gone_at(rows, recalls, policy, at(50))
    by_id = {row["memory_id"]: row for row in rows}
    expected = {
        (row["call_id"], row["memory_id"]): is_there(
            by_id[row["memory_id"]], row["recalled_at"], policy, gone
        )
        for row in recalls
    }
    assert there(rows, recalls, policy) == expected
    past = Past.made(seen_in(calls(recalls)), memories(rows), log(recalls))
    assert ((past.lost(policy) < 0) == past.alive(policy)).all()


@settings(max_examples=100)
@given(MEMORIES, CALLS, POLICIES, st.integers(0, 450))
def test_nothing_that_comes_later_changes_what_a_call_would_have_found(
    drawn: list[dict[str, Any]], asked: list[tuple[float, bool, bool]], policy: Policy, tenths: int
) -> None:
    """Memories, accesses and summaries of after an instant are taken away: calls until then are the same."""
    rows = planted(drawn)
    recalls = logged(rows, asked)
    moment = at(tenths / 10 + 0.055)
    early = [row for row in recalls if row["recalled_at"] <= moment]
    known = [known_by(row, moment) for row in rows if row["event_at"] <= moment]
    whole, cut = there(rows, recalls, policy), there(known, early, policy)
    assert {key: whole[key] for key in cut} == cut


def known_by(row: dict[str, Any], moment: datetime) -> dict[str, Any]:
    """A memory without the summary that is yet to come."""
    is_covered = row["covered_at"] is not None and row["covered_at"] <= moment
    return row if is_covered else {**row, "covered_at": None}


@settings(max_examples=60)
@given(MEMORIES, CALLS, st.lists(POLICIES, min_size=2, max_size=5))
def test_many_policies_at_once_are_each_by_itself(
    drawn: list[dict[str, Any]], asked: list[tuple[float, bool, bool]], policies: list[Policy]
) -> None:
    rows = planted(drawn)
    recalls = logged(rows, asked)
    replayed = calls(recalls)
    together = survival(replayed, memories(rows), policies, log(recalls))
    alone = [survival(replayed, memories(rows), [policy], log(recalls)) for policy in policies]
    expected = [flags(masks, 1, replayed.rows.height)[0] for masks in alone]
    assert flags(together, len(policies), replayed.rows.height) == expected
    assert np.concatenate([p for p, _ in together.groups]).size == len(policies)
