"""Ids as they stand in grants and teams, and the key of a record: a salted hash, no path names anybody."""

from __future__ import annotations

import re

from lake.lake import Lake
from lake.rights.subjects import salt, subject_hasher
from transforms.errors import UsageError
from transforms.scopes import require_plain

MOST_CHARS = 512
_ODD = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def plain_id(name: str, value: object) -> str:
    """An ordinary id of a tenant, agent or user.

    Raises:
        UsageError: It is empty, too long, not text, reserved, or holds a character that no id can hold.
    """
    if not isinstance(value, str):
        raise UsageError(f"{name} is {type(value).__name__}, not text", "Pass ids as str.")
    if not value or len(value) > MOST_CHARS or _ODD.search(value):
        raise UsageError(f"{name} is empty, too long or holds a control character", "Pass the id as landed.")
    require_plain(value if name == "tenant" else None, value if name != "user" else None)
    return value


def record_key(lake: Lake, prefix: str, *parts: str) -> str:
    """Where the record of some ids lies."""
    return f"{prefix}/{subject_hasher(salt(lake))((prefix, *parts))}.json"
