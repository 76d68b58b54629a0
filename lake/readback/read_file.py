"""Reads back one file: its bytes as they lie there, then what they hold once decoded."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa

from lake.lake import Lake
from lake.readback import decoders, json_rows
from lake.readback.columns import ColumnSearch, Find
from lake.readback.decoders import FAULTS, Decoded, Rows, Text, Tokens
from lake.readback.matcher import Matcher
from lake.readback.needles import CLASSES
from lake.readback.result import LISTED, FileFinds, Leak, Mention, Unreadable
from lake.readback.stored import NO_FILE, opened
from lake.readback.words import Needle, held_words, words_of
from lake.storage import Entry
from transforms.schemas import MEMORIES, STORED

Allowed = Callable[[str, pl.DataFrame], pl.Series]
"""Whether each row of a table may hold needles: name of the table and rows to booleans."""

CHUNK_BYTES = 8 << 20
_CONTEXT = 32
"""Bytes beside a find that tell whether a word goes on."""
_INDICES = ".lance/_indices/"
_DEEPEST = 4
"""Archives inside archives."""
_ROW_IDS = {table.name: table.key[0] for table in (*STORED, MEMORIES)}


def allowed_ids(surviving: Mapping[str, Collection[str]]) -> Allowed:
    """Rows may hold needles whose id is among those that survive, by table."""
    held = {table: pl.Series(sorted(ids), dtype=pl.String) for table, ids in surviving.items()}

    def is_allowed(table: str, rows: pl.DataFrame) -> pl.Series:
        known = held.get(table, pl.Series([], dtype=pl.String))
        return _names(table, rows).is_in(known.implode())

    return is_allowed


def nothing_allowed(table: str, rows: pl.DataFrame) -> pl.Series:
    """No row may hold any."""
    del table
    return pl.repeat(value=False, n=rows.height, dtype=pl.Boolean, eager=True)


def _names(table: str, rows: pl.DataFrame) -> pl.Series:
    """Ids of rows: of the table's key, else of the first column of ids; empty where there is none."""
    texts = [name for name, kind in rows.schema.items() if kind == pl.String]
    key = _ROW_IDS.get(table)
    name = key if key in texts else next((name for name in texts if name.endswith("_id")), None)
    if name is None:
        return pl.repeat("", rows.height, dtype=pl.String, eager=True)
    return rows[name].fill_null("")


