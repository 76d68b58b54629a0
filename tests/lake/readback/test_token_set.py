"""Token dictionaries of full-text indexes, read as the library writes them."""

from __future__ import annotations

import random
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance.file import LanceFileReader

from lake.readback.token_set import TokenSet
from lake.readback.words import folded, words


def dictionary(folder: Path, texts: list[str]) -> bytes:
    """The dictionary of an index over the texts."""
    table = lance.write_dataset(pa.table({"search_text": texts}), folder / "t.lance")
    table.create_scalar_index(
        "search_text",
        "INVERTED",
        with_position=False,
        base_tokenizer="icu/split",
        stem=False,
        remove_stop_words=False,
        lower_case=True,
        ascii_folding=True,
    )
    (path,) = folder.rglob("*tokens.lance")
    data = LanceFileReader(str(path)).read_all().to_table()["_token_fst_bytes"][0].as_py()
    assert isinstance(data, bytes)
    return data


LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789абвгдеж日本語한국ابت"


@pytest.mark.parametrize("count", [1, 2, 40, 3000])
def test_it_holds_every_word_and_no_other(tmp_path: Path, count: int) -> None:
    draw = random.Random(count)
    given = sorted({"".join(draw.choices(LETTERS[:36], k=draw.randint(1, 9))) for _ in range(count)})
    tokens = TokenSet(dictionary(tmp_path, [" ".join(given)]))
    assert sorted(tokens) == [word.encode() for word in given]
    assert len(tokens) == len(given)
    assert all(word.encode() in tokens for word in given)
    others = {word[:-1] for word in given} | {word + "x" for word in given} - {""}
    assert not any(word.encode() in tokens for word in others - set(given))


def test_a_node_of_more_than_32_ways_and_words_of_every_script(tmp_path: Path) -> None:
    given = [a + b for a in LETTERS[:36] for b in LETTERS[:36]]
    tokens = TokenSet(dictionary(tmp_path, [" ".join(given), "привет мир Ελλάδα éa"]))
    assert set(given) | {"привет", "мир", "ελλάδα"} == {word.decode() for word in tokens}


TEXTS = [
    "I'd say: Crème-brûlée, naïve façade; Ærøskøbing!",
    "mail jo.doe@example.org or see example.com/path_x?y=1 (v2.0) 3,5 U.S.A.",
    "WILD Straße ŁÓDŹ don't stop 🍕 now",
]


@pytest.mark.parametrize("text", TEXTS)
def test_our_words_are_those_of_the_index(tmp_path: Path, text: str) -> None:
    """Every token that the index cuts from a text without unusual letters is among its words."""
    tokens = {word.decode() for word in TokenSet(dictionary(tmp_path, [text]))}
    assert tokens & words(text)
    known = {token for token in tokens if token in folded(text)}
    assert {token for token in known if token.isalnum()} <= words(text)


@pytest.mark.parametrize("data", [b"", b"\x02" + bytes(60), b"\xff" * 80])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        set(TokenSet(data))


def test_a_damaged_dictionary_ends_in_a_fault_or_in_words(tmp_path: Path) -> None:
    data = dictionary(tmp_path, ["alpha beta gamma delta epsilon"])
    for place in range(16, len(data) - 20):
        damaged = data[:place] + bytes([data[place] ^ 0x5A]) + data[place + 1 :]
        try:
            tokens = TokenSet(damaged)
            assert isinstance(b"alpha" in tokens, bool)
        except (ValueError, IndexError):
            continue
