"""``slowwave-csv``: the documented row shape with a header line; comma, semicolon or tab.

A portion goes to Polars if its own arithmetic proves that Polars read it as written: every
separator and line feed is either between fields or inside one. Any other portion goes row by row
through the ``csv`` module, so that only faulty rows are refused.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import BinaryIO

import polars as pl

from transforms.policy import IngestPolicy
from transforms.readers.accounts import Repeatable
from transforms.readers.batch import Batch
from transforms.readers.frames import frame_batch
from transforms.readers.lines import START, Point, source_blocks
from transforms.readers.row_shape import CONTENT_FIELDS, INTEGER_COLUMNS, KNOWN_FIELDS
from transforms.readers.rows import refusal, rows_batch
from transforms.readers.text import JsonFault, load_json

_STRAY_QUOTE = re.compile(rb'"(?<=[^,;\t\r\n"]")(?=[^,;\t\r\n"])')
"""A quote inside text: what it means is for the csv module to say."""

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class SlowwaveCsv:
    """Reader of CSV in the row shape."""

    name = "slowwave-csv"
    about = "CSV with the columns of the row shape; a record is one row."

    def matches(self, head: bytes, file_name: str) -> bool:
        """A first line of separated names, one of them the text."""
        first = head.lstrip().split(b"\n", 1)[0].strip()
        if first.startswith((b"{", b"[")):
            return False
        names = _header(first)[0]
        return bool(CONTENT_FIELDS & set(names)) and (len(names) > 1 or file_name.lower().endswith(".csv"))

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line a row begins on."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """As ``batch.Resumable``: the header is read again."""
        csv.field_size_limit(sys.maxsize)  # the module's only limit is global; messages may be long
        can_go_on = stream.seekable() or isinstance(stream, Repeatable)
        shape = None if point == START else _header(_first_line(stream, policy))
        source = source_blocks(stream, policy, point.offset)
        offset, line = source.offset if can_go_on else None, point.number + 1
        for part, is_sound in _portions(source, policy.batch_bytes):
            rows, begin, line = part, line, line + part.count(b"\n")
            if shape is None:
                first, _, rows = part.partition(b"\n")
                shape, begin = _header(first), 2
            frame = _frame(rows, *shape) if is_sound else None
            if frame is None:
                found = list(_row_by_row(rows, begin, shape, file_name, policy))
            else:
                found = list(_by_column(frame, begin, file_name, policy))
            if offset is not None:
                offset += len(part)
                found[-1:] = [replace(last, point=Point(offset, line - 1)) for last in found[-1:]]
            yield from found


def _first_line(stream: BinaryIO, policy: IngestPolicy) -> bytes:
    """Of a stream that stands anywhere, and stands there again."""
    if isinstance(stream, Repeatable):
        with stream.again() as first:
            return b"".join(islice(source_blocks(first, policy), 1)).partition(b"\n")[0]
    place = stream.tell()
    stream.seek(0)
    line = b"".join(islice(source_blocks(stream, policy), 1)).partition(b"\n")[0]
    stream.seek(place)
    return line


def _header(first: bytes) -> tuple[list[str], str]:
    """Names and separator of a first line: the one that gives most known names."""
    line = first.decode("utf-8", "replace").rstrip("\r")
    options = [(_split_header(line, separator), separator) for separator in (",", ";", "\t")]
    return max(options, key=lambda option: len(KNOWN_FIELDS & set(option[0])))


def _split_header(line: str, separator: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return [line]


def _portions(source: Iterator[bytes], limit: int) -> Iterator[tuple[bytes, bool]]:
    """Whole records at a time, and whether their quotes are balanced.

    A quote that stays open for more than ``limit`` bytes is taken for a stray one, so that it
    cannot swallow the file.
    """
    carry: list[bytes] = []
    for block in source:
        carry.append(block)
        if b"\n" not in block:
            continue
        buffer = b"".join(carry)
        end = _record_end(buffer)
        is_sound = end > 0 or len(buffer) <= limit
        if not is_sound:
            end = buffer.rfind(b"\n") + 1
        if end:
            yield buffer[:end], is_sound
        carry = [buffer[end:]]
    if last := b"".join(carry):
        yield last, last.count(b'"') % 2 == 0


def _record_end(buffer: bytes) -> int:
    """End of the last line before which quotes are balanced; 0 if there is none."""
    end = buffer.rfind(b"\n")
    is_odd = buffer.count(b'"', 0, max(end, 0)) % 2
    while end >= 0 and is_odd:
        start = buffer.rfind(b"\n", 0, end)
        is_odd ^= buffer.count(b'"', start + 1, end) % 2
        end = start
    return end + 1


def _frame(part: bytes, header: list[str], separator: str) -> pl.DataFrame | None:
    """The portion as text columns; null where Polars cannot be shown to have read it as written."""
    if (
        part.count(b"\r") != part.count(b"\r\n")
        or _STRAY_QUOTE.search(part)
        or len(set(header)) < len(header)
    ):
        return None
    if not part.strip():
        return pl.DataFrame(schema=dict.fromkeys([*header, "_line_count"], pl.String))
    try:
        frame = pl.read_csv(
            part,
            has_header=False,
            schema={name: pl.String() for name in header},
            separator=separator,
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError:
        return None
    found = frame.select(
        pl.sum_horizontal(pl.all().str.count_matches(separator, literal=True)).sum().alias("separators"),
        pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True)).sum().alias("feeds"),
    ).row(0)
    feeds = part.count(b"\n") + (not part.endswith(b"\n"))
    expected = (part.count(separator.encode()) - frame.height * (len(header) - 1), feeds - frame.height)
    return frame if found == expected else None


def _by_column(frame: pl.DataFrame, line: int, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
    lines_each = frame.select(
        1 + pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True))
    ).to_series()
    starts = lines_each.cum_sum().shift(1, fill_value=0).cast(pl.Int64) + line
    frame = frame.with_columns(pl.all().replace("", None))
    for begin in range(0, frame.height, policy.batch_rows):
        part = frame.slice(begin, policy.batch_rows)
        numbers = starts.slice(begin, policy.batch_rows).to_list()
        typed = _typed_frame(part)
        if typed is None:
            records = [_typed_record(row) for row in part.to_dicts()]
            yield rows_batch(records, numbers, lambda i, p=part: _raw(p.row(i)), file_name)  # type: ignore[misc]
        else:
            yield frame_batch(typed, numbers, file_name)


def _typed_frame(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Text columns cast to the types of the row shape; null where a value does not fit."""
    targets: dict[str, pl.Expr] = {
        name: pl.col(name).cast(pl.Int64, strict=False) for name in INTEGER_COLUMNS
    }
    targets["importance"] = pl.col("importance").cast(pl.Float64, strict=False)
    lower = pl.col("is_injected").str.to_lowercase()
    targets["is_injected"] = lower.replace_strict(_BOOLEANS, default=None, return_dtype=pl.Boolean)
    present = [name for name in targets if name in frame.columns]
    typed = frame.with_columns(targets[name].alias(name) for name in present)
    if any(typed[name].null_count() > frame[name].null_count() for name in present):
        return None
    if "tags" in frame.columns and frame["tags"].null_count() < frame.height:
        return None
    return typed


