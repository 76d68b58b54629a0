"""Files of one generation of the index put into another: linked where the store can, else copied."""

from __future__ import annotations

import os
from collections.abc import Collection

from lake.faults import wrapped
from lake.lake import Lake
from lake.storage import LocalStorage, S3Storage, make_directory


def share(lake: Lake, source: str, target: str, names: Collection[str] | None = None) -> tuple[int, int]:
    """Put the files below one prefix below another, without reading them.

    Nothing ever changes such a file in place, so a hard link is as good as a copy.

    Args:
        lake: Whose.
        source: Prefix of keys, such as ``index/gen-000001/main.lance``.
        target: Prefix they get.
        names: Only these, below the prefix; None shares all.

    Returns:
        How many files, and their bytes.

    Raises:
        StorageError: The store fails.
    """
    files = bytes_shared = 0
    for entry in lake.storage.entries(f"{source}/"):
        name = entry.key.removeprefix(f"{source}/")
        if names is None or name in names:
            _share_one(lake, entry.key, f"{target}/{name}")
            files += 1
            bytes_shared += entry.size_bytes
    return files, bytes_shared


def _share_one(lake: Lake, source: str, target: str) -> None:
    storage = lake.storage
    if isinstance(storage, LocalStorage):
        with wrapped(f"linking {source}"):
            make_directory(storage.path(target).parent)
            try:
                os.link(storage.path(source), storage.path(target))
            except OSError:  # a file system without hard links
                storage.write(target, storage.path(source).read_bytes())
    elif isinstance(storage, S3Storage):
        storage.copy(source, target)


def size_of(lake: Lake, prefix: str) -> tuple[int, int]:
    """How many files lie below a prefix, and their bytes."""
    sizes = [entry.size_bytes for entry in lake.storage.entries(f"{prefix}/")]
    return len(sizes), sum(sizes)
