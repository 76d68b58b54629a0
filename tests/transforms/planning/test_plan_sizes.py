"""Sizes: every byte is told once, groups share what no footer can say, and each object has a part."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.planning.index_sizes import INDEX_SCHEMA, beside_vectors, parts_of, vector_bytes
from transforms.planning.sizes import (
    FILES_SCHEMA,
    GROUPS_SCHEMA,
    INDEX_KEPT,
    INDEX_LIVE,
    INDEX_STRAY,
    LIVE,
    LOG,
    OBJECTS_SCHEMA,
    OTHER,
    OVERHEAD,
    SAMPLED_SCHEMA,
    SUPERSEDED,
    by_column,
    by_part,
    shared_out,
)

FILES = pl.DataFrame(
    [("episodes", "a", 10, 1_000), ("episodes", "b", 30, 2_000), ("facts", "c", 5, 500)],
    schema=FILES_SCHEMA, orient="row",
)  # fmt: skip


def sampled(*rows: tuple[str, str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SAMPLED_SCHEMA, orient="row")


def test_shares_of_sampled_files_are_scaled_to_all_bytes() -> None:
    told = by_column(
        FILES,
        sampled(
            ("episodes", "b", "content", 1_200), ("episodes", "b", "kind", 300), ("facts", "c", "fact", 450)
        ),
    )  # fmt: skip
    assert told.select("table", "column", "rows", "files", "bytes").rows() == [
        ("episodes", "content", 40, 2, 1_800.0),
        ("episodes", OVERHEAD, 40, 2, 750.0),
        ("episodes", "kind", 40, 2, 450.0),
        ("facts", "fact", 5, 1, 450.0),
        ("facts", OVERHEAD, 5, 1, 50.0),
    ]
    assert told["bytes_per_row"][0] == 45.0


SIZES = st.lists(
    st.tuples(st.integers(1, 500), st.integers(0, 4_000), st.integers(0, 4_000)), min_size=1, max_size=6
)


@given(SIZES, st.data())
def test_the_columns_of_a_table_sum_to_its_bytes(
    sizes: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    files = pl.DataFrame(
        [("episodes", str(i), rows, one + two + 8) for i, (rows, one, two) in enumerate(sizes)],
        schema=FILES_SCHEMA, orient="row",
    )  # fmt: skip
    seen = data.draw(st.sets(st.sampled_from(range(len(sizes))), min_size=1))
    parts = [
        row
        for i in seen
        for row in (("episodes", str(i), "x", sizes[i][1]), ("episodes", str(i), "y", sizes[i][2]))
    ]
    assert by_column(files, sampled(*parts))["bytes"].sum() == pytest.approx(files["bytes"].sum())


def test_text_is_shared_out_by_characters_and_the_rest_by_rows() -> None:
    columns = by_column(FILES, sampled(("episodes", "a", "content", 600), ("episodes", "a", "kind", 400)))
    groups = pl.DataFrame(
        [("episodes", "t", "conversation", 30, 900), ("episodes", "u", "action", 10, 100)],
        schema=GROUPS_SCHEMA, orient="row",
    )  # fmt: skip
    told = dict(shared_out(columns, groups).select("kind", "bytes").iter_rows())
    # 3,000 bytes: 1,800 of text, 0.9 and 0.1 of the characters; 1,200 of the rest, 0.75 and 0.25 of the rows.
    assert told == {
        "conversation": pytest.approx(0.9 * 1_800 + 900),
        "action": pytest.approx(0.1 * 1_800 + 300),
    }


def test_rows_without_characters_share_by_rows_alone() -> None:
    columns = by_column(FILES, sampled(("facts", "c", "fact", 500)))
    groups = pl.DataFrame(
        [("facts", "t", "fact", 4, 0), ("facts", "t", "preference", 1, 0)], schema=GROUPS_SCHEMA, orient="row"
    )
    assert shared_out(columns, groups)["bytes"].to_list() == [400.0, 100.0]


def test_every_object_belongs_to_one_part() -> None:
    keys = {
        "tables/episodes/a": LIVE,
        "tables/episodes/old": SUPERSEDED,
        "tables/episodes/_delta_log/0.json": LOG,
        "index/CURRENT": OTHER,
        "index/gen-000003/main.lance/data/x": INDEX_LIVE,
        "index/gen-000002/main.lance/data/x": INDEX_KEPT,
        "index/gen-000009/main.lance/data/x": INDEX_STRAY,
        "landing/003/open.jsonl": "landed, not ingested",
        "recall_log/003/open.jsonl": "recalls, not folded",
        "lake.json": OTHER,
        "odd": OTHER,
    }
    objects = pl.DataFrame([(key, 2**i) for i, key in enumerate(keys)], schema=OBJECTS_SCHEMA, orient="row")
    told = by_part(objects, FILES, ["gen-000003"], ["gen-000002", "gen-000003"])
    expected: dict[str, int] = {}
    for i, part in enumerate(keys.values()):
        expected[part] = expected.get(part, 0) + 2**i
    assert dict(told.select("part", "bytes").iter_rows()) == expected
    assert by_part(objects.clear(), FILES, [], []).height == 0


def index(*rows: tuple[str, int, str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=INDEX_SCHEMA, orient="row")


def test_tables_of_an_index_are_one_and_the_rest_is_told() -> None:
    found = index(
        ("main", 90, "column", "vector", 900),
        ("own", 10, "column", "vector", 100),
        ("own", 10, "index", "vector (vectors)", 110),
        ("main", 90, "column", "payload", 300),
    )
    told = parts_of(found, 1_500)
    assert told.select("part", "name", "rows", "bytes").rows() == [
        ("column", "vector", 100, 1_000),
        ("column", "payload", 100, 300),
        ("index", "vector (vectors)", 100, 110),
        ("other", "manifests and page tables", 100, 90),
    ]
    assert beside_vectors(told) == 3.9
    assert beside_vectors(parts_of(index(), 0)) is None


@pytest.mark.parametrize(
    ("form", "is_own", "on_disk", "searched"),
    [
        ("float16", False, 512, 512),
        ("float16", True, 1_030, 1_030),
        ("float32", False, 1_024, 1_024),
        ("int8", False, 512 + 256 + 6, 262),
        ("pq", True, 512 + 16 + 6, 22),
    ],
)
def test_bytes_of_a_vector(form: str, is_own: bool, on_disk: float, searched: float) -> None:
    found = vector_bytes(256, form, is_own=is_own)
    assert found.on_disk == on_disk
    assert found.searched in (searched, 512)
