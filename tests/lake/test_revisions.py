from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake import revisions, tables, written
from lake.lake import Lake, init_lake
from lake.revisions import Writer, changes, latest, lineage_of, newest, newest_rows, standing
from tests.lake.made import frame
from transforms.errors import StorageError
from transforms.schemas import FACTS, LINEAGE, TOPIC_MEMBERS


def members(**topics: str) -> pl.DataFrame:
    """Memberships by episode, without revisions."""
    rows = [
        {"episode_id": name, "topic_id": topic, "tenant_id": "acme", "owner": "user:ana"}
        for name, topic in topics.items()
    ]
    return frame(TOPIC_MEMBERS, rows).drop(revisions.REVISION)


def write(lake: Lake, after: pl.DataFrame) -> dict[str, int]:
    """Revise all memberships of the lake; counts of what changed."""
    writer = Writer(lake, [LINEAGE, TOPIC_MEMBERS])
    found = writer.revise(TOPIC_MEMBERS, latest(lake, TOPIC_MEMBERS), after)
    writer.flush()
    return {"added": found.added.height, "changed": found.changed.height, "removed": found.removed.height}


def held(lake: Lake) -> dict[str, str]:
    return dict(standing(lake, TOPIC_MEMBERS).select("episode_id", "topic_id").iter_rows())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(str(tmp_path / "lake"), 2)


def test_only_what_changes_is_written(lake: Lake) -> None:
    assert write(lake, members(a="t1", b="t1")) == {"added": 2, "changed": 0, "removed": 0}
    version = tables.version(lake, TOPIC_MEMBERS)
    assert write(lake, members(b="t1", a="t1")) == {"added": 0, "changed": 0, "removed": 0}
    assert tables.version(lake, TOPIC_MEMBERS) == version
    assert write(lake, members(a="t2", c="t3")) == {"added": 1, "changed": 1, "removed": 1}
    assert held(lake) == {"a": "t2", "c": "t3"}
    assert tables.scan(lake, TOPIC_MEMBERS).collect().height == 5


def test_rows_are_passed_over_by_what_no_revision_changes(lake: Lake) -> None:
    write(lake, members(a="t1", b="t1"))
    write(lake, members(a="t2"))
    for name, expected in (("a", [("a", "t2", 2, False)]), ("b", [("b", "t1", 2, True)]), ("c", [])):
        found = latest(lake, TOPIC_MEMBERS, where=pl.col("episode_id") == name)
        assert found.select("episode_id", "topic_id", "revision", "is_removed").rows() == expected
    keys = pl.DataFrame({"tenant_id": ["acme"], "episode_id": ["b"]})
    both = latest(lake, TOPIC_MEMBERS, keys=keys, where=pl.col("episode_id").is_in(["a", "b"]))
    assert both["episode_id"].to_list() == ["b"]


def test_a_removed_row_comes_back_with_a_later_revision(lake: Lake) -> None:
    write(lake, members(a="t1"))
    write(lake, members())
    assert held(lake) == {}
    assert latest(lake, TOPIC_MEMBERS)["is_removed"].to_list() == [True]
    assert write(lake, members(a="t1")) == {"added": 1, "changed": 0, "removed": 0}
    assert latest(lake, TOPIC_MEMBERS)["revision"].to_list() == [3]
    assert held(lake) == {"a": "t1"}


def test_keys_limit_what_is_read_and_null_matches_null(lake: Lake) -> None:
    write(lake, members(a="t1", b="t2"))
    keys = pl.DataFrame({"tenant_id": ["acme"], "episode_id": ["b"]})
    assert latest(lake, TOPIC_MEMBERS, keys=keys)["episode_id"].to_list() == ["b"]
    assert latest(lake, TOPIC_MEMBERS, keys=keys.clear()).height == 0
    other = pl.DataFrame({"tenant_id": ["other"], "episode_id": ["b"]})
    assert latest(lake, TOPIC_MEMBERS, keys=other).height == 0


