"""What a lake says of its own encryption: cipher and keyring. Without that record it is a plain lake."""

from __future__ import annotations

import json
from dataclasses import dataclass

from lake.storage import Storage
from transforms.errors import LakeError

RECORD = "state/encryption.json"
FORMAT = "slowwave-encryption"
VERSION = 1
CIPHER = "AES-256-GCM"


@dataclass(frozen=True)
class Encryption:
    """How a lake is encrypted; for life.

    Args:
        keyring_id: Random id of the keyring that holds its keys.
        cipher: Of the free text.
    """

    keyring_id: str
    cipher: str = CIPHER

    def dumps(self) -> bytes:
        """The record's bytes."""
        told = {
            "format": FORMAT,
            "version": VERSION,
            "cipher": self.cipher,
            "keyring_id": self.keyring_id,
        }
        return (json.dumps(told, indent=1) + "\n").encode()


def read_encryption(storage: Storage) -> Encryption | None:
    """The record of a lake, None where it is plain.

    Raises:
        LakeError: It is damaged or of another version: nothing of the lake may be written then.
    """
    raw = storage.read(RECORD)
    if raw is None:
        return None
    try:
        told = json.loads(raw)
        known = (told["format"], told["version"], told["cipher"]) == (FORMAT, VERSION, CIPHER)
        if known and isinstance(told["keyring_id"], str) and told["keyring_id"]:
            return Encryption(told["keyring_id"], told["cipher"])
    except (ValueError, KeyError, TypeError):
        pass
    raise LakeError(
        f"{RECORD} at {storage.uri} is damaged or of another version",
        "Restore it from a backup of the lake; the tables are untouched.",
    )
