"""Subjects as the lake remembers them after they are gone: keyed hashes, never ids.

The key is made with the lake's first hash, lies in ``state/salt`` and never leaves it: without it, nobody
can try names against a hash.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
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


def subject_hasher(key: bytes) -> Callable[[Sequence[str]], str]:
    """``subject_hash`` of ``Subject.parts``, for many of them."""
    keyed = blake2b(key=key, digest_size=16)

    def hashed(parts: Sequence[str]) -> str:
        made = keyed.copy()
        made.update(SEPARATOR.join(parts).encode("utf-8", "surrogatepass"))
        return made.hexdigest()

    return hashed


def subject_hash(key: bytes, subject: Subject) -> str:
    """32 hex digits that name a subject to whoever holds the lake's salt."""
    return subject_hasher(key)(subject.parts)


def tenant_hash(key: bytes, tenant: str) -> str:
    """``subject_hash`` of a whole tenant."""
    return subject_hash(key, Subject(tenant))
