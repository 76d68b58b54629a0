"""Entries of a keyring: one object a version of a subject's key, and what stays of it once destroyed."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from transforms.errors import LakeError

FORMAT = "slowwave-key"
FOLDER = "keys"


@dataclass(frozen=True)
class Entry:
    """One version of one subject's key.

    Args:
        subject: Salted hash of the subject, 32 hex digits; never its ids.
        tenant: Salted hash of its tenant, whose end is the end of this key, too.
        version: 1, 2, ... of the subject.
        made_at: When.
        master: Id of the master key that wraps it; empty once destroyed.
        wrapped: The wrapped key; empty once destroyed.
        destroyed_at: When; None while it lives.
    """

    subject: str
    tenant: str
    version: int
    made_at: datetime
    master: str = ""
    wrapped: bytes = b""
    destroyed_at: datetime | None = None

    @property
    def name(self) -> str:
        """Where it lies in the keyring."""
        return name_of(self.subject, self.version)

    def context(self, lake_id: str) -> Mapping[str, str]:
        """What the wrapped key is bound to."""
        return {
            "lake": lake_id,
            "subject": self.subject,
            "tenant": self.tenant,
            "version": str(self.version),
        }

    def destroyed(self, at: datetime) -> Entry:
        """What stays of it: that there was one."""
        return replace(self, master="", wrapped=b"", destroyed_at=at)

    def dumps(self) -> bytes:
        """The entry's bytes."""
        told = {
            "format": FORMAT,
            "subject": self.subject,
            "tenant": self.tenant,
            "version": self.version,
            "made_at": self.made_at.isoformat(),
        }
        if self.destroyed_at is not None:
            told["destroyed_at"] = self.destroyed_at.isoformat()
        else:
            told["master"] = self.master
            told["wrapped"] = base64.b64encode(self.wrapped).decode()
        return json.dumps(told).encode()


def name_of(subject: str, version: int) -> str:
    """Where an entry lies; at most 256 folders, however many subjects."""
    return f"{FOLDER}/{subject[:2]}/{subject}-{version:06d}.json"


def named(name: str) -> tuple[str, int] | None:
    """Subject and version of an entry's name; None where it is none."""
    subject, _, version = name.rsplit("/", 1)[-1].removesuffix(".json").partition("-")
    if len(subject) == 32 and version.isascii() and version.isdigit():
        return subject, int(version)
    return None


def parsed(raw: bytes, name: str) -> Entry:
    """An entry from its bytes.

    Raises:
        LakeError: It is damaged, or lies under another's name.
    """
    try:
        told = json.loads(raw)
        gone = told.get("destroyed_at")
        entry = Entry(
            told["subject"],
            told["tenant"],
            told["version"],
            datetime.fromisoformat(told["made_at"]),
            "" if gone else str(told["master"]),
            b"" if gone else base64.b64decode(told["wrapped"], validate=True),
            datetime.fromisoformat(gone) if gone else None,
        )
        if told["format"] != FORMAT or entry.name != name:
            raise ValueError(name)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(name) from error
    return entry


def damaged(name: str) -> LakeError:
    """The error for an entry that cannot be used."""
    return LakeError(
        f"the keyring's entry {name} is damaged",
        "Restore that one file from a backup of the keyring. Nothing is lost in the lake meanwhile, and"
        " other people's rows open as before.",
    )
