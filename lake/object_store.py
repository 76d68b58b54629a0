"""Bytes in a bucket of an object store."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from tempfile import SpooledTemporaryFile
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from lake import uploads
from lake.entries import Dated, Entry
from lake.faults import is_passing, storage_fault

_RETRIES = 12
_MOST_PAUSE_SECONDS = 5
_RETRY_SECONDS = 60
"""Throttling and short outages pass: with growing, random pauses the repeats take 2 to 15 seconds. A store
that is away for longer ends the run, which can be run again; no night hangs, nor does a wrong address."""
_TRIES = 4
"""Of a whole call: the client library repeats requests, but not where the answer broke off half-way."""
_WHOLE_BYTES = 16 << 20
"""Up to here an object is put in one request: a killed process leaves no half of it in the store."""

_PART_BYTES = 8 << 20

Result = TypeVar("Result")


class S3Storage:
    """A bucket and prefix, through obstore. Credentials come from the environment (AWS_*)."""

    def __init__(self, uri: str) -> None:
        from obstore.store import S3Store

        self.uri = uri.rstrip("/")
        parts = urlsplit(self.uri)
        self._store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            client_options=_client_options(),
            retry_config={
                "max_retries": _RETRIES,
                "retry_timeout": timedelta(seconds=_RETRY_SECONDS),
                "backoff": {"max_backoff": timedelta(seconds=_MOST_PAUSE_SECONDS)},
            },
        )

    def read(self, key: str) -> bytes | None:
        """See ``Storage.read``."""
        held = self.read_dated(key)
        return None if held is None else held.data

    def read_tagged(self, key: str) -> tuple[bytes, str] | None:
        """The object's bytes and its tag, or None where there is none."""
        held = self.read_dated(key)
        return None if held is None else (held.data, held.tag)

    def read_dated(self, key: str) -> Dated | None:
        """The object's bytes, its tag and when the store wrote it, or None where there is none."""

        def ask() -> Dated | None:
            try:
                result = self._store.get(key)
                data = bytes(result.bytes())
            except FileNotFoundError:
                return None
            return Dated(data, str(result.meta["e_tag"]), result.meta["last_modified"])

        return self._tried(f"reading {key}", ask)

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Some bytes of an object.

        Raises:
            FileNotFoundError: There is none.
        """
        return self._tried(
            f"reading {key}",
            lambda: bytes(self._store.get_range(key, start=start, length=length)),
            passed=FileNotFoundError,
        )

    def size(self, key: str) -> int:
        """Bytes of an object.

        Raises:
            FileNotFoundError: There is none.
        """
        head = self._tried(f"reading {key}", lambda: self._store.head(key), passed=FileNotFoundError)
        return int(head["size"])

    def write(self, key: str, data: bytes) -> None:
        """See ``Storage.write``."""
        self._tried(
            f"writing {key}",
            lambda: self._store.put(key, data, use_multipart=len(data) > _WHOLE_BYTES),
        )

    def write_pieces(self, key: str, pieces: Iterator[bytes]) -> None:
        """Put a large object from its pieces, whole or not at all; where they raise, nothing is put.

        They are gathered first, above ``_WHOLE_BYTES`` in a file without a name: what is read from another
        store cannot be asked for from inside a put.
        """
        with SpooledTemporaryFile(max_size=_WHOLE_BYTES) as spool:
            size = sum(spool.write(piece) for piece in pieces)

            def put() -> None:
                spool.seek(0)
                if size <= _WHOLE_BYTES:
                    self._store.put(key, spool.read(), use_multipart=False)
                else:
                    self._store.put(key, cast(Any, spool), use_multipart=True, chunk_size=_PART_BYTES)

            self._tried(f"writing {key}", put)

    def create(self, key: str, data: bytes) -> bool:
        """See ``Storage.create``. The very same bytes count as written here: an answer may be lost."""
        from obstore.exceptions import AlreadyExistsError

        def put() -> bool:
            try:
                self._store.put(key, data, mode="create")
            except AlreadyExistsError:
                return self.read(key) == data
            return True

        return self._tried(f"creating {key}", put)

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """Put only where the tag is still the one read; False where it is not. As ``create``."""
        from obstore.exceptions import PreconditionError

        def put() -> bool:
            try:
                self._store.put(key, data, mode={"e_tag": tag})
            except (PreconditionError, FileNotFoundError):
                return self.read(key) == data
            return True

        return self._tried(f"replacing {key}", put)

    def copy(self, source: str, target: str) -> None:
        """Put an object under another key, without its bytes coming here."""
        self._tried(f"copying {source}", lambda: self._store.copy(source, target))

    def entries(self, prefix: str) -> list[Entry]:
        """See ``Storage.entries``."""

        def ask() -> list[Any]:
            return [meta for page in self._store.list(prefix) for meta in page]

        rows = self._tried(f"listing {prefix}".rstrip(), ask)
        found = [Entry(m["path"], m["size"], str(m["e_tag"] or m["last_modified"])) for m in rows]
        return sorted(found, key=lambda e: e.key)

    def names(self) -> list[str]:
        """First parts of all keys below the root."""
        found: Any = self._tried("listing", self._store.list_with_delimiter)
        return [*found["common_prefixes"], *(m["path"] for m in found["objects"])]

    def delete(self, key: str) -> None:
        """See ``Storage.delete``."""

        def remove() -> None:
            try:
                self._store.delete(key)
            except FileNotFoundError:
                return

        self._tried(f"deleting {key}", remove)

    def sweep(self, prefix: str, older_than_seconds: float) -> int:
        """See ``Storage.sweep``: an object is whole or is not, but an upload in parts may be neither."""
        latest = datetime.now(UTC) - timedelta(seconds=older_than_seconds)
        found = [one for one in uploads.pending(self.uri, prefix) or [] if one.begun_at <= latest]
        for one in found:
            uploads.abort(self.uri, one)
        return len(found)

    def half_written(self, prefix: str) -> int | None:
        """Uploads below a prefix that were begun and not ended; None where the store cannot be asked."""
        found = uploads.pending(self.uri, prefix)
        return None if found is None else len(found)

    def _tried(
        self, where: str, call: Callable[[], Result], passed: type[OSError] | tuple[()] = ()
    ) -> Result:
        """Call the store, again where it failed in passing: every call here may be made twice."""
        from obstore.exceptions import BaseError

        deadline = time.monotonic() + _RETRY_SECONDS
        turn = 1
        while True:
            try:
                return call()
            except passed:
                raise
            except (BaseError, OSError) as error:
                if turn == _TRIES or time.monotonic() >= deadline or not is_passing(error):
                    raise storage_fault(error, f"{self.uri}: {where}") from error
            time.sleep(random.uniform(0, 0.1 * 2**turn))  # noqa: S311 a pause is no secret
            turn += 1


def _client_options() -> dict[str, Any]:
    """Plain HTTP only where the environment asks for it, as the table libraries do."""
    allowed = os.environ.get("AWS_ALLOW_HTTP", "").lower() in {"1", "true", "yes"}
    return {"allow_http": allowed, "timeout": "30s", "connect_timeout": "5s"}
