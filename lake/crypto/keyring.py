"""The keys of a lake: one data key a subject, wrapped by the master key, in a place outside the lake.

A key is made when text of its subject is first sealed, and is durable before the text is. Each version
of a key is an object of its own that is created on condition, so that two writers never make two keys of
one version. Destroying replaces the object by one that says only that there was a key.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lake import locks
from lake.crypto import shelf
from lake.crypto.entries import Entry, damaged, name_of, parsed
from lake.crypto.master import KEY_BYTES, MasterKey, UnwrapError
from lake.lake import Lake
from lake.rights.subjects import salt, subject_hash, tenant_hash
from lake.storage import Storage, open_storage
from transforms.errors import LakeError
from transforms.subjects import Subject

KNOWN_SECONDS = 60.0
"""A key that was destroyed by another process opens nothing here after so long. Sealing always looks."""
LISTED_ABOVE = 256
"""With more subjects in one call, the keyring is listed once instead of asked for each."""
_LOCK = "keyring"
_LOCK_WAIT_SECONDS = 60.0
_LAKE_ITSELF = "lake"


@dataclass(frozen=True)
class Key:
    """One version of a subject's key, ready to use; ``cipher`` is None where it was destroyed."""

    version: int
    cipher: AESGCM | None


@dataclass(frozen=True)
class _Held:
    raw: bytes
    key: Key
    looked_at: float