def _typed_record(row: dict[str, str | None]) -> dict[str, object]:
    """One row of text with the types of the row shape where they fit; what does not is refused later."""
    record: dict[str, object] = {k: v for k, v in row.items() if v not in (None, "")}
    for name in (*INTEGER_COLUMNS, "importance"):
        text = record.get(name)
        if isinstance(text, str):
            try:
                record[name] = float(text) if name == "importance" else int(text)
            except ValueError:
                continue
    flag = record.get("is_injected")
    if isinstance(flag, str):
        record["is_injected"] = _BOOLEANS.get(flag.lower(), flag)
    tags = record.get("tags")
    if isinstance(tags, str):
        record["tags"] = _tags(tags)
    return record


def _tags(text: str) -> object:
    """A JSON list, or names between semicolons."""
    if text.lstrip().startswith("["):
        try:
            return load_json(text.encode())
        except JsonFault:
            return text
    return [tag.strip() for tag in text.split(";") if tag.strip()]


def _row_by_row(
    part: bytes, line: int, shape: tuple[list[str], str], file_name: str, policy: IngestPolicy
) -> Iterator[Batch]:
    header, separator = shape
    texts = _Recorder(part.decode("utf-8", "replace"))
    reader = csv.reader(texts, delimiter=separator, strict=True)
    records: list[dict[str, object]] = []
    numbers: list[int] = []
    raws: list[str] = []
    faults: list[dict[str, object]] = []
    while True:
        fault = None
        row: list[str] = []
        try:
            row = next(reader)
            if len(row) != len(header):
                fault = JsonFault("wrong_field_count", f"{len(row)} fields under {len(header)} names")
        except StopIteration:
            break
        except csv.Error as error:
            fault = JsonFault("invalid_csv", f"not CSV: {error}")
        start, raw = texts.take()
        if not raw.strip():
            continue
        if fault:
            faults.append(refusal(fault, raw, line + start, file_name))
        else:
            records.append(_typed_record(dict(zip(header, row, strict=True))))
            numbers.append(line + start)
            raws.append(raw)
        if len(records) + len(faults) >= policy.batch_rows:
            yield rows_batch(records, numbers, raws.__getitem__, file_name, faults)
            records, numbers, raws, faults = [], [], [], []
    if records or faults:
        yield rows_batch(records, numbers, raws.__getitem__, file_name, faults)


class _Recorder(Iterator[str]):
    """Lines of a text that remembers which were read since last asked."""

    def __init__(self, text: str) -> None:
        self._lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self._next = self._taken = 0

    def __next__(self) -> str:
        if self._next >= len(self._lines):
            raise StopIteration
        self._next += 1
        line: str = self._lines[self._next - 1]
        return line

    def take(self) -> tuple[int, str]:
        """Index of the first line read since the last call, and the lines as one text."""
        start, self._taken = self._taken, self._next
        return start, "".join(self._lines[start : self._next]).rstrip("\r\n")


def _raw(row: Sequence[str | None]) -> str:
    return ",".join("" if value is None else value for value in row)
