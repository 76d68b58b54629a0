"""One request, live: the form of answer the server takes, what it refuses, what it could not do now."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from lake.embedders.endpoint import Endpoint, GaveUpError, Refusal, TooLongError
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
            if isinstance(answer, Refusal):
                return self._judge(request, form, answer)
        except GaveUpError as error:
            return Outcome(None, error.reason, is_final=False, detail=error.message)
        except TooLongError as error:  # this one fails alone
            return Outcome(None, "answer_too_long", is_final=True, detail=error.message)
        return self._read(answer)

    def _judge(self, request: ModelRequest, form: AnswerForm, answer: Refusal) -> Outcome:
        """Whether the text is refused or the form of answer; then it is asked again in another."""
        is_about = is_about_form(f"{answer.reason} {answer.detail}")
        if (is_about or not self._has_answered) and self.check(request, form):
            return self.ask(request)
        return Outcome(None, answer.reason, is_final=True)

    def check(self, request: ModelRequest, form: AnswerForm | None = None) -> bool:
        """Learn by a harmless text which form of answer the server takes, before a text is blamed.

        A refusal may quote the text, so what it seems to be about is no proof.

        Args:
            request: Whose schema is tried.
            form: In which a request was refused; None tries only where the server took nothing so far.

        Returns:
            Whether another form is asked for now.

        Raises:
            EndpointError: The server has taken nothing so far and refuses this, too.
            GaveUpError: It cannot be reached.
        """
        with self._checking:
            if form is None and self._has_answered:
                return False
            before = form or self._form
            if before != self._form:
                return True
            probe = replace(request, user=_HARMLESS, source_refs=())
            while isinstance(answer := self._send(probe, self._form), Refusal):
                below = weaker(self._form)
                if below is None or not is_about_form(f"{answer.reason} {answer.detail}"):
                    return self._refused(answer, before)
                self._form = below
            self._has_answered = True
            return self._form != before

    def _refused(self, refusal: Refusal, before: AnswerForm) -> bool:
        """A harmless text was refused for another reason than its form."""
        if self._has_answered:
            return self._form != before
        raise EndpointError(
            f"model endpoint {self._config.endpoint} refuses every request: "
            f"{refusal.reason}: {refusal.detail}",
            "Check model, output_limit, structured, temperature and seed in [model].",
        )

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
