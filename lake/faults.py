"""The errors that callers see when a disk, an object store or a table library fails."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from transforms.errors import LakeError, SlowwaveError, StorageError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_DIRECTORY = {errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}
_FULL_WORDS = ("no space left", "os error 28", "quota exceeded", "disk full", "os error 122", "os error 27")
_DENIED_WORDS = (
    "permission denied",
    "os error 13)",
    "os error 1)",
    "read-only file system",
    "os error 30)",
)
_REFUSED_WORDS = ("accessdenied", "403 forbidden", "invalidaccesskeyid", "signaturedoesnotmatch")
"""Of an object store."""
_BROKEN_OFF = ("generic s3 error", "http error", "request or response body", "connection reset")
_RETRIED = re.compile(r"after (\d+) retries, max_retries: ?(\d+)", re.ASCII)
_MISSING_WORDS = ("nosuchbucket", "bucket not found", "the specified bucket does not exist")


def storage_fault(error: BaseException, where: str) -> SlowwaveError:
    """The error that a caller sees for a library's or the system's failure.

    Args:
        error: What was raised.
        where: What was being done, such as ``appending to episodes``.
    """
    number = getattr(error, "errno", None)
    text = str(error).lower()
    if number in _FULL or any(word in text for word in _FULL_WORDS):
        return StorageError(
            f"{where}: the disk is full", "Free space and run again; nothing that landed is lost."
        )
    if number in _DENIED or any(word in text for word in _DENIED_WORDS):
        return LakeError(
            f"{where}: permission denied", "Give this user read and write permission on the lake."
        )
    if any(word in text for word in _REFUSED_WORDS):
        return LakeError(
            f"{where}: permission denied by the object store",
            "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and rights: docs/object-store.md.",
        )
    if any(word in text for word in _MISSING_WORDS):
        return LakeError(
            f"{where}: there is no such bucket", "Make the bucket, or correct the lake's address."
        )
    if number in _NO_DIRECTORY:
        return LakeError(
            f"{where}: the path is not a directory that can hold a lake",
            "Name a directory, or one that may be made.",
        )
    return StorageError(f"{where}: {_first_line(error)}", "Check the disk or object store, then run again.")


def is_passing(error: BaseException | None) -> bool:
    """Whether an object store broke off an answer, so that the same call may succeed.

    Not where the client library has repeated the request already, and has given up.
    """
    text = (str(error).strip().splitlines() or [""])[0].lower()  # the rest shows a library's own state
    told = _RETRIED.search(text)
    is_final = told is not None and int(told[1]) >= int(told[2])
    is_final = is_final or any(word in text for word in (*_DENIED_WORDS, *_REFUSED_WORDS))
    return not is_final and any(word in text for word in _BROKEN_OFF)


def is_unreadable_file(error: BaseException) -> bool:
    """Whether a table library broke down over bytes that are no Parquet. Its panics are no ``Exception``."""
    name = type(error).__name__
    return name == "PanicException" or (name == "ComputeError" and "parquet" in str(error).lower())


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


@contextmanager
def wrapped(where: str) -> Iterator[None]:
    """Turn system errors inside the block into slowwave's own."""
    try:
        yield
    except OSError as error:
        raise storage_fault(error, where) from error
