"""``slowwave-jsonl``: one record of the documented row shape a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import orjson

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch
from transforms.readers.lines import START, Lines, Point, line_batches, source_blocks
from transforms.readers.row_shape import CONTENT_FIELDS
from transforms.readers.rows import refusal, rows_batch
from transforms.readers.sniff import is_json_lines_name, json_lines, top_keys
from transforms.readers.text import JsonFault, load_object


class SlowwaveJsonl:
    """Reader of JSON lines in the row shape."""

    name = "slowwave-jsonl"
    about = "JSON lines in the row shape; a record is one line."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Lines that are objects with text, nothing at all, or garbage under the right name."""
        records = json_lines(head)
        if records:
            return any(isinstance(r.get(name), str) for r in records for name in CONTENT_FIELDS)
        if not head.strip():
            return True
        is_one_long_line = head.lstrip().startswith(b"{") and b"\n" not in head.strip()
        if is_one_long_line and CONTENT_FIELDS & top_keys(head):
            return True
        return is_json_lines_name(file_name)

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line number."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """See ``Resumable``: every line stands for itself."""
        source = source_blocks(stream, policy, point.offset)
        start = source.offset
        for lines, after in line_batches(source, policy, point.number, start or 0):
            yield _batch(lines, file_name, after if start is not None else None)


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
