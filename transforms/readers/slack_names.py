"""Who is who in a Slack export: its lists of users and channels, and its mark-up with names for ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from transforms.readers.text import JsonFault, load_json

USERS = "users.json"
CHANNELS = ("channels.json", "groups.json", "mpims.json", "dms.json")
"""Public and private channels, and conversations of several and of two people."""

_TOKEN = re.compile(r"<([^<>\n]+)>")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


@dataclass(frozen=True)
class Member:
    """A member of the workspace.

    Args:
        name: As others see it: the real name, else the display name, else the handle.
        names: All that the member is called, and the mail address.
        is_bot: Whether it is a program.
    """

    name: str | None
    names: tuple[str, ...] = ()
    is_bot: bool = False


@dataclass(frozen=True)
class Names:
    """What the lists of an export say; empty where there are none.

    Args:
        members: By user id.
        channels: Name by channel id.
        folders: Channel id by the name of the folder that its messages lie in.
    """

    members: Mapping[str, Member] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)


def names_of(files: Mapping[str, bytes]) -> Names:
    """Names from the lists of an export: file name -> content; what cannot be read says nothing."""
    members: dict[str, Member] = {}
    for user in _objects(files.get(USERS)):
        if isinstance(user.get("id"), str):
            members[str(user["id"])] = member_of(user)
    channels: dict[str, str] = {}
    folders: dict[str, str] = {}
    for file_name in CHANNELS:
        for channel in _objects(files.get(file_name)):
            own, name = channel.get("id"), channel.get("name")
            if isinstance(own, str):
                folders[own] = own  # conversations of two people lie in a folder of their id
                if isinstance(name, str):
                    channels[own] = name
                    folders[name] = own
    return Names(members, channels, folders)


def _objects(raw: bytes | None) -> Iterator[dict[str, object]]:
    try:
        value = load_json(raw) if raw is not None else []
    except JsonFault:
        return
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def member_of(user: Mapping[str, object]) -> Member:
    """A member from an entry of ``users.json``, or from the ``user_profile`` that a message carries."""
    profile = user.get("profile")
    places = (profile, user) if isinstance(profile, dict) else (user,)
    keys = ("real_name", "display_name", "name")
    found = [place[key] for key in keys for place in places if isinstance(place.get(key), str) and place[key]]
    mails = [place.get("email") for place in places]
    names = dict.fromkeys(str(name) for name in (*found, *mails) if isinstance(name, str) and name)
    is_bot = user.get("is_bot") is True or user.get("id") == "USLACKBOT"
    return Member(str(found[0]) if found else None, tuple(names), is_bot)


def plain_words(text: str, names: Names) -> str:
    """Text without Slack's mark-up: ``<@U1>`` as ``@Name``, links with their labels, ``&amp;`` as ``&``."""
    if "<" in text:
        text = _TOKEN.sub(lambda token: _shown(token[1], names), text)
    if "&" in text:
        for escape, letter in _ESCAPES:
            text = text.replace(escape, letter)
    return text


def _shown(token: str, names: Names) -> str:
    target, _, label = token.partition("|")
    kind, own = target[:1], target[1:]
    if kind == "@":
        member = names.members.get(own)
        return "@" + ((member.name if member else None) or label or own)
    if kind == "#":
        return "#" + (names.channels.get(own) or label or own)
    if kind == "!":
        return label or "@" + own.partition("^")[0]
    if not label or label in target:
        return target.removeprefix("mailto:")
    return f"{label} ({target})"
