"""A generation made from another one on a real object store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lake.index import Generation, load_manifest
from lake.index_update import update
from lake.lake import init_lake
from tests.lake.erasure.test_index_purge import LARGE, frames, live
from tests.lake.recalled import NOW
from tests.lake.test_index_checks import memories

pytestmark = pytest.mark.server


def test_files_are_copied_by_the_store_and_the_source_stays(bucket: str) -> None:
    lake = init_lake(f"{bucket}/updated", 2)
    parts = frames()
    live(lake, parts, LARGE["an own table that stays"])
    source = load_manifest(lake, "gen-000001")
    before = lake.storage.entries("index/gen-000001/")
    gone = parts[1]["memory_id"].to_list()[:10]
    done = update(lake, source, "gen-000002", ids=gone, as_of=NOW, frames=[memories(3, user="ben", seed=9)])
    assert (done.removed, done.appended, sum(done.fresh.values())) == (10, 3, 3)
    assert lake.storage.entries("index/gen-000001/") == before
    made = Generation(lake, replace(source, generation="gen-000002", tables=tuple(done.tables)))
    held = {
        name
        for entry in done.tables
        for name in made.dataset(entry.name).to_table(columns=["memory_id"])["memory_id"].to_pylist()
    }
    assert len(held) == sum(entry.rows for entry in done.tables) == source.rows - 7
    assert held & set(gone) == set(gone[:3])  # the rows that came again
