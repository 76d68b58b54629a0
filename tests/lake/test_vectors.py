"""Vectors by hash, held to a plain read of the whole table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake import tables
from lake.lake import Lake, init_lake
from lake.row_counts import row_counts
from lake.vectors import vectors_of, whole_rows
from tests.lake.made import frame
from transforms.schemas import VECTORS

HASHES = [f"{n:032x}" for n in range(12)]


def lake_of(root: Path, batches: list[list[tuple[int, str, int]]]) -> Lake:
    """A lake of vectors: each batch of (hash, space, bucket) is a commit; no hash and space twice."""
    lake = init_lake(str(root / "lake"), 2)
    seen: set[tuple[int, str]] = set()
    for number, batch in enumerate(batches):
        fresh = {(h, space): bucket for h, space, bucket in batch if (h, space) not in seen}
        seen |= set(fresh)
        rows = [
            {
                "tenant_id": f"t{bucket}",
                "tenant_bucket": bucket,
                "text_hash": HASHES[h],
                "model_key": space,
                "vector": [float(h), float(number)],
            }
            for (h, space), bucket in fresh.items()
        ]
        tables.append(lake, VECTORS, frame(VECTORS, rows))
    return lake


places = st.tuples(st.integers(0, 11), st.sampled_from(["one", "two"]), st.integers(0, 1))


@settings(max_examples=12, deadline=None)
@given(
    batches=st.lists(st.lists(places, min_size=1, max_size=8), max_size=4),
    wanted=st.lists(st.integers(0, 11), max_size=6),
    buckets=st.sampled_from([[0], [1], [0, 1]]),
)
def test_as_a_plain_read_of_all(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[tuple[int, str, int]]],
    wanted: list[int],
    buckets: list[int],
) -> None:
    lake = lake_of(tmp_path_factory.mktemp("lake"), batches)
    texts = pl.DataFrame({"text_hash": [HASHES[h] for h in wanted]}, schema={"text_hash": pl.String})
    found = vectors_of(lake, buckets, "one", texts)
    every = tables.scan(lake, VECTORS).collect()
    expected = every.filter(
        pl.col("tenant_bucket").is_in(buckets),
        pl.col("model_key") == "one",
        pl.col("text_hash").is_in(texts["text_hash"].implode()),
    ).select("text_hash", "vector")
    assert found.sort("text_hash").equals(expected.sort("text_hash"))
    assert found["text_hash"].is_unique().all()


def test_a_text_twice_has_one_vector(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [[(1, "one", 0), (2, "one", 1)], [(3, "one", 0)]])
    texts = pl.DataFrame({"text_hash": [HASHES[1], HASHES[1], HASHES[9]]})
    found = vectors_of(lake, [0, 1], "one", texts)
    assert found.rows() == [(HASHES[1], [1.0, 0.0])]


def test_rows_of_files_are_told_without_reading_them(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [[(1, "one", 0), (2, "one", 0)], [(3, "one", 1)]])
    counts = row_counts(lake, VECTORS)
    assert sorted(counts.values()) == [1, 2]
    assert set(counts) == tables.data_files(lake, VECTORS)
    assert row_counts(init_lake(str(tmp_path / "empty"), 2), VECTORS) == {}


def of_lengths(root: Path, lengths: list[int]) -> tuple[Lake, str]:
    """A lake with one file of vectors of some lengths, and its name."""
    lake = init_lake(str(root / "lake"), 2)
    rows = [
        {
            "tenant_id": "t0",
            "tenant_bucket": 0,
            "text_hash": HASHES[n],
            "model_key": "one",
            "dimensions": length,
            "vector": [float(n)] * length,
        }
        for n, length in enumerate(lengths)
    ]
    tables.append(lake, VECTORS, frame(VECTORS, rows))
    return lake, next(iter(tables.data_files(lake, VECTORS)))


@pytest.mark.parametrize("lengths", [[3] * 7, [3, 2, 3, 3, 2, 3, 3]])
@pytest.mark.parametrize("places", [None, [0, 2, 3, 6], [4], []])
def test_rows_of_a_file_are_those_of_a_plain_read(
    tmp_path: Path, lengths: list[int], places: list[int] | None
) -> None:
    lake, name = of_lengths(tmp_path, lengths)
    every = tables.scan(lake, VECTORS, files=[name]).collect()
    found = whole_rows(lake, name, None if places is None else np.array(places, np.int64))
    assert found.equals(every if places is None else every[places])
    assert found.schema == every.schema


def test_vectors_of_one_length_are_never_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, _ = of_lengths(tmp_path, [3] * 7)
    monkeypatch.setattr("lake.vectors.pq.ParquetFile", None)  # what would decode them
    found = vectors_of(lake, [0], "one", pl.DataFrame({"text_hash": HASHES}))
    assert found.sort("text_hash")["vector"].to_list() == [[float(n)] * 3 for n in range(7)]


def test_no_statistics_are_kept_of_the_numbers_of_vectors(tmp_path: Path) -> None:
    lake, name = of_lengths(tmp_path, [3] * 7)
    group = pq.read_metadata(f"{lake.table_uri(VECTORS)}/{name}").row_group(0)
    told = {one.path_in_schema: one.is_stats_set for one in map(group.column, range(group.num_columns))}
    assert not told.pop("vector.list.element")
    assert all(told.values())