class FileReader:
    """Reads files back, one at a time. Safe between threads.

    Args:
        lake: Whose.
        matcher: Finds the needles.
        allowed: Which rows may hold some.
    """

    def __init__(self, lake: Lake, matcher: Matcher, allowed: Allowed, kept: Allowed | None = None) -> None:
        self._lake = lake
        self._matcher = matcher
        self._columns = ColumnSearch(matcher)
        self._allowed = allowed
        self._kept = kept
        self._words = words_of(matcher.needles)
        self._named: dict[str, list[Needle]] = {}

    def look_at_names(self, entries: Sequence[Entry]) -> None:
        """Search the names of files that will be read, all together."""
        keys = [entry.key.encode("utf-8", "surrogateescape") for entry in entries]
        for number, match in self._matcher.parts(keys):
            self._named.setdefault(entries[number].key, []).append(match.needle)

    def read(self, entry: Entry) -> FileFinds:
        """Search a file; what ``look_at_names`` found in its name is among the finds."""
        finds = FileFinds(unit_of(entry.key), bytes_decoded=len(entry.key.encode("utf-8", "surrogateescape")))
        for needle in self._named.get(entry.key, ()):
            self._add_loose(finds, entry.key, "file name", needle)
        if entry.tag == NO_FILE:
            finds.unreadable.append(Unreadable(entry.key, "neither file nor folder"))
            return finds
        try:
            with opened(self._lake.storage, entry.key) as file:
                self._stream(finds, entry.key, file, 0)
        except FileNotFoundError:
            finds.is_gone = True
        except OSError as error:
            finds.unreadable.append(Unreadable(entry.key, type(error).__name__))
        return finds

    def _stream(self, finds: FileFinds, key: str, file: BinaryIO, depth: int) -> None:
        head, tail = _ends(file)
        kind = decoders.kind_of(key, head, tail)
        size = self._raw(finds, key, file, is_packed=kind in decoders.PACKED_KINDS)
        if not depth:
            finds.kind, finds.bytes_raw = kind, size
        else:
            finds.bytes_decoded += size
        if not size:
            return
        file.seek(0)
        try:
            self._decode(finds, key, kind, file, depth)
        except FileNotFoundError:
            raise
        except FAULTS as error:
            finds.unreadable.append(Unreadable(key, f"no {kind}: {type(error).__name__}"))
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # Rust's; a library broke down over the bytes
                finds.unreadable.append(Unreadable(key, f"no {kind}: PanicException"))
                return
            raise

    def _raw(self, finds: FileFinds, key: str, file: BinaryIO, *, is_packed: bool) -> int:
        """Search the bytes piece by piece; pieces overlap by a pattern and its neighbours."""
        kept = self._matcher.longest + 2 * _CONTEXT
        data, size, is_first = b"", 0, True
        chunk = file.read(CHUNK_BYTES)
        while chunk:
            size += len(chunk)
            following = file.read(CHUNK_BYTES)
            searched = len(data)  # ends before this less the context were found in the piece before
            data += chunk
            least = 0 if is_first else searched - _CONTEXT
            most = len(data) - _CONTEXT if following else len(data)
            for match in self._matcher.find(data, is_packed=is_packed):
                if least < match.end <= most:
                    self._add_loose(finds, key, "raw bytes", match.needle)
            data, chunk, is_first = data[-kept:], following, False
        return size

    def _decode(self, finds: FileFinds, key: str, kind: str, file: BinaryIO, depth: int) -> None:
        if kind in decoders.ARCHIVES:
            if depth == _DEEPEST:
                raise ValueError("archives inside archives")
            for name, member in decoders.unpacked(kind, file):
                inner = f"{key}!{name}" if name else key.rsplit(".", 1)[0]
                self._note_text(finds, inner, "file name", name.encode("utf-8", "surrogateescape"))
                self._stream(finds, inner, io.BytesIO(member.read()), depth + 1)
        elif kind in ("json", "jsonl"):
            for block in json_rows.documents(file, is_lines=kind == "jsonl"):
                self._note_json(finds, key, block)
        elif kind in ("parquet", "lance"):
            texts: list[Text] = []
            try:
                for item in self._binary(key, kind, file, depth):
                    if isinstance(item, Text):
                        texts.append(item)
                    else:
                        self._note(finds, key, item)
            finally:  # what was read of a damaged file counts, too
                self._note_texts(finds, key, texts)

    def _binary(self, key: str, kind: str, file: BinaryIO, depth: int) -> Iterator[Decoded]:
        if kind == "parquet":
            yield from decoders.parquet(file, key)
        elif depth:
            # It is read by its path only: told as unreadable, so that the proof does not pass.
            raise ValueError("a Lance file inside an archive")
        else:
            yield from decoders.lance(f"{self._lake.storage.uri}/{key}")

    def _note(self, finds: FileFinds, key: str, item: Decoded) -> None:
        if isinstance(item, Tokens):
            finds.words.update(held_words(item.tokens, self._words))
        elif isinstance(item, Rows):
            found, size = self._columns.batch(item.batch)
            finds.bytes_decoded += size
            if found and _INDICES in key:  # values of an index stand beside no row's id
                for find in found:
                    self._add_loose(finds, key, find.column, find.needle)
            elif found:
                rows = sorted({find.row for find in found})
                frame = _rows_of(item.batch, rows, item.path_columns)
                self._judge(finds, key, found, rows, frame)

    def _note_json(self, finds: FileFinds, key: str, block: list[Any]) -> None:
        found, size = self._columns.search(json_rows.leaf_columns(block))
        finds.bytes_decoded += size
        if found:
            rows = sorted({find.row for find in found})
            self._judge(finds, key, found, rows, json_rows.frame([block[row] for row in rows]))

    def _note_text(self, finds: FileFinds, key: str, where: str, data: bytes) -> None:
        finds.bytes_decoded += len(data)
        for match in self._matcher.find(data):
            self._add_loose(finds, key, where, match.needle)

    def _note_texts(self, finds: FileFinds, key: str, texts: list[Text]) -> None:
        finds.bytes_decoded += sum(len(text.data) for text in texts)
        for number, match in self._matcher.parts([text.data for text in texts]):
            self._add_loose(finds, key, texts[number].where, match.needle)

    def _add_loose(self, finds: FileFinds, key: str, where: str, needle: tuple[int, int]) -> None:
        finds.loose[Leak(key, where, CLASSES[needle[0]], needle[1])] += 1

    def _judge(
        self, finds: FileFinds, key: str, found: list[Find], rows: list[int], frame: pl.DataFrame
    ) -> None:
        """Rows with finds are mentions where they may stay, else leaks."""
        table = table_of(key)
        names = _names(table, frame).to_list()
        may_stay = dict(zip(rows, self._may_stay(key, table, frame), strict=True))
        name_of = dict(zip(rows, names, strict=True))
        kept = self._kept_rows(table, frame, rows)
        stay = {(find.row, CLASSES[find.needle[0]]) for find in found if may_stay[find.row]}
        finds.kept_count += sum(row in kept for row, _ in stay)
        stay = {(row, name) for row, name in stay if row not in kept}
        finds.mention_count += len(stay)
        if len(finds.mentions) < LISTED:
            finds.mentions.update(Mention(table, name_of[row], name) for row, name in stay)
        for find in found:
            name = CLASSES[find.needle[0]]
            if may_stay[find.row]:
                finds.explained.add((name, find.needle[1]))
            else:
                finds.leaks[Leak(key, find.column, name, find.needle[1], name_of[find.row])] += 1

    def _kept_rows(self, table: str, frame: pl.DataFrame, rows: list[int]) -> set[int]:
        """Rows that are counted apart where they may stay."""
        if self._kept is None:
            return set()
        return {row for row, is_kept in zip(rows, self._kept(table, frame), strict=True) if is_kept}

    def _may_stay(self, key: str, table: str, frame: pl.DataFrame) -> list[bool]:
        if "_delta_log/" in key:  # the log outlives every purge: nothing personal may stand in it
            return [False] * frame.height
        answer = self._allowed(table, frame).fill_null(value=False)
        return [bool(value) for value in answer]


def table_of(key: str) -> str:
    """Name of the table that a file's rows are of: of the lake's, of the index, else its first folder."""
    parts = key.split("/")
    if parts[0] == "tables" and len(parts) > 2:
        return parts[1]
    return MEMORIES.name if parts[0] == "index" else parts[0]


def unit_of(key: str) -> str:
    """What explains one another's finds: the files of a Lance dataset, else a file alone."""
    parts = key.split("/")
    for place, part in enumerate(parts[:-1]):
        if part.endswith(".lance"):
            return "/".join(parts[: place + 1])
    return key


def _ends(file: BinaryIO) -> tuple[bytes, bytes]:
    head = file.read(8)
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    file.seek(0)
    return head, tail


def _rows_of(batch: pa.RecordBatch, rows: list[int], given: Mapping[str, str]) -> pl.DataFrame:
    taken = batch.take(pa.array(rows, pa.int64()))
    columns = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in taken.columns]
    frame = pl.DataFrame(pa.Table.from_arrays(columns, taken.schema.names))
    return frame.with_columns(pl.lit(value).alias(name) for name, value in given.items())
