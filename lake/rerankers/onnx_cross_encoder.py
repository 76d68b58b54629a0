"""A cross-encoder on disk: query and memory are read together by an ONNX model, on the CPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lake.onnx_files import OnnxModel, onnx_files
from lake.rerankers.config import RerankerConfig
from lake.rerankers.guard import Guard
from lake.rerankers.protocol import Reranked, RerankFailedError, Scores
from transforms.errors import ConfigError


class OnnxReranker:
    """See ``protocol.Reranker``.

    Args:
        config: Section ``[reranker]``.
        clock: Seconds; for tests.

    Raises:
        ConfigError: The files are not there.
    """

    def __init__(self, config: RerankerConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._guard = Guard(config, clock)
        self._model = OnnxModel(
            onnx_files(config.folder, config.package, config.file),
            window_tokens=config.window_tokens,
            threads=config.threads,
            batch_texts=config.batch_texts,
        )

    @property
    def counts(self) -> Mapping[str, int]:
        """Calls so far, by outcome."""
        return self._guard.counts

    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        """Scores of the texts."""
        return self._guard.run(lambda: self._scores(query, texts))

    def _scores(self, query: str, texts: Sequence[str]) -> Scores:
        """float64 (texts,).

        Raises:
            RerankFailedError: Out of time, or the model gives no score.
        """
        most = self._config.max_text_chars
        scores = np.zeros(len(texts))
        try:
            output = self._model.outputs()[0][0]
            deadline = self._clock() + self._config.timeout_seconds  # loading, once, is not counted
            encoded = self._model.encode([(query[:most], text[:most]) for text in texts])
            for batch in self._model.batches(encoded, range(len(texts))):
                if self._clock() > deadline:
                    raise RerankFailedError("time_out")
                logits, _ = self._model.run([encoded[i] for i in batch], output)
                scores[batch] = _score(logits)
        except ConfigError as error:
            raise RerankFailedError("model_does_not_run") from error
        if not np.isfinite(scores).all():
            raise RerankFailedError("not_finite")
        return scores


def _score(logits: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Scores:
    """One number a pair: the only logit, or how much more likely the second class (relevant) is.

    Raises:
        RerankFailedError: The model was not made for this.
    """
    if logits.ndim == 1:
        return logits.astype(np.float64)
    if logits.ndim != 2 or logits.shape[1] not in (1, 2):
        raise RerankFailedError("no_cross_encoder")
    wide = logits.astype(np.float64)
    return wide[:, 0] if wide.shape[1] == 1 else wide[:, 1] - wide[:, 0]
