"""Rows of the row shape however their JSON was put together: lines, lists, joined files."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.transforms.readers.reading import read
from transforms.policy import IngestPolicy
from transforms.readers.batch import Resumable
from transforms.readers.registry import detect, reader_named

MARK, SEPARATOR, ZEROS = b"\xef\xbb\xbf", b"\x1e", b"\0" * 500


def row(number: int) -> dict[str, Any]:
    return {"id": f"r{number}", "content": f"note, [{number}]", "event_at": "2026-06-01T10:00:00Z"}


def lines(*numbers: int) -> bytes:
    return b"".join(json.dumps(row(n)).encode() + b"\n" for n in numbers)


def listed(*numbers: int, indent: int | None = None) -> bytes:
    return json.dumps([row(n) for n in numbers], indent=indent).encode()


FORMS = {
    "lines": lines(0, 1, 2),
    "a list": listed(0, 1, 2),
    "a list with its own comma at the end": listed(0, 1, 2)[:-1] + b",]",
    "an indented list behind blank lines": b"\n\n\t" + listed(0, 1, 2, indent=2),
    "a list in UTF-16": listed(0, 1, 2).decode().encode("utf-16"),
    "a list a line": listed(0) + b"\n" + listed(1, 2) + b"\n",
    "a list, then lines": listed(0) + b"\n" + lines(1, 2),
    "objects without line feeds": lines(0, 1, 2).replace(b"\n", b""),
    "indented objects": b"\n".join(json.dumps(row(n), indent=1).encode() for n in range(3)),
    "files with byte order marks, put together": MARK + lines(0) + MARK + lines(1, 2),
    "records behind separators": SEPARATOR + lines(0) + SEPARATOR + lines(1) + SEPARATOR + lines(2),
    "zeros where a write was lost": lines(0, 1) + ZEROS + lines(2),
    "lines that end in returns": lines(0, 1, 2).replace(b"\n", b"\r\n"),
    "keys in another order": lines(0, 1, 2).replace(b'{"id"', b'{"x": {"messages": []}, "id"'),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_read_however_they_stand(form: str) -> None:
    data = FORMS[form]
    found = read("slowwave-jsonl", data)
    assert [d["natural_id"] for d in found.drafts] == ["r0", "r1", "r2"]
    assert found.refusals == []
    for name in ("a.jsonl", "a.json", "a"):
        reader = detect(data, name)
        if not data.startswith(SEPARATOR) or name == "a.jsonl":
            assert reader is not None
            assert reader.name == "slowwave-jsonl"


@pytest.mark.parametrize(("data", "kept"), [
    (listed(0, 1, 2)[:-1], 3),  # the bracket is missing
    (listed(0, 1, 2)[:-1] + b", ", 3),
    (listed(0, 1, 2)[:-20], 2),
    (listed(0, 1)[:-1] + b", " + b"[" * 100_000 + b"]" * 100_000 + b"]", 2),
])  # fmt: skip
def test_a_list_that_breaks_off_says_so(data: bytes, kept: int) -> None:
    found = read("slowwave-jsonl", data)
    assert len(found.drafts) == kept
    assert len(found.refusals) == 1


def test_an_empty_list_has_no_rows() -> None:
    reader = detect(b" []\n", "export.json")
    assert reader is not None
    assert list(reader.read(io.BytesIO(b" []\n"), "export.json", IngestPolicy())) == []


def test_other_json_is_nobodys() -> None:
    for data in (b'[{"text": 1}]', b'{\n "text": {}\n}', b"[[1], [2]]", b'[{"name": "x"}]'):
        assert detect(data, "settings.json") is None


def test_a_list_is_gone_on_with_at_every_point() -> None:
    reader = reader_named("slowwave-jsonl")
    assert isinstance(reader, Resumable)
    data = listed(*range(23))
    batches = list(reader.read(io.BytesIO(data), "f", IngestPolicy(batch_rows=5)))
    assert len(batches) == 5
    for done, batch in enumerate(batches[:-1], start=1):
        assert batch.point is not None
        stream = io.BytesIO(data)
        stream.seek(batch.point.offset)
        again = list(reader.read_on(stream, "f", IngestPolicy(batch_rows=5), batch.point))
        assert [b.drafts.to_dicts() for b in again] == [b.drafts.to_dicts() for b in batches[done:]]
