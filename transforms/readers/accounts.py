"""Whose export it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, Protocol, runtime_checkable

from transforms.policy import IngestPolicy
from transforms.readers.lines import START, Point
from transforms.readers.records import Record, Records, json_records

_WRAPPER = "conversations"
Account = Callable[[Mapping[str, object]], object]


@runtime_checkable
class Repeatable(Protocol):
    """A stream that cannot go back, but be opened again."""

    def again(self) -> BinaryIO:
        """The same from its start, to be closed by the caller."""


class Export(NamedTuple):
    """Conversations, and whether they belong to more than one account.

    The export of one person does not name its user: the caller does, and the vendor's account id
    stays in metadata. In an export of several people each row must name its own, or they mix.
    """

    records: Iterator[Record]
    names_user: bool

    @property
    def point(self) -> Point | None:
        """Where it can be read on from after the conversation last given out; None: it is held whole."""
        return self.records.point if isinstance(self.records, Records) else None


@contextmanager
def exported(
    stream: BinaryIO, policy: IngestPolicy, account: Account, point: Point = START
) -> Iterator[Export]:
    """The conversations of an export; one of more than ``batch_bytes`` is read twice rather than held.

    Args:
        stream: At its start, or at the point. One that can neither go back nor be opened again is held whole.
        policy: For the size of portions.
        account: The account of a conversation; null: it names none.
        point: Behind which conversations are wanted; whose the others are is read nevertheless.
    """
    if point != START:
        with _again(stream) as first, exported(first, policy, account) as export:
            names_user = export.names_user
        with _again(stream) as rest:
            _pass(rest, point.offset)
            yield Export(json_records(rest, policy, _WRAPPER, point), names_user)
        return
    accounts: set[str] = set()
    found = json_records(stream, policy, _WRAPPER)
    held: list[Record] | None = []
    can_repeat = stream.seekable() or isinstance(stream, Repeatable)
    for record in found:
        owner = account(record.value) if isinstance(record.value, dict) else None
        if owner is not None:
            accounts.add(str(owner))
        if can_repeat and found.bytes_read > policy.batch_bytes:
            held = None
        if held is not None:
            held.append(record)
    names_user = len(accounts) > 1
    if held is not None:
        yield Export(iter(held), names_user)
    else:
        with _again(stream) as second:
            yield Export(json_records(second, policy, _WRAPPER), names_user)


@contextmanager
def _again(stream: BinaryIO) -> Iterator[BinaryIO]:
    """The stream from its start."""
    if isinstance(stream, Repeatable):
        with stream.again() as second:
            yield second
    else:
        stream.seek(0)
        yield stream


def _pass(stream: BinaryIO, count: int) -> None:
    """Move from the start to a place."""
    if stream.seekable():
        stream.seek(count)
        return
    while count and (block := stream.read(min(count, 1 << 20))):
        count -= len(block)
