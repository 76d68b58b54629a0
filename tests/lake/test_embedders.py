"""Embedders: what is promised of any, the local one, and the configuration of both."""

from __future__ import annotations

import logging
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

import lake.embedders.local as local_module
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.embedders.local import LocalEmbedder
from lake.embedders.openai_compatible import OpenAIEmbedder
from lake.embedders.protocol import normalised, well_formed
from transforms.errors import ConfigError

ROOT = Path(__file__).parents[2]
KEY = "sk-verysecretkey-0123456789"

# --- normalising -----------------------------------------------------------------------------------


def test_normalised_rows():
    raw = np.array([[3, 4], [0, 0], [np.nan, 1], [np.inf, 1], [3e38, 3e38], [1e-45, 0]], dtype=np.float32)
    vectors, refused = normalised(raw)
    half = np.float32(0.5**0.5)
    assert vectors.tolist() == [
        [pytest.approx(0.6), pytest.approx(0.8)],
        [0, 0],
        [0, 0],
        [0, 0],
        [pytest.approx(half), pytest.approx(half)],
        [1, 0],
    ]
    assert refused == {1: "zero_vector", 2: "not_finite", 3: "not_finite"}
    assert vectors.dtype == np.float32


def test_normalised_of_nothing():
    vectors, refused = normalised(np.zeros((0, 4), dtype=np.float32))
    assert (vectors.shape, refused) == ((0, 4), {})


@given(st.text(st.characters()))
def test_well_formed_changes_only_surrogates(text):
    shown = well_formed(text)
    shown.encode()
    assert shown == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


# --- local -----------------------------------------------------------------------------------------

PLAIN = ["I prefer tea to coffee.", "Deploy failed: timeout.", "你好世界", "🎉🎉", "naïve café", "x " * 3000]


@pytest.fixture(scope="module")
def local():
    return LocalEmbedder()


