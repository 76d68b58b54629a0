"""One request, live: the form of answer the server takes, what it refuses, what it could not do now."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from lake.embedders.endpoint import Endpoint, GaveUpError, Refusal
from lake.models.config import ModelConfig
from lake.models.wire import (
    BAD_ANSWER,
    AnswerForm,
    Completion,
    chat_body,
    is_about_form,
    read_completion,
    weaker,
)
from transforms.errors import EndpointError
from transforms.model_requests import ModelRequest

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI

_BYTES_PER_TOKEN = 64
_ANSWER_SLACK_BYTES = 1_000_000
_HARMLESS = "hello"


@dataclass(frozen=True)
class Outcome:
    """What became of one request.

    Attributes:
        completion: The answer, with its text or its error; None where the server refused the request or
            could not be reached.
        error: Why there is no text, snake_case; None where there is.
        is_final: Whether asking again would end the same way.
        detail: Of what went wrong on the way, for a person; holds no content.
    """

    completion: Completion | None
    error: str | None
    is_final: bool
    detail: str = ""


class Chat:
    """``/v1/chat/completions`` of one endpoint; safe to share between threads."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet; ``sleep``, ``rng`` and ``clock`` serve the retries (see ``Endpoint``)."""
        self.endpoint = Endpoint(config, sleep=sleep, rng=rng, clock=clock)
        self._config = config
        self._form: AnswerForm = config.structured
        self._has_answered = False
        self._checking = Lock()

    @property
    def form(self) -> AnswerForm:
        """The form of answer that is asked for now."""
        return self._form

    @property
    def has_answered(self) -> bool:
        """Whether the server took any request so far."""
        return self._has_answered

    def ask(self, request: ModelRequest) -> Outcome:
        """Put one request.

        Raises:
            EndpointError: Not authorised, no such model, out of quota, or every request is refused.
        """
        form = self._form
        try:
            answer = self._send(request, form)
        except GaveUpError as error:
            return Outcome(None, error.reason, is_final=False, detail=error.message)
        if not isinstance(answer, Refusal):
            return self._read(answer)
        if self.lower(form, answer) or form != self._form:
            return self.ask(request)
        if not self._has_answered:
            self.check(request)
            if form != self._form:
                return self.ask(request)
        return Outcome(None, answer.reason, is_final=True)

    def check(self, request: ModelRequest) -> None:
        """Learn which form of answer the server takes, by a harmless text, before texts are blamed.

        Raises:
            EndpointError: It refuses a harmless text in every form, or cannot be reached.
        """
        with self._checking:
            if self._has_answered:
                return
            probe = replace(request, user=_HARMLESS, source_refs=())
            while isinstance(answer := self._send(probe, self._form), Refusal):
                if not self.lower(self._form, answer):
                    raise EndpointError(
                        f"model endpoint {self._config.endpoint} refuses every request: "
                        f"{answer.reason}: {answer.detail}",
                        "Check model, output_limit, structured, temperature and seed in [model].",
                    )
            self._has_answered = True

    def lower(self, form: AnswerForm, refusal: Refusal) -> bool:
        """Ask for a weaker form from now on, where the refusal is about this one. Whether there is one."""
        return is_about_form(f"{refusal.reason} {refusal.detail}") and self.use_weaker(form)

    def use_weaker(self, form: AnswerForm) -> bool:
        """Ask for a weaker form than this from now on. Whether there is one."""
        below = weaker(form)
        if below is not None and self._form == form:
            self._form = below
        return below is not None

    def close(self) -> None:
        """Close idle connections."""
        self.endpoint.close()

    def _read(self, body: bytes) -> Outcome:
        completion = read_completion(body)
        if completion.error == BAD_ANSWER:
            detail = f"model endpoint {self._config.endpoint} gave no completion ({len(body)} bytes)"
            return Outcome(None, BAD_ANSWER, is_final=False, detail=detail)
        self._has_answered = True
        return Outcome(completion, completion.error, is_final=True)

    def _send(self, request: ModelRequest, form: AnswerForm) -> bytes | Refusal:
        body = chat_body(request, self._config, form)
        limit = request.max_output_tokens * _BYTES_PER_TOKEN + _ANSWER_SLACK_BYTES

        def send(client: OpenAI) -> AbstractContextManager[APIResponse[Any]]:
            return client.chat.completions.with_streaming_response.create(**body)

        return self.endpoint.send(send, limit)
