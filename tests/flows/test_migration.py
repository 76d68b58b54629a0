"""One embedding model replaced by another: both are served, each from its own vectors, until one goes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from flows.doctor import _index as doctors_index
from flows.embed import run_embed
from flows.erase import run_erase
from flows.erase_verify import look_again
from flows.ingest import run_ingest
from flows.job import Job
from flows.nightly import run_nightly
from flows.publish import run_publish, run_rollback
from flows.status import status_of
from lake import index_build, index_record, tables
from lake.embedders.protocol import Embedded
from lake.index import Generation, load_manifest, read_pointer
from lake.index_build import generations
from lake.index_record import Pointer
from lake.lake import Lake, open_lake
from lake.recall import Recall
from lake.storage import LocalStorage
from tests.flows.dying import living
from tests.lake.recalled import NOW, WordEmbedder, land, make_lake
from transforms.embedding import vector_space
from transforms.errors import CheckError, ConfigError, LakeError, ModelMismatchError, UsageError
from transforms.policy import Policy, PublishPolicy
from transforms.policy_recall import RecallPolicy
from transforms.schemas import VECTORS
from transforms.subjects import Subject

ME: dict[str, Any] = {"tenant": "t", "user": "u", "as_of": NOW}
TEXTS = [f"the violin of harbour number {word}" for word in ("one", "two", "three", "four", "five")]


class NewEmbedder(WordEmbedder):
    """The same words, other directions and half the numbers."""

    dimensions = 16

    def __init__(self) -> None:
        self.model_key = "new@1/16/v1"

    def embed(self, texts: Any) -> Embedded:
        done = super().embed(texts)
        turned = done.vectors[:, ::2] + 0.25 * done.vectors[:, 1::2]
        lengths = np.linalg.norm(turned, axis=1, keepdims=True)
        return Embedded((turned / np.where(lengths == 0, 1, lengths)).astype(np.float32), done.refused)


OLD, NEW = (vector_space(model.model_key) for model in (WordEmbedder(), NewEmbedder()))


def job(lake: Lake, now: Any, before: Any = None, **fields: Any) -> Job:
    made = Job(lake, Policy(), NOW, now, make_previous=before)
    return replace(made, **fields) if fields else made


def old(lake: Lake) -> Job:
    return job(lake, WordEmbedder)


def both(lake: Lake, **fields: Any) -> Job:
    return job(lake, NewEmbedder, WordEmbedder, **fields)


def new(lake: Lake) -> Job:
    return job(lake, NewEmbedder)


def night(run: Job) -> dict[str, Any]:
    run_ingest(run, [])
    run_embed(run)
    return run_publish(run).detail


def reader(lake: Lake, embedder: Any) -> Recall:
    return Recall(lake, policy=Policy(recall=RecallPolicy(duplicate_cosine=1)), embedder=embedder())


def finds(lake: Lake, embedder: Any, text: str = TEXTS[2]) -> list[str]:
    """Texts that a reader of a model finds, each with the cosine that its own model gives."""
    found = reader(lake, embedder).search(text, **ME, k=20)
    assert found.pool is not None
    model = embedder()
    query = model.embed([text]).vectors[0]
    cosines = dict(zip((i.decode() for i in found.pool.ids), found.pool.inputs["cosine"], strict=True))
    for memory in found:
        day = (NOW - timedelta(days=1)).strftime("%-d %B %Y")
        own = model.embed([f"[{day}] user: {memory.text}"]).vectors[0]
        assert cosines[memory.id] == pytest.approx(float(own @ query), abs=2e-3), memory.text
    return sorted(memory.text for memory in found)


def held_spaces(lake: Lake) -> dict[str, int]:
    counts = tables.scan(lake, VECTORS).collect()["model_key"].value_counts()
    return dict(sorted(counts.iter_rows()))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Published with the old model."""
    made = make_lake(tmp_path)
    land(made, *({"content": text} for text in TEXTS))
    night(old(made))
    return made


