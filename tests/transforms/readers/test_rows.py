"""The row shape: JSON lines, and the column-wise path against the plain one."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers import rows
from transforms.readers.row_shape import COLUMNS, KNOWN_FIELDS, shape_record
from transforms.readers.text import JsonFault
from transforms.readers.times import iso_number, iso_numbers, iso_strings, iso_time

SMALL = IngestPolicy(batch_rows=3, batch_bytes=400)


def test_fields_aliases_and_unknown_columns() -> None:
    source = lines(
        {"id": 7, "text": "hello", "timestamp": 1700000000, "user_id": "007", "mood": "good"},
        {"episode_id": "x", "content": "yes", "created_at": "2024-01-02T03:04:05", "metadata": {"a": 1}},
    )
    found = read("slowwave-jsonl", source)
    assert column(found.drafts, "natural_id") == ["7", "x"]
    assert column(found.drafts, "content") == ["hello", "yes"]
    assert column(found.drafts, "user_id") == ["007", None]
    assert column(found.drafts, "event_at") == ["2023-11-14T22:13:20.000000+00:00", "2024-01-02T03:04:05"]
    assert column(found.drafts, "metadata") == ['{"mood":"good"}', '{"a":1}']
    assert column(found.drafts, "source_line") == [1, 2]
    assert found.refusals == []


def test_faulty_lines_are_refused_alone() -> None:
    source = (
        b'{"content": "one"}\r\n\n{"content": "tw\n[1]\n{"content": {"a": 1}}\n{"content": "  "}\n'
        b'{"content": "x", "tags": [1]}\nnonsense\n{"content": "last"}'
    )
    found = read("slowwave-jsonl", source)
    assert column(found.drafts, "content") == ["one", "last"]
    assert column(found.drafts, "source_line") == [1, 9]
    assert [(r["source_line"], r["reason"]) for r in found.refusals] == [
        (3, "truncated_json"),
        (4, "not_an_object"),
        (5, "bad_field_type"),
        (6, "no_content"),
        (7, "bad_field_type"),
        (8, "invalid_json"),
    ]
    assert found.refusals[0]["raw"] == '{"content": "tw'
    assert found.rows_in == 8


def test_surrogates_controls_and_invalid_bytes() -> None:
    source = (
        b'{"content": "a\\ud800b"}\n{"content": "a\\u0000b\\u0007\\tc"}\n{"content": "caf\xff"}\n'
        b'{"content": "\\ud83d\\ude00"}\n{"content": "ok", "user_id": "u\\ud800"}\n'
        b'{"content": "raw\x00nul"}\n'
    )
    found = read("slowwave-jsonl", source)
    assert column(found.drafts, "content") == ["a\ufffdb", "ab\tc", "caf\ufffd", "\U0001f600", "rawnul"]
    assert [(r["source_line"], r["reason"]) for r in found.refusals] == [(5, "invalid_id")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings(encoding: str) -> None:
    source = '{"content": "grün 中文 😀"}\n{"content": "zwei"}\n'.encode(encoding)
    for policy in (IngestPolicy(), IngestPolicy(batch_bytes=8)):
        found = read("slowwave-jsonl", source, policy)
        assert column(found.drafts, "content") == ["grün 中文 😀", "zwei"]


def test_long_message_passes_whole() -> None:
    text = "x" * 30_000_000
    found = read("slowwave-jsonl", lines({"content": text}))
    assert found.drafts[0]["content"] == text


@pytest.mark.parametrize("source", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_empty_source_gives_nothing(source: bytes) -> None:
    assert read("slowwave-jsonl", source).rows_in == 0


@pytest.mark.parametrize(
    ("field", "value"), [("steps", 2**31), ("steps", -(2**31) - 1), ("turn_index", 2**63)]
)
def test_an_integer_too_large_is_refused_alone(field: str, value: int) -> None:
    found = read("slowwave-jsonl", lines({"content": "x", field: value}, {"content": "kept", field: 1}))
    assert column(found.drafts, "content") == ["kept"]
    assert [refusal["reason"] for refusal in found.refusals] == ["bad_field_type"]


def test_portions_do_not_change_the_rows() -> None:
    records = [{"content": f"row {i}", "id": i} for i in range(50)]
    whole = read("slowwave-jsonl", lines(*records))
    assert read("slowwave-jsonl", lines(*records), SMALL) == whole


def test_action_without_result_stands() -> None:
    found = read("slowwave-jsonl", lines({"tool_name": "search", "tool_arguments": {"q": "x"}}))
    assert (found.drafts[0]["content"], found.drafts[0]["tool_arguments"]) == ("", '{"q":"x"}')


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, width=64), st.integers(0, 2 * 10**9)
)


@given(st.lists(NUMBERS, min_size=1))
def test_numbers_by_column_as_one_by_one(numbers: list[float]) -> None:
    ints = [n for n in numbers if isinstance(n, int)]
    floats = [n for n in numbers if isinstance(n, float)]
    assert iso_numbers(pl.Series(ints, dtype=pl.Int64)).to_list() == [iso_number(n) for n in ints]
    assert iso_numbers(pl.Series(floats, dtype=pl.Float64)).to_list() == [iso_number(n) for n in floats]


@given(st.integers(0, 4 * 10**9))
def test_units_of_epoch_numbers(seconds: int) -> None:
    expected = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")
    assert iso_number(seconds) == expected
    if seconds > 10**8:
        assert iso_number(seconds * 1_000) == expected
        assert iso_number(seconds * 1_000_000) == expected
    assert iso_strings(pl.Series([f"{seconds:010d}"])).to_list() == [expected]


@pytest.mark.parametrize("value", [True, [], {}, float("inf"), 10**30, "9" * 40])
def test_impossible_times(value: object) -> None:
    with pytest.raises(JsonFault):
        iso_time(value, "event_at")


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["2024-01-01", "1700000000", "-86400", '{"a": 1}', "true"]),
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2)
)
FIELDS = [*sorted(KNOWN_FIELDS), "mood"]
RECORDS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5)


@settings(max_examples=300)
@given(st.lists(RECORDS, min_size=1, max_size=4))
def test_by_column_as_one_by_one(records: list[dict[str, object]]) -> None:
    """Where the column-wise path answers at all, it says what the plain one says."""
    built = rows._columns(records)
    if built is None:
        return
    plain = [shape_record(record) for record in records]
    for name in COLUMNS:
        expected = [row.get(name) for row in plain]
        found = built[name].to_list() if name in built else [None] * len(records)
        assert found == expected, name


@given(st.lists(st.text(max_size=20), max_size=4), st.lists(RECORDS, max_size=4))
def test_every_line_is_accounted_for(garbage: list[str], records: list[dict[str, object]]) -> None:
    texts = [json.dumps(r) for r in records] + [g.replace("\n", "") for g in garbage]
    filled = [t for t in texts if t.encode("utf-8", "replace").strip()]
    found = read("slowwave-jsonl", "\n".join(texts).encode("utf-8", "replace"), SMALL)
    assert found.rows_in == len(filled)
    assert sorted(map(str, column(found.drafts + found.refusals, "source_line"))) == sorted(
        str(i) for i, t in enumerate(texts, 1) if t.encode("utf-8", "replace").strip()
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-02-03T07:03:01.693863+", "2026-02-03T07:03:01.693863"),
        ("2026-02-03 07:03-", "2026-02-03 07:03"),
        ("2026-02-03T07:03:01+02:00", "2026-02-03T07:03:01+02:00"),
        ("2026-02-", "2026-02-"),
    ],
)
def test_a_time_whose_offset_is_cut_off_names_no_zone(text: str, told: str) -> None:
    assert iso_time(text, "event_at") == told