def test_a_dry_writer_counts_and_writes_nothing(lake: Lake) -> None:
    writer = Writer(lake, [LINEAGE, TOPIC_MEMBERS], is_dry=True)
    writer.revise(TOPIC_MEMBERS, latest(lake, TOPIC_MEMBERS), members(a="t1"))
    writer.flush()
    assert writer.rows_written == 1
    assert tables.version(lake, TOPIC_MEMBERS) == -1


def test_enough_waiting_rows_are_committed_of_themselves(lake: Lake) -> None:
    writer = Writer(lake, [TOPIC_MEMBERS], commit_rows=2)
    writer.revise(TOPIC_MEMBERS, latest(lake, TOPIC_MEMBERS), members(a="t1"))
    writer.settle()
    assert held(lake) == {}
    writer.revise(TOPIC_MEMBERS, latest(lake, TOPIC_MEMBERS), members(b="t1"))
    writer.settle()
    assert held(lake) == {"a": "t1", "b": "t1"}


def fact(name: str, refs: list[str], **more: Any) -> dict[str, Any]:
    return {"fact_id": name, "tenant_id": "acme", "owner": "user:ana", "source_refs": refs, **more}


def test_lineage_is_written_first_and_only_for_new_pairs(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real = tables.append

    def noted(lake: Lake, table: Any, rows: pl.DataFrame) -> None:
        order.append(table.name)
        real(lake, table, rows)

    monkeypatch.setattr(tables, "append", noted)
    writer = Writer(lake, [LINEAGE, FACTS])
    first = frame(FACTS, [fact("f1", ["e1", "e2"])]).drop(revisions.REVISION)
    writer.revise(FACTS, latest(lake, FACTS), first)
    writer.flush()
    assert order == ["lineage", "facts"]
    again = frame(FACTS, [fact("f1", ["e1", "e2", "e3"])]).drop(revisions.REVISION)
    writer.revise(FACTS, latest(lake, FACTS), again)
    writer.flush()
    pairs = tables.scan(lake, LINEAGE).sort("source_id").collect()
    assert pairs["source_id"].to_list() == ["e1", "e2", "e3"]
    assert set(pairs["derived_id"]) == {"f1"}


def test_what_a_full_disk_cut_off_is_written_by_the_next_run(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(lake: Lake, table: Any, rows: pl.DataFrame) -> None:
        raise StorageError("no space", "Free some.")

    with monkeypatch.context() as patched:
        patched.setattr(tables, "append", full)
        with pytest.raises(StorageError):
            write(lake, members(a="t1"))
    assert write(lake, members(a="t1"))["added"] == 1
    assert held(lake) == {"a": "t1"}


def test_two_rows_of_one_revision_stand_as_one() -> None:
    rows = frame(TOPIC_MEMBERS, [{"episode_id": "a", "revision": 1}, {"episode_id": "a", "revision": 1}])
    assert newest(TOPIC_MEMBERS, rows).height == 1


def test_lineage_of_a_row_without_sources_is_empty() -> None:
    rows = frame(FACTS, [fact("f1", [])])
    assert lineage_of(FACTS, FACTS.empty(), rows).height == 0


states = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["t1", "t2", ""]), max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(states, min_size=1, max_size=5))
def test_any_history_of_derivations_stands_as_its_last(history: list[dict[str, str]]) -> None:
    """Against a plain dict: what stands is the last derivation, and each key's revisions count up by one."""
    rows = TOPIC_MEMBERS.empty()
    for state in history:
        found = changes(TOPIC_MEMBERS, newest(TOPIC_MEMBERS, rows), members(**state))
        rows = pl.concat([rows, found.rows])
        stood = revisions.alive(newest(TOPIC_MEMBERS, rows))
        assert dict(stood.select("episode_id", "topic_id").iter_rows()) == state
        again = changes(TOPIC_MEMBERS, newest(TOPIC_MEMBERS, rows), members(**state))
        assert again.rows.height == 0
    for _, mine in rows.group_by("episode_id"):
        assert sorted(mine["revision"]) == list(range(1, mine.height + 1))


