"""Accesses as of each call: those of earlier calls only, by the rules of the fold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.forgetting import plain
from tests.transforms.forgetting.plain import AS_OF, recall
from transforms.policy_retention import DecayPolicy
from transforms.replay.access import Accesses, access_states, told_accesses
from transforms.replay.calls import calls_of
from transforms.schemas import RECALLS

HOUR, TICK = timedelta(hours=1), timedelta(microseconds=1)
BORN = AS_OF - timedelta(days=90)


def log(rows: list[dict[str, Any]]) -> pl.DataFrame:
    ranked = [{**row, "rank": place} for place, row in enumerate(rows, start=1)]
    return pl.DataFrame(ranked, schema=RECALLS.polars, orient="row")


def seen(number: int, memory: str, hours: float, **fields: Any) -> dict[str, Any]:
    return recall(number, memory, AS_OF + hours * HOUR, **{"event_at": BORN, **fields})


def states(rows: list[dict[str, Any]], mode: Any) -> dict[tuple[str, str], tuple[int, datetime]]:
    """Count and last access by call and memory."""
    recalls = log(rows)
    calls = calls_of(recalls)
    found = access_states(calls, recalls, [mode])[mode]
    keys = zip(calls.rows["call_id"], calls.rows["memory_id"], strict=True)
    moments = [datetime(1970, 1, 1, tzinfo=UTC) + int(us) * TICK for us in found.seen_us]
    return dict(zip(keys, zip(found.access_count.tolist(), moments, strict=True), strict=True))


def test_a_call_sees_what_came_before_it_and_neither_itself_nor_what_follows() -> None:
    rows = [
        seen(1, "m", 1, session_id="s1"),
        seen(2, "m", 2, session_id="s2"),
        seen(3, "m", 3, session_id="s3"),
    ]
    assert states(rows, "served") == {
        ("c1", "m"): (0, BORN),
        ("c2", "m"): (1, AS_OF + HOUR),
        ("c3", "m"): (2, AS_OF + 2 * HOUR),
    }


def test_two_calls_of_one_instant_do_not_see_each_other() -> None:
    rows = [seen(1, "m", 1, session_id="s1"), seen(2, "m", 1, session_id="s2")]
    assert [count for count, _ in states(rows, "served").values()] == [0, 0]


def test_a_session_counts_once_and_from_its_first_recall_on() -> None:
    rows = [seen(n, "m", n, session_id="s1") for n in (1, 2, 3)]
    assert states(rows, "served")["c3", "m"] == (1, AS_OF + HOUR)


def test_what_was_not_given_out_or_not_used_does_not_count() -> None:
    rows = [
        seen(1, "m", 1, session_id="s1", is_returned=False),
        seen(2, "m", 2, session_id="s2", is_used=False),
        seen(3, "m", 3, session_id="s3", is_used=True),
        seen(4, "m", 4, session_id="s4"),
    ]
    assert states(rows, "served")["c4", "m"] == (2, AS_OF + 3 * HOUR)
    assert states(rows, "used")["c4", "m"] == (1, AS_OF + 3 * HOUR)


def test_the_session_of_a_used_memory_counts_from_its_first_use() -> None:
    rows = [
        seen(1, "m", 1, session_id="s1"),
        seen(2, "m", 2, session_id="s1", is_used=True),
        seen(3, "m", 3, session_id="s3"),
    ]
    assert states(rows, "used")["c3", "m"] == (1, AS_OF + 2 * HOUR)


def test_logged_is_what_the_log_says() -> None:
    rows = [seen(1, "m", 1, access_count=7, last_accessed_at=AS_OF - HOUR)]
    assert states(rows, "logged") == {("c1", "m"): (7, AS_OF - HOUR)}


def test_recalls_that_are_not_replayed_are_accesses_too() -> None:
    before = seen(1, "m", 1, session_id="s1", verb="restore")
    after = seen(2, "m", 2, session_id="s2")
    assert states([before, after], "served") == {("c2", "m"): (1, AS_OF + HOUR)}


def test_the_same_id_in_two_tenants_is_two_memories() -> None:
    rows = [seen(1, "m", 1, tenant_id="umbrella"), seen(2, "m", 2)]
    assert states(rows, "served")["c2", "m"] == (0, BORN)


def test_no_calls_have_no_states() -> None:
    empty = log([])
    found = access_states(calls_of(empty), empty)
    assert [(name, one.access_count.size, one.seen_us.size) for name, one in found.items()] == [
        ("logged", 0, 0), ("served", 0, 0), ("used", 0, 0),
    ]  # fmt: skip


ROWS = st.lists(
    st.builds(
        lambda call, memory, session, user, returned, used: seen(
            call, memory, call // 2, session_id=session, user_id=user, is_returned=returned, is_used=used
        ),
        st.integers(0, 24),
        st.sampled_from("abc"),
        st.sampled_from(["s1", "s2", None]),
        st.sampled_from(["ana", None]),
        st.sampled_from([True, True, False]),
        st.sampled_from([True, False, None]),
    ),
    max_size=25,
    unique_by=lambda row: (row["call_id"], row["memory_id"]),
)


def one_head_a_call(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    heads = {row["call_id"]: (row["session_id"], row["user_id"]) for row in rows}
    return [dict(row, session_id=heads[row["call_id"]][0], user_id=heads[row["call_id"]][1]) for row in rows]


@given(ROWS, st.sampled_from(["served", "used"]))
def test_the_states_are_those_of_the_plain_fold_at_each_call(rows: list[dict[str, Any]], mode: Any) -> None:
    rows = one_head_a_call(rows)
    found = states(rows, mode)
    for row in rows:
        before = plain.access(rows, DecayPolicy(refresh=mode), row["recalled_at"] - TICK)
        held = before.get((row["tenant_id"], row["memory_id"]))
        expected = (0, BORN) if held is None else (held.count, held.last)
        assert found[row["call_id"], row["memory_id"]] == expected


@given(ROWS, st.sampled_from(["served", "used"]), st.integers(0, 12))
def test_what_comes_later_changes_nothing(rows: list[dict[str, Any]], mode: Any, hours: int) -> None:
    rows = one_head_a_call(rows)
    early = [row for row in rows if row["recalled_at"] <= AS_OF + hours * HOUR]
    whole, cut = states(rows, mode), states(early, mode)
    assert {key: whole[key] for key in cut} == cut


def test_a_night_counts_the_access_at_its_very_instant() -> None:
    past = Accesses.of(log([seen(1, "m", 1)]), "served")
    at = np.array([pl.Series([AS_OF + HOUR]).to_physical()[0]], np.int64)
    memory = np.zeros(1, np.int64)
    assert past.before(memory, at)[0].tolist() == [0]
    assert past.before(memory, at, is_inclusive=True)[0].tolist() == [1]


def test_what_candidates_tell_of_their_last_access_is_an_access_where_none_is_on_record() -> None:
    told = {"last_accessed_at": AS_OF - 5 * HOUR}
    rows = log(
        [
            seen(1, "known", 1, session_id="s1"),
            seen(2, "known", 2, session_id="s2", last_accessed_at=AS_OF + HOUR),
            seen(2, "older", 2, session_id="s2", **told, is_returned=False),
            seen(3, "older", 3, session_id="s3", **told),
            seen(3, "never", 3, session_id="s3", last_accessed_at=BORN),
        ]
    )
    found = told_accesses(rows, rows)
    assert found.schema == rows.schema
    assert found.select("memory_id", "recalled_at").rows() == [("older", AS_OF - 5 * HOUR)]
    both = pl.concat([rows, found])
    calls = calls_of(rows)
    state = access_states(calls, both, ["served"])["served"]
    counts = dict(zip(calls.rows.select("call_id", "memory_id").rows(), state.access_count, strict=True))
    assert counts[("c3", "older")] == counts[("c2", "older")] == 1  # c2 did not return it
    assert counts[("c3", "never")] == 0
    assert told_accesses(rows, both).is_empty()
