"""Needles in decoded columns: the right row of every nesting, and whole values in id columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.readback.columns import ColumnSearch, has_strings
from lake.readback.matcher import Matcher
from lake.readback.needles import Needles

CANARY = "zebra-canary"


def rows(needles: Needles, **columns: pa.Array) -> set[tuple[int, str]]:
    batch = pa.RecordBatch.from_pydict(columns)
    found, size = ColumnSearch(Matcher(needles)).batch(batch)
    assert size > 0
    return {(find.row, find.column) for find in found}


STRUCT = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])


@pytest.mark.parametrize(
    ("kind", "hit", "miss"),
    [
        (pa.string(), CANARY, "x"),
        (pa.large_string(), CANARY, "x"),
        (pa.string_view(), CANARY, "x"),
        (pa.binary(), CANARY.encode(), b"x"),
        (pa.binary(len(CANARY)), CANARY.encode(), b"x" * len(CANARY)),
        (pa.binary_view(), CANARY.encode(), b"x"),
        (pa.list_(pa.string()), ["x", CANARY], ["y"]),
        (pa.large_list(pa.string()), [None, CANARY], []),
        (pa.list_(pa.string(), 2), ["x", CANARY], ["y", "z"]),
        (pa.list_(pa.list_(pa.string())), [["x"], [], ["y", CANARY]], [[]]),
        (STRUCT, {"a": 1, "b": ["x", CANARY]}, {"a": 2, "b": None}),
        (pa.map_(pa.string(), pa.string()), [("k", CANARY)], [("k", "v")]),
        (pa.map_(pa.string(), pa.string()), [(CANARY, "v")], [("k", "v")]),
        (pa.dictionary(pa.int32(), pa.string()), CANARY, "x"),
    ],
)
def test_a_canary_is_found_in_its_row(kind: pa.DataType, hit: Any, miss: Any) -> None:
    array = pa.array([miss, None, hit, miss, hit], kind)
    needles = Needles(texts=(CANARY,))
    assert has_strings(kind)
    assert rows(needles, c=array) == {(2, "c"), (4, "c")}
    assert rows(needles, c=array.slice(2)) == {(0, "c"), (2, "c")}


def test_numbers_hold_no_needles() -> None:
    assert not has_strings(pa.list_(pa.float32()))
    assert not has_strings(pa.timestamp("us", "UTC"))


@given(st.lists(st.text(alphabet="ab-", max_size=20), max_size=12), st.text(alphabet="ab-", min_size=1))
def test_values_are_searched_one_by_one(values: list[str], needle: str) -> None:
    """What two values make together when they lie side by side is no find."""
    needles = Needles(texts=(needle,))
    batch = pa.RecordBatch.from_pydict({"c": pa.array(values, pa.string())})
    found = {f.row for f in ColumnSearch(Matcher(needles)).batch(batch)[0]}
    is_long = len(needle) >= 8 and len(needle) <= 64
    if is_long:
        assert found == {i for i, value in enumerate(values) if needle in value}
    elif len(needle) < 8:
        assert found == {i for i, value in enumerate(values) if needle == value}


VALUES = ["ana", "ana2", "user:ana", "agent:ana", "say ana.", "ana ben", None, "banana", "ana-b"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("user_id", {0, 2, 3}),
        ("owner", {0, 2, 3}),
        ("content", {0, 2, 3, 4, 5}),
        ("speaker", {0, 2, 3, 4, 5}),
    ],
)
def test_in_id_columns_an_identifier_is_the_whole_value(column: str, expected: set[int]) -> None:
    array = pa.array(VALUES, pa.string())
    assert {row for row, _ in rows(Needles(identifiers=("ana",)), **{column: array})} == expected


def test_a_short_identifier_is_compared_as_a_whole_value() -> None:
    needles = Needles(identifiers=("u", "7"), texts=("ok",))
    array = pa.array(["u", "user:u", "u u", "ok", "ok then", "7", None, "70"], pa.string())
    assert {row for row, _ in rows(needles, content=array)} == {0, 1, 3, 5}
