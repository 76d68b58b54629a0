"""Files and batches of an OpenAI-compatible endpoint, with the retries and errors of ``Endpoint``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from lake.embedders.endpoint import Endpoint, GaveUpError, NotFoundError, Refusal
from lake.models.config import ModelConfig
from transforms.errors import EndpointError

if TYPE_CHECKING:
    from openai import APIResponse, Omit, OpenAI

    Request = Callable[[OpenAI], AbstractContextManager[APIResponse[Any]]]

CHAT_URL: Final = "/v1/chat/completions"
MARK = "slowwave_batch"
"""Name of the metadata by which a batch is found again."""
_ANSWER_BYTES = 20_000_000
_PAGE = 100
_MOST_PAGES = 200
_REMEDY = "Check that it speaks the Batch API, or set mode = 'live' in [model]."

Json = Mapping[str, Any]


class BatchApi:
    """What the Batch API does for us."""

    def __init__(self, endpoint: Endpoint, config: ModelConfig) -> None:
        self._endpoint = endpoint
        self._config = config

    def upload(self, name: str, content: bytes) -> str:
        """Upload the requests of a batch, in one attempt: a second could leave a file. Returns its id.

        Raises:
            GaveUpError: It is unknown whether there is a file now; look with ``files_named``.
            EndpointError: It was refused.
        """

        def send(client: OpenAI) -> AbstractContextManager[APIResponse[Any]]:
            file = (name, content, "application/jsonl")
            return client.files.with_streaming_response.create(file=file, purpose="batch")

        return str(self._asked(send, "an upload", max_attempts=1)["id"])

    def create(self, file_id: str, key: str) -> str:
        """Start a batch, in one attempt: a second could make a second batch. Returns its id.

        Raises:
            GaveUpError: It is unknown whether there is a batch now; look with ``find``.
            EndpointError: It was refused.
        """
        window: Any = self._config.batch_window  # the client's types know one window, servers know more

        def send(client: OpenAI) -> AbstractContextManager[APIResponse[Any]]:
            return client.batches.with_streaming_response.create(
                input_file_id=file_id,
                endpoint=CHAT_URL,
                completion_window=window,
                metadata={MARK: key},
            )

        return str(self._asked(send, "a batch", max_attempts=1)["id"])

    def find(self, key: str) -> str | None:
        """Id of the batch that was started under a key."""

        def listed(after: str | Omit) -> Request:
            return lambda client: client.batches.with_streaming_response.list(limit=_PAGE, after=after)

        mine = (b for b in self._pages(listed) if (b.get("metadata") or {}).get(MARK) == key)
        return next((str(batch["id"]) for batch in mine), None)

    def look(self, batch_id: str) -> Json | None:
        """The batch as it stands; None where the endpoint does not know it."""
        try:
            return self._asked(
                lambda client: client.batches.with_streaming_response.retrieve(batch_id), "a batch"
            )
        except NotFoundError:
            return None

    def content(self, file_id: str, max_bytes: int) -> bytes:
        """The bytes of a file."""

        def send(client: OpenAI) -> AbstractContextManager[APIResponse[Any]]:
            opened: Any = client.files.with_streaming_response.content(file_id)
            return opened  # type: ignore[no-any-return]

        answer = self._endpoint.send(send, max_bytes)
        if isinstance(answer, Refusal):
            raise self._error(f"refuses a file: {answer.reason}")
        return answer

    def files_named(self, name: str) -> list[str]:
        """Ids of our files of a name."""

        def listed(after: str | Omit) -> Request:
            return lambda client: client.files.with_streaming_response.list(
                purpose="batch", limit=_PAGE, after=after
            )

        return [str(file["id"]) for file in self._pages(listed) if file.get("filename") == name]

    def delete(self, file_id: str) -> bool:
        """Delete a file; what the requests of people stand in is not left there. Whether that is done."""
        try:
            self._asked(lambda client: client.files.with_streaming_response.delete(file_id), "a deletion")
        except NotFoundError:
            return True
        except EndpointError:
            return False
        return True

    def _pages(self, list_after: Callable[[str | Omit], Request]) -> Iterator[Json]:
        """Entries of a list, page by page."""
        from openai import omit

        after: str | Omit = omit
        for _ in range(_MOST_PAGES):
            page = self._asked(list_after(after), "a list")
            rows = [row for row in page.get("data") or [] if isinstance(row, Mapping) and row.get("id")]
            yield from rows
            if not rows or page.get("has_more") is not True:
                return
            after = str(rows[-1]["id"])
        raise self._error(f"lists more than {_MOST_PAGES} pages")  # rather than say that there is none

    def _asked(self, send: Request, what: str, max_attempts: int | None = None) -> Json:
        """The answer as an object."""
        answer = self._endpoint.send(send, _ANSWER_BYTES, max_attempts=max_attempts)
        if isinstance(answer, Refusal):  # its words may quote what was uploaded
            raise self._error(f"refuses {what}: {answer.reason}")
        try:
            parsed = json.loads(answer)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict) or not (parsed.get("id") or "data" in parsed):
            what = f"gave no answer to {what} ({len(answer)} bytes)"
            raise GaveUpError(f"model endpoint {self._config.endpoint} {what}", _REMEDY, "bad_answer")
        return parsed

    def _error(self, what: str) -> EndpointError:
        return EndpointError(f"model endpoint {self._config.endpoint} {what}", _REMEDY)
