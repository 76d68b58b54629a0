"""The quality gate: each check can fail, and a failed one leaves the old generation live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flows.publish_build
from flows.embed import run_embed
from flows.publish import run_publish
from lake import index_checks
from lake.embedders.protocol import Embedded
from lake.index import Generation, Manifest, read_pointer, scope_hash, tenant_hash
from lake.index_build import Builder, Part, generations
from lake.index_checks import (
    Check,
    calibrated,
    exact_ids,
    is_covered,
    nearest_ids,
    recall_ratio,
    run_checks,
)
from lake.lake import Lake
from lake.scope import Filters, Scope
from tests.lake.recalled import (
    DIMENSIONS,
    NOW,
    WordEmbedder,
    job,
    land,
    make_lake,
    policy,
    publish,
    reader,
)
from transforms.errors import CheckError
from transforms.policy import PublishPolicy
from transforms.schemas import MEMORIES

SPACE = "space"


def memories(
    count: int, *, tenant: str = "t", user: str | None = "u", seed: int = 1, **fixed: Any
) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal((count, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    names = [f"{tenant}-{user}-{i:05d}" for i in range(count)]
    columns = {
        "memory_id": names,
        **{column.name: None for column in MEMORIES.columns if column.is_nullable},
        "tenant_id": tenant,
        "user_id": user,
        "agent_id": "a",
        "session_id": "s",
        "kind": "conversation",
        "tier": "episodic",
        "role": None,
        "speaker": None,
        "text": names,
        "search_text": [f"violin word{i}" for i in range(count)],
        "content_hash": names,
        "outcome": None,
        "failure_reason": None,
        "importance": 0.5,
        "access_count": 0,
        "sensitivity": "normal",
        "trust": 1.0,
        "source_refs": [[name] for name in names],
        "event_at": NOW,
        "last_accessed_at": NOW,
        "expires_at": NOW + timedelta(days=1),
        "vector": vectors.tolist(),
        **fixed,
    }
    return pl.DataFrame(
        {n: columns[n] if isinstance(columns[n], list) else [columns[n]] * count for n in columns},
        schema=MEMORIES.polars,
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def built(lake: Lake, frames: Iterable[pl.DataFrame], large: Iterable[str] = ()) -> Generation:
    builder = Builder(lake, "gen-000001", DIMENSIONS, large)
    entries = builder.write(frames)
    inputs = {"episodes": 0, "vectors": 0}
    manifest = Manifest(
        "gen-000001", SPACE, DIMENSIONS, builder.rows, NOW.isoformat(), tuple(entries), inputs
    )
    return Generation(lake, manifest)


def failed(generation: Generation, rows: int, **changed: Any) -> set[str]:
    arguments: dict[str, Any] = {
        "policy": PublishPolicy(),
        "as_of": NOW,
        "expected_rows": rows,
        "expected_space": SPACE,
        **changed,
    }
    return {check.name for check in run_checks(generation, **arguments) if not check.passed}


def test_a_sound_generation_passes_with_and_without_own_tables(lake: Lake, tmp_path: Path) -> None:
    frames = [memories(40), memories(10, user="v", seed=2), memories(5, user=None, seed=3)]
    assert failed(built(lake, frames), 55) == set()
    other = make_lake(tmp_path / "other")
    own = built(other, frames, [scope_hash("t", "u"), scope_hash("t", None)])
    assert [entry.rows for entry in own.manifest.tables] == [
        10,
        *sorted((40, 5), key=lambda n: scope_hash("t", "u" if n == 40 else None)),
    ]
    assert failed(own, 55) == set()


def test_an_empty_generation_passes(lake: Lake) -> None:
    assert failed(built(lake, [MEMORIES.empty()]), 0) == set()


def test_a_missing_row_fails(lake: Lake) -> None:
    assert failed(built(lake, [memories(10)]), 11) == {"row_counts"}


def test_a_row_held_twice_fails(lake: Lake) -> None:
    assert "row_counts" in failed(built(lake, [pl.concat([memories(10), memories(10).head(1)])]), 11)


def test_another_model_fails(lake: Lake) -> None:
    assert failed(built(lake, [memories(10)]), 10, expected_space="other") == {"one_model"}


def test_an_expired_row_fails(lake: Lake) -> None:
    rows = pl.concat([memories(10), memories(1, user="v", expires_at=NOW)])
    assert failed(built(lake, [rows]), 11) == {"expiry"}


def test_a_row_in_a_stranger_s_table_fails(lake: Lake) -> None:
    import lance

    own = scope_hash("t", "u")
    generation = built(lake, [memories(10), memories(1, user="v")], [own])
    stranger = lance.dataset(f"{generation.root}/main.lance").to_table()
    lance.write_dataset(stranger, f"{generation.root}/s-{own}.lance", mode="append")
    assert "placement" in failed(Generation(lake, generation.manifest), 11)


def test_a_row_whose_scope_is_in_the_wrong_table_by_manifest_fails(lake: Lake) -> None:
    generation = built(lake, [memories(10)])
    [main] = generation.manifest.tables
    wrong = replace(main, scope=scope_hash("t", "nobody"), tenant=tenant_hash("t"))
    tables = (replace(main, rows=0), wrong)
    assert "placement" in failed(Generation(lake, replace(generation.manifest, tables=tables)), 10)


def test_a_payload_of_another_row_fails(lake: Lake) -> None:
    import lance

    generation = built(lake, [pl.concat([memories(10), memories(10, user="v", seed=2)])])
    uri = f"{generation.root}/main.lance"
    table = lance.dataset(uri).to_table()
    swapped = table.set_column(
        table.schema.get_field_index("payload"),
        table.schema.field("payload"),
        table["payload"].take(list(range(19, -1, -1))),
    )
    lance.write_dataset(swapped, uri, mode="overwrite").create_scalar_index("search_text", "INVERTED")
    assert failed(Generation(lake, generation.manifest), 20) == {"isolation"}


def test_a_store_that_ignores_the_scope_fails(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    generation = built(lake, [pl.concat([memories(10), memories(10, user="v", seed=2)])])
    monkeypatch.setattr(index_checks, "predicate", lambda scope, filters: f"tenant_id = '{scope.tenant}'")
    assert "isolation" in failed(generation, 20)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_vectors_of_another_length_fail(lake: Lake, scale: float) -> None:
    rows = memories(10).with_columns(vector=pl.col("vector").list.eval(pl.element() * scale))
    assert "vectors" in failed(built(lake, [rows]), 10)


def bare(count: int) -> pl.DataFrame:
    return memories(count, user="v").with_columns(vector=pl.lit([], pl.List(pl.Float32)))


@pytest.mark.parametrize(("with_vector", "without", "passes"), [(1, 10, True), (1, 11, False), (0, 1, False)])
def test_rows_that_were_never_embedded_fail(lake: Lake, with_vector: int, without: int, passes: bool) -> None:
    rows = [memories(with_vector), bare(without)] if with_vector else [bare(without)]
    generation = built(lake, [pl.concat(rows)])
    assert failed(generation, with_vector + without) == (set() if passes else {"coverage"})


@pytest.mark.parametrize(
    ("rows", "without", "passes"),
    [
        (0, 0, True),
        (1, 1, False),
        (5, 1, True),
        (5, 5, False),
        (11, 10, True),
        (12, 11, False),
        (1_000, 10, True),
        (1_000, 11, False),
        (5_000, 50, True),
        (5_000, 51, False),
    ],
)
def test_coverage_allows_ten_rows_or_one_in_a_hundred(rows: int, without: int, passes: bool) -> None:
    assert is_covered(rows, without, PublishPolicy()) is passes


def test_coverage_keeps_to_the_policy() -> None:
    assert not is_covered(100, 1, PublishPolicy(bare_rows_allowed=0, min_vector_ratio=1))
    assert is_covered(100, 99, PublishPolicy(bare_rows_allowed=99))
    assert is_covered(100, 100, PublishPolicy(min_vector_ratio=0))


def test_another_model_without_embedding_is_not_published(lake: Lake) -> None:
    land(lake, *({"content": f"violin a{i} b{i} c{i} d{i}"} for i in range(13)))
    first = publish(job(lake))
    other = replace(job(lake), make_embedder=lambda: WordEmbedder("other"))
    with pytest.raises(CheckError, match="coverage: 13 of 13 rows have no vector") as fault:
        run_publish(other)
    assert fault.value.remedy == "Run slowwave embed first."
    pointer = read_pointer(lake)
    assert pointer
    assert pointer.generation == first
    assert len(reader(lake).search("violin", tenant="t", user="u", as_of=NOW)) == 10
    run_embed(other)
    assert run_publish(other).generation != first


def test_one_text_that_the_model_refuses_does_not_stop_a_small_lake(lake: Lake) -> None:
    land(lake, *({"content": f"violin a{i} b{i} c{i} d{i}"} for i in range(4)), {"content": "odd"})
    refusing = replace(job(lake), make_embedder=RefusingEmbedder)
    assert publish(refusing)
    assert len(reader(lake).search("odd", tenant="t", user="u", as_of=NOW)) == 5


class RefusingEmbedder(WordEmbedder):
    """Refuses texts that hold the word odd."""

    def embed(self, texts: Sequence[str]) -> Embedded:
        done = super().embed(texts)
        refused = frozenset(i for i, text in enumerate(texts) if text.endswith("odd"))
        done.vectors[sorted(refused)] = 0
        return Embedded(done.vectors, refused)


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_lake_is_published_and_one_whose_rows_all_expired(lake: Lake, rows: int) -> None:
    later = job(lake, as_of=NOW + timedelta(days=2))
    if rows:
        land(lake, {"content": "violin", "expires_at": (NOW + timedelta(days=1)).isoformat()})
    assert publish(later)
    assert reader(lake).search("violin", tenant="t", user="u", as_of=later.as_of) == []
    assert reader(lake).search("violin", tenant="t", tenant_wide=True, as_of=later.as_of) == []
    land(lake, {"content": "violin again"})
    assert publish(later)
    assert len(reader(lake).search("violin", tenant="t", user="u", as_of=later.as_of)) == 1


def test_a_lake_whose_main_table_is_empty_is_published_and_searched(lake: Lake) -> None:
    land(lake, *({"content": f"violin a{i} b{i} c{i} d{i}"} for i in range(6)))
    assert publish(job(lake, policy(large_scope_rows=3)))
    recall = reader(lake)
    for scope in ({"user": "u"}, {"tenant_wide": True}, {"user": "v"}):
        found = recall.search("violin", tenant="t", as_of=NOW, **scope)
        assert len(found) == (0 if scope == {"user": "v"} else 6)
        assert not any(row.is_fresh for row in found)


def test_a_row_without_a_vector_is_no_fault(lake: Lake) -> None:
    assert failed(built(lake, [pl.concat([memories(10), bare(1)])]), 11) == set()


def test_an_approximate_index_of_too_few_probes_fails_and_calibration_mends_it(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lake.index_build.IVF_FROM_ROWS", 1_000)
    generation = built(lake, [memories(3_000)], [scope_hash("t", "u")])
    main, own = generation.manifest.tables
    assert own.nprobes is not None
    blind = replace(generation.manifest, tables=(main, replace(own, nprobes=1)))
    assert failed(Generation(lake, blind), 3_000) == {"recall"}
    mended = calibrated(generation, PublishPolicy(), NOW)
    assert failed(Generation(lake, mended), 3_000) == set()
    assert mended.tables[1].nprobes
    assert 1 < mended.tables[1].nprobes <= own.nprobes


def test_exact_search_agrees_with_a_plain_loop(lake: Lake) -> None:
    rows = memories(60)
    generation = built(lake, [rows])
    [entry] = generation.manifest.tables
    query = np.array(rows["vector"][7].to_list(), np.float32)
    plain = sorted(
        (-sum(a * b for a, b in zip(vector, query.tolist(), strict=True)), name)
        for name, vector in rows.select("memory_id", "vector").iter_rows()
    )[:10]
    scope, filters = Scope("t", "u"), Filters(NOW)
    assert exact_ids(generation, entry, scope, query, filters, slack=0.0) == [name for _, name in plain]
    assert nearest_ids(generation, entry, scope, query, filters) == {name for _, name in plain}
    assert exact_ids(generation, entry, Scope("t", "v"), query, filters) == []


def test_recall_ratio_counts_ties_and_empty_answers() -> None:
    ten = [f"m{i}" for i in range(10)]
    assert recall_ratio([set(ten)], [[*ten, "tie"]]) == 1.0
    assert recall_ratio([{*ten[:9], "tie"}], [[*ten, "tie"]]) == 1.0
    assert recall_ratio([{*ten[:5]}], [ten]) == 0.5
    assert recall_ratio([set()], [[]]) == 1.0
    assert recall_ratio([{"a"}], [["a", "b"]]) == 0.5


@pytest.mark.parametrize("broken", ["row_counts", "expiry", "recall", "isolation"])
def test_a_failed_check_leaves_the_old_generation_live(
    lake: Lake, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(lake, {"content": "violin one"})
    first = publish(job(lake))
    land(lake, {"content": "violin two"})
    real = run_checks

    def one_fails(*args: Any, **kwargs: Any) -> list[Check]:
        return [replace(c, passed=c.passed and c.name != broken) for c in real(*args, **kwargs)]

    monkeypatch.setattr(flows.publish_build, "run_checks", one_fails)
    with pytest.raises(CheckError, match=broken):
        publish(job(lake))
    pointer = read_pointer(lake)
    assert pointer
    assert pointer.generation == first
    assert generations(lake) == [first]
    assert len(reader(lake).search("violin", tenant="t", user="u", as_of=NOW)) == 2
    monkeypatch.undo()
    assert run_publish(job(lake)).generation != first


def test_a_builder_that_loses_a_row_is_caught_by_publish(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    land(lake, {"content": "violin one"}, {"content": "violin two"})
    real = Builder.write_part

    def losing(self: Builder, frames: Iterable[pl.DataFrame]) -> Part:
        return real(self, (frame.tail(-1) for frame in frames))

    monkeypatch.setattr(Builder, "write_part", losing)
    with pytest.raises(CheckError, match="row_counts"):
        publish(job(lake))
    assert read_pointer(lake) is None
