"""States of tables that go on with the log: what is held stays as it was, what is read is as it is now."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from lake import commits, tables, upkeep
from lake.known_states import newest
from lake.lake import Lake, init_lake
from lake.log_entries import undone
from tests.lake.made import episodes
from transforms.policy_upkeep import UpkeepPolicy
from transforms.schemas import EPISODES

ACTS = ["append", "merge", "checkpoint", "vacuum", "hold", "read"]


def land(lake: Lake, number: int) -> None:
    tables.append(lake, EPISODES, episodes(lake, "acme", [f"said {number}"]))


def told(state: DeltaTable) -> tuple[int, set[str]]:
    """Version and data files of a state."""
    names = state.get_add_actions(flatten=True)["path"].to_pylist() if state.version() else []
    return state.version(), set(names)


@settings(max_examples=15, deadline=None)
@given(
    acts=st.lists(st.sampled_from(["append", "merge", "checkpoint", "vacuum", "hold", "read"]), max_size=9)
)
def test_as_a_table_opened_anew(tmp_path_factory: pytest.TempPathFactory, acts: list[str]) -> None:
    lake = init_lake(f"{tmp_path_factory.mktemp('lake')}/lake", 2)
    uri = lake.table_uri(EPISODES)
    land(lake, 0)
    held = []
    for number, act in enumerate(acts):
        if act == "append":
            land(lake, 10 * (number + 1))
        elif act == "merge":
            upkeep.compact(lake, EPISODES)
        elif act == "checkpoint":
            DeltaTable(uri).create_checkpoint()
        elif act == "vacuum":
            upkeep.vacuum(lake, EPISODES, 0)
        elif act == "hold":
            state = newest(uri)
            held.append((state, told(state)))
        assert told(newest(uri)) == told(DeltaTable(uri))
        assert [told(state) for state, _ in held] == [before for _, before in held]


def test_a_log_that_was_put_back_is_read_anew(tmp_path: Path) -> None:
    lake = init_lake(f"{tmp_path}/lake", 2)
    root = tmp_path / "lake" / "tables" / EPISODES.name
    land(lake, 0)
    shutil.copytree(root, tmp_path / "copy")
    land(lake, 10)
    newest(str(root))
    shutil.rmtree(root)
    shutil.copytree(tmp_path / "copy", root)
    land(lake, 20)
    assert told(newest(str(root))) == told(DeltaTable(str(root)))


def test_a_tables_files_before_some_commits_are_told_by_these(tmp_path: Path) -> None:
    lake = init_lake(f"{tmp_path}/lake", 2)
    for number in range(4):
        land(lake, 10 * number)
    upkeep.merge(lake, EPISODES, UpkeepPolicy(partition_files=1), most=1)
    now = newest(lake.table_uri(EPISODES))
    for version in range(1, now.version() + 1):
        later = range(version + 1, now.version() + 1)
        stood = DeltaTable(lake.table_uri(EPISODES), version=version)
        assert undone(lake.storage, EPISODES, now.sizes, later) == told(stood)[1]
        assert tables.data_files(lake, EPISODES, at_version=version) == told(stood)[1]
    assert undone(lake.storage, EPISODES, now.sizes, range(-40, 3)) is None


def test_each_entry_of_a_log_is_synced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = init_lake(f"{tmp_path}/lake", 2)
    synced: list[str] = []
    real = commits.sync_file
    monkeypatch.setattr(commits, "sync_file", lambda path: (synced.append(path.name), real(path)))
    for number in range(3):
        land(lake, 10 * number)
    entries = sorted(path.name for path in (Path(lake.table_uri(EPISODES)) / "_delta_log").glob("*.json"))
    assert sorted(synced) == entries
