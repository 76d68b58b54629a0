"""Objects to be read from an object store: ``s3://``, ``gs://``, ``az://``, ``file://``."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from lake.tapes import BUFFER_BYTES, Moved, Tape, unreadable
from transforms.errors import InputError, SlowwaveError, StorageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_SCHEMES = ("s3://", "s3a://", "gs://", "az://", "abfs://", "abfss://", "http://", "https://", "file://")
_WITH_ESCAPES = ("http://", "https://", "file://")


def is_url(source: str) -> bool:
    """Whether a source names an object store."""
    return source.lower().startswith(_SCHEMES)


def objects_below(url: str, options: Mapping[str, str]) -> list[tuple[str, Tape]]:
    """Names and openers of the objects at or below a URL, in the order of their names.

    Args:
        url: Of one object, or of a prefix (a folder: ``s3://bucket/traces``).
        options: Credentials and endpoint, as obstore names them.

    Raises:
        InputError: The store cannot be reached, refuses, or holds nothing there.
    """
    import obstore
    from obstore.exceptions import BaseError, NotFoundError
    from obstore.store import from_url

    parent, _, last = url.rstrip("/").rpartition("/")
    try:
        store = from_url(_quoted(url.rstrip("/")), **cast(Any, dict(options)))
        found = [meta for page in obstore.list(store) for meta in page]
        names: dict[str, Any] = {str(meta["path"]): meta for meta in found if str(meta["path"])}
        if not names and parent.count("/") > 1:  # nothing below it: it may be an object itself
            store = from_url(_quoted(parent), **cast(Any, dict(options)))
            names = {last: obstore.head(store, last)}
    except (FileNotFoundError, NotFoundError):
        names = {}
    except (BaseError, OSError, ValueError) as error:
        remedy = "Check the URL, the credentials and the endpoint."
        raise InputError(f"{url}: cannot be read ({type(error).__name__})", remedy) from error
    if not names:
        raise InputError(f"{url}: no object at or below it", "Check bucket and prefix.")

    return [(name, _tape(store, name, meta)) for name, meta in sorted(names.items())]


def _quoted(url: str) -> str:
    """A URL whose key is as it stands, as the stores' own tools take it: no escape and no query in it."""
    if url.lower().startswith(_WITH_ESCAPES):
        return url
    for sign, escape in (("%", "%25"), ("?", "%3F"), ("#", "%23")):
        url = url.replace(sign, escape)
    return url


def _tape(store: Any, path: str, meta: Mapping[str, Any]) -> Tape:
    import obstore
    from obstore.exceptions import BaseError

    def open_object(moved: Moved) -> BinaryIO:
        try:
            reader = obstore.open_reader(store, path)
        except (BaseError, OSError) as error:
            raise _fault(path, error) from error
        return cast(BinaryIO, io.BufferedReader(_Object(path, reader, moved), buffer_size=BUFFER_BYTES))

    return Tape(open_object, meta.get("size"), meta.get("e_tag"))


def _fault(path: str, error: Exception) -> SlowwaveError:
    """An object that is gone is passed over; a store that is away ends the run: all would be passed over."""
    from obstore.exceptions import NotFoundError, PermissionDeniedError

    if isinstance(error, FileNotFoundError | PermissionError | NotFoundError | PermissionDeniedError):
        return unreadable(path, error)
    remedy = "Check the store, then run again: what has landed is not read again."
    return StorageError(f"{path}: cannot be read ({type(error).__name__})", remedy)


class _Object(io.RawIOBase):
    """An object as a seekable raw stream."""

    def __init__(self, path: str, reader: Any, moved: Moved) -> None:
        super().__init__()
        self._path = path
        self._reader = reader
        self._moved = moved

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        at = int(self._reader.seek(offset, whence))
        self._moved(at)
        return at

    def tell(self) -> int:
        return int(self._reader.tell())

    def readinto(self, buffer: WriteableBuffer) -> int:
        from obstore.exceptions import BaseError

        view = memoryview(buffer)
        try:
            block = bytes(self._reader.read(len(view)))
        except (BaseError, OSError) as error:
            raise _fault(self._path, error) from error
        self._moved(self.tell())
        view[: len(block)] = block
        return len(block)
