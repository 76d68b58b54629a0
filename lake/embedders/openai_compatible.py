"""Embeddings from any endpoint that speaks OpenAI's ``/v1/embeddings``."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from lake.embedders.answer import read_answer
from lake.embedders.config import EmbedderConfig
from lake.embedders.endpoint import Endpoint, Refusal
from lake.embedders.protocol import NO_TOKENS, Embedded, Vectors, normalised, well_formed
from lake.tokens import EncodingName, count_tokens, truncate_tokens
from transforms.errors import ConfigError, EndpointError

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI

TEXT_FORM = "v1"
"""Counts up when cutting or normalising changes."""

_ENCODING: EncodingName = "cl100k_base"
"""What OpenAI's embedding models count with; an estimate for others."""
_PROBE = "hello"
_BYTES_PER_NUMBER = 32
_ANSWER_SLACK_BYTES = 1_000_000


@dataclass(frozen=True)
class _Part:
    """Result of some texts: raw float32 (texts, dimensions), reasons by position, tokens."""

    raw: Vectors
    refused: dict[int, str]
    tokens: int


class OpenAIEmbedder:
    """Token-aware batches, sent by a few threads; a refused text is found by halving and fails alone."""

    def __init__(
        self,
        config: EmbedderConfig,
        *,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet; ``sleep``, ``rng`` and ``clock`` serve the retries (see ``Endpoint``).

        Raises:
            ConfigError: The configuration is that of another provider.
        """
        if config.provider != "openai" or config.dimensions is None:
            raise ConfigError("the configured embedder is not an endpoint", "Set provider = 'openai'.")
        self._config = config
        self._dimensions = config.dimensions
        self._endpoint = Endpoint(config, sleep=sleep, rng=rng, clock=clock)
        self._has_answered = False
        self._probing = Lock()

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    @property
    def model_key(self) -> str:
        """Model, revision (or the endpoint's address), dimensions, text form with the tokens it is cut at."""
        config = self._config
        where = config.revision or config.endpoint
        return f"{config.model}@{where}/{self._dimensions}/{TEXT_FORM}-{config.max_input_tokens}"

    @property
    def input_price(self) -> float:
        """See ``protocol.Priced``."""
        return self._config.input_price

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed the texts. Blank ones are refused as ``no_tokens``, unsent; too long ones are cut by token.

        Raises:
            EndpointError: The endpoint is unreachable, refuses the call itself, or answers something else.
        """
        prepared = [well_formed(text) for text in texts]
        counts = count_tokens(prepared, _ENCODING)
        limit = self._config.max_input_tokens
        truncated = tuple(i for i, count in enumerate(counts) if count > limit)
        for i in truncated:
            prepared[i], counts[i] = truncate_tokens(prepared[i], limit, _ENCODING), limit
        refused = {i: NO_TOKENS for i, text in enumerate(prepared) if not text.strip()}
        batches = list(self._batches([i for i in range(len(prepared)) if i not in refused], counts))
        raw = np.zeros((len(prepared), self._dimensions), dtype=np.float32)
        tokens = 0
        for batch, part in self._parts(batches, prepared, counts):
            raw[batch] = part.raw
            refused |= {batch[i]: reason for i, reason in part.refused.items()}
            tokens += part.tokens
        vectors, bad = normalised(raw)
        return Embedded(vectors, dict(sorted((bad | refused).items())), tokens, truncated)

    def close(self) -> None:
        """Close idle connections."""
        self._endpoint.close()

    def _batches(self, indexes: Sequence[int], counts: Sequence[int]) -> Iterator[list[int]]:
        """Indexes in order, in runs within the tokens and texts of one request."""
        batch: list[int] = []
        tokens = 0
        for i in indexes:
            is_over = tokens + counts[i] > self._config.max_batch_tokens
            if batch and (is_over or len(batch) == self._config.max_inputs):
                yield batch
                batch, tokens = [], 0
            batch.append(i)
            tokens += counts[i]
        if batch:
            yield batch

    def _parts(
        self, batches: list[list[int]], texts: Sequence[str], counts: Sequence[int]
    ) -> Iterator[tuple[list[int], _Part]]:
        """Each batch with its result, as they come; the first error stops the others."""
        stop = Event()
        with ThreadPoolExecutor(self._config.concurrency, "embed") as pool:
            running = {
                pool.submit(self._solve, [texts[i] for i in batch], [counts[i] for i in batch], stop): batch
                for batch in batches
            }
            try:
                for done in as_completed(running):
                    yield running[done], done.result()
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)

    def _solve(self, texts: list[str], counts: list[int], stop: Event) -> _Part:
        """Result of one batch; when it is refused, of its halves, down to the single text."""
        if stop.is_set():
            raise EndpointError("stopped after the failure of another batch")
        outcome = self._endpoint.send(self._request(texts), self._max_answer_bytes(texts))
        if not isinstance(outcome, Refusal):
            answer = read_answer(outcome, len(texts), self._dimensions, self._config.endpoint)
            self._has_answered = True
            return _Part(answer.raw, {}, sum(counts) if answer.tokens is None else answer.tokens)
        self._check_endpoint_takes_anything()
        if len(texts) == 1:
            return _Part(np.zeros((1, self._dimensions), np.float32), {0: outcome.reason}, 0)
        half = len(texts) // 2
        left = self._solve(texts[:half], counts[:half], stop)
        right = self._solve(texts[half:], counts[half:], stop)
        refused = left.refused | {half + i: reason for i, reason in right.refused.items()}
        return _Part(np.concatenate([left.raw, right.raw]), refused, left.tokens + right.tokens)

    def _check_endpoint_takes_anything(self) -> None:
        """Before texts are blamed: a wrong parameter is refused too, for every text of the lake.

        Raises:
            EndpointError: It has answered nothing so far, and refuses a harmless word.
        """
        with self._probing:
            if self._has_answered:
                return
            outcome = self._endpoint.send(self._request([_PROBE]), self._max_answer_bytes([_PROBE]))
            if isinstance(outcome, Refusal):
                raise EndpointError(
                    f"model endpoint {self._config.endpoint} refuses every input: "
                    f"{outcome.reason}: {outcome.detail}",
                    "Check model, dimensions and send_dimensions.",
                )
            self._has_answered = True

    def _max_answer_bytes(self, texts: Sequence[str]) -> int:
        return len(texts) * self._dimensions * _BYTES_PER_NUMBER + _ANSWER_SLACK_BYTES

    def _request(self, texts: list[str]) -> Callable[[OpenAI], AbstractContextManager[APIResponse[Any]]]:
        def request(client: OpenAI) -> AbstractContextManager[APIResponse[Any]]:
            from openai import omit

            return client.embeddings.with_streaming_response.create(
                model=self._config.model,
                input=texts,
                # As the official client asks by default; a quarter of the bytes, and servers that know only
                # lists of numbers answer with these.
                encoding_format="base64",
                dimensions=self._dimensions if self._config.send_dimensions else omit,
            )

        return request
