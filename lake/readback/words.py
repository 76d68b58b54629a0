"""Words of erased texts in a full-text index: each must be a word of some row that is still there.

A token says nothing of the row it came from, so a dictionary that was not rebuilt is known by words that
no row holds any more. Words of scripts without spaces are not looked at: only the index can tell them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

import polars as pl
import pyarrow as pa

from lake.lake import Lake
from lake.readback import decoders
from lake.readback.columns import leaves
from lake.readback.needles import CLASSES, IDENTIFIERS, Needles
from lake.readback.token_set import TokenSet
from lake.storage import Entry
from transforms.search_text import search_text

Needle = tuple[int, int]
SEARCHED = "search_text"
_WORD = re.compile(r"[^\W_]+")
_EDGES = re.compile(r"^\W+|\W+$")
_LONGEST = 40
"""The index drops longer tokens."""
_UNFOLDED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})


def folded(text: str) -> str:
    """Lower case, without accents, as the index folds words."""
    plain = unicodedata.normalize("NFKD", text).lower().translate(_UNFOLDED)
    return plain if plain.isascii() else "".join(c for c in plain if not unicodedata.combining(c))


def words(text: str) -> set[str]:
    """Words of a text in every way the index may cut them, folded and not: it folds Latin letters only."""
    found: set[str] = set()
    for plain in {search_text(text).lower(), folded(search_text(text))}:
        found.update(_WORD.findall(plain))
        found.update(_EDGES.sub("", piece) for piece in plain.split())
    return {word for word in found if word and len(word.encode()) <= _LONGEST}


def words_of(needles: Needles) -> dict[bytes, Needle]:
    """Words of identifiers and texts, each with the first needle that has it."""
    found: dict[bytes, Needle] = {}
    for place, name in enumerate(CLASSES):
        if name == "ids":
            continue
        for index, value in enumerate(needles.values[name]):
            cut = {folded(value), value.lower()} | words(value) if place == IDENTIFIERS else words(value)
            for word in cut:
                found.setdefault(word.encode(), (place, index))
    return found


def held_words(tokens: TokenSet, wanted: Mapping[bytes, Needle]) -> dict[str, Needle]:
    """Those of the words that the dictionary holds."""
    return {word.decode(): needle for word, needle in wanted.items() if word in tokens}


def unexplained(lake: Lake, entries: Iterable[Entry], held: Mapping[str, Needle]) -> dict[str, Needle]:
    """Words that no row of a dataset holds.

    Args:
        lake: Whose.
        entries: The dataset's data files.
        held: Words, from ``held_words`` of its dictionaries.
    """
    left = dict(held)
    for entry in entries:
        for column in _searched(f"{lake.storage.uri}/{entry.key}"):
            if not left:
                return left
            for word in _present(column, left):
                left.pop(word, None)
    return left


def _searched(path: str) -> Iterator[pa.Array]:
    for item in decoders.lance(path, [SEARCHED]):
        if isinstance(item, decoders.Rows):
            for leaf, _ in leaves(item.batch.column(0)):
                yield leaf


def _present(column: pa.Array, wanted: Mapping[str, Needle]) -> set[str]:
    """Those of the words that a column of texts holds."""
    texts = pl.Series(pl.from_arrow(column)).drop_nulls()
    lowered = texts.str.to_lowercase()
    plain = lowered.str.normalize("NFKD").str.replace_all(r"\p{Mn}", "")
    for special, letters in _UNFOLDED.items():
        plain = plain.str.replace_all(chr(int(special)), str(letters), literal=True)
    both = pl.concat([lowered, plain]).unique()
    pieces = both.str.split(" ").explode(empty_as_null=False)
    cut = both.str.extract_all(r"[\p{L}\p{N}\p{M}]+").explode(empty_as_null=False)
    edges = r"^[^\p{L}\p{N}\p{M}_]+|[^\p{L}\p{N}\p{M}_]+$"
    trimmed = pl.concat([cut, pieces, pieces.str.replace_all(edges, "")]).unique()
    known = pl.Series(list(wanted), dtype=pl.String)
    return set(trimmed.filter(trimmed.is_in(known.implode())).to_list())
