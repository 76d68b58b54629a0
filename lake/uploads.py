"""Uploads in parts that were begun and never ended: a store keeps their parts, and lists them nowhere else.

A process killed while it writes a large file leaves one. It holds rows, so sweeping and erasing have to
reach it, and the client library does not list uploads: the two requests that do are signed here
(AWS Signature Version 4), with the keys of the environment. Where those are not in the environment, as with
roles of machines, nobody can tell; let the bucket expire such uploads (``docs/object-store.md``).
"""

from __future__ import annotations

import hashlib
import hmac
import html
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote, urlsplit

from transforms.errors import StorageError

_EMPTY = hashlib.sha256(b"").hexdigest()
_TIMEOUT_SECONDS = 30
_TRIES = 4
_UPLOAD = re.compile(r"<Upload>(.*?)</Upload>", re.DOTALL)
_MOST_PAGES = 1_000
_NOT_OFFERED = {404, 405, 501}
"""What stores answer that do not know such uploads at all, or not this one any more."""


@dataclass(frozen=True)
class Upload:
    """One that was begun: its key in the bucket, its id, and when."""

    key: str
    upload_id: str
    begun_at: datetime


@dataclass(frozen=True)
class Account:
    """Where a bucket is asked, and as whom. Its keys are shown nowhere."""

    bucket: str
    environment: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Account({self.bucket!r})"

    @property
    def is_known(self) -> bool:
        """Whether requests can be signed."""
        return bool(self._get("AWS_ACCESS_KEY_ID") and self._get("AWS_SECRET_ACCESS_KEY"))

    def _get(self, *names: str) -> str:
        return next((self.environment[name] for name in names if self.environment.get(name)), "")

    def address(self) -> tuple[str, str, str]:
        """Scheme, host and path of the bucket."""
        endpoint = self._get("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
        if endpoint:
            parts = urlsplit(endpoint)
            return parts.scheme, parts.netloc, f"{parts.path.rstrip('/')}/{self.bucket}"
        return "https", f"{self.bucket}.s3.{self.region}.amazonaws.com", "/"

    @property
    def region(self) -> str:
        """Of the signature."""
        return self._get("AWS_REGION", "AWS_DEFAULT_REGION") or "us-east-1"

    def headers(self, method: str, host: str, path: str, query: str, now: datetime) -> dict[str, str]:
        """Headers of a request without a body, its signature among them."""
        stamp = f"{now:%Y%m%dT%H%M%SZ}"
        told = {"host": host, "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
        token = self._get("AWS_SESSION_TOKEN")
        if token:
            told["x-amz-security-token"] = token
        names = ";".join(sorted(told))
        lines = "".join(f"{name}:{told[name]}\n" for name in sorted(told))
        request = "\n".join([method, path, query, lines, names, _EMPTY])
        scope = f"{stamp[:8]}/{self.region}/s3/aws4_request"
        hashed = hashlib.sha256(request.encode()).hexdigest()
        signed = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashed])
        key = f"AWS4{self._get('AWS_SECRET_ACCESS_KEY')}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, signed.encode(), "sha256").hex()
        who = f"Credential={self._get('AWS_ACCESS_KEY_ID')}/{scope}"
        told["authorization"] = f"AWS4-HMAC-SHA256 {who}, SignedHeaders={names}, Signature={signature}"
        return told


def pending(uri: str, prefix: str) -> list[Upload] | None:
    """Uploads below a prefix of a lake that were begun and not ended; None where that cannot be told.

    Raises:
        StorageError: The store fails.
    """
    bucket, root = _parts(uri)
    account = Account(bucket, os.environ)
    if not account.is_known:
        return None
    wanted = f"{root}{prefix}"
    found: list[Upload] = []
    marker: dict[str, str] = {}
    for _ in range(_MOST_PAGES):
        status, text = _asked(account, "GET", "", {"uploads": "", "prefix": wanted, **marker})
        if status in _NOT_OFFERED:
            return []
        if status != 200:
            raise StorageError(f"{uri}: listing uploads: HTTP {status}", "Check the store, then run again.")
        found += [_upload(part) for part in _UPLOAD.findall(text)]
        if _tag(text, "IsTruncated") != "true":
            break
        marker = {
            "key-marker": _tag(text, "NextKeyMarker"),
            "upload-id-marker": _tag(text, "NextUploadIdMarker"),
        }
    return [one for one in found if one.key.startswith(wanted)]


def abort(uri: str, upload: Upload) -> None:
    """Give an upload up: the store removes its parts.

    Raises:
        StorageError: The store fails.
    """
    bucket, _ = _parts(uri)
    account = Account(bucket, os.environ)
    status, _ = _asked(account, "DELETE", upload.key, {"uploadId": upload.upload_id})
    if status not in {200, 204, *_NOT_OFFERED}:
        raise StorageError(f"{uri}: giving up an upload: HTTP {status}", "Check the store, then run again.")


def _parts(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri)
    root = parts.path.strip("/")
    return parts.netloc, f"{root}/" if root else ""


def _asked(account: Account, method: str, key: str, asked: Mapping[str, str]) -> tuple[int, str]:
    """Status and text of one request; again where the store fails in passing."""
    scheme, host, base = account.address()
    path = quote(f"{base.rstrip('/')}/{key}" if key else base)
    query = "&".join(f"{quote(n, safe='')}={quote(v, safe='')}" for n, v in sorted(asked.items()))
    kind = HTTPSConnection if scheme == "https" else HTTPConnection
    fault = "no answer"
    for _ in range(_TRIES):
        link = kind(host, timeout=_TIMEOUT_SECONDS)
        try:
            headers = account.headers(method, host, path, query, datetime.now(UTC))
            link.request(method, f"{path}?{query}", headers=headers)
            answer = link.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except (OSError, HTTPException) as error:
            fault = type(error).__name__
            continue
        finally:
            link.close()
        if answer.status < 500 or answer.status in _NOT_OFFERED:
            return answer.status, text
        fault = f"HTTP {answer.status}"
    raise StorageError(f"uploads of bucket {account.bucket}: {fault}", "Check the store, then run again.")


def _upload(part: str) -> Upload:
    begun = _tag(part, "Initiated")
    at = datetime.fromisoformat(begun) if begun else datetime.now(UTC)
    return Upload(_tag(part, "Key"), _tag(part, "UploadId"), at if at.tzinfo else at.replace(tzinfo=UTC))


def _tag(text: str, name: str) -> str:
    match = re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return html.unescape(match[1]) if match else ""
