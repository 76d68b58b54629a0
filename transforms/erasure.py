"""What an erasure takes: which rows are the subject's, which refused rows name it, what proves it gone."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    PROCEDURES,
    SUMMARIES,
    Table,
)
from transforms.standing import is_held
from transforms.subjects import Subject

SPOKEN_COLUMNS = ("tenant_id", "user_id", "agent_id", "session_id", "speaker")
TEXTS: Mapping[str, tuple[str, ...]] = {
    EPISODES.name: ("content", "tool_arguments", "failure_reason", "feedback", "metadata"),
    CLAIMS.name: ("fact",),
    FACTS.name: ("fact",),
    SUMMARIES.name: ("text",),
    CONVERSATIONS.name: ("title",),
    ATTEMPTS.name: ("fix", "failure_reason"),
    PROCEDURES.name: ("policy",),
}
"""Columns whose sentences are looked for in the bytes afterwards."""
LEAST_CHARS = 24
LEAST_WORDS = 4
"""A shorter sentence says nothing about who said it: "yes please" stands in every lake."""
MOST_DIGITS = 8
"""A longer number is somebody's own: no table has as many rows, and no file as many bytes, by chance."""
MOST_BYTES = 64
"""Of a sentence that is looked for: its first part tells it apart, and a longer one may be cut somewhere."""
_END = re.compile(r"(?<=[.!?…。！？])\s+|[\r\n]+")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "tenant": ("tenant_id", "tenant"),
    "user": ("user_id", "user", "speaker", "author", "sender", "name", "from"),
    "agent": ("agent_id", "agent"),
    "session": ("session_id", "session", "conversation_id", "thread_id"),
}
"""Fields of refused rows that name somebody."""


