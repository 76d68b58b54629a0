"""Blocks of an index table: all rows where they are few, else an even spread, and the right rows of it."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from lake.index_blocks import block_ranges, chosen_blocks, read_range


def test_few_rows_are_all_covered_and_many_evenly() -> None:
    assert block_ranges(0, 4, 10) == []
    assert block_ranges(25, 4, 10) == [range(0, 10), range(10, 20), range(20, 25)]
    assert block_ranges(40, 4, 10) == [range(0, 10), range(10, 20), range(20, 30), range(30, 40)]
    many = block_ranges(1_000, 4, 10)
    assert many == [range(0, 10), range(330, 340), range(660, 670), range(990, 1_000)]
    assert block_ranges(1_000, 1, 10) == [range(0, 10)]


@pytest.mark.parametrize("hidden", [False, True])
def test_chosen_rows_are_those_of_the_whole_table(tmp_path: Path, hidden: bool) -> None:
    rows = pa.table({"number": pa.array(range(1_000), pa.int64())})
    table = lance.write_dataset(rows, tmp_path / "t.lance", max_rows_per_file=300)
    if hidden:
        table.delete("number % 7 = 3")
    held = table.to_table()["number"].to_numpy()
    ranges = block_ranges(len(held), 5, 40)
    covered = np.concatenate([np.arange(one.start, one.stop) for one in ranges])
    places = covered[::3].astype(np.int64)
    found = [value for block in chosen_blocks(table, ranges, places, "number") for value in block.to_pylist()]
    assert found == held[places].tolist()
    assert read_range(table, range(290, 310), "number").to_pylist() == held[290:310].tolist()
