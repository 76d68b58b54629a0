"""Which episodes go, why and since when: by hand, and as a plain loop over the rows says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.forgetting import plain
from tests.transforms.forgetting.plain import AS_OF, DAY, Access, episode, episodes, recall, recalls
from transforms.forgetting.access import fold
from transforms.forgetting.capacity import over_capacity
from transforms.forgetting.due import Wishes, judged, with_capacity
from transforms.policy import Policy
from transforms.schemas import INSTANT, RETENTION_TIERS
from transforms.standing import PERIODS_SCHEMA, PINS_SCHEMA, is_held
from transforms.subjects import Subject

NOBODY = pl.DataFrame(schema={"episode_id": pl.String})


def policy(**sections: Any) -> Policy:
    """The default policy with some fields replaced."""
    whole = Policy().model_dump()
    return Policy.model_validate({**whole, **{n: {**whole[n], **given} for n, given in sections.items()}})


def pins(*names: str) -> pl.DataFrame:
    return pl.DataFrame([("acme", name) for name in names], schema=PINS_SCHEMA, orient="row")


def verdicts(rows: list[dict[str, Any]], given: Policy | None = None, **more: Any) -> pl.DataFrame:
    heard = more.pop("heard", [])
    covered = pl.DataFrame({"episode_id": more.pop("covered", [])}, schema={"episode_id": pl.String})
    at = more.pop("at", AS_OF)
    given = given or Policy()
    found = judged(episodes(rows).lazy(), fold(recalls(heard), given.decay, at), given, at, **more)
    return with_capacity(found, covered, given, at).sort("episode_id")


def told(rows: list[dict[str, Any]], given: Policy | None = None, **more: Any) -> list[tuple[Any, ...]]:
    return list(verdicts(rows, given, **more).select("episode_id", "reason", "state").iter_rows())


def test_each_reason_by_hand() -> None:
    rows = [
        episode(1),
        episode(2, event_at=AS_OF - 90 * DAY),  # medium_term: 90 days
        episode(3, event_at=AS_OF - 31 * DAY, importance=0.2),
        episode(4, event_at=AS_OF - 20 * DAY, importance=0.1),  # 0.05 + 0.35 x 0.138
        episode(5, event_at=AS_OF - 20 * DAY, importance=0.4),
    ]
    assert told(rows, covered=["e3", "e4"]) == [
        ("e1", None, "stays"),
        ("e2", "expired", "goes"),
        ("e3", "stale", "goes"),
        ("e4", "decayed", "goes"),
        ("e5", None, "stays"),
    ]


def test_what_no_summary_covers_waits_and_what_is_expired_does_not() -> None:
    rows = [
        episode(1, event_at=AS_OF - 40 * DAY, importance=0.1),
        episode(2, event_at=AS_OF - 100 * DAY, importance=0.1),
    ]
    assert told(rows) == [("e1", "stale", "waiting"), ("e2", "expired", "goes")]


def test_a_recall_makes_a_memory_young_again() -> None:
    rows = [episode(n, event_at=AS_OF - 40 * DAY, importance=0.1) for n in (1, 2)]
    heard = [recall(1, "e1", AS_OF - DAY), recall(2, "e2", AS_OF + DAY)]  # the second is not known yet
    assert told(rows, heard=heard, covered=["e1", "e2"]) == [("e1", None, "stays"), ("e2", "stale", "goes")]


def test_due_since_the_reason_began_to_apply() -> None:
    rows = [episode(1, event_at=AS_OF - 100 * DAY), episode(2, event_at=AS_OF - 40 * DAY, importance=0.25)]
    found = verdicts(rows, covered=["e2"])
    assert found["due_at"].to_list() == [AS_OF - 10 * DAY, AS_OF - 10 * DAY]


def test_pinned_rows_go_only_when_their_time_is_over() -> None:
    rows = [
        episode(1, event_at=AS_OF - 800 * DAY, importance=0.0),
        episode(2, event_at=AS_OF - 1_095 * DAY),
        episode(3, event_at=AS_OF - 40 * DAY, expires_at=AS_OF),
    ]
    wishes = Wishes(None, pins("e1", "e2", "e3"))
    assert told(rows, wishes=wishes) == [
        ("e1", None, "stays"),
        ("e2", "expired", "goes"),  # the period of whoever asked for none: three years
        ("e3", "expired", "goes"),  # its source asked for it
    ]


def test_a_persons_own_period_is_theirs_alone_and_holds_for_pinned_rows() -> None:
    own = pl.DataFrame([("acme", "ana", 30 * 86_400)], schema=PERIODS_SCHEMA, orient="row")
    rows = [
        episode(1, event_at=AS_OF - 30 * DAY),
        episode(2, event_at=AS_OF - 30 * DAY, user_id="ana2"),
        episode(3, event_at=AS_OF - 30 * DAY, tenant_id="umbrella"),
        episode(4, event_at=AS_OF - 30 * DAY, user_id=None, agent_id="ana"),
        episode(5, event_at=AS_OF - 30 * DAY),
    ]
    found = told(rows, wishes=Wishes(own, pins("e5")))
    assert [name for name, why, _ in found if why == "expired"] == ["e1", "e5"]


@pytest.mark.parametrize(
    ("subject", "held"),
    [
        (Subject("acme"), ["e1", "e2", "e3"]),
        (Subject("acme", user="ana"), ["e1", "e3"]),
        (Subject("acme", session="s9"), ["e3"]),
        (Subject("acme", memory="e2"), ["e2"]),
        (Subject("umbrella"), []),
    ],
)
def test_under_legal_hold_nothing_goes_and_it_is_counted(subject: Subject, held: list[str]) -> None:
    rows = [
        episode(1, event_at=AS_OF - 100 * DAY),
        episode(2, event_at=AS_OF - 100 * DAY, user_id="ben"),
        episode(3, event_at=AS_OF - 40 * DAY, importance=0.0, session_id="s9"),
    ]
    found = told(rows, wishes=Wishes(holds=[subject]), covered=["e3"])
    assert [name for name, _, state in found if state == "held"] == held
    assert [why for _, why, _ in found] == ["expired", "expired", "stale"]


def test_a_forbidden_topic_goes_at_once() -> None:
    rows = [episode(1), episode(2)]
    forbidden = pl.DataFrame({"episode_id": ["e2"]})
    assert told(rows, forbidden=forbidden)[1] == ("e2", "forbidden_topic", "goes")


def test_the_budget_takes_the_lowest_score_of_each_person() -> None:
    rows = [episode(n, importance=n / 10, event_at=AS_OF - DAY) for n in range(1, 7)]
    rows += [episode(n, user_id="ben") for n in (7, 8)]
    rows.append(episode(9, importance=0.0, user_id=None))  # nobody's: it has no budget
    small = policy(capacity={"episodes": 3})
    goes = [name for name, why, _ in told(rows, small) if why == "over_capacity"]
    assert goes == ["e1", "e2", "e3"]
    pinned = told(rows, small, wishes=Wishes(None, pins("e1", "e2")))
    assert [name for name, why, _ in pinned if why == "over_capacity"] == ["e3", "e4", "e5"]
    held = told(rows, small, wishes=Wishes(holds=[Subject("acme", memory="e1")]))
    assert [state for _, _, state in held[:3]] == ["held", "goes", "goes"]


def test_what_goes_anyway_leaves_room_for_the_others() -> None:
    rows = [episode(1, event_at=AS_OF - 95 * DAY), episode(2), episode(3)]
    assert [why for _, why, _ in told(rows, policy(capacity={"episodes": 2}))] == ["expired", None, None]


def test_cold_comes_last_and_spares_what_was_recalled() -> None:
    cold = policy(cold={"after_days": 20})
    rows = [episode(n, event_at=AS_OF - 25 * DAY) for n in (1, 2)]
    found = told(rows, cold, heard=[recall(1, "e2", AS_OF - DAY)])
    assert found == [("e1", "cold", "goes"), ("e2", None, "stays")]


ROWS = st.lists(
    st.builds(
        lambda age, importance, tier, kind, user, own, injected: {
            "event_at": AS_OF - age * DAY,
            "importance": importance,
            "retention_tier": tier,
            "kind": kind,
            "user_id": user,
            "expires_at": None if own is None else AS_OF + own * DAY,
            "is_injected": injected,
        },
        st.floats(-1, 1_500),
        st.floats(0, 1, width=32),
        st.sampled_from([*RETENTION_TIERS, "odd"]),
        st.sampled_from(["conversation", "action", "summary"]),
        st.sampled_from(["ana", "ben", None]),
        st.none() | st.integers(-3, 3),
        st.booleans(),
    ),
    max_size=10,
)
CALLS = st.tuples(st.integers(0, 9), st.floats(-2, 60), st.sampled_from(["s1", "s2", None]))
HEARD = st.lists(CALLS, max_size=8)
POLICIES = st.builds(
    lambda fade, cold, kind, budget, stale: policy(
        decay={"fade_after_days": fade},
        cold={"after_days": cold},
        retention={"by_kind_seconds": {} if kind is None else {"action": kind * 86_400}},
        capacity={"episodes": budget},
        staleness={"is_enabled": stale},
    ),
    st.none() | st.floats(1, 90),
    st.none() | st.floats(1, 90),
    st.none() | st.integers(1, 90),
    st.integers(1, 5),
    st.booleans(),
)


@settings(max_examples=40)
@given(ROWS, HEARD, POLICIES, st.sets(st.integers(0, 9), max_size=3), st.sets(st.integers(0, 9), max_size=5))
def test_the_verdicts_are_the_oracles(
    rows: list[dict[str, Any]], heard: list[Any], given_policy: Policy, pinned: set[int], covered: set[int]
) -> None:
    given_rows = [episode(number, **fields) for number, fields in enumerate(rows)]
    traces = [
        recall(number, f"e{memory}", AS_OF - age * DAY, session_id=session)
        for number, (memory, age, session) in enumerate(heard)
    ]
    own = pl.DataFrame([("acme", "ben", 40 * 86_400)], schema=PERIODS_SCHEMA, orient="row")
    named = {f"e{number}" for number in pinned}
    wishes = Wishes(own, pins(*named))
    covers = [f"e{number}" for number in covered]
    found = verdicts(given_rows, given_policy, heard=traces, covered=covers, wishes=wishes)
    seen = plain.access(traces, given_policy.decay, AS_OF)
    expected, remaining = {}, []
    for row in given_rows:
        name = row["episode_id"]
        mine = seen.get(("acme", name), Access(0, row["event_at"]))
        period = 40 * 86_400 if row["user_id"] == "ben" else None
        why = plain.reason(row, mine, given_policy, AS_OF, period=period, is_pinned=name in named)
        expected[name] = why
        waits = why in ("stale", "decayed") and name not in covers
        if not row["is_injected"] and (why is None or waits):
            owner = None if row["user_id"] is None else f"user:{row['user_id']}"
            worth = plain.score(row, mine, given_policy.decay, AS_OF)
            remaining.append({**row, "owner": owner, "is_pinned": name in named, "score": worth})
    for name in plain.evicted(remaining, given_policy.capacity.episodes, "episode_id"):
        expected[name] = "over_capacity"
    assert dict(found.select("episode_id", "reason").iter_rows()) == expected


@settings(max_examples=40)
@given(ROWS, POLICIES)
def test_nothing_is_due_before_it_is_said_to_be(rows: list[dict[str, Any]], given_policy: Policy) -> None:
    """``next_at`` is the first instant at which another row is due; until then nothing is."""
    given_rows = [episode(number, **fields) for number, fields in enumerate(rows)]
    now = judged(episodes(given_rows).lazy(), None, given_policy, AS_OF)
    staying = now.filter(pl.col("reason").is_null())
    moments = staying["next_at"].drop_nulls()
    if moments.is_empty():
        return
    first: datetime = moments.min()  # type: ignore[assignment]
    names = set(staying["episode_id"])
    step = timedelta(seconds=1)
    for at, is_due in ((first - step, False), (first + step, True)):
        if at <= AS_OF:
            continue
        later = judged(episodes(given_rows).lazy(), None, given_policy, at)
        gone = set(later.filter(pl.col("reason").is_not_null())["episode_id"]) & names
        assert bool(gone) is is_due


OWNED = st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.booleans(), st.integers(0, 2))
OWNED_SCHEMA = {
    "tenant_id": pl.String(),
    "owner": pl.String(),
    "score": pl.Float64(),
    "is_pinned": pl.Boolean(),
    "event_at": INSTANT,
    "id": pl.String(),
}


@given(st.lists(OWNED, max_size=12), st.integers(1, 6))
def test_eviction_is_the_oracles(rows: list[tuple[Any, ...]], budget: int) -> None:
    values = [
        ("acme", owner, score / 4, pinned, AS_OF + at * DAY, f"r{number:02d}")
        for number, (owner, score, pinned, at) in enumerate(rows)
    ]
    frame = pl.DataFrame(values, schema=OWNED_SCHEMA, orient="row")
    found = over_capacity(frame, budget, "id")
    assert set(found["id"]) == plain.evicted(frame.to_dicts(), budget, "id")


def test_a_hold_never_makes_an_unowned_row_null() -> None:
    rows = episodes([episode(1, user_id=None, session_id=None)])
    assert rows.select(is_held([Subject("acme", user="ana")], "episode_id")).to_series().to_list() == [False]
