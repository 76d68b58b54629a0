"""Generations of the index: what is written, which tables a scope lies in, pointer and manifest."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import orjson
import polars as pl
import pytest

from lake.index import (
    PAYLOAD_COLUMNS,
    PLAIN_COLUMNS,
    Generation,
    Manifest,
    Pointer,
    load_manifest,
    read_pointer,
    scope_hash,
    write_pointer,
)
from lake.index_batches import to_batch, vector_matrix
from lake.index_build import generations, remove_generation
from lake.lake import Lake
from lake.scope import Filters, Scope, predicate
from tests.lake.recalled import DIMENSIONS, NOW, make_lake
from tests.lake.test_index_checks import built, memories
from transforms.declarations import fact_columns
from transforms.errors import LakeError, UsageError
from transforms.schemas import INSTANT, MEMORIES


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def names(generation: Generation, scope: Scope, filters: Filters | None = None, k: int = 100) -> set[str]:
    query = np.ones(DIMENSIONS, np.float32) / DIMENSIONS**0.5
    where = predicate(scope, filters or Filters(NOW))
    by_vector = generation.vectors(scope, query, k, where, ("memory_id",))["memory_id"].to_pylist()
    by_words = generation.texts(scope, "VIOLIN", k, where, ("memory_id",))["memory_id"].to_pylist()
    assert set(by_vector) == set(by_words)
    assert len(by_vector) == len(set(by_vector))
    return set(by_vector)


def test_a_batch_holds_the_memory_whole_in_its_payload() -> None:
    rows = memories(5, role="user", speaker='Ansa "the" 🦊\n', outcome="success", expires_at=None)
    batch = to_batch(rows, DIMENSIONS)
    assert set(batch.schema.names) == {*PLAIN_COLUMNS, "record", "terms", "payload"}
    expected = rows.with_columns(pl.col(INSTANT).to_physical()).select(PAYLOAD_COLUMNS).to_dicts()
    told = [orjson.loads(text) for text in batch["payload"].to_pylist()]
    nothing = {column.name: None for column in fact_columns()}
    assert not nothing.keys() & told[0].keys(), "keys of a fact, where it is none"
    assert [{**row, **nothing} for row in told] == expected
    kept = np.array(batch["vector"].to_pylist(), np.float32)
    assert np.abs(kept - vector_matrix(rows["vector"], DIMENSIONS)).max() < 1e-3


def test_the_payload_of_a_fact_holds_its_keys_and_no_text_can_pass_for_them() -> None:
    told = ',"subject":null,"predicate":null,"aspect":null,"object":null,"polarity":null,"confidence":null}'
    rows = memories(2, text=told, speaker=told).with_columns(
        pl.Series("subject", ["user", None]),
        pl.Series("object", [told, None]),
        pl.Series("confidence", [0.5, None], pl.Float32),
    )
    first, second = (orjson.loads(text) for text in to_batch(rows, DIMENSIONS)["payload"].to_pylist())
    assert (first["subject"], first["object"], first["aspect"], first["confidence"]) == (
        "user",
        told,
        None,
        0.5,
    )
    assert second["text"] == second["speaker"] == told
    assert "subject" not in second


def test_an_empty_vector_becomes_zeros_in_its_place() -> None:
    series = pl.Series([[1.0, 0.0], [], [0.0, 1.0]], dtype=pl.List(pl.Float32))
    assert vector_matrix(series, 2).tolist() == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize("large", [[], [scope_hash("t", "u")], [scope_hash("t", "u"), scope_hash("t", None)]])
def test_every_scope_finds_its_rows_wherever_they_lie(lake: Lake, large: list[str]) -> None:
    parts = {
        "u": memories(9, agent_id="a1"),
        "v": memories(4, user="v", seed=2, agent_id="a2"),
        None: memories(3, user=None, seed=3, agent_id="a2"),
        "other": memories(5, tenant="other", seed=4, agent_id="a1"),
    }
    generation = built(lake, parts.values(), large)
    ids = {user: set(frame["memory_id"]) for user, frame in parts.items()}
    assert names(generation, Scope("t", "u")) == ids["u"]
    assert names(generation, Scope("t", "v")) == ids["v"]
    assert names(generation, Scope("t", agent="a1")) == ids["u"]
    assert names(generation, Scope("t", agent="a2")) == ids["v"] | ids[None]
    assert names(generation, Scope("t", "u", agent="a2")) == set()
    assert names(generation, Scope("t", is_tenant_wide=True)) == ids["u"] | ids["v"] | ids[None]
    assert names(generation, Scope("other", is_tenant_wide=True)) == ids["other"]
    assert names(generation, Scope("none", is_tenant_wide=True)) == set()
    assert generation.manifest.rows == 21


def test_filters_are_part_of_the_search(lake: Lake) -> None:
    hour = timedelta(hours=1)
    rows = pl.concat(
        [
            memories(1, memory_id="lasting", expires_at=None),
            memories(1, memory_id="expiring", expires_at=NOW + hour),
            memories(1, memory_id="later", event_at=NOW + 2 * hour),
            memories(1, memory_id="private", sensitivity="restricted"),
            memories(1, memory_id="outcome", kind="outcome"),
        ]
    )
    generation, scope = built(lake, [rows]), Scope("t", "u")
    everything = {"lasting", "expiring", "later", "private", "outcome"}
    assert names(generation, scope) == everything
    tick = timedelta(microseconds=1)
    assert names(generation, scope, Filters(NOW + hour - tick)) == everything
    assert names(generation, scope, Filters(NOW + hour)) == everything - {"expiring"}
    assert names(generation, scope, Filters(NOW, is_replay=True)) == everything - {"later"}
    assert names(generation, scope, Filters(NOW + 2 * hour, is_replay=True)) == everything - {"expiring"}
    assert names(generation, scope, Filters(NOW, max_sensitivity="personal")) == everything - {"private"}
    assert names(generation, scope, Filters(NOW, kinds=("outcome",))) == {"outcome"}
    assert names(generation, scope, k=2) <= everything


def test_filters_on_a_frame_agree_with_the_store(lake: Lake) -> None:
    draw = np.random.default_rng(3)
    days = [None if n == 0 else NOW + timedelta(days=int(n) - 3) for n in draw.integers(0, 6, 40)]
    rows = memories(
        40,
        expires_at=days,
        event_at=[NOW + timedelta(days=int(n) - 2) for n in draw.integers(0, 4, 40)],
        sensitivity=list(draw.choice(["normal", "personal", "restricted"], 40)),
        kind=list(draw.choice(["conversation", "outcome", "action"], 40)),
    )
    generation, scope = built(lake, [rows]), Scope("t", "u")
    for kinds in (None, ("outcome", "action")):
        for is_replay in (False, True):
            for level in ("normal", "personal", "restricted"):
                filters = Filters(NOW, is_replay, kinds, level)
                assert names(generation, scope, filters) == set(rows.filter(filters.kept())["memory_id"])


def test_the_scope_of_a_generation_is_named_by_hashes_only(lake: Lake) -> None:
    generation = built(
        lake, [memories(3, tenant="Secret Ltd", user="mira@home")], [scope_hash("Secret Ltd", "mira@home")]
    )
    told = generation.manifest.dumps().decode() + " ".join(
        p.name for p in Path(generation.root).rglob("*.lance")
    )
    assert "Secret" not in told
    assert "mira" not in told


def test_a_user_and_a_row_without_user_never_share_a_table_name() -> None:
    assert scope_hash("t", "u") != scope_hash("t", None) != scope_hash("tu", None)


def test_the_soonest_expiry_and_rows_are_counted_while_building(lake: Lake) -> None:
    from lake.index_build import Builder

    builder = Builder(lake, "gen-000009", DIMENSIONS, [])
    soon = NOW + timedelta(minutes=3)
    builder.write(
        [memories(3), memories(2, user="v", expires_at=soon), memories(1, user="w", expires_at=None)]
    )
    assert builder.next_expiry_at == soon
    assert builder.rows == 6


def test_manifest_and_pointer_survive_a_round_trip(lake: Lake) -> None:
    manifest = built(lake, [memories(3)], [scope_hash("t", "u")]).manifest
    lake.storage.write("index/gen-000001/manifest.json", manifest.dumps())
    assert load_manifest(lake, "gen-000001") == manifest
    assert isinstance(manifest, Manifest)
    assert read_pointer(lake) is None
    pointer = Pointer("gen-000002", ("gen-000001", "gen-000002"), None)
    write_pointer(lake, pointer)
    assert read_pointer(lake) == pointer
    remove_generation(lake, "gen-000001")
    assert generations(lake) == []
    with pytest.raises(LakeError):
        load_manifest(lake, "gen-000001")


@pytest.mark.parametrize("parts", [("", "u"), ("t",), ("t", ""), ("t", None, ""), ("t", "u", None, "")])
def test_a_scope_without_its_parts_is_refused(parts: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        Scope(*parts)


def test_columns_of_the_index_are_those_of_the_schema() -> None:
    assert {*PLAIN_COLUMNS, *PAYLOAD_COLUMNS} == set(MEMORIES.names)
