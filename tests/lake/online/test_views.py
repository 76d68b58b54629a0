"""Scopes held in memory: what a view says of a row, how long it is kept, and what it never shows."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake import index_build
from lake.index import PAYLOAD, RECORD_COLUMN, TERMS_COLUMN, Generation, scope_hash
from lake.index_batches import to_batch, vector_matrix
from lake.lake import Lake
from lake.online import held_views
from lake.online.held_views import TooLarge, Views
from lake.online.refused import refused, served
from lake.online.views import Gone, View, scored
from lake.rights.refusals import Tombstone, Tombstones
from lake.rights.subjects import subject_hash
from lake.scope import Filters, Scope
from tests.lake.recalled import DIMENSIONS, NOW, make_lake
from tests.lake.test_index_checks import built, memories
from transforms.policy import RecallPolicy
from transforms.schemas import INSTANT, KINDS, SENSITIVITIES
from transforms.scope_columns import ScopeColumns
from transforms.scoring_record import FORM, RECORD, columns_of
from transforms.subjects import Subject

POLICY = RecallPolicy()
ME = Scope("t", "u")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def hexed(rows: pl.DataFrame) -> pl.DataFrame:
    """With ids as they really are."""
    names = [f"{i:032x}" for i in range(rows.height)]
    return rows.with_columns(memory_id=pl.Series(names), source_refs=pl.Series([[n] for n in names]))


def ids(views: Iterable[View]) -> list[str]:
    return sorted(name.decode() for view in views for name in view.columns.ids.tolist())


def held(views: Views, generation: Generation, scope: Scope) -> list[View]:
    found = views.of(generation, scope)
    assert not isinstance(found, TooLarge)
    return list(found)


def arrays(columns: ScopeColumns) -> dict[str, Any]:
    return {name: getattr(columns, name) for name in columns.__dataclass_fields__ if name != "vectors"}


@pytest.mark.parametrize("has_hex_ids", [True, False])
def test_published_columns_are_those_made_of_the_rows_themselves(has_hex_ids: bool) -> None:
    rows = memories(7, speaker="Ann Lee", outcome="success", importance=0.25, trust=0.5)
    rows = hexed(rows) if has_hex_ids else rows
    rows = rows.with_columns(
        expires_at=pl.when(pl.int_range(pl.len()) > 2).then("expires_at"),
        session_id=pl.when(pl.int_range(pl.len()) % 2 == 0).then("session_id"),
        source_refs=pl.when(pl.int_range(pl.len()) == 4).then(pl.lit(["x", "y"])).otherwise("source_refs"),
    )
    published = scored(pa.Table.from_batches([to_batch(rows, DIMENSIONS)]), DIMENSIONS)
    vectors = vector_matrix(rows["vector"], DIMENSIONS).astype(np.float16).astype(np.float32)
    fresh = columns_of(rows, vectors, is_fresh=False)
    for name, values in arrays(fresh).items():
        assert np.array_equal(values, arrays(published)[name]), name
    assert (published.vectors.at(np.arange(7)) == vectors).all()
    assert published.is_derived.tolist() == [False] * 4 + [True] + [False] * 2


def test_a_generation_of_an_older_version_is_read_from_its_payload(lake: Lake, monkeypatch: Any) -> None:
    rows = hexed(memories(6, speaker="Ann"))
    whole = held(Views(POLICY), built(lake, [rows]), ME)
    schema, batch = index_build.index_schema, index_build.to_batch
    old = [n for n in schema(DIMENSIONS).names if n not in (TERMS_COLUMN, RECORD_COLUMN, "speaker")]
    monkeypatch.setattr(index_build, "to_batch", lambda *a: batch(*a).select(old))
    older = pa.schema([schema(DIMENSIONS).field(name) for name in old])
    monkeypatch.setattr(index_build, "index_schema", lambda _: older)
    other = make_lake(Path(lake.uri).parent / "older")
    [view] = held(Views(POLICY), built(other, [rows]), ME)
    for name, values in arrays(whole[0].columns).items():
        assert np.array_equal(values, arrays(view.columns)[name]), name
    assert [row["memory_id"] for row in view.rows(np.array([2, 0]))] == [f"{i:032x}" for i in (2, 0)]


def test_each_scope_is_read_by_itself_and_once(lake: Lake, monkeypatch: Any) -> None:
    parts = [memories(5), memories(3, user="v", seed=2), memories(2, tenant="other", seed=3)]
    generation, views, reads = built(lake, parts, [scope_hash("t", "v")]), Views(POLICY), []
    read = held_views.read
    monkeypatch.setattr(held_views, "read", lambda *a: reads.append(a[1]) or read(*a))
    threads = [threading.Thread(target=lambda: views.of(generation, ME)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reads == [ME]
    assert ids(held(views, generation, ME)) == sorted(parts[0]["memory_id"])
    wide = Scope("t", is_tenant_wide=True)
    assert ids(held(views, generation, wide)) == sorted([*parts[0]["memory_id"], *parts[1]["memory_id"]])
    assert ids(held(views, generation, Scope("none", "u"))) == []
    assert reads == [ME, wide, Scope("none", "u")]


def test_views_keep_within_their_bytes_and_the_least_recently_asked_goes(
    lake: Lake, monkeypatch: Any
) -> None:
    users = ["u", "v", "w"]
    generation = built(lake, [memories(40, user=user, seed=i) for i, user in enumerate(users)])
    size = held(Views(POLICY), generation, ME)[0].nbytes
    views = Views(POLICY, most_bytes=int(2.5 * size))
    for user in ("u", "v", "u", "w"):
        held(views, generation, Scope("t", user))
        assert views.nbytes <= 2.5 * size
    reads: list[Scope] = []
    read = held_views.read
    monkeypatch.setattr(held_views, "read", lambda *a: reads.append(a[1]) or read(*a))
    for user in ("u", "w", "v"):
        held(views, generation, Scope("t", user))
    assert reads == [Scope("t", "v")]
    tiny = Views(POLICY, most_bytes=1)
    assert len(held(tiny, generation, ME)[0].columns) == 40
    assert tiny.nbytes == 0


def test_a_switch_drops_every_view_of_the_generation_before(lake: Lake) -> None:
    old = built(lake, [memories(5)])
    new = Generation(lake, old.manifest)
    views = Views(POLICY)
    [before] = held(views, old, ME)
    [after] = held(views, new, ME)
    assert before.generation is old
    assert after.generation is new
    held(views, old, Scope("t", agent="a"))  # a search that began before the switch
    assert held(views, new, ME) == [after]


def test_a_scope_of_many_rows_is_told_by_a_sample(lake: Lake, monkeypatch: Any) -> None:
    generation = built(lake, [memories(50), memories(5, user="v", seed=2)], [scope_hash("t", "u")])
    monkeypatch.setattr(held_views, "MOST_ROWS", 20)
    monkeypatch.setattr(held_views, "SAMPLE_ROWS", 10)
    found = Views(POLICY).of(generation, ME)
    assert isinstance(found, TooLarge)
    assert len(found.usual[0]) == 10
    assert len(held(Views(POLICY), generation, Scope("t", "v"))) == 1


def test_a_scope_without_a_table_of_its_own_may_be_too_large_too(lake: Lake, monkeypatch: Any) -> None:
    generation = built(lake, [memories(50), memories(5, user="v", seed=2)])
    limit = {"policy": {"publish": {"large_scope_rows": 1_000_000}}}
    raised = replace(generation.manifest, inputs={**generation.manifest.inputs, **limit})
    monkeypatch.setattr(held_views, "MOST_ROWS", 20)
    for manifest in (raised, generation.manifest):
        assert isinstance(Views(POLICY).of(Generation(lake, manifest), ME), TooLarge)


def test_records_of_another_form_are_not_read(lake: Lake) -> None:
    published = built(lake, [hexed(memories(6, speaker="Ann"))])
    [whole] = held(Views(POLICY), published, ME)
    later = replace(published.manifest, inputs={**published.manifest.inputs, "form": FORM + 1})
    opened = Generation(lake, later)
    assert RECORD_COLUMN not in (*opened.scored_columns(), *opened.fetched_columns())
    [view] = held(Views(POLICY), opened, ME)
    for name, values in arrays(whole.columns).items():
        assert np.array_equal(values, arrays(view.columns)[name]), name


@pytest.mark.parametrize(("name", "value"), [("form", FORM + 1), ("kind", 250), ("sensitivity", 9)])
def test_damaged_records_are_told_and_not_taken_for_rows(lake: Lake, name: str, value: int) -> None:
    batch = pa.Table.from_batches([to_batch(memories(3), DIMENSIONS)])
    records = np.frombuffer(batch[RECORD_COLUMN].chunk(0).buffers()[1], RECORD).copy()
    records[name][1] = value
    at = batch.schema.get_field_index(RECORD_COLUMN)
    column = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(RECORD.itemsize), 3, [None, pa.py_buffer(records.tobytes())]
    )
    with pytest.raises(Gone, match="damaged"):
        scored(batch.set_column(at, RECORD_COLUMN, column), DIMENSIONS)


def test_a_payload_that_is_not_of_the_scored_row_is_never_shown(lake: Lake) -> None:
    generation = built(lake, [memories(4), memories(4, user="v", seed=2)])
    [mine] = held(Views(POLICY), generation, ME)
    [other] = held(Views(POLICY), generation, Scope("t", "v"))
    crossed = replace(mine, addresses=other.addresses)
    with pytest.raises(Gone):
        crossed.rows(np.array([0]))
    stranger = replace(mine, scope=Scope("t", "v"))
    with pytest.raises(Gone):
        stranger.rows(np.array([0]))
    assert PAYLOAD in generation.fetched_columns()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.sampled_from(SENSITIVITIES),
            st.sampled_from([None, -1, 0, 1]),
            st.integers(-2, 2),
        ),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
    st.sampled_from([None, ("outcome",), ("conversation", "outcome")]),
    st.sampled_from(SENSITIVITIES),
    st.sampled_from([None, -1, 0]),
    st.sampled_from([None, 0, 1]),
)
def test_masks_let_through_what_the_filters_let_through_row_by_row(
    made: list[Any], is_replay: bool, kinds: Any, most: str, since: int | None, until: int | None
) -> None:
    hour = timedelta(hours=1)
    rows = memories(len(made)).with_columns(
        kind=pl.Series([one[0] for one in made]),
        sensitivity=pl.Series([one[1] for one in made]),
        expires_at=pl.Series([None if one[2] is None else NOW + one[2] * hour for one in made]).cast(INSTANT),
        event_at=pl.Series([NOW + one[3] * hour for one in made]).cast(INSTANT),
    )
    filters = Filters(
        NOW,
        is_replay,
        kinds,
        most,
        None,
        None if since is None else NOW + since * hour,
        None if until is None else NOW + until * hour,
    )
    columns = columns_of(rows, np.zeros((len(made), DIMENSIONS), np.float32), is_fresh=True)
    plain = rows.with_columns(pl.col(INSTANT).to_physical()).to_dicts()
    assert served(columns, filters).tolist() == [filters.serves(row) for row in plain]
    assert rows.filter(filters.kept()).height == served(columns, filters).sum()


def test_tombstones_refuse_by_owner_what_they_refuse_row_by_row() -> None:
    key = b"k"
    subjects = {
        Subject("t", agent="a2"): NOW,
        Subject("t", user="u", session="s1"): NOW + timedelta(days=1),
    }
    stones = Tombstones(
        key,
        {
            subject_hash(key, subject): Tombstone(
                subject.kind, {"opted_out": until}, {"opted_out": "r"}, False
            )
            for subject, until in subjects.items()
        },
    )
    count = 12
    rows = memories(count).with_columns(
        user_id=pl.Series([["u", "v", None][i % 3] for i in range(count)]),
        agent_id=pl.Series([["a", "a2"][i % 2] for i in range(count)]),
        session_id=pl.Series(["s1", "s2", None, "s1"] * 3),
        event_at=pl.Series([NOW + timedelta(hours=i - 6) for i in range(count)]).cast(INSTANT),
    )
    columns = columns_of(rows, np.zeros((count, DIMENSIONS), np.float32), is_fresh=False)
    found = refused(columns, "t", stones)
    assert found.tolist() == stones.is_refused(rows).to_list()
    assert 0 < found.sum() < count
