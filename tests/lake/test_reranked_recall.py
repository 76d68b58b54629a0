"""Reranking inside of a search: order, fall-back, what is sent and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from lake.lake import Lake
from lake.recall import Recall
from lake.rerankers.config import RerankerConfig
from lake.rerankers.endpoint import EndpointReranker
from lake.rerankers.onnx_cross_encoder import OnnxReranker
from lake.rerankers.protocol import Reranked
from tests.lake import onnx_made
from tests.lake.recalled import NOW, WordEmbedder, job, land, make_lake, policy, publish
from tests.model_server import Fault, ModelServer
from transforms.weights import Weights

ME: dict[str, Any] = {"tenant": "t", "user": "u", "as_of": NOW}


class Backwards:
    """Prefers the texts that come later in the alphabet, and keeps what it was shown."""

    def __init__(self, failure: str | None = None) -> None:
        self.seen: list[str] = []
        self.failure = failure

    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        del query
        self.seen += texts
        ranks = np.argsort(np.argsort(np.array(texts, np.str_))).astype(np.float64)
        return Reranked(None, self.failure) if self.failure else Reranked(ranks)

    @property
    def counts(self) -> dict[str, int]:
        return {}


@pytest.fixture
def lake(tmp_path) -> Lake:
    made = make_lake(tmp_path)
    land(made, *({"content": f"tea {word}"} for word in ("apple", "berry", "cherry", "damson")))
    land(made, {"content": "tea zebra", "user_id": "other"})
    publish(job(made))
    land(made, {"content": "tea elder"})  # fresh
    return made


def reader(lake: Lake, reranker: Any, **recall: Any) -> Recall:
    chosen = policy(weights=Weights(relevance=1), **recall)
    return Recall(lake, policy=chosen, embedder=WordEmbedder(), reranker=reranker)


def texts(found: Any) -> list[str]:
    return [memory.text for memory in found]


def test_the_reranker_orders_published_and_fresh_rows_of_the_scope(lake: Lake) -> None:
    model = Backwards()
    found = reader(lake, model, rerank_share=1.0).search("tea apple", **ME)
    assert texts(found) == ["tea elder", "tea damson", "tea cherry", "tea berry", "tea apple"]
    assert found.reranked == "answered"
    day = NOW - timedelta(days=1)
    assert sorted(model.seen)[0] == f"[{day.day} June 2026] user: tea apple"
    assert not any("zebra" in text for text in model.seen)


def test_without_one_nothing_is_said(lake: Lake) -> None:
    found = reader(lake, None).search("tea apple", **ME)
    assert found.reranked is None
    assert texts(found)[0] == "tea apple"


def test_a_failure_leaves_the_order_and_is_named(lake: Lake) -> None:
    plain = reader(lake, None).search("tea apple", **ME)
    found = reader(lake, Backwards("time_out")).search("tea apple", **ME)
    assert found == plain
    assert found.reranked == "time_out"


def test_only_so_many_rows_are_read_and_they_stay_on_top(lake: Lake) -> None:
    model = Backwards()
    plain = texts(reader(lake, None).search("tea cherry berry", **ME))
    found = texts(reader(lake, model, rerank_rows=2, rerank_share=1.0).search("tea cherry berry", **ME))
    assert len(model.seen) == 2
    assert found[:2] == sorted(plain[:2], reverse=True)
    assert found[2:] == plain[2:]


def test_no_rows_to_rerank_ask_nothing(lake: Lake) -> None:
    model = Backwards()
    assert reader(lake, model, rerank_rows=0).search("tea", **ME).reranked is None
    assert reader(lake, model).search("tea", tenant="t", user="nobody", as_of=NOW) == []
    assert model.seen == []


def test_contexts_are_reranked_too(lake: Lake) -> None:
    packed = reader(lake, Backwards(), rerank_share=1.0).context("tea apple", **ME)
    assert packed.text.index("tea elder") < packed.text.index("tea apple")


def test_through_a_real_endpoint_that_fails_and_comes_back(lake: Lake) -> None:
    def route(_: ModelServer, request: Any) -> dict[str, Any]:
        shown = enumerate(request.body["documents"])
        return {"results": [{"index": i, "relevance_score": float("damson" in text)} for i, text in shown]}

    with ModelServer() as server:
        server.routes["POST /v1/rerank"] = route
        config = RerankerConfig(provider="openai", base_url=server.base_url, model="m", timeout_seconds=5.0)
        recall = reader(lake, EndpointReranker(config))
        server.faults.append(Fault(status=503))
        assert recall.search("tea apple", **ME).reranked == "http_503"
        found = recall.search("tea apple", **ME)
        assert (texts(found)[0], found.reranked) == ("tea damson", "answered")


def test_through_a_cross_encoder_on_disk(tmp_path) -> None:
    made = make_lake(tmp_path)
    land(made, {"content": "green car"}, {"content": "green tea engine"}, {"content": "coffee"})
    publish(job(made))
    folder = str(onnx_made.pair_model(tmp_path / "model"))
    model = OnnxReranker(RerankerConfig(provider="onnx", folder=folder, threads=1))
    found = reader(made, model, rerank_share=1.0).search("tea engine", **ME)
    assert (texts(found)[0], found.reranked) == ("green tea engine", "answered")
