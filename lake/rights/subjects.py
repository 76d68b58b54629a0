"""Subjects as the lake remembers them after they are gone: keyed hashes, never ids.

The key is made with the lake's first hash, lies in ``state/salt`` and never leaves it: without it, nobody
can try names against a hash.
"""

from __future__ import annotations

import secrets
from hashlib import blake2b

from lake.lake import Lake
from transforms.errors import LakeError
from transforms.ids import SEPARATOR
from transforms.subjects import Subject

SALT = "state/salt"
_SALT_BYTES = 32


def salt(lake: Lake) -> bytes:
    """The lake's own key for hashes of subjects, made where there is none yet.

    Raises:
        LakeError: It is damaged.
    """
    held = lake.storage.read(SALT)
    if held is None:
        lake.storage.create(SALT, secrets.token_bytes(_SALT_BYTES))
        held = lake.storage.read(SALT) or b""
    if len(held) != _SALT_BYTES:
        raise LakeError(
            f"{SALT} is damaged", "Restore it from a backup: without it tombstones and audit name nobody."
        )
    return held


def subject_hash(key: bytes, subject: Subject) -> str:
    """32 hex digits that name a subject to whoever holds the lake's salt."""
    text = SEPARATOR.join(subject.parts).encode("utf-8", "surrogatepass")
    return blake2b(text, key=key, digest_size=16).hexdigest()


def tenant_hash(key: bytes, tenant: str) -> str:
    """``subject_hash`` of a whole tenant."""
    return subject_hash(key, Subject(tenant))