class Keyring:
    """Makes, finds and destroys the keys of one lake. Safe between threads and processes.

    Nothing is read before a key is needed, so a lake opens without its keyring.

    Args:
        lake: Whose; an encrypted one.
        uri: Folder or ``s3://`` address of the keyring.
        masters: What gives the master key in force and, while it is being changed, earlier ones.
        clock: When a key is made or destroyed.
    """

    def __init__(
        self,
        lake: Lake,
        uri: str,
        masters: Callable[[], tuple[MasterKey, ...]],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.uri = uri
        self.clock = clock
        self._lake = replace(lake, keys=None)
        self._make_masters = masters
        self._lock = threading.RLock()
        self._masters: tuple[MasterKey, ...] = ()
        self._storage: Storage | None = None
        self._salt = b""
        self._held: dict[tuple[str, int], _Held] = {}
        self._newest: dict[str, int] = {}
        self._unwritten: dict[str, bytes] | None = None

    @property
    def lake_id(self) -> str:
        """Of the lake whose keys these are."""
        return self._lake.lake_id

    @property
    def storage(self) -> Storage:
        """Where the keyring lies, known to be that of this lake, and its master key to be the right one.

        Raises:
            LakeError: There is no keyring there, it is another one, or the master key is another one.
        """
        with self._lock:
            if self._storage is None:
                storage = open_storage(f"{self.uri.rstrip('/')}/{self._lake.lake_id}")
                self._check(storage)
                self._storage = storage
            return self._storage

    def _check(self, storage: Storage) -> None:
        from lake.crypto.keyring_record import checked

        checked(storage, self._lake, self.masters)

    @property
    def masters(self) -> tuple[MasterKey, ...]:
        """The master key in force, then earlier ones."""
        with self._lock:
            if not self._masters:
                self._masters = self._make_masters()
            return self._masters

    def scratch(self, lake: Lake) -> Keyring:
        """The same keys for a copy of the lake that is thrown away: keys it makes are kept in memory."""
        copy = Keyring(lake, self.uri, self._make_masters, self.clock)
        copy._unwritten = {}
        return copy

    def hashed(self, tenant: str | None, owner: str) -> tuple[str, str]:
        """Salted hashes of whose key seals a row, and of its tenant.

        Args:
            tenant: Customer; None for rows that name none, which the lake's own key seals.
            owner: ``user:`` and the user, ``agent:`` and the agent, or empty for the tenant itself.
        """
        kind, _, name = owner.partition(":")
        if tenant is None or not tenant:
            own = subject_hash(self._salted(), Subject(_LAKE_ITSELF, session=_LAKE_ITSELF))
            return own, own
        of_tenant = tenant_hash(self._salted(), tenant)
        if not name:
            return of_tenant, of_tenant
        subject = Subject(tenant, user=name) if kind == "user" else Subject(tenant, agent=name)
        return subject_hash(self._salted(), subject), of_tenant

    def _salted(self) -> bytes:
        if not self._salt:
            self._salt = salt(self._lake)
        return self._salt

    def sealing(self, subjects: Mapping[str, str]) -> dict[str, Key]:
        """The newest key of each subject, made where there is none that lives. Always looked up again.

        Args:
            subjects: Hash of each subject, and of its tenant.

        Raises:
            LakeError: The keyring or the master key is not there or not the right one.
            StorageError: The keyring cannot be written.
        """
        standing = self._standing(subjects)
        with_names = [(subject, subjects[subject], standing.get(subject, 0)) for subject in subjects]
        _ = self.storage  # looked at once, before the threads
        keys = shelf.at_once(lambda told: self._newest_key(*told), with_names)
        return dict(zip(subjects, keys, strict=True))

    def _standing(self, subjects: Collection[str]) -> dict[str, int]:
        """Where to begin looking: the newest version that is known of each subject."""
        if len(subjects) <= LISTED_ABOVE:
            return {s: self._newest[s] for s in subjects if s in self._newest}
        newest: dict[str, int] = {}
        for subject, version in shelf.names(self.storage):
            newest[subject] = max(version, newest.get(subject, 0))
        return newest

    def _newest_key(self, subject: str, tenant: str, known: int) -> Key:
        version = max(known, 1)
        found: Key | None = None
        while (key := self._read(subject, version)) is not None:
            found, version = key, version + 1
        if found is None or found.cipher is None:
            found = self.made(subject, tenant, version)
        self._newest[subject] = found.version
        return found

    def made(self, subject: str, tenant: str, version: int) -> Key:
        """A new key, or the one that another writer made of that version meanwhile.

        Raises:
            LakeError: The keyring is there no more, or the master key is another one by now.
        """
        secret = AESGCM.generate_key(8 * KEY_BYTES)
        entry = Entry(subject, tenant, version, self.clock())
        master = self.masters[0]
        wrapped = master.wrap(secret, entry.context(self._lake.lake_id))
        data = replace(entry, master=master.key_id, wrapped=wrapped).dumps()
        if self._unwritten is not None:
            self._unwritten.setdefault(entry.name, data)
        else:
            self._check(self.storage)  # one whose disk went away must not begin anew as an empty folder
            self.storage.create(entry.name, data)
        made = self._read(subject, version)
        if made is None:
            raise damaged(entry.name)
        return made if made.cipher is not None else self.made(subject, tenant, version + 1)

    def opening(self, wanted: Collection[tuple[str, int]]) -> dict[tuple[str, int], Key]:
        """Keys by subject and version.

        Raises:
            LakeError: The keyring or the master key is not there or not the right one, an entry is
                damaged, or the keyring has never held one of the keys.
        """
        latest = time.monotonic() - KNOWN_SECONDS
        held = {name: self._held[name] for name in wanted if name in self._held}
        known = {name: h.key for name, h in held.items() if h.looked_at >= latest}
        rest = [name for name in wanted if name not in known]
        if rest:
            _ = self.storage  # looked at once, before the threads
        found = dict(zip(rest, shelf.at_once(lambda name: self._read(*name), rest), strict=True))
        missing = [name for name, key in found.items() if key is None]
        if missing:
            raise LakeError(
                f"the keyring at {self.uri} lacks {len(missing)} of the keys that are needed, such as"
                f" {name_of(*missing[0])}",
                "Restore the keyring from its backup. Nothing is lost in the lake, and nothing was written.",
            )
        return {**known, **{name: key for name, key in found.items() if key is not None}}

    def _read(self, subject: str, version: int) -> Key | None:
        name = name_of(subject, version)
        raw = (self._unwritten or {}).get(name) or self.storage.read(name)
        if raw is None:
            return None
        held = self._held.get((subject, version))
        if held is None or held.raw != raw:
            entry = parsed(raw, name)
            cipher = None if entry.destroyed_at else AESGCM(self.unwrapped(entry))
            held = _Held(raw, Key(version, cipher), 0.0)
        self._held[subject, version] = replace(held, looked_at=time.monotonic())
        return held.key

    def unwrapped(self, entry: Entry) -> bytes:
        """The data key of an entry that lives.

        Raises:
            LakeError: None of the master keys wraps it, or it is damaged.
        """
        for master in self.masters:
            if master.key_id == entry.master:
                try:
                    return master.unwrap(entry.wrapped, entry.context(self._lake.lake_id))
                except UnwrapError as error:
                    raise damaged(entry.name) from error
        raise LakeError(
            f"the keyring's entry {entry.name} needs the master key {entry.master}, which is not given",
            "Give that key too (encryption.previous_master_key_file) and run slowwave keys rotate to its end."
            " Nothing is lost.",
        )

    def destroy(self, subject: Subject, *, is_noted: bool = True) -> int:
        """Destroy every version of a subject's key, for good; of a tenant, those of all its subjects.

        What they sealed opens nowhere any more, in no copy of the lake either. Should the subject come
        back, it gets a new key.

        Args:
            subject: A tenant, or a user or agent of one. Sessions and memories have no key of their own.
            is_noted: Whether an index that was built before is out of date; not where it was purged already.

        Returns:
            How many keys there were.

        Raises:
            LakeError: The keyring is not there, or it is another one.
            StorageError: It cannot be written; run again, which destroys the rest.
        """
        if subject.kind not in ("tenant", "user", "agent"):
            return 0
        gone = 0
        with self.locked():
            living = self._of(subject)
            if living and is_noted:  # first: killed midway, the index is built once too often
                shelf.note_destroyed(self.storage)
            for entry in living:
                self.storage.write(entry.name, entry.destroyed(self.clock()).dumps())
                self._held.pop((entry.subject, entry.version), None)
                gone += 1
        return gone

    def _of(self, subject: Subject) -> list[Entry]:
        """Living entries of a subject."""
        if subject.kind == "tenant":
            mine = tenant_hash(self._salted(), subject.tenant)
            found = [entry for entry in shelf.entries(self.storage) if entry.tenant == mine]
        else:
            found = shelf.versions(self.storage, subject_hash(self._salted(), subject))
        return [entry for entry in found if entry.destroyed_at is None]

    def count(self, subject: Subject) -> int:
        """How many keys ``destroy`` would destroy."""
        return len(self._of(subject)) if subject.kind in ("tenant", "user", "agent") else 0

    def locked(self) -> AbstractContextManager[int]:
        """Alone among those who destroy or wrap anew, on whichever copy of the lake they work."""
        lake = replace(self._lake, uri=self.uri, storage=self.storage)
        return locks.hold(lake, _LOCK, _LOCK_WAIT_SECONDS)
