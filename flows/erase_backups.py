"""What an erasure comes to in copies of the lake that nobody here can reach."""

from __future__ import annotations

from flows.erase_work import Work

_INDEX = "; a copy of index/ holds rows in plain and must expire or be cleared"


def covers_backups(work: Work) -> str:
    """What the certificate says of copies that nobody here can reach."""
    if not work.evidence["is_encrypted"]:
        return "no: the lake is not encrypted; backups and copies must be let expire or be cleared apart"
    if work.evidence["keys_destroyed"] and work.values("spoken").len():
        return (
            "partly, tables only: the subject's keys were destroyed, and what they encrypted in the tables of"
            f" any copy cannot be read; others' keys sealed its rows in group chats{_INDEX}"
        )
    if work.evidence["keys_destroyed"]:
        return (
            "tables only: the subject's keys were destroyed, and what they encrypted in the tables of any"
            f" copy cannot be read{_INDEX}"
        )
    return f"no key of the subject was {'destroyed' if work.evidence['held'] else 'held'}{_INDEX}"
