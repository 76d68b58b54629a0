"""Files that explain others: a Slack export's lists of users and channels, beside the folders of messages."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from hashlib import blake2b
from typing import BinaryIO

from lake import unpack
from transforms.policy import IngestPolicy
from transforms.readers.batch import Reader
from transforms.readers.chats import Accompanied
from transforms.readers.registry import READERS

COMPANION_NAMES = frozenset(
    name for reader in READERS if isinstance(reader, Accompanied) for name in reader.companions
)
"""Names of files that some reader wants to know."""


class Companions:
    """Tells readers what the files beside theirs hold; each folder's are read once."""

    def __init__(self, policy: IngestPolicy) -> None:
        """Nothing is read yet."""
        self._policy = policy
        self._told: dict[tuple[str, str], tuple[Reader, str]] = {}

    def told(
        self, reader: Reader, name: str, found: Mapping[str, Callable[[], BinaryIO]]
    ) -> tuple[Reader, str]:
        """The reader of a file, told of its companions in the folder above the file's; or as it is.

        Args:
            reader: Who reads the file.
            name: Its name, the path from where the search began.
            found: Openers of all files found there, by name.

        Returns:
            The reader, and a digest of what it was told; empty where that is nothing.
        """
        if not isinstance(reader, Accompanied):
            return reader, ""
        folder = name.rpartition("/")[0].rpartition("/")[0]
        key = (reader.name, folder)
        if key not in self._told:
            places = {own: f"{folder}/{own}" if folder else own for own in reader.companions}
            read = {own: self._content(place, found) for own, place in places.items() if place in found}
            contents = {own: content for own, content in read.items() if content is not None}
            self._told[key] = reader.with_companions(contents), _digest(contents)
        return self._told[key]

    def _content(self, name: str, found: Mapping[str, Callable[[], BinaryIO]]) -> bytes | None:
        """What a file holds; None where it is damaged: the others can be read without it."""
        try:
            with unpack.opener_of(name, found[name], self._policy)() as stream:
                return stream.read()
        except unpack.DamagedError:
            return None


def _digest(contents: Mapping[str, bytes]) -> str:
    digest = blake2b(digest_size=16)
    for name, content in sorted(contents.items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest() if contents else ""


def beside(name: str, companion: str) -> bool:
    """Whether a file is one that another may be a companion of: it lies in a folder beside that."""
    folder, _, own = companion.rpartition("/")
    above, _, last = name.rpartition("/")[0].rpartition("/")
    return own in COMPANION_NAMES and bool(last) and above == folder


def is_beside_export(name: str, found: Container[str]) -> bool:
    """Whether a file is of an export of slowwave: what it holds is derived, or told by its episodes."""
    folder, _, own = name.rpartition("/")
    base = folder.rpartition("/")[0] if folder.rpartition("/")[2] == "data" else folder
    places = [f"{base}/{place}" if base else place for place in ("data/episodes.json", "manifest.json")]
    is_part = folder != base or own in ("manifest.json", "schema.json", "index.html")
    return is_part and all(place in found for place in places)