@pytest.fixture(scope="module")
def reference():
    """wordllama's own embedder; importing it sets up the root logger, which is put back."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    import wordllama

    root.handlers[:], root.level = before
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(dim=256, cache_dir=folder, disable_download=True)


@settings(deadline=None, max_examples=50)
@given(texts=st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=8))
def test_equals_wordllama(local, reference, texts):
    done = local.embed(texts)
    kept = [i for i in range(len(texts)) if i not in done.refused]
    if kept:
        theirs = reference.embed([texts[i] for i in kept], norm=True)
        assert np.abs(done.vectors[kept] - theirs).max() < 1e-6


def test_equals_wordllama_on_plain_texts(local, reference):
    assert np.abs(local.embed(PLAIN).vectors - reference.embed(PLAIN, norm=True)).max() < 1e-6


def test_a_vector_does_not_depend_on_its_batch(local):
    texts = [*PLAIN, "", "y" * 30_000] * 3
    together = local.embed(texts)
    for i, text in enumerate(texts):
        assert np.array_equal(local.embed([text]).vectors[0], together.vectors[i])
    order = random.Random(3).sample(range(len(texts)), len(texts))
    assert np.array_equal(local.embed([texts[i] for i in order]).vectors, together.vectors[order])


def test_portions_keep_order_and_lose_nothing(local, monkeypatch):
    texts = [f"text number {i} {'long ' * (i % 7)}" for i in range(50)]
    whole = local.embed(texts)
    monkeypatch.setattr(local_module, "_PORTION_TEXTS", 7)
    monkeypatch.setattr(local_module, "_PORTION_CHARS", 60)
    monkeypatch.setattr(local_module, "_POOL_TOKENS", 10_000)
    parts = local.embed(texts)
    assert np.array_equal(parts.vectors, whole.vectors)
    assert parts.tokens == whole.tokens
    assert [t for portion in local_module._portions(texts) for t in portion] == texts


def test_long_texts_are_summed_in_pieces_to_the_same_direction(local, monkeypatch):
    whole = local.embed(PLAIN).vectors
    monkeypatch.setattr(local_module, "_POOL_TOKENS", 4)
    assert np.abs(local.embed(PLAIN).vectors - whole).max() < 1e-6


def test_blank_texts_are_refused_and_zero(local):
    done = local.embed(["", "tea", " \n\t\u3000", "🎉"])
    assert done.refused == {0: "no_tokens", 2: "no_tokens"}
    assert np.linalg.norm(done.vectors, axis=1).tolist() == pytest.approx([0, 1, 0, 1])


def test_hard_texts(local):
    done = local.embed(["\ud800 lone", "a\x00b", "word " * 200_000, "<s></s><unk>"])
    assert done.refused == {}
    assert np.linalg.norm(done.vectors, axis=1) == pytest.approx(1)
    assert np.array_equal(done.vectors[0], local.embed(["\ufffd lone"]).vectors[0])


def test_special_tokens_are_plain_text(local):
    assert local.embed(["<s>"]).tokens > 2


def test_no_texts(local):
    done = local.embed([])
    assert (done.vectors.shape, done.refused, done.tokens) == ((0, 256), {}, 0)


def test_near_texts_are_nearer_than_far_ones(local):
    texts = ["I love green tea", "green tea is my favourite drink", "the car engine broke"]
    tea, tea_too, car = local.embed(texts).vectors
    assert tea @ tea_too > tea @ car + 0.2


def test_shorter_vectors_are_the_head_of_the_long_ones(local):
    head = local.embed(PLAIN).vectors[:, :64]
    short = LocalEmbedder(64)
    expected = head / np.linalg.norm(head, axis=1, keepdims=True)
    assert np.abs(short.embed(PLAIN).vectors - expected).max() < 1e-6
    assert short.model_key != local.model_key
    assert short.dimensions == 64


def test_model_key_names_weights_dimensions_and_form(local, monkeypatch, tmp_path):
    name, rest = local.model_key.split("@")
    revision, dimensions, form = rest.split("/")
    assert (name, len(revision), dimensions, form) == ("wordllama-l2_supercat_256", 8, "256", "v1")
    other = tmp_path / "weights"
    other.write_bytes(b"other weights")
    monkeypatch.setattr(local_module, "package_file", lambda *_: other)
    assert local_module._revision.__wrapped__() != revision


def test_lengths_without_weights_are_refused():
    with pytest.raises(ConfigError, match="100"):
        LocalEmbedder(100)


def test_many_threads_get_the_same_vectors(local):
    expected = local.embed(PLAIN).vectors
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: LocalEmbedder().embed(PLAIN).vectors, range(16)))
    assert all(np.array_equal(vectors, expected) for vectors in results)


QUIET = """
import logging, socket, sys
def blocked(*args, **kwargs): raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = blocked
import lake.embedders
from lake.embedders.config import EmbedderConfig, make_embedder
local = make_embedder(EmbedderConfig())
make_embedder(EmbedderConfig(provider="openai", model="m", dimensions=4))
heavy = {"openai", "wordllama", "tokenizers", "tiktoken", "httpx2", "safetensors"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert local.embed(["tea"]).refused == {}
assert not {"wordllama", "requests", "openai"} & set(sys.modules)
assert logging.getLogger().handlers == []
print(local.model_key)
"""


def test_imports_are_light_and_the_root_logger_is_left_alone(local, tmp_path):
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    command = [sys.executable, "-c", QUIET]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{local.model_key}\n", "")


# --- configuration ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": "openai"},
        {"provider": "openai", "model": "m"},
        {"provider": "openai", "dimensions": 8},
        {"provider": "local", "dimensions": 100},
        {"provider": "magic"},
        {"base_url": "ftp://example.com"},
        {"base_url": "example.com/v1"},
        {"base_url": f"https://user:{KEY}@example.com/v1"},
        {"base_url": f"https://example.com/v1?key={KEY}"},
        {"base_url": "http://example.com:99999/v1"},
        {"api_key": KEY + "\n"},
        {"api_key": KEY + "é"},
        {"unknown": 1},
        {"concurrency": 0},
    ],
)
def test_wrong_configuration_is_refused_without_showing_values(wrong):
    with pytest.raises(ValidationError) as caught:
        EmbedderConfig(**wrong)
    assert KEY not in str(caught.value)


def test_make_embedder():
    assert make_embedder(EmbedderConfig()).dimensions == 256
    assert make_embedder(EmbedderConfig(dimensions=64)).dimensions == 64
    remote = make_embedder(EmbedderConfig(provider="openai", model="m", dimensions=12))
    assert isinstance(remote, OpenAIEmbedder)
    assert remote.dimensions == 12
    with pytest.raises(ConfigError):
        OpenAIEmbedder(EmbedderConfig())


KEYS = [
    ({}, "m@api.openai.com/v1/8/v1-8191"),
    ({"model": "org/m"}, "org/m@api.openai.com/v1/8/v1-8191"),
    ({"dimensions": 16}, "m@api.openai.com/v1/16/v1-8191"),
    ({"base_url": "http://LocalHost:9/x/"}, "m@localhost:9/x/8/v1-8191"),
    ({"base_url": "http://LocalHost:9/x/", "revision": "r2"}, "m@r2/8/v1-8191"),
    ({"max_input_tokens": 512}, "m@api.openai.com/v1/8/v1-512"),
    ({"api_key": SecretStr(KEY), "max_inputs": 3, "timeout_seconds": 1}, "m@api.openai.com/v1/8/v1-8191"),
]


@pytest.mark.parametrize(("change", "expected"), KEYS)
def test_model_key_of_an_endpoint(change, expected):
    config = EmbedderConfig(**{"provider": "openai", "model": "m", "dimensions": 8, **change})
    assert OpenAIEmbedder(config).model_key == expected
