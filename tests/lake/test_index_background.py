"""The floor from publish to context: measured in each space, kept in the manifest, said in the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from flows.embed import run_embed
from flows.publish import run_publish
from lake.embedders.protocol import Embedded, normalised
from lake.index_record import load_manifest, read_pointer
from lake.lake import Lake
from lake.recall import Recall
from tests.lake.recalled import NOW, WordEmbedder, ingest, job, land, make_lake, policy
from transforms.errors import EndpointError, LakeError
from transforms.policy import Policy, PublishPolicy

TOPICS = {"ann": "violin concert rehearsal", "bob": "garden tomato seeds", "cat": "engine gearbox oil"}
FILLER = ["blue", "seven", "quickly", "paper", "stone", "north", "early", "round", "heavy", "plain"]


class NarrowEmbedder(WordEmbedder):
    """The same meaning on another scale: all vectors lie close together, as those of many models do."""

    def __init__(self) -> None:
        super().__init__("narrow")

    def embed(self, texts: Sequence[str]) -> Embedded:
        done = super().embed(texts)
        common = np.zeros(done.vectors.shape[1], np.float32)
        common[0] = 1.5
        vectors, refused = normalised(done.vectors + common)
        return Embedded(vectors, refused)


class AwayEmbedder(WordEmbedder):
    """Embeds rows, and fails for questions."""

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        raise EndpointError("model endpoint away: no connection", "Run again later.")


def rows() -> list[dict[str, Any]]:
    draw = np.random.default_rng(1)
    return [
        {
            "content": f"{words} {' '.join(draw.choice(FILLER, 3))} n{i}",
            "user_id": user,
            "session_id": f"s{i // 5}",
            "event_at": (NOW - timedelta(hours=30 - i)).isoformat(),
        }
        for i in range(25)
        for user, words in TOPICS.items()
    ]


@pytest.fixture
def lake(tmp_path) -> Lake:
    made = make_lake(tmp_path)
    land(made, *rows())
    return made


@pytest.fixture(scope="module")
def ready(tmp_path_factory) -> Lake:
    """Published, and only read by the tests that share it."""
    made = make_lake(tmp_path_factory.mktemp("ready"))
    land(made, *rows())
    published(made, WordEmbedder())
    return made


def published(lake: Lake, embedder: Any) -> Any:
    few = Policy(publish=PublishPolicy(check_queries=2))
    run = replace(job(lake, few), make_embedder=lambda: embedder)
    ingest(run)
    run_embed(run)
    run_publish(run, force=True)
    return load_manifest(lake, read_pointer(lake).generation)


def test_two_models_get_two_floors_and_leave_out_the_same(lake: Lake) -> None:
    floors, packed = {}, {}
    for model in (WordEmbedder(), NarrowEmbedder()):
        manifest = published(lake, model)
        floors[model.model_key] = manifest.measured()["latin"].at(0.95)
        assert "unrelated texts" in manifest.checks["background"]
        recall = Recall(lake, policy=policy(duplicate_cosine=1), embedder=model)
        context = recall.context("violin concert", tenant="t", user="ann", budget=50_000, as_of=NOW)
        away = recall.context("gearbox oil", tenant="t", user="ann", budget=50_000, as_of=NOW)
        packed[model.model_key] = context.packed, away.packed
        assert {row["reason"] for row in away.dropped_rows} == {"relevance_floor"}
    words, narrow = floors.values()
    assert narrow > words + 0.2
    for about, other in packed.values():
        assert about >= 20
        assert other <= 3


def test_a_search_gives_what_a_context_leaves_out(ready: Lake) -> None:
    recall = Recall(ready, embedder=WordEmbedder())
    assert len(recall.search("gearbox oil", tenant="t", user="ann", k=5, as_of=NOW)) == 5


def test_rare_words_pass_however_far_the_vector_is(lake: Lake) -> None:
    land(lake, {"content": "gearbox " + " ".join(f"other{i}" for i in range(40)), "user_id": "ann"})
    published(lake, WordEmbedder())
    recall = Recall(lake, embedder=WordEmbedder())
    context = recall.context("gearbox", tenant="t", user="ann", budget=50_000, as_of=NOW)
    assert "gearbox other0" in context.text


def test_the_policy_can_ask_for_none_or_set_its_own(ready: Lake) -> None:
    space = load_manifest(ready, read_pointer(ready).generation).space
    for recall, most in (({"floor_share": 0.0}, 25), ({"relevance_floor": {space: 0.0}}, 25)):
        reader = Recall(ready, policy=policy(duplicate_cosine=1, **recall), embedder=WordEmbedder())
        context = reader.context("gearbox oil", tenant="t", user="ann", budget=50_000, as_of=NOW)
        assert context.packed == most


def test_the_same_lake_gives_the_same_measure(lake: Lake) -> None:
    first = published(lake, WordEmbedder()).background
    assert first
    assert published(lake, WordEmbedder()).background == first


def test_one_person_is_measured_between_sessions(tmp_path) -> None:
    made = make_lake(tmp_path)
    land(made, *({**row, "user_id": "u"} for row in rows()))
    assert published(made, WordEmbedder()).measured()["latin"].basis == "sessions"


def test_few_rows_have_no_floor(tmp_path) -> None:
    made = make_lake(tmp_path)
    land(made, {"content": "violin"}, {"content": "garden", "user_id": "other"})
    manifest = published(made, WordEmbedder())
    assert manifest.measured() == {}
    assert "too few" in manifest.checks["background"]
    recall = Recall(made, embedder=WordEmbedder())
    assert recall.context("engine", tenant="t", user="u", as_of=NOW).packed == 1


def test_an_endpoint_that_fails_stops_no_publish(lake: Lake) -> None:
    manifest = published(lake, AwayEmbedder())
    assert manifest.background == {}
    assert "no connection" in manifest.checks["background"]


def test_a_spoilt_measure_is_a_damaged_manifest(lake: Lake) -> None:
    manifest = published(lake, WordEmbedder())
    spoilt = replace(manifest, background={"latin": {"basis": "owners"}})
    lake.storage.write(f"index/{manifest.generation}/manifest.json", spoilt.dumps())
    with pytest.raises(LakeError, match="damaged"):
        load_manifest(lake, manifest.generation)


def test_a_question_about_a_time_is_not_cut(ready: Lake) -> None:
    recall = Recall(ready, policy=policy(duplicate_cosine=1), embedder=WordEmbedder())
    asked = recall.context("What happened yesterday?", tenant="t", user="ann", budget=50_000, as_of=NOW)
    assert asked.packed == 18  # of that day, none of them cut
