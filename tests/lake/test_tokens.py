"""Token counts: exact, offline, and whole on any text."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lake.tokens as tokens_module
from lake.package_data import package_file
from lake.tokens import count_tokens, encoding, truncate_tokens
from transforms.errors import ConfigError

NAMES = ("o200k_base", "cl100k_base")
ROOT = Path(__file__).parents[2]

# Counts printed in OpenAI's own guide to counting tokens with tiktoken.
KNOWN = [
    ("tiktoken is great!", "o200k_base", 6),
    ("tiktoken is great!", "cl100k_base", 6),
    ("antidisestablishmentarianism", "cl100k_base", 6),
    ("お誕生日おめでとう", "cl100k_base", 9),
    ("お誕生日おめでとう", "o200k_base", 8),
    ("", "o200k_base", 0),
]


@pytest.mark.parametrize(("text", "name", "expected"), KNOWN)
def test_known_counts(text, name, expected):
    assert count_tokens([text], name) == [expected]


@pytest.mark.parametrize("name", NAMES)
def test_special_tokens_are_plain_text(name):
    assert count_tokens(["<|endoftext|>"], name)[0] > 1


@pytest.mark.parametrize("name", NAMES)
@given(texts=st.lists(st.text(), max_size=5))
def test_counts_are_those_of_each_text_alone_and_decode_to_it(name, texts):
    counts = count_tokens(texts, name)
    assert counts == [count_tokens([text], name)[0] for text in texts]
    for text, count in zip(texts, counts, strict=True):
        ids = encoding(name).encode_ordinary(text)
        assert (encoding(name).decode(ids), len(ids)) == (text, count)


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(max_size=60), limit=st.integers(-1, 40))
def test_a_cut_is_a_beginning_within_the_limit(name, text, limit):
    cut = truncate_tokens(text, limit, name)
    count = count_tokens([text], name)[0]
    assert text.startswith(cut)
    assert count_tokens([cut], name)[0] <= max(limit, 0)
    assert (cut == text) == (count <= limit or text == "")


def test_a_cut_never_splits_a_code_point():
    text = "🏴‍☠️🎉👩🏽‍🚀" * 5
    total = count_tokens([text], "cl100k_base")[0]
    cuts = [truncate_tokens(text, limit, "cl100k_base") for limit in range(total + 1)]
    assert all(text.startswith(cut) for cut in cuts)
    assert sorted(cuts, key=len) == cuts
    assert cuts[-1] == text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["\ud800 lone", "a\x00b", " " * 1_000_001 + "x", "ab" * 99_999])
def test_hard_texts_are_counted_and_cut(name, text):
    counts = count_tokens([text, "x"], name)
    assert counts[0] > 1
    assert counts[1] == 1
    assert count_tokens([truncate_tokens(text, 2, name)], name)[0] <= 2


def test_long_blanks_are_cut_only_inside_the_blank():
    text = "a" + " " * 900_000 + "b"
    pieces = list(tokens_module._pieces(text))
    assert "".join(pieces) == text
    assert len(pieces) == 3
    assert list(tokens_module._pieces("word " * 100_000)) == ["word " * 100_000]


def test_unknown_name_says_which_there_are():
    with pytest.raises(ConfigError) as caught:
        encoding("p50k_base")
    assert "o200k_base" in caught.value.remedy


def test_the_encoding_is_shared():
    assert encoding("o200k_base") is encoding("o200k_base")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (gzip.compress(b"IQ== 0\n", mtime=0), "not the one tiktoken expects"),
        (b"not gzip", "cannot be read"),
        (gzip.compress(b"IQ== 0\n", mtime=0)[:-9], "cannot be read"),
    ],
)
def test_a_damaged_table_is_refused(monkeypatch, tmp_path, content, says):
    path = tmp_path / "o200k_base.tiktoken.gz"
    path.write_bytes(content)
    monkeypatch.setattr(tokens_module, "package_file", lambda *_: path)
    with pytest.raises(ConfigError, match=says):
        tokens_module._load_table("https://example.invalid/o200k_base.tiktoken", "0" * 64)


def test_a_recipe_that_would_not_use_our_loader_is_refused(monkeypatch):
    from tiktoken_ext import openai_public

    monkeypatch.setattr(openai_public, "o200k_base", lambda: {})
    with pytest.raises(ConfigError, match="unknown way"):
        tokens_module._build.__wrapped__("o200k_base")


def test_a_missing_package_is_named():
    with pytest.raises(ConfigError, match="no_such_package"):
        package_file("no_such_package", "data")
    with pytest.raises(ConfigError, match=r"data/no_such_file"):
        package_file("bpe_openai", "data", "no_such_file")


OFFLINE = """
import socket, sys, os
def blocked(*args, **kwargs): raise AssertionError("network")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = blocked
from lake.tokens import count_tokens
assert not {"tiktoken", "bpe_openai", "regex"} & set(sys.modules), "importing lake.tokens is to be cheap"
before = dict(os.environ)
print(count_tokens(["tiktoken is great!"], "o200k_base"), count_tokens(["tiktoken is great!"], "cl100k_base"))
assert before == dict(os.environ)
assert "bpe_openai" not in sys.modules
"""


def test_works_with_no_network_no_home_and_no_writable_folder(tmp_path):
    tmp_path.chmod(0o500)
    folder = str(tmp_path)
    environment = {"PYTHONPATH": str(ROOT), "HOME": folder, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", OFFLINE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[6] [6]\n", 0), done.stderr
    assert list(tmp_path.iterdir()) == []