def test_readers_of_either_model_are_served_until_the_old_one_is_taken_out(lake: Lake) -> None:
    assert finds(lake, WordEmbedder) == sorted(TEXTS)
    with pytest.raises(ModelMismatchError, match=r"embedder\.previous"):
        finds(lake, NewEmbedder)

    detail = night(both(lake))  # backfill and switch
    assert (detail["generation"], detail["previous_model"]) == ("gen-000002", "gen-000003")
    assert finds(lake, NewEmbedder) == finds(lake, WordEmbedder) == sorted(TEXTS)
    assert held_spaces(lake) == {NEW: 5, OLD: 5}
    assert run_publish(both(lake)).state == run_embed(both(lake)).state == "unchanged"

    land(lake, {"content": "a violin that came late"})
    for is_published in (False, True):
        if is_published:
            night(both(lake))
        late = sorted([*TEXTS, "a violin that came late"])
        assert finds(lake, NewEmbedder) == finds(lake, WordEmbedder) == late

    assert status_of(both(lake)).data["index"]["previous"] == {OLD: "gen-000005"}
    assert "no longer configured" not in doctors_index(both(lake))
    assert f"{OLD}, no longer configured: the next night retires it" in doctors_index(new(lake))
    detail = night(new(lake))  # the old model is taken out of the configuration
    assert detail["retired_models"] == [OLD]
    assert held_spaces(lake) == {NEW: 6}
    assert finds(lake, NewEmbedder) == late
    with pytest.raises(ModelMismatchError):
        finds(lake, WordEmbedder)
    pointer = read_pointer(lake)
    assert pointer is not None
    assert pointer.twins == {}
    assert set(generations(lake)) == set(pointer.history)
    assert status_of(new(lake)).data["index"]["previous"] == {}
    assert night(new(lake)) == {"generation": pointer.generation}


def test_an_open_reader_of_the_old_model_goes_on_over_the_switch(lake: Lake) -> None:
    asking = reader(lake, WordEmbedder)
    assert len(asking.search("violin", **ME, k=20)) == 5
    night(both(lake))
    assert len(asking.search("violin", **ME, k=20)) == 5
    land(lake, {"content": "a violin that came late"})
    night(both(lake))
    assert len(asking.search("violin", **ME, k=20)) == 6
    night(new(lake))
    with pytest.raises(ModelMismatchError):
        asking.search("violin", **ME)


def test_the_way_back_is_the_same_way(lake: Lake) -> None:
    night(both(lake))
    detail = night(job(lake, WordEmbedder, NewEmbedder))
    assert finds(lake, NewEmbedder) == finds(lake, WordEmbedder) == sorted(TEXTS)
    assert held_spaces(lake) == {NEW: 5, OLD: 5}
    assert detail["previous_model"]
    night(old(lake))
    assert finds(lake, WordEmbedder) == sorted(TEXTS)
    assert held_spaces(lake) == {OLD: 5}


def test_no_generation_holds_a_vector_of_the_other_model(lake: Lake) -> None:
    night(both(lake))
    pointer = read_pointer(lake)
    assert pointer is not None
    for name, space, dimensions in (("gen-000002", NEW, 16), ("gen-000003", OLD, 32)):
        manifest = load_manifest(lake, name)
        assert (manifest.space, manifest.dimensions, manifest.rows) == (space, dimensions, 5)
        assert manifest.checks["one_model"] == f"vector space {space}, expected {space}"
        schema = Generation(lake, manifest).dataset("main").schema
        assert schema.field("vector").type.list_size == dimensions
    assert pointer.live() == ("gen-000002", "gen-000003")


def test_both_are_rolled_back_kept_and_removed_together(lake: Lake) -> None:
    run = both(lake)
    run = replace(run, policy=Policy(publish=PublishPolicy(keep_generations=2)))
    night(run)
    land(lake, {"content": "second"})
    night(run)
    land(lake, {"content": "third"})
    night(run)
    pointer = read_pointer(lake)
    assert pointer is not None
    assert pointer.history == ("gen-000004", "gen-000006")
    assert pointer.twins == {"gen-000004": {OLD: "gen-000005"}, "gen-000006": {OLD: "gen-000007"}}
    assert set(generations(lake)) == pointer.kept()
    run_rollback(run)
    for embedder in (NewEmbedder, WordEmbedder):
        assert reader(lake, embedder)._searcher.index.live(None).manifest.rows == 6  # type: ignore[union-attr]
    assert run_publish(run).state == "unchanged"