@dataclass(frozen=True)
class Aim:
    """Whose rows go.

    Args:
        subject: Whom or what the request is about.
        aliases: Further names of a user, as a speaker of rows without a user.
        holds: Subjects under legal hold: their rows stay.
    """

    subject: Subject
    aliases: tuple[str, ...] = ()
    holds: tuple[Subject, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """A user's id and aliases, sorted; what a tenant, agent or session is called."""
        subject = self.subject
        own = {
            "user": subject.user,
            "agent": subject.agent,
            "session": subject.session,
            "tenant": subject.tenant,
            "memory": subject.memory,
        }[subject.kind]
        return tuple(sorted({own or "", *self.aliases} - {""}))

    def is_spoken(self) -> pl.Expr:
        """Whether a row without a user, as of a group chat kept under an agent, was said by the user.

        Names are compared without regard to case and outer blanks.
        """
        if self.subject.kind != "user":
            return pl.lit(False)
        names = [name.strip().lower() for name in self.names]
        said_by = pl.col("speaker").str.strip_chars().str.to_lowercase().is_in(names)
        mine = pl.col("tenant_id").eq_missing(pl.lit(self.subject.tenant)) & pl.col("user_id").is_null()
        return (mine & said_by).fill_null(False)

    def is_aimed(self, *, has_speaker: bool) -> pl.Expr:
        """Whether a row with the scope columns is the subject's, holds aside; never null."""
        own = self.subject.owns()
        return own | self.is_spoken() if has_speaker else own

    def is_held(self, key: str | None = None) -> pl.Expr:
        """Whether a row is under legal hold; see ``standing.is_held``."""
        return is_held(self.holds, key)

    @property
    def owners(self) -> tuple[str, ...]:
        """Owners that are the subject itself."""
        if self.subject.kind == "user":
            return (f"user:{self.subject.user}",)
        return (f"agent:{self.subject.agent}",) if self.subject.kind == "agent" else ()


def meets(rows: pl.DataFrame, column: str, ids: pl.Series) -> pl.Series:
    """Whether each row names one of the ids in a column of ids or of lists of ids; never null.

    Args:
        rows: Any.
        column: Text, or list of text.
        ids: Distinct ids.
    """
    if rows.is_empty() or ids.is_empty():
        return pl.repeat(False, rows.height, dtype=pl.Boolean, eager=True).alias("meets")
    named = rows.select(pl.int_range(pl.len()).alias("row"), pl.col(column).alias("id"))
    if isinstance(rows.schema[column], pl.List):
        named = named.explode("id")
    found = named.join(ids.alias("id").to_frame(), on="id", how="semi")["row"].unique()
    return pl.select(pl.int_range(rows.height).is_in(found.implode()).alias("meets")).to_series()


def names_subject(raw: str, aim: Aim) -> bool:
    """Whether a refused row's text names the subject as whose it is; a mention in a sentence does not count.

    Args:
        raw: JSON or a line of a table, as it was refused.
        aim: Whose rows go; memories are named by no field.
    """
    subject = aim.subject
    if subject.kind == "memory":
        return False
    fields, wanted = _FIELDS[subject.kind], set(aim.names)
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return not wanted.isdisjoint(_tokens(raw))
    if not isinstance(found, dict | list):
        return not wanted.isdisjoint(_tokens(raw))
    tenants = set(_values(found, _FIELDS["tenant"]))
    if tenants and subject.tenant not in tenants:
        return False
    return not wanted.isdisjoint(_values(found, fields))


def _values(found: object, fields: Sequence[str]) -> Iterable[str]:
    """Texts that stand under one of the fields, at any depth."""
    waiting = [found]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            for name, value in part.items():
                if isinstance(value, str):
                    if str(name).lower() in fields:
                        yield value
                else:
                    waiting.append(value)


def _tokens(raw: str) -> set[str]:
    """Cells of a line of a table, and quoted texts of JSON that was cut."""
    cells = {cell.strip().strip('"') for cell in re.split(r"[,;\t|]", raw)}
    return cells | set(re.findall(r'"((?:[^"\\]|\\.)*)"', raw))


def sentences(texts: Iterable[str | None], most: int) -> list[str]:
    """Distinctive sentences of texts, as they stand, the longest first where there are too many.

    Args:
        texts: Any; values of JSON objects are looked into.
        most: How many at most.

    Returns:
        Distinct, of at least ``LEAST_WORDS`` words and ``LEAST_CHARS`` characters, cut to ``MOST_BYTES``.
    """
    found = {
        _cut(sentence)
        for text in texts
        if text
        for part in plain_texts(text)
        for sentence in (piece.strip() for piece in _END.split(part))
        if is_distinctive(sentence)
    }
    return sorted(found, key=lambda sentence: (-len(sentence), sentence))[:most]


def _cut(sentence: str) -> str:
    data = sentence.encode("utf-8", "surrogatepass")
    return sentence if len(data) <= MOST_BYTES else data[:MOST_BYTES].decode("utf-8", "ignore").rstrip()


def is_distinctive(sentence: str) -> bool:
    """Whether a sentence is long enough to be somebody's own."""
    wide = sum(1 for character in sentence if ord(character) > 0x2E80)  # scripts without blanks
    return (len(sentence) >= LEAST_CHARS and len(sentence.split()) >= LEAST_WORDS) or wide >= LEAST_CHARS // 2


def plain_texts(text: str) -> Iterable[str]:
    """The texts inside a JSON object or list, else the text itself."""
    if text[:1] not in "{[":
        return [text]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    return list(_strings(found))


def _strings(found: Any) -> Iterable[str]:
    waiting = [found]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())


def sources_of(row_id: str, table: Table, rows: pl.DataFrame) -> dict[str, list[str]]:
    """What a derived row rests on, by kind: ``episodes``, ``conversations`` or ``topics`` (ids).

    Args:
        row_id: Id of the row.
        table: Its table.
        rows: All its revisions.
    """
    mine = rows.filter(pl.col(table.key[0]) == row_id)
    if table.name == PROCEDURES.name:
        is_pattern = pl.col("kind") == "pattern"
        return {
            "episodes": _refs(mine.filter(~is_pattern)),
            "conversations": _refs(mine.filter(is_pattern)),
        }
    if "source_refs" in table.names:
        return {"episodes": _refs(mine)}
    return {"episodes": mine["episode_id"].to_list()} if "episode_id" in table.names else {}


def _refs(rows: pl.DataFrame) -> list[str]:
    return rows["source_refs"].explode().drop_nulls().unique().sort().to_list()


def searchable(names: Iterable[str], vocabulary: Collection[str]) -> list[str]:
    """Names that can be looked for in bytes: not the words that every lake is written with.

    A user called ``user``, ``content``, ``7`` or ``2026-03`` is looked for in rows only.
    """
    known = {word.lower() for word in vocabulary}
    told = ((name, name.strip().lower()) for name in names)
    return sorted({name for name, plain in told if plain and plain not in known and not _is_count(plain)})


def _is_count(name: str) -> bool:
    """Whether a name could be a count, a size or a date, of which every file is full."""
    digits = sum(character.isdigit() for character in name)
    return 0 < digits <= MOST_DIGITS and not any(character.isalpha() for character in name)
