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


CELLS = st.one_of(st.none(), st.sampled_from(["ana", "user:ana", "say ana.", "zebra-", "canary", CANARY, ""]))


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=6), st.integers(1, 60))
def test_columns_searched_together_give_what_each_gives_alone(rows_: list[list[Any]], joined: int) -> None:
    search = ColumnSearch(Matcher(Needles(identifiers=("ana",), texts=(CANARY, "ok"))))
    kinds = (pa.string(), pa.large_string(), pa.binary())
    names = ("user_id", "content", "raw")
    arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows_, strict=True), kinds, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, names)
    alone = [
        find
        for name, array in zip(names, arrays, strict=True)
        for find in search.batch(pa.RecordBatch.from_arrays([array], [name]))[0]
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lake.readback.columns._JOINED_BYTES", joined)
        found = search.batch(batch)[0]
    assert found == sorted(alone)
    assert {f.row for f in found if f.column == "content"} == {
        number for number, row in enumerate(rows_) if row[1] in {CANARY, "ana", "user:ana", "say ana."}
    }


@given(st.lists(CELLS, min_size=1, max_size=9), st.integers(0, 8))
def test_a_dictionary_gives_what_its_rows_give(cells: list[Any], start: int) -> None:
    search = ColumnSearch(Matcher(Needles(identifiers=("ana",), texts=(CANARY, "ok"))))
    plain = pa.array(cells, pa.string())
    encoded = plain.dictionary_encode()
    for name in ("user_id", "content"):
        expected = search.batch(pa.RecordBatch.from_arrays([plain.slice(start)], [name]))[0]
        assert search.batch(pa.RecordBatch.from_arrays([encoded.slice(start)], [name]))[0] == expected
        both = pa.RecordBatch.from_arrays([encoded, plain], [name, name])
        assert search.batch(both)[0] == search.batch(pa.RecordBatch.from_arrays([plain], [name]))[0]


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
