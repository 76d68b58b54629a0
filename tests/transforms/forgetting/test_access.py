"""Recalls folded in: once a session, never from the future, whatever their order."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.forgetting.plain import AS_OF, DAY, Access, access, recall, recalls
from transforms.forgetting.access import ACCESS_SCHEMA, fold
from transforms.policy_retention import DecayPolicy

HOUR = timedelta(hours=1)


def folded(rows: list[dict[str, Any]], decay: DecayPolicy | None = None) -> dict[tuple[str, str], Access]:
    found = fold(recalls(rows), decay or DecayPolicy(), AS_OF).collect()
    assert found.schema == ACCESS_SCHEMA
    return {(tenant, memory): Access(count, last) for tenant, memory, count, last in found.iter_rows()}


def test_the_first_recall_of_a_session_counts_and_no_other() -> None:
    rows = [
        recall(1, "m", AS_OF - 5 * HOUR),
        recall(2, "m", AS_OF - 4 * HOUR),
        recall(3, "m", AS_OF - 3 * HOUR, session_id="s2"),
        recall(4, "n", AS_OF - 2 * HOUR),
    ]
    assert folded(rows) == {
        ("acme", "m"): Access(2, AS_OF - 3 * HOUR),
        ("acme", "n"): Access(1, AS_OF - 2 * HOUR),
    }


def test_sessions_of_two_people_that_bear_one_name_are_two() -> None:
    rows = [recall(1, "m", AS_OF - HOUR), recall(2, "m", AS_OF - HOUR, user_id="ben")]
    assert folded(rows)["acme", "m"].count == 2


def test_a_call_outside_any_session_is_one_of_its_own() -> None:
    rows = [recall(n, "m", AS_OF - n * HOUR, session_id=None) for n in (1, 2, 3)]
    assert folded(rows)["acme", "m"] == Access(3, AS_OF - HOUR)


def test_what_comes_after_the_instant_is_not_known() -> None:
    rows = [recall(1, "m", AS_OF - 9 * DAY), recall(2, "m", AS_OF + HOUR, session_id="s2")]
    assert folded(rows)["acme", "m"] == Access(1, AS_OF - 9 * DAY)
    assert folded([recall(1, "m", AS_OF + HOUR)]) == {}
    assert folded([recall(1, "m", AS_OF)])["acme", "m"].count == 1


def test_a_candidate_that_was_not_given_out_was_not_accessed() -> None:
    rows = [recall(1, "m", AS_OF), recall(2, "n", AS_OF, is_returned=False)]
    assert set(folded(rows)) == {("acme", "m")}


def test_with_used_only_what_the_agent_used_counts() -> None:
    rows = [recall(n, f"m{n}", AS_OF, is_used=used) for n, used in enumerate((True, False, None))]
    assert set(folded(rows, DecayPolicy(refresh="used"))) == {("acme", "m0")}
    assert len(folded(rows)) == 3


def test_the_same_memory_id_in_two_tenants_is_two() -> None:
    rows = [recall(1, "m", AS_OF), recall(2, "m", AS_OF, tenant_id="umbrella")]
    assert set(folded(rows)) == {("acme", "m"), ("umbrella", "m")}


ROWS = st.lists(
    st.builds(
        lambda number, memory, hours, session, user, used: recall(
            number, memory, AS_OF - hours * HOUR, session_id=session, user_id=user, is_used=used
        ),
        st.integers(0, 30),
        st.sampled_from("abc"),
        st.integers(-5, 300),
        st.sampled_from(["s1", "s2", None]),
        st.sampled_from(["ana", None]),
        st.sampled_from([True, False, None]),
    ),
    max_size=25,
)


@given(ROWS, st.sampled_from(["served", "used"]), st.randoms(use_true_random=False))
def test_the_fold_is_the_oracles_in_any_order(
    rows: list[dict[str, Any]], refresh: Any, rng: random.Random
) -> None:
    decay = DecayPolicy(refresh=refresh)
    expected = access(rows, decay, AS_OF)
    assert folded(rows, decay) == expected
    rng.shuffle(rows)
    assert folded(rows + rows, decay) == expected  # a recall that was written twice counts once


def test_an_as_of_needs_a_zone() -> None:
    with pytest.raises(Exception, match="time zone"):
        fold(recalls([]), DecayPolicy(), AS_OF.replace(tzinfo=None))
