"""Curves: through what was measured, exact where bytes are fixed and marginal, scaled file by file."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.planning.curves import PROBES_SCHEMA, Curve, curves, scaled
from transforms.planning.index_sizes import PARTS_SCHEMA
from transforms.planning.larger import INDEX, larger
from transforms.planning.sizes import FILES_SCHEMA, OVERHEAD, SAMPLED_SCHEMA, by_column

FIXED, EACH, FOOTER = 200, 7, 1_000


def probes(table: str, sizes: list[int], column: str = "x", each: float = EACH) -> pl.DataFrame:
    return pl.DataFrame(
        [(table, rows, column, round(FIXED + each * rows)) for rows in sizes],
        schema=PROBES_SCHEMA,
        orient="row",
    )


def lake_of(sizes: list[int], table: str = "episodes") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Files and columns of a table whose files take FOOTER and FIXED, and EACH a row."""
    files = pl.DataFrame(
        [(table, str(i), rows, FOOTER + FIXED + EACH * rows) for i, rows in enumerate(sizes)],
        schema=FILES_SCHEMA, orient="row",
    )  # fmt: skip
    seen = pl.DataFrame(
        [(table, str(i), "x", FIXED + EACH * rows) for i, rows in enumerate(sizes)],
        schema=SAMPLED_SCHEMA, orient="row",
    )  # fmt: skip
    return files, by_column(files, seen)


def test_a_curve_goes_through_its_points_and_on_along_its_ends() -> None:
    curve = Curve(np.array([10.0, 100.0, 1_000.0]), np.array([300.0, 900.0, 6_300.0]))
    assert curve.at(np.array([10.0, 100.0, 1_000.0])) == pytest.approx([300, 900, 6_300])
    # Beyond: (6,300 - 900) / 900 = 6 a row. Below: (900 - 300) / 90 = 6.67 a row.
    assert curve.at(np.array([2_000.0, 1.0])) == pytest.approx([12_300, 240])
    assert curve.at(np.array([0.0]))[0] >= 0


def test_one_point_is_a_proportion() -> None:
    assert Curve(np.array([10.0]), np.array([50.0])).at(np.array([20.0]))[0] == 100


def test_files_of_about_as_many_rows_are_averaged() -> None:
    rows = [("t", 100, "x", 1_000), ("t", 110, "x", 1_200), ("t", 400, "x", 3_000)]
    found = curves(pl.DataFrame(rows, schema=PROBES_SCHEMA, orient="row"))["t", "x"]
    assert found.rows.tolist() == [105, 400]
    assert found.bytes.tolist() == [1_100, 3_000]


def test_vectors_never_take_more_a_row_in_a_fuller_file() -> None:
    rows = [(100, 200), (200, 700), (400, 1_600), (800, 3_000)]
    told = [("t", n, column, b) for column in ("vector", "kind") for n, b in rows]
    found = curves(pl.DataFrame(told, schema=PROBES_SCHEMA, orient="row"))
    assert found["t", "kind"].bytes.tolist() == [200, 700, 1_600, 3_000]
    assert found["t", "vector"].bytes.tolist() == [400, 800, 1_600, 3_000]


@given(
    st.lists(st.integers(50, 3_000), min_size=1, max_size=8),
    st.sampled_from([2.0, 5.0, 10.0]),
    st.integers(1, 4),
)
def test_fuller_and_more_files_are_exact_where_bytes_are_fixed_and_marginal(
    sizes: list[int], fuller: float, more: int
) -> None:
    files, columns = lake_of(sizes)
    dense = sorted({round(50 * 1.15**i) for i in range(50)})
    told = scaled(columns, files, curves(probes("episodes", dense)), fuller=fuller, more=more)
    bytes_of = dict(told.select("column", "bytes").iter_rows())
    expected = more * sum(FIXED + EACH * rows * fuller for rows in sizes)
    assert bytes_of["x"] == pytest.approx(expected, rel=0.01)
    assert bytes_of[OVERHEAD] == pytest.approx(more * FOOTER * len(sizes))
    assert told["rows"].max() == round(sum(sizes) * fuller * more)


def test_what_was_not_probed_grows_with_its_rows() -> None:
    files, columns = lake_of([10, 20])
    told = scaled(columns, files, {}, fuller=3)
    assert told["bytes"].to_list() == [
        pytest.approx(b if c == OVERHEAD else 3 * b) for c, b in columns.select("column", "bytes").iter_rows()
    ]


def test_nothing_changed_is_the_same() -> None:
    files, columns = lake_of([10, 200])
    assert scaled(columns, files, curves(probes("episodes", [16, 64, 256]))).equals(columns)


def test_a_larger_lake_leaves_ledgers_and_manifests_as_they_are() -> None:
    parts = [lake_of([100], table) for table in ("episodes", "runs", "vectors")]
    files, columns = (pl.concat(p[i] for p in parts) for i in (0, 1))
    found = curves(pl.concat([probes(t, [64, 128, 1_000, 10_000]) for t in ("episodes", "runs", "vectors")]))
    index = pl.DataFrame(
        [("column", "vector", 100, 512, 5.12), ("other", "manifests", 100, 40, 0.4)],
        schema=PARTS_SCHEMA, orient="row",
    )  # fmt: skip
    told = dict(larger(columns, files, found, index, 10, 0.5).iter_rows())
    assert told["runs"] == FOOTER + FIXED + EACH * 100
    assert told["episodes"] == pytest.approx(FOOTER + FIXED + EACH * 1_000, rel=0.01)
    assert told["vectors"] == pytest.approx(FOOTER + FIXED + EACH * 100 * 10**0.5, rel=0.05)
    assert told[INDEX] == 5_160
