"""``slack-export``: the export of a Slack workspace, a folder or its zip.

A folder a channel, in it a file a day with a list of messages; beside the folders the lists of users and
channels, which give names for ids. The shape is that of public exports and of Slack's help pages. A message's
``ts`` is its time, and its id within the channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.chats import OTHER_ROLE, person_fields
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.parts import metadata_of
from transforms.readers.slack_names import CHANNELS, USERS, Member, Names, member_of, names_of, plain_words
from transforms.readers.sniff import top_keys
from transforms.readers.text import id_or_none, text_or_none
from transforms.readers.times import iso_time

_EVENTS = (
    "channel_", "group_", "mpim_", "im_", "bot_add", "bot_remove", "bot_enable", "bot_disable", "pinned_item",
    "unpinned_item", "reminder_", "huddle_", "sh_room_", "app_conversation_", "ekm_", "message_replied",
)  # fmt: skip
"""Beginnings of subtypes by which Slack itself tells what happened in a channel."""
_GONE = frozenset(("tombstone", "message_deleted"))
_MAPPED = frozenset((
    "type", "user", "text", "ts", "thread_ts", "blocks", "attachments", "files", "file", "user_profile",
    "bot_profile", "replies", "reply_users", "reply_users_count", "latest_reply", "username", "icons",
))  # fmt: skip
_SHOWN = ("title", "title_link", "text", "fallback", "author_name")
_MARKS = frozenset(("type", "ts"))


class SlackExport(EachRecord):
    """Reader of Slack exports; ``owner`` as ``chats.person_fields`` takes it."""

    name = "slack-export"
    about = "A Slack workspace's export, folder or zip; a record is one message."
    companions = (USERS, *CHANNELS)

    def __init__(self, owner: str | None = None, names: Names | None = None) -> None:
        """A reader of channels that are to be the owner's memory, or each speaker's own."""
        self._owner = owner
        self._names = names or Names()

    def owned_by(self, owner: str) -> SlackExport:
        """As ``chats.Owned``."""
        return SlackExport(owner, self._names)

    def with_companions(self, files: Mapping[str, bytes]) -> SlackExport:
        """As ``chats.Accompanied``."""
        return SlackExport(self._owner, names_of(files))

    def matches(self, head: bytes, file_name: str) -> bool:
        """A list of messages with ``ts`` and who or what."""
        keys = top_keys(head) if head.lstrip().startswith(b"[") else set()
        return keys >= _MARKS and bool({"text", "user", "subtype"} & keys)

    def told_by(self, file_name: str) -> str:
        """As ``batch.NameReading``: the folder, which is called as the channel."""
        return PurePosixPath(file_name).parent.name

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is a message of a channel."""
        channel = _Channel(collector, self.told_by(file_name), self._names, self._owner)

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            channel.read(record, number)

        return read_one


class _Channel:
    """The messages of one file."""

    def __init__(self, collector: Collector, folder: str, names: Names, owner: str | None) -> None:
        self._collector = collector
        self._names = names
        self._owner = owner
        self._channel = names.folders.get(folder, folder) or None
        self._title = names.channels.get(self._channel or "", folder)

    def read(self, message: Mapping[str, object], number: int) -> None:
        """Draft one message, or leave it out.

        Raises:
            JsonFault: A field of it is of the wrong type.
        """
        subtype = text_or_none(message.get("subtype"), "subtype") or ""
        changed = message.get("message")
        if subtype == "message_changed" and isinstance(changed, dict):
            message = changed
            subtype = text_or_none(message.get("subtype"), "subtype") or ""
        if message.get("type", "message") != "message":
            self._collector.leave_out("bookkeeping")
        elif subtype in _GONE:
            self._collector.leave_out("deleted_message")
        elif subtype.startswith(_EVENTS):
            self._collector.leave_out("channel_event")
        else:
            self._read_words(message, number)

    def _read_words(self, message: Mapping[str, object], number: int) -> None:
        files = _file_names(message)
        words = plain_words(_words_of(message), self._names)
        if files and not words.strip():
            self._collector.leave_out("no_text_part")
            return
        time = id_or_none(message.get("ts"), "ts")
        thread = id_or_none(message.get("thread_ts"), "thread_ts")
        rest = {key: value for key, value in message.items() if key not in _MAPPED}
        kept = {
            "channel": self._title,
            "files": files,
            "attachments": _attached(message.get("attachments")),
            "thread_ts": thread,
        }
        self._collector.draft(
            **self._who(message),
            natural_id=self._own_key(time),
            session_id=self._channel,
            parent_id=self._own_key(thread) if thread != time else None,
            content=words,
            event_at=iso_time(message.get("ts"), "ts"),
            metadata=metadata_of({**rest, **kept}),
            source_line=number,
        )

    def _own_key(self, time: str | None) -> str | None:
        if time is None or self._channel is None:
            return time
        return f"{self._channel}/{time}"

    def _who(self, message: Mapping[str, object]) -> dict[str, object]:
        """Speaker, role and owner; what a program posts is nobody's word."""
        user = id_or_none(message.get("user") or _profile(message, "comment").get("user"), "user")
        member = self._names.members.get(user or "") or _carried(message)
        bot = _profile(message, "bot_profile")
        names = (member.name, bot.get("name"), _handle(message), user, message.get("bot_id"))
        speaker = next((name for name in names if isinstance(name, str) and name), None)
        is_bot = member.is_bot or bool(bot) or message.get("subtype") == "bot_message" or user is None
        if is_bot:
            return {"speaker": speaker, "role": OTHER_ROLE}
        return {"speaker": speaker, **person_fields(user, member.names, self._owner)}


def _profile(message: Mapping[str, object], key: str) -> dict[str, object]:
    profile = message.get(key)
    return profile if isinstance(profile, dict) else {}


def _carried(message: Mapping[str, object]) -> Member:
    """The sender as the message itself tells it; a profile that is not there has no name."""
    return member_of(_profile(message, "user_profile"))


def _handle(message: Mapping[str, object]) -> str | None:
    """The name under which a program posted; older exports write a mention there, which says nothing new."""
    name = message.get("username")
    return name if isinstance(name, str) and not name.startswith("<") else None


def _words_of(message: Mapping[str, object]) -> str:
    """The text; where a program left that empty, what its attachments or blocks show."""
    text = text_or_none(message.get("text"), "text") or ""
    if text.strip():
        return text
    shown = [
        "\n".join(str(part[key]) for key in ("pretext", "title", "text") if isinstance(part.get(key), str))
        or str(part.get("fallback") or "")
        for part in _objects(message.get("attachments"))
    ]
    return "\n".join(part for part in (*shown, _block_text(message.get("blocks"))) if part.strip())


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _block_text(blocks: object) -> str:
    """All strings named ``text`` in the blocks, in their order."""
    found: list[str] = []
    waiting: list[object] = [blocks]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(item))
        elif isinstance(item, dict):
            if isinstance(item.get("text"), str):
                found.append(str(item["text"]))
            waiting.extend(v for v in reversed(item.values()) if isinstance(v, list | dict))
    return "\n".join(found)


def _attached(value: object) -> list[dict[str, object]]:
    """What attachments show in words; their pictures and addresses of pictures go."""
    return [{key: part[key] for key in _SHOWN if key in part} for part in _objects(value)]


def _file_names(message: Mapping[str, object]) -> list[str]:
    """Names of shared files; never their addresses, which hold tokens of the export."""
    files = _objects(message.get("files")) + _objects([message.get("file")])
    names = (item.get("name") or item.get("title") for item in files)
    return [name if isinstance(name, str) and name else "file" for name in names]
