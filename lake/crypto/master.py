"""The master key: wraps the data keys of subjects, and encrypts nothing else."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from transforms.errors import LakeError

KEY_BYTES = 32
NONCE_BYTES = 12
_FORM = b"\x01"
_MOST_BYTES = 1024


class UnwrapError(Exception):
    """A wrapped key is not what this master key made for this context."""


class MasterKey(Protocol):
    """What wraps data keys: the key below, or a client of a key management service."""

    @property
    def key_id(self) -> str:
        """Names the key, so that one that does not fit is told from a damaged entry. No secret."""
        ...

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        """The data key, wrapped and bound to the context."""
        ...

    def unwrap(self, blob: bytes, context: Mapping[str, str]) -> bytes:
        """The data key.

        Raises:
            UnwrapError: The blob was not made by this key for this context. Any other error of the
                object's own passes through.
        """
        ...


class LocalMasterKey:
    """A master key of 256 bits that this process holds; wraps with AES-GCM."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise LakeError(
                f"a master key has {KEY_BYTES} bytes, this one {len(secret)}",
                "Make one: slowwave keys new-master --file FILE",
            )
        self._cipher = AESGCM(secret)
        self._key_id = blake2b(secret, digest_size=8, person=b"slowwave-master").hexdigest()

    @property
    def key_id(self) -> str:
        """A fingerprint."""
        return self._key_id

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        """See ``MasterKey.wrap``."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return _FORM + nonce + self._cipher.encrypt(nonce, key, _bound(context))

    def unwrap(self, blob: bytes, context: Mapping[str, str]) -> bytes:
        """See ``MasterKey.unwrap``."""
        form, nonce, sealed = blob[:1], blob[1 : 1 + NONCE_BYTES], blob[1 + NONCE_BYTES :]
        if form != _FORM or not sealed:
            raise UnwrapError("another form")
        try:
            return self._cipher.decrypt(nonce, sealed, _bound(context))
        except InvalidTag as error:
            raise UnwrapError("another key or context") from error


def _bound(context: Mapping[str, str]) -> bytes:
    return json.dumps(dict(context), sort_keys=True, separators=(",", ":")).encode()


def master_from_text(text: str, told: str) -> LocalMasterKey:
    """The master key from base64 text.

    Args:
        text: Base64 of 32 bytes, white space around it allowed.
        told: Where it comes from, for the error.

    Raises:
        LakeError: It is none.
    """
    try:
        secret = base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise LakeError(
            f"{told} holds no master key",
            f"It must be the base64 of {KEY_BYTES} random bytes;"
            " slowwave keys new-master --file FILE makes one.",
        )
    return LocalMasterKey(secret)


def master_from_file(path: Path) -> LocalMasterKey:
    """The master key from a file of base64 text.

    Raises:
        LakeError: The file is not there, cannot be read, or holds none.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("ascii", "replace")
    except OSError as error:
        raise LakeError(
            f"the master key file {path} cannot be read: {error.strerror}",
            "Name the right file (encryption.master_key_file) and let this user read it. Nothing is lost:"
            " what is encrypted opens again with the key. For a new lake, make one: slowwave keys new-master"
            f" --file {path}",
        ) from error
    return master_from_text(text, f"the master key file {path}")


def new_master_text() -> str:
    """A fresh master key as base64 text."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
