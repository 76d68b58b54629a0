"""Where the keys of a lake are, and the errors where they are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lake.crypto.keyring import Keyring
from lake.crypto.master import MasterKey
from lake.lake import Lake
from transforms.errors import LakeError


@dataclass(frozen=True)
class Keys:
    """A keyring and what opens it. Give it to ``Recall`` or ``open_lake``.

    Args:
        keyring: Folder or ``s3://`` address, outside every lake.
        master: The master key, or what makes it when it is first needed.
        previous: Earlier master keys, while they are being replaced; or what makes them.
    """

    keyring: str
    master: MasterKey | Callable[[], MasterKey] = field(repr=False)
    previous: Sequence[MasterKey] | Callable[[], Sequence[MasterKey]] = field(default=(), repr=False)

    def masters(self) -> tuple[MasterKey, ...]:
        """The master key in force, then earlier ones."""
        master = self.master() if callable(self.master) else self.master
        return (master, *(self.previous() if callable(self.previous) else self.previous))

    def of(self, lake: Lake) -> Lake:
        """The lake with its keys.

        Raises:
            LakeError: It is plain, or the keyring lies inside it.
        """
        if lake.encryption is None:
            raise LakeError(
                f"a keyring is named, and the lake at {lake.uri} is not encrypted: rows would land as plain"
                " text",
                "Run slowwave keys init while the lake is empty, or leave the [encryption] section out.",
            )
        require_outside(lake, self.keyring)
        return replace(lake, keys=Keyring(lake, self.keyring, self.masters))


def keys_of(lake: Lake) -> Keyring:
    """The keys of an encrypted lake.

    Raises:
        LakeError: It was opened without them.
    """
    if lake.keys is None:
        raise LakeError(
            f"the lake at {lake.uri} is encrypted, and its keys are not named",
            "Add [encryption] with keyring and master_key_file to slowwave.toml; in Python, pass Keys(...).",
        )
    return lake.keys


def require_outside(lake: Lake, keyring: str) -> None:
    """Refuse a keyring inside the lake: whoever copies the lake would copy its keys.

    Raises:
        LakeError: It lies there.
    """
    if _inside(lake.storage.uri, keyring):
        raise LakeError(
            "the keyring lies inside the lake, so that every copy of the lake would carry its keys",
            "Name a folder or bucket outside the lake (encryption.keyring), on another disk if you can.",
        )


def _inside(root: str, place: str) -> bool:
    if root.startswith("s3://") or place.startswith("s3://"):
        return f"{place.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")
    path = unquote(urlsplit(place).path) if place.startswith("file://") else place
    try:
        return Path(path).expanduser().resolve().is_relative_to(Path(root).resolve())
    except RuntimeError as error:
        raise LakeError(f"{place}: there is no such home", "Name the keyring's folder in full.") from error
