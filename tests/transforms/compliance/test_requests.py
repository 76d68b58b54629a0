"""Requests: where they stand, and how long they took, against a walk over them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.compliance.requests import LONGEST, SPANS, STATES, spans, stood, times

SCHEMA = {"kind": pl.String, "state": pl.String, "is_late": pl.Boolean, "seconds": pl.Float64}


def frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@pytest.mark.parametrize(
    ("state", "is_late", "standing"),
    [
        ("done", False, "done in time"),
        ("done", True, "done late"),
        ("open", False, "in progress"),
        ("open", True, "overdue"),
        ("failed", False, "failed"),
        ("failed", True, "overdue"),
        ("held", False, "held"),
        ("held", True, "held"),
    ],
)
def test_where_a_request_stands(state: str, is_late: bool, standing: str) -> None:
    assert stood(frame([("erase", state, is_late, None)])).rows() == [("erase", standing, 1)]
    assert standing in STATES


requests = st.lists(
    st.tuples(
        st.sampled_from(["erase", "export"]),
        st.sampled_from(["open", "held", "failed", "done"]),
        st.booleans(),
        st.none() | st.floats(-10, 10**8),
    ),
    max_size=12,
)


@given(requests)
def test_each_request_is_counted_once(rows: list[tuple[Any, ...]]) -> None:
    found = stood(frame(rows))
    assert found["requests"].sum() == len(rows)
    assert found.select("kind", "standing").is_unique().all()
    took = sorted(max(seconds, 0) for kind, _, _, seconds in rows if kind == "erase" and seconds is not None)
    assert spans(frame(rows))["requests"].sum() == len(took)
    figures = times(frame(rows))
    assert figures["requests"] == len(took)
    if took:
        assert figures["longest"] == took[-1]
        assert figures["median"] in took
        assert sum(t <= (figures["median"] or 0) for t in took) * 2 >= len(took)
        assert sum(t <= (figures["p90"] or 0) for t in took) * 10 >= 9 * len(took)
    else:
        assert figures["median"] is figures["longest"] is None


def test_spans_at_their_ends() -> None:
    ends = [float(end) for end, _ in SPANS]
    rows = frame([("erase", "done", False, t) for end in ends for t in (end - 1e-3, end)])
    assert spans(rows).rows() == [("under 1 min", 1), *((name, 2) for _, name in SPANS[1:]), (LONGEST, 1)]
