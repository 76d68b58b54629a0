"""Requests to an OpenAI-compatible endpoint: attempts, pauses, and errors that hold no content and no key."""

from __future__ import annotations

import math
import random
import re
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from transforms.errors import EndpointError

if TYPE_CHECKING:
    from openai import APIResponse, APIStatusError, OpenAI
    from pydantic import SecretStr

    Request = Callable[[OpenAI], AbstractContextManager[APIResponse[Any]]]

_REFUSES_INPUT = frozenset({400, 413, 422})
_PASSES = frozenset({408, 409, 425, 429})
_CODE = re.compile(r"[A-Za-z][\w.-]{0,63}")
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 60.0
_DETAIL_CHARS = 200


class EndpointConfig(Protocol):
    """What is configured of any endpoint; ``EmbedderConfig`` says more of each."""

    @property
    def base_url(self) -> str:
        """Root of the API."""

    @property
    def api_key(self) -> SecretStr | None:
        """Sent as a bearer token."""

    @property
    def timeout_seconds(self) -> float:
        """Time of one attempt."""

    @property
    def max_attempts(self) -> int:
        """Attempts of one request."""

    @property
    def max_total_seconds(self) -> float:
        """Time of one request with all its attempts."""

    @property
    def endpoint(self) -> str:
        """What may be shown of ``base_url``."""


class GaveUpError(EndpointError):
    """Out of attempts or time: another run may fare better.

    Attributes:
        reason: Of the last attempt, snake_case: ``time_out``, ``no_connection`` or ``http_503``, say.
    """

    def __init__(self, message: str, remedy: str, reason: str) -> None:
        super().__init__(message, remedy)
        self.reason = reason


class TooLongError(EndpointError):
    """An answer went on past all measure, and was cut off."""


class NotFoundError(EndpointError):
    """The endpoint does not know what was asked for: a model, a path, a batch, a file."""


@dataclass(frozen=True)
class Refusal:
    """The endpoint answered that it does not take this input.

    Attributes:
        reason: Status and the server's code, such as ``http_400:content_filter``; holds no content.
        detail: The server's message, which may quote the input: show it only where the input was ours.
    """

    reason: str
    detail: str


@dataclass(frozen=True)
class _Failure:
    """An attempt that another may mend."""

    what: str
    reason: str
    retry_after_seconds: float | None = None


