"""An empty lake becomes an encrypted one, for life."""

from __future__ import annotations

from dataclasses import replace

from lake import landing, recall_segments, tables
from lake.crypto.access import Keys, keys_of, require_outside
from lake.crypto.keyring_record import RECORD as KEYRING_RECORD
from lake.crypto.keyring_record import new_record, read_record
from lake.crypto.record import RECORD, Encryption
from lake.lake import Lake
from lake.storage import open_storage
from transforms.errors import UsageError
from transforms.schemas import STORED


def encrypt(lake: Lake, keys: Keys) -> Lake:
    """Make an empty lake an encrypted one, and its keyring. Again, it does nothing.

    The keyring is made first: killed between the two, the next call goes on with it. Let nothing else work
    on the lake meanwhile.

    Args:
        lake: Which.
        keys: Where its keys shall be.

    Returns:
        The lake with its keys.

    Raises:
        LakeError: The keyring lies inside the lake or is another one, or the master key is wrong.
        UsageError: The lake holds rows already.
        StorageError: Lake or keyring cannot be written.
    """
    require_outside(lake, keys.keyring)
    if lake.encryption is None:
        if _has_rows(lake):
            raise UsageError(
                f"the lake at {lake.uri} holds rows already, and a lake is encrypted from its first row on",
                "Make a new lake with slowwave init --encrypt and ingest the traces into it.",
            )
        storage = open_storage(f"{keys.keyring.rstrip('/')}/{lake.lake_id}")
        storage.create(KEYRING_RECORD, new_record(lake.lake_id, keys.masters()[0]).dumps())
        record = read_record(storage)
        encryption = Encryption(record.keyring_id if record else "")
        lake.storage.create(RECORD, encryption.dumps())
        lake = replace(lake, encryption=encryption)
    opened = keys.of(lake)
    _ = keys_of(opened).storage  # the right keyring, and its master key
    return opened


def _has_rows(lake: Lake) -> bool:
    if any(tables.data_files(lake, table) for table in STORED):
        return True
    waiting = (landing.PREFIX, recall_segments.PREFIX)
    return any(entry.size_bytes for prefix in waiting for entry in lake.storage.entries(prefix))
