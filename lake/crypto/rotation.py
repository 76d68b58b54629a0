"""A new master key for a keyring, and new data keys for what is sealed from now on."""

from __future__ import annotations

from dataclasses import replace

from lake.crypto import shelf
from lake.crypto.entries import Entry
from lake.crypto.keyring import Keyring
from lake.crypto.keyring_record import RECORD, read_record
from lake.shown import Shown, unseen


def rewrap(keys: Keyring, shown: Shown = unseen) -> tuple[int, int]:
    """Wrap every data key by the master key in force. Killed midway, it is run again and does the rest.

    Until it has ended, both master keys are needed; each entry is whole under one of them.

    Args:
        keys: With the new master key in force and the earlier ones beside it.
        shown: Told how many keys there are, and of each that is wrapped.

    Returns:
        How many keys were wrapped anew, and how many living ones there are.

    Raises:
        LakeError: A key is wrapped by a master key that is not given, or its entry is damaged; the others
            are as they were.
        StorageError: The keyring cannot be written.
    """
    master = keys.masters[0]
    with keys.locked():
        living = [entry for entry in shelf.entries(keys.storage) if entry.destroyed_at is None]
        old = [entry for entry in living if entry.master != master.key_id]

        def wrap(entry: Entry) -> None:
            wrapped = master.wrap(keys.unwrapped(entry), entry.context(keys.lake_id))
            keys.storage.write(entry.name, replace(entry, master=master.key_id, wrapped=wrapped).dumps())
            advance(1)

        with shown(len(old)) as advance:
            shelf.at_once(wrap, old)
        record = read_record(keys.storage)
        # Last: until all is wrapped anew, the record asks for the earlier key.
        if record is not None and record.master != master.key_id:
            keys.storage.write(RECORD, record.under(master).dumps())
    return len(old), len(living)


def renew(keys: Keyring, shown: Shown = unseen) -> int:
    """Give every subject that has a living key a new version, for what is sealed from now on.

    Args:
        keys: The keyring.
        shown: Told how many subjects there are, and of each that has its key.

    Returns:
        How many were made. What earlier versions sealed stays readable.
    """
    newest: dict[str, Entry] = {}
    with keys.locked():
        for entry in shelf.entries(keys.storage):
            held = newest.get(entry.subject)
            if held is None or held.version < entry.version:
                newest[entry.subject] = entry
        living = [entry for entry in newest.values() if entry.destroyed_at is None]

        def make(entry: Entry) -> None:
            keys.made(entry.subject, entry.tenant, entry.version + 1)
            advance(1)

        with shown(len(living)) as advance:
            shelf.at_once(make, living)
    return len(living)
