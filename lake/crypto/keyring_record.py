"""The keyring's own record: whose keys lie there, and which master key wraps them."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lake.crypto.master import MasterKey, UnwrapError
from lake.lake import Lake
from lake.storage import Storage
from transforms.errors import LakeError

RECORD = "keyring.json"
FORMAT = "slowwave-keyring"
VERSION = 1
_CHECK = b"slowwave"


@dataclass(frozen=True)
class KeyringRecord:
    """What a keyring says of itself.

    Args:
        keyring_id: Random id; the lake names it, too.
        lake_id: Of the lake whose keys these are.
        master: Id of the master key in force.
        check: A known text, wrapped by it, which tells a wrong key before anything is done with it.
    """

    keyring_id: str
    lake_id: str
    master: str
    check: bytes

    @property
    def _context(self) -> dict[str, str]:
        return {"lake": self.lake_id, "keyring": self.keyring_id, "check": "1"}

    def under(self, master: MasterKey) -> KeyringRecord:
        """The record once this master key is in force."""
        return replace(self, master=master.key_id, check=master.wrap(_CHECK, self._context))

    def fits(self, master: MasterKey) -> bool:
        """Whether it is the master key in force."""
        if master.key_id != self.master:
            return False
        try:
            return master.unwrap(self.check, self._context) == _CHECK
        except UnwrapError:
            return False

    def dumps(self) -> bytes:
        """The record's bytes."""
        told = {
            "format": FORMAT,
            "version": VERSION,
            "keyring_id": self.keyring_id,
            "lake_id": self.lake_id,
            "master": self.master,
            "check": base64.b64encode(self.check).decode(),
        }
        return (json.dumps(told, indent=1) + "\n").encode()


def new_record(lake_id: str, master: MasterKey) -> KeyringRecord:
    """The record of a keyring that is being made."""
    return KeyringRecord(secrets.token_hex(8), lake_id, "", b"").under(master)


def read_record(storage: Storage) -> KeyringRecord | None:
    """The record of the keyring that lies there, None where there is none.

    Raises:
        LakeError: It is damaged.
    """
    raw = storage.read(RECORD)
    if raw is None:
        return None
    try:
        told = json.loads(raw)
        if (told["format"], told["version"]) != (FORMAT, VERSION):
            raise ValueError(RECORD)
        check = base64.b64decode(told["check"], validate=True)
        return KeyringRecord(str(told["keyring_id"]), str(told["lake_id"]), str(told["master"]), check)
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{RECORD} of the keyring at {storage.uri} is damaged",
            "Restore it from a backup of the keyring. Nothing is lost in the lake.",
        ) from error


def checked(storage: Storage, lake: Lake, masters: Sequence[MasterKey]) -> KeyringRecord:
    """The record of a lake's keyring, which is the right one and has its master key.

    Raises:
        LakeError: There is none, it is another lake's, or the master key is another one.
    """
    record = read_record(storage)
    wanted = lake.encryption.keyring_id if lake.encryption else ""
    if record is None:
        raise LakeError(
            f"there is no keyring of this lake at {storage.uri}",
            "Name the folder that slowwave keys init made (encryption.keyring), or restore it from its"
            " backup. Nothing is lost in the lake, and nothing was written.",
        )
    if (record.lake_id, record.keyring_id) != (lake.lake_id, wanted):
        raise LakeError(
            f"the keyring at {storage.uri} is that of another lake",
            "Name this lake's own keyring (encryption.keyring). Nothing was written.",
        )
    if not any(record.fits(master) for master in masters):
        raise LakeError(
            f"the master key is not the one of this keyring, whose id is {record.master}",
            "Give the right one (encryption.master_key_file or SLOWWAVE_MASTER_KEY). Nothing is lost: with"
            " the right key everything opens.",
        )
    return record
