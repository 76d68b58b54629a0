from __future__ import annotations

import random
from hashlib import blake2b

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms import ids

# Texts as readers hand them over: no lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PARTS = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8), min_size=1, max_size=4)


def test_ids_are_the_same_on_every_machine_and_for_ever() -> None:
    assert ids.digest("") == "cae66941d9efbd404e4d88758ea67670"
    assert ids.digest("acme") == blake2b(b"acme", digest_size=16).hexdigest()
    assert ids.row_id("acme", "turn 1") == ids.digest("acme\x1fturn 1")
    assert [ids.tenant_bucket(t, 16) for t in ("acme", "007", "😀")] == [
        int(blake2b(t.encode(), digest_size=8).hexdigest(), 16) % 16 for t in ("acme", "007", "😀")
    ]


@given(TEXTS)
def test_an_id_is_32_hex_digits(text: str) -> None:
    assert set(ids.digest(text)) <= set("0123456789abcdef")
    assert len(ids.digest(text)) == 32


def test_a_lone_surrogate_has_an_id() -> None:
    assert ids.digest("\ud800") != ids.digest("\ud801")


@given(PARTS, PARTS)
def test_different_keys_have_different_ids(one: list[str], other: list[str]) -> None:
    assert (ids.row_id(*one) == ids.row_id(*other)) == (one == other)


@given(st.lists(st.tuples(TEXTS, st.one_of(st.none(), st.integers(-9, 9))), max_size=8))
def test_a_column_of_ids_is_each_id_alone(rows: list[tuple[str, int | None]]) -> None:
    frame = pl.DataFrame(rows, schema={"text": pl.String, "number": pl.Int64}, orient="row")
    found = ids.row_ids(frame, "text", pl.col("number")).to_list()
    assert found == [ids.row_id(text, "" if number is None else str(number)) for text, number in rows]
    assert ids.digest_series([t for t, _ in rows]).to_list() == [ids.digest(t) for t, _ in rows]


@given(st.lists(TEXTS, max_size=12), st.sampled_from([1, 4, 16, 64]))
def test_a_column_of_buckets_is_each_bucket_alone(tenants: list[str], buckets: int) -> None:
    found = ids.tenant_buckets(pl.Series("tenant_id", tenants, dtype=pl.String), buckets)
    assert found.to_list() == [ids.tenant_bucket(t, buckets) for t in tenants]
    assert found.dtype == pl.Int32
    assert all(0 <= number < buckets for number in found)


@pytest.mark.parametrize("buckets", [4, 16, 64])
def test_buckets_are_about_even(buckets: int) -> None:
    chance = random.Random(1)
    tenants = [f"tenant-{chance.random()}" for _ in range(200 * buckets)]
    sizes = pl.Series([ids.tenant_bucket(t, buckets) for t in tenants]).value_counts()["count"]
    assert sizes.len() == buckets
    assert sizes.min() > 100
    assert sizes.max() < 300


def test_empty_columns() -> None:
    empty = pl.DataFrame(schema={"tenant_id": pl.String})
    assert ids.row_ids(empty, "tenant_id").to_list() == []
    assert ids.tenant_buckets(empty["tenant_id"], 16).dtype == pl.Int32
