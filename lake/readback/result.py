"""What a verification found: counts, places and ids, never the needles themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LISTED = 1000
"""Leaks and mentions that are listed; all are counted."""


@dataclass(frozen=True, slots=True, order=True)
class Leak:
    """A needle where none may be.

    Attributes:
        file: Key below the lake's root; a member of an archive behind ``!``.
        where: The column or JSON key; or ``raw bytes``, ``file name``, ``schema text``, ``footer bytes``,
            ``global buffer`` or ``token dictionary``.
        needle: Class of the needle.
        index: Its place among the needles of its class.
        row_id: Id of the row, where it lies in one.
    """

    file: str
    where: str
    needle: str
    index: int
    row_id: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """A row that stays and holds a needle of its own right."""

    table: str
    row_id: str
    needle: str


@dataclass(frozen=True, slots=True, order=True)
class Unreadable:
    """A file that could not be read, or not decoded as its name says, and the kind of fault."""

    file: str
    reason: str


@dataclass(frozen=True)
class ReadBack:
    """Outcome of a verification.

    Attributes:
        files: Files read, members of archives not counted.
        bytes_raw: Their bytes.
        bytes_decoded: Bytes of decoded strings and texts searched.
        seconds: Time it took.
        kinds: Files by kind.
        needles: By class: count, shortest in bytes, and how many were compared as whole values only.
        leaks: The first of ``leak_count``.
        mentions: The first of ``mention_count``: rows that stay, each once for a file and a class of needle.
        kept_count: Such rows that are counted apart, see ``read_back``.
        explained_raw: Finds outside rows that such a row of the same file explains.
        unreadable: Files that could not be read or decoded.
        excepted: Keys that were left out on request.
    """

    files: int
    bytes_raw: int
    bytes_decoded: int
    seconds: float
    kinds: Mapping[str, int]
    needles: Mapping[str, Mapping[str, int]]
    leaks: tuple[Leak, ...] = ()
    leak_count: int = 0
    mentions: tuple[Mention, ...] = ()
    mention_count: int = 0
    kept_count: int = 0
    explained_raw: int = 0
    unreadable: tuple[Unreadable, ...] = ()
    excepted: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything was read and nothing was found that may not be there."""
        return not self.leak_count and not self.unreadable

    @property
    def gb_per_second(self) -> float:
        """Raw and decoded bytes searched, in 10^9 a second."""
        return (self.bytes_raw + self.bytes_decoded) / 1e9 / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For certificates and ``--json``."""
        shown = asdict(self)
        shown["seconds"] = round(self.seconds, 3)
        return {"passed": self.passed, "gb_per_second": round(self.gb_per_second, 3), **shown}


@dataclass
class FileFinds:
    """What one file gave, before files of the same dataset have explained each other.

    Attributes:
        unit: What explains one another: a Lance dataset, else the file.
        loose: Finds outside rows, by leak.
        leaks: Finds in rows that may not stay.
        mentions: The first rows that may.
        mention_count: How many such rows there are, each once for a class of needle.
        kept_count: Rows that may stay and are counted apart.
        explained: Needles of such rows.
        words: Words of erased texts in a token dictionary, to be looked for in the dataset's rows.
        is_gone: Whether the file was removed before it was read.
    """

    unit: str
    loose: Counter[Leak] = field(default_factory=Counter)
    leaks: Counter[Leak] = field(default_factory=Counter)
    mentions: set[Mention] = field(default_factory=set)
    mention_count: int = 0
    kept_count: int = 0
    explained: set[tuple[str, int]] = field(default_factory=set)
    unreadable: list[Unreadable] = field(default_factory=list)
    words: dict[str, tuple[int, int]] = field(default_factory=dict)
    kind: str = "other"
    bytes_raw: int = 0
    bytes_decoded: int = 0
    is_gone: bool = False
