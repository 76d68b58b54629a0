"""Chats of several people: whose memory a message becomes, and what a reader may be told before it reads.

A chat names its people by ids of its own. Where nobody says whose memory it is to be, each person's words
are that person's own. Where somebody does (``--user``), the chat is that person's memory: what they said
themselves is the user's word, and what others said is not, though it is kept with the name of who said it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from transforms.readers.batch import Reader

OWN_ROLE = "user"
OTHER_ROLE = "other"


@runtime_checkable
class Owned(Protocol):
    """A reader of chats, to which it makes a difference whose memory they are to be."""

    def owned_by(self, owner: str) -> Reader:
        """The reader of a chat that is to be the memory of one person."""


@runtime_checkable
class Accompanied(Protocol):
    """A reader of files that are explained by others, in the folder above theirs."""

    companions: tuple[str, ...]
    """Names of those others."""

    def with_companions(self, files: Mapping[str, bytes]) -> Reader:
        """The reader that knows what they hold: name -> content; not every one needs to be there."""


def for_owner(reader: Reader, owner: str | None) -> Reader:
    """The reader for a source that is to be the memory of ``owner``; the same where that changes nothing."""
    return reader.owned_by(owner) if owner and isinstance(reader, Owned) else reader


def person_fields(person_id: str | None, names: Iterable[object], owner: str | None) -> dict[str, object]:
    """``role`` and ``user_id`` of what a person said in a chat of several.

    Args:
        person_id: The chat's own id of the person.
        names: Further names by which ``owner`` may be meant: spelt as given, but for case.
        owner: Whose memory the chat is to be; None: each person's words are their own.

    Returns:
        With an owner no ``user_id``: the caller's default is the owner.
    """
    if owner is None:
        return {"user_id": person_id, "role": OTHER_ROLE if person_id is None else OWN_ROLE}
    known = {name.casefold() for name in (person_id, *names) if isinstance(name, str)}
    return {"user_id": None, "role": OWN_ROLE if owner.casefold() in known else OTHER_ROLE}