def test_squeezing_keeps_what_stands_and_drops_the_rest(lake: Lake) -> None:
    for topic in ("t1", "t2", "t3"):
        write(lake, members(a=topic, b=topic))
    write(lake, members(a="t3"))
    assert revisions.squeeze(lake, TOPIC_MEMBERS) == 6
    assert held(lake) == {"a": "t3"}
    assert tables.scan(lake, TOPIC_MEMBERS).collect().height == 1
    assert revisions.squeeze(lake, TOPIC_MEMBERS) == 0
    assert write(lake, members(a="t3", b="t1")) == {"added": 1, "changed": 0, "removed": 0}
    assert held(lake) == {"a": "t3", "b": "t1"}


def test_what_was_squeezed_is_written_again_only_once_more_than_half_of_it_is_stale(lake: Lake) -> None:
    """Rows keep their revision: that it is above one says nothing of what is still there."""
    for topic in ("t1", "t2", "t3"):
        write(lake, members(a=topic, b=topic, c=topic))
    assert revisions.squeeze(lake, TOPIC_MEMBERS) == 6
    write(lake, members(a="t4", b="t3", c="t3"))
    before = tables.version(lake, TOPIC_MEMBERS)
    assert revisions.squeeze(lake, TOPIC_MEMBERS) == 0
    assert tables.version(lake, TOPIC_MEMBERS) == before
    write(lake, members(a="t5", b="t5", c="t5"))
    assert revisions.squeeze(lake, TOPIC_MEMBERS) == 4
    assert held(lake) == {"a": "t5", "b": "t5", "c": "t5"}


def test_rows_that_come_while_a_bucket_is_rewritten_stay(lake: Lake) -> None:
    write(lake, members(a="t1"))
    files = tables.data_files(lake, TOPIC_MEMBERS)
    rows = tables.scan(lake, TOPIC_MEMBERS).collect()
    write(lake, members(a="t1", b="t1"))
    tables.rewrite(lake, TOPIC_MEMBERS, files, rows)
    assert held(lake) == {"a": "t1", "b": "t1"}
    assert not files & tables.data_files(lake, TOPIC_MEMBERS)


def test_a_full_disk_leaves_the_rewritten_files_as_they_were(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for topic in ("t1", "t2", "t3"):
        write(lake, members(a=topic))

    def full(*_: Any, **__: Any) -> None:
        raise StorageError("no space", "Free some.")

    with monkeypatch.context() as patched:
        patched.setattr(written, "write_parts", full)
        with pytest.raises(StorageError):
            revisions.squeeze(lake, TOPIC_MEMBERS)
    assert held(lake) == {"a": "t3"}
    assert tables.scan(lake, TOPIC_MEMBERS).collect().height == 3


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.booleans())))
def test_the_newest_rows_are_the_same_in_order_or_not(told: list[tuple[str, int, bool]]) -> None:
    rows = [
        {"episode_id": name, "topic_id": f"t{place}", "tenant_id": "acme", "owner": "user:ana",
         "revision": revision, "is_removed": is_removed}
        for place, (name, revision, is_removed) in enumerate(told)
    ]  # fmt: skip
    held = frame(TOPIC_MEMBERS, rows)
    expected = newest(TOPIC_MEMBERS, held)
    assert newest_rows(TOPIC_MEMBERS, held).sort("episode_id").equals(expected)


def test_the_newest_rows_of_a_key_of_two_columns() -> None:
    pairs = [("f1", "e1"), ("f1", "e2"), ("f1", "e1")]
    rows = pl.DataFrame(pairs, schema=["derived_id", "source_id"], orient="row").with_columns(
        revision=pl.Series([1, 1, 2], dtype=pl.Int32)
    )
    assert sorted(newest_rows(LINEAGE, rows).rows()) == [("f1", "e1", 2), ("f1", "e2", 1)]
