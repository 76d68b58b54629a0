"""One sealed value: its form, and the loops that seal and open a column of them.

A value is the text ``~sw1.`` and base64 of: 4 bytes version of the key, 12 bytes random nonce, AES-GCM
ciphertext with its tag of 16 bytes. What it is bound to (table, column, row, tenant) is not in it: it must be
told again to open it. Null, empty text and empty lists are not sealed; a list of words is sealed as a whole
and stands as a list of that one element.
"""

from __future__ import annotations

import secrets
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lake.crypto.keyring import Key
from lake.crypto.master import NONCE_BYTES

PREFIX = "~sw1."
HEAD_BYTES = 4
_TEXT_AT = HEAD_BYTES + NONCE_BYTES
LEAST_BYTES = _TEXT_AT + 16
"""Of an empty text: its tag is there, too."""
_B64_AT = len(PREFIX)

Fault = Literal["shredded", "broken"]
Value = str | list[str] | None
Sealer = tuple[bytes, Callable[[bytes, bytes, bytes], bytes]]


def head(version: int) -> bytes:
    """A key's version as it stands in a value."""
    return version.to_bytes(HEAD_BYTES, "big")


def version_of(blob: bytes) -> int:
    """The key's version that stands in a value."""
    return int.from_bytes(blob[:HEAD_BYTES], "big")


def seal_bytes(key: Key, text: bytes, bound: bytes) -> bytes:
    """Sealed bytes of a text, bound to its place."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return head(key.version) + nonce + _living(key).encrypt(nonce, text, bound)


def open_bytes(cipher: AESGCM, blob: bytes, bound: bytes) -> bytes | None:
    """The text; None where it was changed, moved or damaged."""
    if len(blob) < LEAST_BYTES:
        return None
    try:
        return cipher.decrypt(blob[HEAD_BYTES:_TEXT_AT], blob[_TEXT_AT:], bound)
    except InvalidTag:
        return None


def sealer(key: Key) -> Sealer:
    """What seals with a living key: its version as it stands in a value, and the cipher's own function."""
    return head(key.version), _living(key).encrypt


def seal_column(
    values: Sequence[Value], sealers: Sequence[Sealer], bounds: Sequence[bytes], place: bytes
) -> list[str | None]:
    """Each value sealed; a list as JSON of a list.

    Args:
        values: Text or lists of it.
        sealers: Of each row.
        bounds: Of each row, what its values are bound to.
        place: Table and column, to which they are bound, too.
    """
    nonces = secrets.token_bytes(NONCE_BYTES * len(values))
    sealed: list[str | None] = []
    for at, value in enumerate(values):
        if not value:
            sealed.append("[]" if isinstance(value, list) else value)
            continue
        start, encrypt = sealers[at]
        nonce = nonces[NONCE_BYTES * at : NONCE_BYTES * at + NONCE_BYTES]
        is_text = isinstance(value, str)
        text = value.encode() if is_text else orjson.dumps(value)  # type: ignore[union-attr]
        blob = start + nonce + encrypt(nonce, text, place + bounds[at])
        shown = PREFIX + b2a_base64(blob, newline=False).decode()
        sealed.append(shown if is_text else f'["{shown}"]')
    return sealed


def _living(key: Key) -> AESGCM:
    if key.cipher is None:
        raise ValueError("a destroyed key seals nothing")
    return key.cipher


def blobs_of(values: Sequence[Value]) -> tuple[list[bytes | None], set[int]]:
    """Sealed bytes of each value, None where it is null or empty, and which ones are none of ours."""
    blobs: list[bytes | None] = []
    broken: set[int] = set()
    for at, value in enumerate(values):
        blob = None
        if value:
            text = value if isinstance(value, str) else value[0] if len(value) == 1 else None
            if text is not None and text.startswith(PREFIX):
                try:
                    blob = a2b_base64(text[_B64_AT:], strict_mode=True)
                except (Error, ValueError):
                    blob = None
            if blob is None or len(blob) < LEAST_BYTES:
                broken.add(at)
                blob = None
        blobs.append(blob)
    return blobs, broken


def open_column(
    values: Sequence[Value],
    blobs: Sequence[bytes | None],
    ciphers: Sequence[Mapping[bytes, AESGCM | None]],
    bounds: Sequence[bytes],
    place: bytes,
) -> tuple[list[str | None], dict[int, Fault]]:
    """Each value opened; a list as JSON of a list.

    Args:
        values: As they are stored.
        blobs: Of them, as ``blobs_of`` gives them.
        ciphers: Of each row, what opens each version of its key; None where that was destroyed.
        bounds: Of each row, what its values are bound to.
        place: Table and column, to which they are bound, too.

    Returns:
        Values, and by position why one is null: its key was destroyed, or it was changed, moved or damaged.
    """
    opened: list[str | None] = []
    faults: dict[int, Fault] = {}
    for at, blob in enumerate(blobs):
        if blob is None:
            # Null or empty; or none of ours, and shown to nobody.
            empty = "[]" if isinstance(values[at], list) else ""
            opened.append(None if values[at] or values[at] is None else empty)
            continue
        cipher = ciphers[at][blob[:HEAD_BYTES]]
        text = None
        if cipher is None:
            faults[at] = "shredded"
        else:
            try:
                text = cipher.decrypt(blob[HEAD_BYTES:_TEXT_AT], blob[_TEXT_AT:], place + bounds[at])
            except InvalidTag:
                faults[at] = "broken"
        opened.append(None if text is None else text.decode())
    return opened, faults
