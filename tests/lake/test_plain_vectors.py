"""Vectors taken from the bytes of a file, held to what decoding the file gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.parts import encoded
from lake.plain_vectors import vectors_at
from tests.lake.made import frame
from transforms.schemas import VECTORS


def file_of(path: Path, vectors: list[list[float]], **options: object) -> str:
    """A file of vectors, with the length of each beside it."""
    table = pa.table(
        {
            "dimensions": pa.array([len(one) for one in vectors], pa.int32()),
            "vector": pa.array(vectors, pa.list_(pa.float32())),
        }
    )
    kept = {"use_dictionary": ["dimensions"], "compression": "none", **options}
    pq.write_table(table, path, **kept)
    return str(path)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), width=st.integers(1, 9), count=st.integers(1, 60))
def test_as_decoding_the_file_gives(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, width: int, count: int
) -> None:
    vectors = [[float(row * width + place) for place in range(width)] for row in range(count)]
    options = {
        "row_group_size": data.draw(st.integers(1, count)),
        "data_page_size": data.draw(st.sampled_from([1, 32, 200, 1 << 20])),
        "write_batch_size": data.draw(st.sampled_from([1, 3, 7, 1024])),  # pages may end inside a vector
        "write_page_index": data.draw(st.booleans()),
        "write_statistics": data.draw(st.sampled_from([True, ["dimensions"]])),
    }
    path = file_of(tmp_path_factory.mktemp("file") / "x.parquet", vectors, **options)
    rows = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1)))
    found = vectors_at(path, np.array(rows, np.int64))
    assert found is not None
    assert found.tolist() == [vectors[row] for row in rows]


def test_of_a_data_file_as_the_lake_writes_it(tmp_path: Path) -> None:
    made = [
        {"tenant_id": "acme", "text_hash": f"{row:032x}", "dimensions": 64, "vector": [float(row)] * 64}
        for row in range(5_000)
    ]
    path = tmp_path / "x.parquet"
    path.write_bytes(encoded(VECTORS, frame(VECTORS, made).drop("tenant_bucket")))
    found = vectors_at(str(path), np.array([0, 17, 4_095, 4_999], np.int64))
    assert found is not None
    assert found[:, [0, 63]].tolist() == [[0, 0], [17, 17], [4_095, 4_095], [4_999, 4_999]]


@pytest.mark.parametrize(
    ("vectors", "options"),
    [
        ([[1.0, 2.0], [3.0]], {}),
        ([[1.0], []], {}),
        ([[1.0, 2.0]] * 3, {"compression": "zstd"}),
        ([[1.0, 2.0]] * 3, {"use_dictionary": True}),
        ([[1.0, 2.0]] * 3, {"write_statistics": False}),
        ([[1.0, 2.0]] * 3, {"data_page_version": "2.0"}),
        ([[1.0, 2.0]] * 3, {"use_byte_stream_split": ["vector.list.element"], "use_dictionary": False}),
    ],
)
def test_a_file_of_another_shape_is_left_alone(
    tmp_path: Path, vectors: list[list[float]], options: dict[str, object]
) -> None:
    path = file_of(tmp_path / "x.parquet", vectors, **options)
    assert vectors_at(path, np.arange(len(vectors))) is None


def test_a_list_without_a_value_is_left_alone(tmp_path: Path) -> None:
    table = pa.table(
        {
            "dimensions": pa.array([2, 2], pa.int32()),
            "vector": pa.array([[1.0, None], [2.0, 3.0]], pa.list_(pa.float32())),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet", compression="none", use_dictionary=False)
    assert vectors_at(str(tmp_path / "x.parquet"), np.arange(2)) is None


def test_no_row_is_none(tmp_path: Path) -> None:
    path = file_of(tmp_path / "x.parquet", [[1.0]])
    assert vectors_at(path, np.arange(0)) is None
    assert pl.read_parquet(path).height == 1
