"""Keys of an encrypted lake: from configuration and environment, and the work on a keyring."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.config import Config
from transforms.errors import CheckError, ConfigError, UsageError

if TYPE_CHECKING:
    from flows.job import Job
    from lake.crypto.access import Keys
    from lake.crypto.keyring import Keyring
    from lake.crypto.master import MasterKey
    from lake.lake import Lake
    from transforms.subjects import Subject

MASTER_VARIABLE = "SLOWWAVE_MASTER_KEY"
PREVIOUS_VARIABLE = "SLOWWAVE_PREVIOUS_MASTER_KEY"
SECTION_REMEDY = (
    "Add [encryption] with keyring (a folder outside the lake) and master_key_file to slowwave.toml; slowwave"
    " keys new-master --file FILE makes a master key."
)


def keys_of(
    config: Config, *, previous_file: str | None = None, environment: Mapping[str, str] | None = None
) -> Keys | None:
    """What section ``[encryption]`` names; None without one. The master key is read when it is needed.

    Args:
        config: The configuration.
        previous_file: Master key before the one in force, beside what the configuration names.
        environment: That of the process where None.
    """
    told = config.encryption
    if told is None:
        return None
    from lake.crypto.access import Keys

    held = os.environ if environment is None else environment

    def previous() -> Sequence[MasterKey]:
        keys = (
            _master(previous_file, ""),
            _master(told.previous_master_key_file, held.get(PREVIOUS_VARIABLE)),
        )
        return [key for key in keys if key is not None]

    return Keys(told.keyring, lambda: _required(told.master_key_file, held.get(MASTER_VARIABLE)), previous)


def _required(file: str | None, text: str | None) -> MasterKey:
    master = _master(file, text)
    if master is None:
        raise ConfigError(
            "no master key is given",
            f"Name its file (encryption.master_key_file) or set {MASTER_VARIABLE}. Nothing is lost.",
        )
    return master


def _master(file: str | None, text: str | None) -> MasterKey | None:
    from lake.crypto.master import master_from_file, master_from_text

    if file:
        return master_from_file(Path(file).expanduser())
    return master_from_text(text, "the environment variable") if text else None


def encrypted(config: Config, *, is_asked: bool) -> Callable[[Lake], Lake]:
    """What makes a new lake an encrypted one where the configuration or the call wants it, else leaves it.

    Raises:
        UsageError: The call asks for it, and the configuration does not say where the keys shall be.
    """
    keys = keys_of(config)
    if keys is None:
        if is_asked:
            raise UsageError("no keyring is named", SECTION_REMEDY)
        return lambda lake: lake

    def encrypt(lake: Lake) -> Lake:
        from lake.crypto import setup

        return setup.encrypt(lake, keys)

    return encrypt


def make_master_file(file: str) -> None:
    """A new master key in a file that only this user may read.

    Raises:
        UsageError: There is a file of that name.
        ConfigError: It cannot be written.
    """
    from lake.crypto.master import new_master_text

    path = Path(file).expanduser()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as made:
            made.write(f"{new_master_text()}\n")
            made.flush()
            os.fsync(made.fileno())
    except FileExistsError as error:
        raise UsageError(
            f"{path} is there already", "Name a new file; a master key is never overwritten."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror}", "Name a file in a folder of yours."
        ) from error


def key_counts(keys: Keyring, at: datetime) -> dict[str, Any]:
    """What a keyring holds, in numbers.

    Args:
        keys: The keyring.
        at: Instant that ages count to.
    """
    from lake.crypto import shelf

    found = shelf.entries(keys.storage)
    living = [entry for entry in found if entry.destroyed_at is None]
    made = [entry.made_at for entry in living]
    master = keys.masters[0].key_id
    return {
        "keyring": keys.uri,
        "master": master,
        "subjects": len({entry.subject for entry in living}),
        "tenants": len({entry.tenant for entry in living}),
        "keys": len(living),
        "destroyed": len(found) - len(living),
        "under_another_master": sum(entry.master != master for entry in living),
        "oldest_days": round((at - min(made)).total_seconds() / 86_400, 1) if made else None,
        "newest_days": round((at - max(made)).total_seconds() / 86_400, 1) if made else None,
    }


def told_of(lake: Lake, at: datetime) -> str:
    """A lake's encryption in a line, once every key of it has been opened.

    Args:
        lake: With its keys.
        at: Instant that ages count to.

    Raises:
        LakeError: The keys are not there or not the right ones, or an entry is damaged.
        CheckError: Keys are still wrapped by an earlier master key, rows stand whose key was destroyed, or
            the live index was built before that.
    """
    if lake.encryption is None:
        return "none: text is stored as it is"
    from lake.crypto import shelf
    from lake.crypto.access import keys_of as keys_of_lake
    from lake.crypto.leftovers import leftovers

    keys = keys_of_lake(lake)
    for entry in shelf.entries(keys.storage):
        if entry.destroyed_at is None:
            keys.unwrapped(entry)
    counts = key_counts(keys, at)
    if counts["under_another_master"]:
        raise CheckError(
            f"{counts['under_another_master']} keys are wrapped by an earlier master key",
            "Run slowwave keys rotate to its end.",
        )
    if left := leftovers(lake):
        told = ", ".join(f"{count} in {name}" for name, count in left.items())
        raise CheckError(
            f"rows stand whose key was destroyed: {told}", "Take them out: slowwave keys sweep --yes"
        )
    if _is_served_still(lake, keys):
        raise CheckError(
            "keys were destroyed since the live index was built, which serves their text still",
            "Build it anew: slowwave publish",
        )
    return f"{lake.encryption.cipher}, {counts['keys']:,} keys open, {counts['destroyed']:,} destroyed"


def _is_served_still(lake: Lake, keys: Keyring) -> bool:
    """Whether the live index, if it can be read, was built before keys were destroyed."""
    from lake.crypto import shelf
    from lake.index import load_manifest
    from lake.index_record import readable_pointer
    from transforms.errors import LakeError

    pointer, destroyed = readable_pointer(lake), shelf.destroyed_mark(keys.storage)
    if pointer is None or not destroyed:
        return False
    try:
        served = [load_manifest(lake, name).inputs.get("keys", "") for name in pointer.live()]
        return any(known != destroyed for known in served)
    except LakeError:  # a finding of its own
        return False


def run_destroy(job: Job, subject: Subject, at: datetime) -> int:
    """Destroy the keys of a subject, and write that into the audit.

    Args:
        job: On an encrypted lake, with its keys.
        subject: A tenant, or a user or agent of one.
        at: Now.

    Returns:
        How many keys went.
    """
    from flows.job import exclusive
    from lake.crypto.access import keys_of as keys_of_lake
    from lake.rights import audit
    from lake.rights.subjects import salt, subject_hash

    with exclusive(job):
        gone = keys_of_lake(job.lake).destroy(subject)
        name = subject_hash(salt(job.lake), subject)
        audit.append(job.lake, "keys_destroyed", at=at, subject_hash=name, counts={"keys": gone})
    return gone


def run_sweep(job: Job, at: datetime) -> dict[str, int]:
    """Take rows whose key was destroyed out of every table, and off the disk.

    Args:
        job: On an encrypted lake, with its keys.
        at: Now.

    Returns:
        Rows that went, by table.
    """
    from flows.job import exclusive
    from lake import upkeep
    from lake.crypto.leftovers import drop_leftovers
    from lake.rights import audit
    from transforms.schemas import STORED

    with exclusive(job):
        counts = drop_leftovers(job.lake)
        for table in STORED:
            if table.name in counts:
                upkeep.vacuum(job.lake, table, 0)
        if counts:
            audit.append(job.lake, "keys_swept", at=at, counts=counts)
    return counts


def run_rotate(job: Job, at: datetime, *, has_data: bool) -> dict[str, int]:
    """Wrap every key by the master key in force and, if asked, give each subject a new key.

    Returns:
        Counts: ``wrapped``, ``keys`` and ``renewed``.
    """
    from flows.job import exclusive
    from lake.crypto.access import keys_of as keys_of_lake
    from lake.crypto.rotation import renew, rewrap
    from lake.rights import audit

    keys = keys_of_lake(job.lake)
    with exclusive(job):
        wrapped, held = rewrap(keys, lambda total: job.progress.task("wrap keys", total, "keys"))
        renewed = renew(keys, lambda total: job.progress.task("new keys", total, "keys")) if has_data else 0
        counts = {"wrapped": wrapped, "keys": held, "renewed": renewed}
        audit.append(job.lake, "keys_rotated", at=at, counts=counts)
    return counts
