"""What a table's log tells of its files, its marks, and states that are taken again."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake import lineage, tables, upkeep
from lake.file_names import MODULUS, digest_of, file_name, rows_digest
from lake.known_states import newest
from lake.lake import Lake, init_lake
from lake.log_entries import Commit, arrived, followed, settled
from tests.lake.made import episodes
from transforms.errors import BusyError
from transforms.schemas import EPISODES


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 2)


@dataclass
class Model:
    """A table as sets of rows by file, with each commit; the plain oracle."""

    files: dict[str, set[int]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    rows: int = 0

    def append(self, folder: int) -> None:
        self.rows += 1
        self._commit({f"p={folder}/{len(self.commits)}": {self.rows}}, set())

    def write_anew(self, picked: list[str], *, drops: bool) -> None:
        held = [name for name in picked if name in self.files]
        folders = {name.split("/")[0] for name in held}
        made = {}
        for folder in folders:
            rows = set().union(*(self.files[name] for name in held if name.startswith(f"{folder}/")))
            if drops:
                rows.discard(min(rows, default=0))
            if rows:
                made[f"{folder}/{len(self.commits)}"] = rows
        self._commit(made, set(held))

    def _commit(self, made: dict[str, set[int]], gone: set[str]) -> None:
        for name in gone:
            del self.files[name]
        self.files |= made
        self.commits.append(Commit(frozenset(made), frozenset(gone)))


ACTS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "merge", "drop"]), st.integers(0, 1), st.randoms()),
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(before=ACTS, after=ACTS)
def test_arrived_files_are_those_with_a_row_that_came_since(before: list, after: list) -> None:  # type: ignore[type-arg]
    model = Model()

    def act(acts: list) -> None:  # type: ignore[type-arg]
        for name, folder, rng in acts:
            if name == "append":
                model.append(folder)
            elif model.files:
                picked = rng.sample(sorted(model.files), rng.randint(1, len(model.files)))
                model.write_anew(picked, drops=name == "drop")

    act(before)
    base, seen, rows = set(model.files), len(model.commits), model.rows
    act(after)
    found = arrived(model.commits[seen:], base) & set(model.files)
    with_new = {name for name, held in model.files.items() if max(held) > rows}
    assert with_new <= found, "a file with a new row is missed"
    if not any(name == "drop" for name, _, _ in after):
        assert found == with_new


def test_due_files_are_followed_to_where_their_rows_are_now() -> None:
    merged = Commit(frozenset({"a/3"}), frozenset({"a/1", "a/2"}))
    assert arrived([merged], {"a/1", "a/2", "b/1"}) == set()
    assert arrived([merged], {"a/1", "a/2", "b/1"}, {"a/1"}) == {"a/1", "a/3"}
    assert arrived([merged], {"a/1", "a/2"}, {"a/3"}) == {"a/3"}, "known under the later name"


def test_names_are_followed_through_merges_of_known_files_only() -> None:
    merged = Commit(frozenset({"a/3", "b/3"}), frozenset({"a/1", "a/2", "b/1", "b/2"}))
    assert followed([merged], {"a/1", "a/2", "b/1"}) == {"a/3", "b/1"}, "b/3 holds newer rows, too"
    again = Commit(frozenset({"a/4"}), frozenset({"a/3"}))
    assert followed([merged, again], {"a/1", "a/2"}) == {"a/4"}
    changed = Commit(frozenset({"a/4"}), frozenset({"a/3"}), is_upkeep=False)
    assert followed([merged, changed], {"a/1", "a/2"}) == {"a/3"}, "what went of it is told by reading it"


def test_a_mark_is_the_last_commit_that_changed_a_row(lake: Lake) -> None:
    for n in range(4):
        tables.append(lake, EPISODES, episodes(lake, "acme", [f"row {n}"]))
    before, version = lineage.mark(lake, EPISODES), tables.version(lake, EPISODES)
    assert upkeep.compact(lake, EPISODES) == 3
    upkeep.vacuum(lake, EPISODES, 0)
    assert tables.version(lake, EPISODES) > version
    assert lineage.mark(lake, EPISODES) == before
    assert lineage.holds(lake, EPISODES, before)
    assert tables.added_files(lake, EPISODES, version) == frozenset()
    assert settled(lake.storage, EPISODES, 0) == 0
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one more"]))
    assert lineage.mark(lake, EPISODES) != before
    assert len(tables.added_files(lake, EPISODES, version)) == 1


def test_a_file_that_another_run_took_out_is_not_written_anew(lake: Lake) -> None:
    for n in range(2):
        tables.append(lake, EPISODES, episodes(lake, "acme", [f"row {n}"]))
    names = tables.data_files(lake, EPISODES)
    rows = tables.scan(lake, EPISODES).collect()
    tables.rewrite(lake, EPISODES, names, rows.head(1))
    with pytest.raises(BusyError, match="another writer took the files out"):
        tables.rewrite(lake, EPISODES, names, rows, is_merge=True)
    assert tables.scan(lake, EPISODES).collect().height == 1
    held = {p.name for p in Path(lake.table_uri(EPISODES)).rglob("*.parquet")}
    assert {name.rpartition("/")[2] for name in names | tables.data_files(lake, EPISODES)} == held


@given(st.lists(st.integers(0, MODULUS - 1), min_size=1, max_size=6))
def test_a_merge_keeps_the_digest_of_its_files(digests: list[int]) -> None:
    names = [f"p/{file_name(digest)}" for digest in digests]
    merged = f"p/{file_name(sum(digests) % MODULUS)}"
    assert [digest_of(name) for name in names] == digests
    assert rows_digest(names) == rows_digest([merged])
    assert rows_digest([*names, f"p/{file_name(1)}"]) != rows_digest(names)
    assert digest_of("p/part-00000-of-another-program.parquet") == digest_of(
        "p/part-00000-of-another-program.parquet"
    )


def test_a_state_is_taken_again_until_the_log_differs(lake: Lake, tmp_path: Path) -> None:
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one"]))
    uri = lake.table_uri(EPISODES)
    assert newest(uri) is newest(uri)
    tables.append(lake, EPISODES, episodes(lake, "acme", ["two"]))
    assert newest(uri).version() == 2
    shutil.copytree(uri, tmp_path / "kept")
    tables.append(lake, EPISODES, episodes(lake, "acme", ["three"]))
    assert newest(uri).version() == 3
    shutil.rmtree(uri)
    assert tables.version(lake, EPISODES) == -1
    shutil.copytree(tmp_path / "kept", uri)
    assert newest(uri).version() == 2
    assert sorted(tables.scan(lake, EPISODES).collect()["content"]) == ["one", "two"]