class Endpoint:
    """One configured endpoint; safe to share between threads."""

    def __init__(
        self,
        config: EndpointConfig,
        *,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet; ``sleep``, ``rng`` (jitter) and ``clock`` (seconds) are for tests."""
        self._config = config
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries, protects nothing
        self._clock = clock
        self._closed_until = -math.inf
        self._client: OpenAI | None = None
        self._connecting = Lock()

    def send(
        self, request: Request, max_answer_bytes: int, *, max_attempts: int | None = None
    ) -> bytes | Refusal:
        """The body of the answer, or the refusal of the input (400, 413, 422).

        Time-outs, lost connections, 408, 409, 425, 429 and 5xx are tried again: exponential backoff with full
        jitter, or what Retry-After says, within the configured attempts and total time.

        Args:
            request: Opens a streamed response, as ``client.x.with_streaming_response.create`` does.
            max_answer_bytes: A longer answer is an error.
            max_attempts: Instead of the configured ones; 1 for what must not happen twice.

        Raises:
            GaveUpError: Out of attempts or time.
            EndpointError: Not authorised, not found, or not such an API.
        """
        deadline = self._clock() + self._config.max_total_seconds
        attempt = 1
        self._await_turn(deadline)
        while isinstance(outcome := self._attempt(request, max_answer_bytes, deadline), _Failure):
            pause = self._pause_seconds(attempt, outcome)
            if outcome.retry_after_seconds is not None:
                self._closed_until = max(self._closed_until, self._clock() + outcome.retry_after_seconds)
            is_last = attempt >= (max_attempts or self._config.max_attempts)
            if is_last or self._clock() + pause > deadline:
                wait = outcome.retry_after_seconds
                asked = "" if wait is None else f"; it asks to wait {wait:.0f} s"
                raise GaveUpError(
                    f"{self._place}: gave up at attempt {attempt}: {outcome.what}{asked}",
                    "Check that base_url is reachable from here, or run again later.",
                    outcome.reason,
                )
            self._sleep(pause)
            attempt += 1
        return outcome

    def _await_turn(self, deadline: float) -> None:
        """Pause as long as the endpoint asked any request to wait: all count against one limit."""
        pause = self._closed_until - self._clock()
        if self._clock() + pause > deadline:
            raise GaveUpError(
                f"{self._place}: it asks to wait {pause:.0f} s", "Run again later.", "asks_to_wait"
            )
        if pause > 0:
            self._sleep(pause + self._rng.uniform(0, _FIRST_PAUSE_SECONDS))

    def _pause_seconds(self, attempt: int, failure: _Failure) -> float:
        if failure.retry_after_seconds is not None:
            return failure.retry_after_seconds + self._rng.uniform(0, _FIRST_PAUSE_SECONDS)
        longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        return self._rng.uniform(0, longest)

    def _attempt(
        self, request: Request, max_answer_bytes: int, deadline: float
    ) -> bytes | Refusal | _Failure:
        import httpx2  # what openai itself speaks HTTP with
        import openai

        try:
            with request(self._connected()) as response:
                return self._read(response, max_answer_bytes, deadline)
        except openai.APIStatusError as error:
            refused = error
        except (openai.APITimeoutError, httpx2.TimeoutException):
            return _Failure("time-out", "time_out")
        except (openai.APIConnectionError, httpx2.RequestError):
            return _Failure("no connection, or it was lost", "no_connection")
        # Judged outside of the handler: a chained library error would show the server's words and our key.
        return self._judge(refused)

    def _read(self, response: APIResponse[Any], max_answer_bytes: int, deadline: float) -> bytes | _Failure:
        body = bytearray()
        for part in response.iter_bytes():
            body += part
            if len(body) > max_answer_bytes:
                raise TooLongError(
                    f"{self._place}: the answer is longer than {max_answer_bytes} bytes",
                    "Check base_url, model and dimensions.",
                )
            if self._clock() > deadline:
                return _Failure("the answer did not end in time", "time_out")
        return bytes(body)

    def _judge(self, error: APIStatusError) -> Refusal | _Failure:
        status, code = error.status_code, _server_code(error)
        if status in _REFUSES_INPUT:
            return Refusal(f"http_{status}{code and ':'}{code}", self._scrubbed(error.message))
        what = f"HTTP {status} {code}".rstrip()
        if code == "insufficient_quota":
            raise self._error(what, "Raise the quota of the account at the endpoint.")
        if status in _PASSES or status >= 500:
            return _Failure(what, f"http_{status}", _retry_after_seconds(error.response.headers))
        if status in {401, 403}:
            raise self._error(what, "Check api_key, and that it may use this model.")
        if status == 404:
            raise NotFoundError(
                f"{self._place}: {what}", "Check model, and base_url: it usually ends in /v1."
            )
        raise self._error(what, "Check base_url and model.")

    def _scrubbed(self, message: str) -> str:
        key = self._config.api_key.get_secret_value() if self._config.api_key else ""
        shown = message.replace(key, "[key]") if key else message
        return "".join(c if c.isprintable() else " " for c in shown)[:_DETAIL_CHARS]

    def _error(self, what: str, remedy: str) -> EndpointError:
        return EndpointError(f"{self._place}: {what}", remedy)

    @property
    def _place(self) -> str:
        return f"model endpoint {self._config.endpoint}"

    def _connected(self) -> OpenAI:
        with self._connecting:
            if self._client is None:
                from openai import OpenAI

                key = self._config.api_key.get_secret_value() if self._config.api_key else ""
                self._client = OpenAI(
                    base_url=self._config.base_url,
                    # Without one the client would send OPENAI_API_KEY, to whatever endpoint this is.
                    api_key=key or "none",
                    timeout=self._config.timeout_seconds,
                    max_retries=0,
                )
                # Whoever lets go of an endpoint without a close leaves no connection open.
                weakref.finalize(self, self._client.close).atexit = False
            return self._client

    def close(self) -> None:
        """Close idle connections; the endpoint can be used again."""
        with self._connecting:
            if self._client is not None:
                self._client.close()
                self._client = None


def _server_code(error: APIStatusError) -> str:
    """The server's own name of the error, where it looks like a name; '' otherwise."""
    for name in (error.code, error.type):
        if isinstance(name, str) and _CODE.fullmatch(name):
            return name
    return ""


def _retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """What Retry-After asks for: seconds, or a date, which is read against the server's own clock."""
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(header, "")) * unit
        except ValueError:
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        return max((until - parsedate_to_datetime(headers["date"])).total_seconds(), 0.0)
    except (KeyError, ValueError, TypeError):  # TypeError: one of them without a zone
        return None