def test_expired_rows_leave_both(lake: Lake) -> None:
    night(both(lake))
    later = NOW + timedelta(days=400)
    run_publish(both(lake, as_of=later))
    pointer = read_pointer(lake)
    assert pointer is not None
    assert [load_manifest(lake, name).rows for name in pointer.live()] == [0, 0]


def test_a_twin_that_fails_its_checks_leaves_the_index_as_it_was(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = both(lake)
    run_embed(run)
    before = read_pointer(lake)
    rule = pl.col("model_key") == OLD
    kept = tables.scan(lake, VECTORS).filter(~rule).collect()
    tables.rewrite(lake, VECTORS, tables.data_files(lake, VECTORS), kept)
    with pytest.raises(CheckError, match="coverage"):
        run_publish(run)
    assert read_pointer(lake) == before
    assert generations(lake) == ["gen-000001"]


@pytest.mark.parametrize("kind", ["user", "memory"])
def test_an_erasure_takes_the_rows_of_both(lake: Lake, kind: str) -> None:
    land(lake, {"content": "ben keeps seven bees in the attic of the mill", "user_id": "ben"})
    run = both(lake)
    night(run)
    bens = reader(lake, NewEmbedder).search("bees", tenant="t", user="ben", as_of=NOW)
    subject = Subject("t", "ben") if kind == "user" else Subject("t", memory=bens[0].id)
    run_erase(run, subject, basis="gdpr_art_17", requested_by="subject")
    pointer = read_pointer(lake)
    assert pointer is not None
    assert set(generations(lake)) == set(pointer.live())
    assert len(pointer.live()) == 2
    for embedder in (WordEmbedder, NewEmbedder):
        asking = reader(lake, embedder)
        assert asking.search("bees", tenant="t", user="ben", as_of=NOW) == []
        assert finds(lake, embedder) == sorted(TEXTS)
    assert held_spaces(lake) == {NEW: 5, OLD: 5}
    assert look_again(run, subject)["passed"]
    assert run_publish(run).state == "unchanged"


def test_an_erasure_with_the_old_model_taken_out_drops_its_twin(lake: Lake) -> None:
    land(lake, {"content": "ben keeps seven bees in the attic of the mill", "user_id": "ben"})
    night(both(lake))
    run_erase(new(lake), Subject("t", "ben"), basis="gdpr_art_17", requested_by="subject")
    pointer = read_pointer(lake)
    assert pointer is not None
    assert pointer.twins == {}
    assert generations(lake) == [pointer.generation]
    assert finds(lake, NewEmbedder) == sorted(TEXTS)


EFFECTS: tuple[tuple[Any, str], ...] = (
    (LocalStorage, "write"),
    (LocalStorage, "delete"),
    (tables, "_commit"),
    (index_build.Builder, "write"),
)


@pytest.mark.parametrize("step", ["switch", "retire"])
def test_killed_anywhere_both_readers_are_served_or_none_of_the_gone(tmp_path: Path, step: str) -> None:
    made = make_lake(tmp_path)
    land(made, *({"content": text} for text in TEXTS))
    night(old(made))
    run: Callable[[Lake], Job] = both
    if step == "retire":
        night(both(made))
        run = new

    def copy(name: str) -> Lake:
        return open_lake(str(shutil.copytree(made.uri, tmp_path / name)))

    clean = copy("clean")
    with living(effects=EFFECTS) as life:
        night(run(clean))
    assert life.count >= 5
    for number in range(0, life.count, 2):
        dying = copy(f"died-{number}")
        with living(number, EFFECTS):
            night(run(dying))
        served = served_models(dying)
        assert served, f"nobody is served after a kill before write {number}"
        if step == "retire":
            assert NewEmbedder in served
        night(run(dying))
        assert served_models(dying) == ([NewEmbedder, WordEmbedder] if step == "switch" else [NewEmbedder])
        assert held_spaces(dying) == held_spaces(clean)
        pointer = read_pointer(dying)
        assert pointer is not None
        assert set(generations(dying)) == pointer.kept()


def served_models(lake: Lake) -> list[Any]:
    """Models whose readers are served, all of them all rows."""
    served = []
    for embedder in (NewEmbedder, WordEmbedder):
        try:
            assert finds(lake, embedder) == sorted(TEXTS)
            served.append(embedder)
        except ModelMismatchError:
            continue
    return served


def test_a_whole_night_keeps_both(lake: Lake) -> None:
    land(lake, {"content": "I moved to Lisbon last week."})
    run_nightly(both(lake), [])
    for embedder in (WordEmbedder, NewEmbedder):
        asking = reader(lake, embedder)
        assert {memory.kind for memory in asking.search("Lisbon", **ME, k=20)} >= {"fact", "conversation"}
    assert set(held_spaces(lake)) == {OLD, NEW}


def test_two_sections_of_one_model_are_refused(lake: Lake) -> None:
    with pytest.raises(ConfigError, match="one model"):
        run_embed(job(lake, WordEmbedder, WordEmbedder))


@pytest.mark.parametrize(
    "twins",
    [
        [],
        {"gen-000001": "gen-000002"},
        {"gen-000001": {"space": 7}},
        {"elsewhere": {"space": "gen-000002"}},
        {"gen-000001": {"space": "../../etc"}},
        7,
    ],
)
def test_a_pointer_with_damaged_twins_is_refused(lake: Lake, twins: Any) -> None:
    import orjson

    record = {"generation": "gen-000001", "history": ["gen-000001"], "rolled_back": None, "twins": twins}
    lake.storage.write(index_record.POINTER, orjson.dumps(record))
    with pytest.raises(LakeError, match="damaged"):
        read_pointer(lake)


def test_a_pointer_without_twins_is_written_as_ever_and_comes_back(lake: Lake) -> None:
    plain = Pointer("gen-000002", ("gen-000001", "gen-000002"), None)
    paired = plain.with_twins({"gen-000002": {OLD: "gen-000003"}, "gen-000009": {OLD: "gen-000010"}})
    assert paired.twins == {"gen-000002": {OLD: "gen-000003"}}
    for pointer in (plain, paired):
        index_record.write_pointer(lake, pointer)
        assert read_pointer(lake) == pointer
    index_record.write_pointer(lake, plain)
    assert b"twins" not in (lake.storage.read(index_record.POINTER) or b"")


def test_a_callers_own_vector_is_taken_where_it_is_of_the_readers_space(lake: Lake) -> None:
    asking = reader(lake, WordEmbedder)
    vector = WordEmbedder().embed([TEXTS[2]]).vectors[0]
    assert asking.space == OLD
    plain = asking.search(TEXTS[2], **ME)
    for own in (vector, vector * 3, vector.tolist()):
        assert [m.id for m in asking.search(TEXTS[2], **ME, vector=own, space=OLD)] == [m.id for m in plain]


@pytest.mark.parametrize(
    ("vector", "space", "error", "told"),
    [
        ([1.0] * 32, NEW, ModelMismatchError, "Embed the query with the reader's model"),
        ([1.0] * 32, None, UsageError, "space is not named"),
        (None, OLD, UsageError, "no vector"),
        ([1.0] * 16, OLD, UsageError, "shape"),
        ([[1.0] * 32], OLD, UsageError, "shape"),
        ([1.0] * 31 + [float("nan")], OLD, UsageError, "NaN"),
        ([1.0] * 31 + [float("inf")], OLD, UsageError, "NaN"),
        ([0.0] * 32, OLD, UsageError, "length 0"),
        (["a"] * 32, OLD, UsageError, "not of numbers"),
        ("vector", OLD, UsageError, "not of numbers"),
        ([1e300] * 32, OLD, UsageError, "NaN"),
    ],
)
def test_a_callers_vector_of_another_model_or_none_at_all_is_refused(
    lake: Lake, vector: Any, space: str | None, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        reader(lake, WordEmbedder).search("violin", **ME, vector=vector, space=space)
