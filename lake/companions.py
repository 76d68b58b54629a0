"""Files that explain others: a Slack export's lists of users and channels, beside the folders of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
        self._told: dict[tuple[str, str], Reader] = {}

    def told(self, reader: Reader, name: str, found: Mapping[str, Callable[[], BinaryIO]]) -> Reader:
        """The reader of a file, told of its companions in the folder above the file's; or as it is.

        Args:
            reader: Who reads the file.
            name: Its name, the path from where the search began.
            found: Openers of all files found there, by name.
        """
        if not isinstance(reader, Accompanied):
            return reader
        folder = name.rpartition("/")[0].rpartition("/")[0]
        key = (reader.name, folder)
        if key not in self._told:
            places = {own: f"{folder}/{own}" if folder else own for own in reader.companions}
            contents = {own: self._content(place, found) for own, place in places.items() if place in found}
            self._told[key] = reader.with_companions({k: v for k, v in contents.items() if v is not None})
        return self._told[key]

    def _content(self, name: str, found: Mapping[str, Callable[[], BinaryIO]]) -> bytes | None:
        """What a file holds; None where it is damaged: the others can be read without it."""
        try:
            with unpack.opener_of(name, found[name], self._policy)() as stream:
                return stream.read()
        except unpack.DamagedError:
            return None
