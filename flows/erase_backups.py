"""What an erasure comes to in copies of the lake that nobody here can reach."""

from __future__ import annotations

from flows.erase_work import Work
from lake.copies.places import places

_INDEX = "; a copy of index/ holds rows in plain and must expire or be cleared"


def covers_backups(work: Work) -> str:
    """What the certificate says of copies that nobody here can reach, and of backups that are known."""
    known = len(places(work.lake))
    if not known:
        return _covered(work)
    which = "1 backup is known: it holds" if known == 1 else f"{known} backups are known: they hold"
    return f"{_covered(work)}; {which} the rows until slowwave backup has replaced the copies"


def _covered(work: Work) -> str:
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
