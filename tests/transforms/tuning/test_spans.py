"""The cut by time: no later call is searched on, no session stands on both sides, and too few are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import CheckError
from transforms.policy_tune import TunePolicy
from transforms.tuning.spans import Spans, clusters_of, span, spans_of

START = datetime(2026, 5, 1, tzinfo=UTC)


def heads(*calls: tuple[int, str | None], users: int = 1) -> pl.DataFrame:
    """A call an entry: hours after the start, and its session."""
    ordered = sorted(enumerate(calls), key=lambda entry: entry[1][0])
    return pl.DataFrame(
        {
            "call_id": [f"c{n:03d}" for n, _ in ordered],
            "tenant_id": ["acme"] * len(calls),
            "user_id": [f"u{n % users}" for n, _ in ordered],
            "agent_id": [None] * len(calls),
            "session_id": [session for _, (_, session) in ordered],
            "recalled_at": [START + timedelta(hours=hour) for _, (hour, _) in ordered],
        },
        schema_overrides={"agent_id": pl.String, "session_id": pl.String},
    ).with_columns(pl.col("recalled_at").cast(pl.Datetime("us", "UTC")))


def told(spans: Spans) -> str:
    names = {(True, False): "e", (False, True): "l", (False, False): "-"}
    return "".join(names[pair] for pair in zip(spans.train.tolist(), spans.test.tolist(), strict=True))


def test_seven_of_ten_are_earlier() -> None:
    spans = spans_of(heads(*[(n, None) for n in range(10)]), TunePolicy(min_calls=2))
    assert told(spans) == "eeeeeeelll"
    assert spans.cut_at == START + timedelta(hours=7)


def test_calls_of_the_cut_instant_are_all_later() -> None:
    hours = [0, 1, 2, 3, 4, 5, 5, 5, 5, 6]
    spans = spans_of(heads(*[(hour, None) for hour in hours]), TunePolicy(min_calls=2))
    assert told(spans) == "eeeeelllll"


def test_a_session_that_goes_on_across_the_cut_ends_there() -> None:
    calls = [
        (0, "a"),
        (1, "a"),
        (2, "b"),
        (3, None),
        (4, "c"),
        (5, "c"),
        (6, "b"),
        (7, "c"),
        (8, "d"),
        (9, "d"),
    ]
    spans = spans_of(heads(*calls), TunePolicy(min_calls=2, train_ratio=0.6))
    assert told(spans) == "eeeeee--ll"
    assert (spans.left_out, spans.straddling) == (2, 0)


def test_sessions_as_long_as_the_log_are_kept_and_counted() -> None:
    spans = spans_of(heads(*[(n, "all day") for n in range(10)]), TunePolicy(min_calls=3))
    assert told(spans) == "eeeeeeelll"
    assert (spans.left_out, spans.straddling) == (0, 3)


def test_too_few_are_refused_with_both_counts_and_a_way_to_get_more() -> None:
    with pytest.raises(CheckError, match=r"7 labelled calls before 2026-05-01 07:00, 3 from then") as caught:
        spans_of(heads(*[(n, None) for n in range(10)]), TunePolicy(min_calls=4))
    assert "4 are needed in each (tune.min_calls), so 14 in all" in caught.value.message
    assert "slowwave used" in caught.value.remedy
    with pytest.raises(CheckError, match="no call is labelled, 14 are needed"):
        spans_of(heads(), TunePolicy(min_calls=4))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", "c", None])), min_size=4, max_size=20),
    st.floats(0.2, 0.8),
)
def test_no_later_call_and_no_session_is_on_both_sides(
    calls: list[tuple[int, str | None]], ratio: float
) -> None:
    rows = heads(*calls, users=2)
    try:
        spans = spans_of(rows, TunePolicy(min_calls=2, train_ratio=ratio))
    except CheckError:
        return
    early, late = rows.filter(pl.Series(spans.train)), rows.filter(pl.Series(spans.test))
    assert max(early["recalled_at"]) < spans.cut_at <= min(late["recalled_at"])
    assert early.height + late.height + spans.left_out == rows.height
    if not spans.straddling:
        sessions = ["user_id", "session_id"]
        named = late.drop_nulls("session_id")
        assert named.join(early, on=sessions, how="semi").is_empty()


def test_users_are_drawn_where_there_are_enough_else_sessions() -> None:
    rows = heads(*[(n, f"s{n // 2}") for n in range(8)], users=4)
    codes, name = clusters_of(rows, 4)
    assert (codes.tolist(), name) == ([0, 1, 2, 3, 0, 1, 2, 3], "user")
    codes, name = clusters_of(heads((0, "a"), (1, "a"), (2, "b"), (3, None), (4, None)), 2)
    assert name == "session"
    assert len(set(codes.tolist())) == 4
    assert codes[0] == codes[1]


def test_a_span_is_told_by_its_ends_and_counts() -> None:
    rows = heads((0, "a"), (1, "a"), (2, None), (3, None), users=2)
    whole = span(rows, rows["call_id"].is_not_null().to_numpy())
    assert (whole.calls, whole.sessions, whole.users) == (4, 4, 2)  # the session is of two users
    assert (whole.from_at, whole.to_at) == (START, START + timedelta(hours=3))
