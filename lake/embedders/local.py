"""The default embedder: wordllama's static vectors, read from its package; offline, the same on every run.

The package is not imported (it would set up the root logger): its tokenizer and weights are read, and
the mean of the token vectors is taken here. That equals ``wordllama.embed(norm=True)`` to 1e-6, is 1.7
times as fast, and makes the vector of a text independent of its batch, to the bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from lake.embedders.config import LOCAL_DIMENSIONS
from lake.embedders.protocol import NO_TOKENS, Embedded, Vectors, normalised, well_formed
from lake.package_data import package_file
from transforms.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "wordllama-l2_supercat_256"
TEXT_FORM = "v1"
"""Counts up when tokenising, pooling or normalising changes."""

_WEIGHTS = ("weights", "l2_supercat_256.safetensors")
_TOKENIZER = ("tokenizers", "l2_supercat_tokenizer_config.json")
# Tokenizer output is some 100 bytes a token beside the text: portions bound it.
_PORTION_TEXTS = 512
_PORTION_CHARS = 1_000_000
# A token row is 1 KB: long texts are summed 16 MB at a time.
_POOL_TOKENS = 16_384
_LOADING = Lock()


class LocalEmbedder:
    """Mean of static token vectors, cut to the first ``dimensions`` (the model is trained for that)."""

    def __init__(self, dimensions: int = LOCAL_DIMENSIONS[0]) -> None:
        """Load nothing yet.

        Raises:
            ConfigError: Not a length the model is trained for.
        """
        if dimensions not in LOCAL_DIMENSIONS:
            raise ConfigError(
                f"the local embedder has no vectors of length {dimensions}", f"Use one of {LOCAL_DIMENSIONS}."
            )
        self._dimensions = dimensions

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    @cached_property
    def model_key(self) -> str:
        """Model, 8 hex digits over weights and tokenizer, dimensions, text form.

        Raises:
            ConfigError: The weights are not installed.
        """
        return f"{NAME}@{_revision()}/{self._dimensions}/{TEXT_FORM}"

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed the texts. Blank ones are refused as ``no_tokens``; no length is too long.

        Raises:
            ConfigError: The weights are not installed.
        """
        with _LOADING:
            tokenizer, table = _load()
        sums = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        tokens, row = 0, 0
        for portion in _portions(texts):
            for encoded in tokenizer.encode_batch_fast(portion, add_special_tokens=False):
                ids = encoded.ids
                tokens += len(ids)
                sums[row] = _pooled(table, ids)[: self._dimensions]
                row += 1
        vectors, refused = normalised(sums)
        blank = {i: NO_TOKENS for i, text in enumerate(texts) if not text.strip()}
        vectors[list(blank)] = 0
        return Embedded(vectors, dict(sorted((refused | blank).items())), tokens)


def _pooled(table: Vectors, ids: Sequence[int]) -> Vectors:
    """Sum of the token rows, one after the other: normalising makes of it what it makes of the mean."""
    total: Vectors = np.add.reduce(table.take(ids[:_POOL_TOKENS], axis=0), axis=0)
    for start in range(_POOL_TOKENS, len(ids), _POOL_TOKENS):
        total = total + np.add.reduce(table.take(ids[start : start + _POOL_TOKENS], axis=0), axis=0)
    return total


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    portion: list[str] = []
    chars = 0
    for text in texts:
        if portion and (len(portion) == _PORTION_TEXTS or chars + len(text) > _PORTION_CHARS):
            yield portion
            portion, chars = [], 0
        portion.append(well_formed(text))
        chars += len(text)
    if portion:
        yield portion


@cache
def _revision() -> str:
    digest = hashlib.sha256()
    for parts in (_WEIGHTS, _TOKENIZER):
        digest.update(hashlib.sha256(package_file("wordllama", *parts).read_bytes()).digest())
    return digest.hexdigest()[:8]


@cache
def _load() -> tuple[Tokenizer, Vectors]:
    """Tokenizer and float32 (tokens, 256): about 0.1 s and 35 MB, once a process."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(package_file("wordllama", *_TOKENIZER)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "<s>" in a text is text
    weights = load_file(package_file("wordllama", *_WEIGHTS))
    return tokenizer, np.ascontiguousarray(weights["embedding.weight"], dtype=np.float32)
