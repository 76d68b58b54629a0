"""A reranker behind an endpoint: one attempt, a hard limit of time, a budget an hour."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from lake.embedders.endpoint import Endpoint, GaveUpError, NotFoundError, Refusal, TooLongError
from lake.embedders.protocol import well_formed
from lake.rerankers.config import RerankerConfig
from lake.rerankers.guard import Guard
from lake.rerankers.protocol import Reranked, RerankFailedError, Scores
from lake.rerankers.wire import chat_request, read_chat, read_rerank, rerank_body
from transforms.errors import EndpointError

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI

    from lake.models.chat import Chat

OVER_BUDGET = "over_budget"
"""Not asked: the hour's tokens are used up."""
_HOUR_SECONDS = 3_600.0
_MOST_ANSWER_BYTES = 4_000_000
"""Some servers send the texts back."""


class EndpointReranker:
    """See ``protocol.Reranker``.

    Args:
        config: Section ``[reranker]``.
        clock: Seconds; for tests.
    """

    def __init__(self, config: RerankerConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._guard = Guard(config, clock)
        self._endpoint = Endpoint(config)
        self._chat = self._made_chat() if config.form == "chat" else None
        self._pool = ThreadPoolExecutor(config.concurrency, thread_name_prefix="slowwave-rerank")
        self._lock = Lock()
        self._hour_ends = -1.0
        self._sent_tokens = 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Calls so far, by outcome."""
        return self._guard.counts

    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        """Scores of the texts."""
        most = self._config.max_text_chars
        asked, cut = well_formed(query[:most]), [well_formed(text[:most]) for text in texts]
        if not self._affords(asked, cut):
            return self._guard.withheld(OVER_BUDGET)
        return self._guard.run(lambda: self._in_time(asked, cut))

    def close(self) -> None:
        """Close idle connections and let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._endpoint.close()
        if self._chat is not None:
            self._chat.close()

    def _affords(self, query: str, texts: Sequence[str]) -> bool:
        """Whether the tokens of a call fit what is left of the hour; then they are taken from it."""
        budget = self._config.budget_tokens
        if budget is None:
            return True
        from lake.tokens import count_tokens

        tokens = sum(count_tokens([query, *texts], "o200k_base"))
        with self._lock:
            if self._clock() >= self._hour_ends:
                self._hour_ends, self._sent_tokens = self._clock() + _HOUR_SECONDS, 0
            if self._sent_tokens + tokens > budget:
                return False
            self._sent_tokens += tokens
            return True

    def _in_time(self, query: str, texts: Sequence[str]) -> Scores:
        """The client bounds each of its steps; here all of them together are.

        Raises:
            RerankFailedError: No answer in time, or none that can be read.
        """
        import openai  # noqa: F401 - takes a second the first time, which is no fault of the endpoint

        pending = self._pool.submit(self._ask, query, texts)
        try:
            return pending.result(self._config.timeout_seconds)
        except TimeoutError:
            pending.cancel()
            raise RerankFailedError("time_out") from None

    def _ask(self, query: str, texts: Sequence[str]) -> Scores:
        """Scores of the texts.

        Raises:
            RerankFailedError: The endpoint refuses, or does not answer what was asked.
        """
        try:
            if self._chat is not None:
                return self._rated(self._chat, query, texts)
            answer = self._endpoint.send(self._request(query, texts), _MOST_ANSWER_BYTES, max_attempts=1)
        except GaveUpError as error:
            reason = error.reason
        except NotFoundError:
            reason = "not_found"
        except TooLongError:
            reason = "answer_too_long"
        except EndpointError:
            reason = "refused"
        else:
            if not isinstance(answer, Refusal):
                return read_rerank(answer, len(texts))
            reason = answer.reason
        raise RerankFailedError(reason)

    def _rated(self, chat: Chat, query: str, texts: Sequence[str]) -> Scores:
        outcome = chat.ask(chat_request(query, texts))
        if outcome.completion is None or outcome.error is not None:
            raise RerankFailedError(outcome.error or "no_answer")
        return read_chat(outcome.completion.text, len(texts))

    def _made_chat(self) -> Chat:
        from lake.models.chat import Chat
        from lake.models.config import ModelConfig

        config = self._config
        return Chat(
            ModelConfig(
                base_url=config.base_url,
                api_key=config.api_key,
                model=config.model,
                timeout_seconds=config.timeout_seconds,
                max_total_seconds=config.timeout_seconds,
                max_attempts=1,
            )
        )

    def _request(self, query: str, texts: Sequence[str]) -> Any:
        body = rerank_body(self._config, query, texts)

        @contextmanager
        def request(client: OpenAI) -> Iterator[APIResponse[Any]]:
            # What the client's own streamed calls send: it has none for this path.
            headers = {"X-Stainless-Raw-Response": "stream"}
            response: Any = client.post("/rerank", cast_to=object, body=body, options={"headers": headers})
            try:
                yield response
            finally:
                response.close()

        return request
