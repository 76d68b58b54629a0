"""``slowwave-jsonl``: records of the documented row shape, one a line, in a list, or one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import orjson

from transforms.exported import OF_A_SUMMARY
from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, quote
from transforms.readers.lines import START, Lines, Point, line_batches
from transforms.readers.records import Records, json_records
from transforms.readers.row_shape import CONTENT_FIELDS, KNOWN_FIELDS
from transforms.readers.rows import refusal, rows_batch
from transforms.readers.sniff import is_json_lines_name, json_lines, top_keys
from transforms.readers.text import JsonFault, dump_json, load_object


class SlowwaveJsonl:
    """Reader of JSON lines in the row shape."""

    name = "slowwave-jsonl"
    about = "JSON lines, or a JSON array, in the row shape; a record is one line or item."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Lines or a list of objects with text, nothing at all, or garbage under the right name."""
        if top_keys(head) >= OF_A_SUMMARY:
            return False
        records = json_lines(head)
        if records:
            return any(isinstance(r.get(name), str) for r in records for name in CONTENT_FIELDS)
        if head.strip() in (b"", b"[]"):
            return True
        is_one_long_line = head.lstrip().startswith(b"{") and b"\n" not in head.strip()
        if is_one_long_line and CONTENT_FIELDS & top_keys(head):
            return True
        if head.lstrip()[:1] in (b"[", b"{") and CONTENT_FIELDS & top_keys(head):
            return len(KNOWN_FIELDS & top_keys(head)) > 1 or is_json_lines_name(file_name)
        return is_json_lines_name(file_name)

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the number of the line or item."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """See ``Resumable``: every record stands for itself."""
        records = json_records(stream, policy, start=point)
        if not records.is_lines:
            yield from _items(records, file_name, policy)
            return
        for lines, after in line_batches(records.blocks, policy, point.number, records.first or 0):
            yield _batch(lines, file_name, after if records.first is not None else None)


def _items(records: Records, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
    """Records of a JSON document, in portions of about a block of text."""
    parsed: list[dict[str, object]] = []
    numbers: list[int] = []
    faults: list[dict[str, object]] = []
    begun = 0

    def gathered() -> Batch:
        batch = rows_batch(parsed, numbers, lambda i: dump_json(parsed[i]), file_name, faults)
        return replace(batch, point=records.point)

    for number, value, raw in records:
        if isinstance(value, JsonFault):
            text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else quote(raw)
            faults.append(refusal(value, text, number, file_name))
        else:
            parsed.append(value)
            numbers.append(number)
        read = records.bytes_read - begun
        if read >= policy.batch_bytes // 4 or len(parsed) + len(faults) >= policy.batch_rows:
            yield gathered()
            parsed, numbers, faults, begun = [], [], [], records.bytes_read
    if parsed or faults:
        yield gathered()


def _batch(lines: Lines, file_name: str, after: Point | None) -> Batch:
    numbers, texts, faults = lines.numbers, lines.texts, []
    try:
        parsed = [orjson.loads(text) for text in texts]
        is_plain = set(map(type, parsed)) <= {dict}
    except orjson.JSONDecodeError:
        is_plain = False
    if not is_plain:
        parsed, numbers, texts = [], [], []
        for number, text in zip(*lines, strict=True):
            try:
                parsed.append(load_object(text))
            except JsonFault as fault:
                faults.append(refusal(fault, text.decode("utf-8", "replace"), number, file_name))
            else:
                numbers.append(number)
                texts.append(text)
    batch = rows_batch(parsed, numbers, lambda i: texts[i].decode("utf-8", "replace"), file_name, faults)
    return replace(batch, point=after)
