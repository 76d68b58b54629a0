"""Small objects beside the tables, sealed as a whole: for what holds ids or words of people in plain JSON."""

from __future__ import annotations

import re

from lake.crypto.access import keys_of
from lake.crypto.values import open_bytes, seal_bytes, version_of
from lake.lake import Lake
from transforms.errors import LakeError
from transforms.ids import SEPARATOR

_MARK = b"~sw1 object "
_HASH_DIGITS = 32
_HASH = re.compile(rb"[0-9a-f]{32}")


def seal_object(lake: Lake, name: str, data: bytes, *, tenant: str | None = None, owner: str = "") -> bytes:
    """The bytes as they may touch the disk: sealed where the lake is encrypted.

    Args:
        lake: Where.
        name: Key of the object, to which its bytes are bound.
        data: What it holds.
        tenant: Whose key seals it; None takes the lake's own, which outlives every subject.
        owner: ``user:`` and the user, ``agent:`` and the agent, or empty for the tenant itself.

    Raises:
        LakeError: The lake is encrypted, and its keys are not there or not the right ones.
    """
    if lake.encryption is None:
        return data
    keys = keys_of(lake)
    subject, of_tenant = keys.hashed(tenant, owner)
    key = keys.sealing({subject: of_tenant})[subject]
    return _MARK + subject.encode() + seal_bytes(key, data, _bound(name))


def open_object(lake: Lake, name: str, data: bytes) -> bytes | None:
    """What ``seal_object`` was given; None where its key was destroyed.

    Raises:
        LakeError: It was changed or moved, or is not sealed in an encrypted lake; or the keys are not there.
    """
    if lake.encryption is None:
        return data
    subject, sealed = data[len(_MARK) :][:_HASH_DIGITS], data[len(_MARK) + _HASH_DIGITS :]
    if not data.startswith(_MARK) or not _HASH.fullmatch(subject):
        raise _changed(name)
    wanted = subject.decode(), version_of(sealed)
    cipher = keys_of(lake).opening([wanted])[wanted].cipher
    if cipher is None:
        return None
    text = open_bytes(cipher, sealed, _bound(name))
    if text is None:
        raise _changed(name)
    return text


def _bound(name: str) -> bytes:
    return f"object{SEPARATOR}{name}".encode()


def _changed(name: str) -> LakeError:
    return LakeError(
        f"{name} was changed, moved or damaged since it was sealed", "Restore it from a backup of the lake."
    )
