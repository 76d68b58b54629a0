"""Scoring columns: rows taken and united say of each memory what was said before; vectors are not copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.columns import columns
from transforms.scope_columns import SEPARATOR, ScopeColumns, Vectors, coded, paired, united

names = st.sampled_from([None, "ann", "bo", "cy"])
rows = st.lists(st.tuples(names, names, st.text("ab ?", max_size=6)), max_size=8)


def told(held: ScopeColumns) -> list[dict[str, Any]]:
    """Every row in plain words."""
    query = np.array([1, 10], np.float32)
    cosine = held.vectors.dots(query).tolist()
    return [
        {
            "id": held.ids[i].decode(),
            "terms": held.terms[held.starts[i] : held.starts[i + 1]].tolist(),
            "session": None if held.session[i] < 0 else held.session_names[held.session[i]],
            "speaker": None if held.speaker[i] < 0 else held.speaker_names[held.speaker[i]],
            "cosine": cosine[i],
            "vector": held.vectors.at(np.array([i]))[0].tolist(),
            "event_us": int(held.event_us[i]),
        }
        for i in range(len(held))
    ]


def made(found: list[tuple[str | None, str | None, str]], first: int = 0) -> ScopeColumns:
    ordered = sorted(found, key=lambda row: (row[0] is not None, row[0] or ""))
    count = len(ordered)
    vectors = np.stack([np.arange(count), np.full(count, first)], axis=1).astype(np.float32)
    ids = np.array([f"{first + i:032d}".encode() for i in range(count)], "S32")
    return columns(ordered, vectors, ids=ids)


@given(rows, st.data())
def test_taken_rows_say_what_they_said(found: list[Any], data: Any) -> None:
    held = made(found)
    positions = np.array(sorted(data.draw(st.sets(st.integers(0, max(0, len(held) - 1))))), np.int64)
    positions = positions[positions < len(held)]
    assert told(held.take(positions)) == [told(held)[i] for i in positions.tolist()]


@given(rows, rows)
def test_united_rows_are_each_memory_once_and_sorted(one: list[Any], other: list[Any]) -> None:
    parts = [part for part in (made(one), made(other, first=4)) if len(part)]  # ids overlap from 4 on
    if not parts:
        return
    whole, places = united(parts)
    plain = [row for part in parts for row in told(part)]
    assert told(whole) == [plain[place] for place in places.tolist()]
    firsts = {row["id"]: row for row in reversed(plain)}  # the earliest part wins
    assert {row["id"]: row for row in told(whole)} == firsts
    assert len(whole) == len(firsts)
    if len(parts) == 2:
        keys = list(zip(whole.session.tolist(), whole.event_us.tolist(), whole.ids.tolist(), strict=True))
        assert keys == sorted(keys)


def test_the_row_before_is_of_the_same_session() -> None:
    held = columns(
        [(None, None, "a"), (None, None, "b"), ("s", None, "c"), ("s", None, "d"), ("t", None, "e")]
    )
    assert held.previous.tolist() == [-1, -1, -1, 2, -1]


def test_vectors_in_blocks_are_as_if_in_one() -> None:
    draw = np.random.default_rng(1)
    one, two = draw.standard_normal((2, 5, 4)).astype(np.float32)
    joined = Vectors.joined([Vectors((one,), np.array([3, 1])), Vectors((two,))])
    whole = np.concatenate([one[[3, 1]], two])
    query = draw.standard_normal(4).astype(np.float32)
    np.testing.assert_allclose(joined.dots(query), whole @ query, rtol=1e-5)
    picked = np.array([6, 0, 2])
    assert (joined.at(picked) == whole[picked]).all()
    assert (joined.take(picked).at(np.array([1, 2])) == whole[[0, 2]]).all()
    assert len(joined.take(picked)) == 3


@given(st.lists(st.tuples(names, names), max_size=12))
def test_pairs_of_names_keep_two_people_s_sessions_apart(pairs: list[tuple[str | None, str | None]]) -> None:
    users, sessions = ([pair[i] for pair in pairs] for i in (0, 1))
    codes, known = paired(coded(users), coded(pa.array(sessions, pa.string())))
    expected = [None if s is None else f"{u or ''}{SEPARATOR}{s}" for u, s in pairs]
    assert [None if code < 0 else known[code] for code in codes.tolist()] == expected
    assert len(set(known)) == len(known)


def test_moments_tell_mean_and_variance_of_the_cosines_to_any_query() -> None:
    draw = np.random.default_rng(5)
    vectors = Vectors((draw.standard_normal((40, 8)).astype(np.float16),), np.arange(0, 40, 2))
    query = draw.standard_normal(8).astype(np.float32)
    mean, covariance = vectors.moments
    cosines = vectors.dots(query)
    assert mean @ query == pytest.approx(cosines.mean(), abs=1e-5)
    assert query @ covariance @ query == pytest.approx(cosines.var(), rel=1e-4)
