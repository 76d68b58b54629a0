"""Purge of the index and its proof on a real object store."""

from __future__ import annotations

import pytest

from lake.erasure.index_purge import purge_index
from lake.index_build import generations
from lake.lake import init_lake
from tests.lake.erasure.test_index_purge import LARGE, POLICY, frames, live, searched, served

pytestmark = pytest.mark.server


def test_rows_are_purged_and_nothing_is_left(bucket: str) -> None:
    lake = init_lake(f"{bucket}/purged", 2)
    parts = frames()
    live(lake, parts, LARGE["an own table that stays"])
    assert {leak.where for leak in searched(lake, parts[0]).leaks} >= {"memory_id", "payload", "search_text"}
    done = purge_index(lake, parts[0]["memory_id"].to_list(), policy=POLICY)
    assert (done.rows_removed, done.rows_after, done.tables_linked) == (40, 60, 1)
    assert done.files_linked > 0
    assert generations(lake) == ["gen-000002"]
    assert served(lake, "t", "ben", "violin")[1] == set(parts[1]["memory_id"])
    result = searched(lake, parts[0])
    assert result.passed, result.leaks
    assert result.kinds["lance"] > 3
