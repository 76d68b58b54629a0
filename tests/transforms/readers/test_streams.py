"""JSON documents read piece by piece: as a parser reads them whole, in bounded memory, past their faults."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.reading import read
from transforms.policy import IngestPolicy
from transforms.readers.batch import Resumable
from transforms.readers.records import Record, json_records
from transforms.readers.registry import reader_named
from transforms.readers.text import JsonFault

TRICKY = st.sampled_from(['a"b\\', 'x,{"id":1},', "},{", "\\\\", "[[]", "\n", "\\" * 3, "中é", '"w": ['])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TRICKY),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["id", "w", '"', "\\"]), inner, max_size=3),
    ),
    max_leaves=8,
)
ITEMS = st.lists(st.dictionaries(st.sampled_from(["id", "v", "w"]), VALUES, max_size=3), max_size=5)
INDENTS = st.sampled_from([None, 0, 2])
BLOCKS = st.sampled_from([8, 40, 1_000, 64_000_000])


def found(data: bytes, batch_bytes: int = 64_000_000, wrapper: str = "") -> list[Record]:
    return list(json_records(io.BytesIO(data), IngestPolicy(batch_bytes=batch_bytes), wrapper))


@settings(max_examples=150)
@given(items=ITEMS, indent=INDENTS, size=BLOCKS)
def test_an_array_is_read_as_a_parser_reads_it(items: list[Any], indent: int | None, size: int) -> None:
    records = found(json.dumps(items, indent=indent).encode(), size)
    assert [r.value for r in records] == items
    assert [r.number for r in records] == list(range(1, len(items) + 1))


@settings(max_examples=150)
@given(items=ITEMS, before=VALUES, after=VALUES, indent=INDENTS, size=BLOCKS)
def test_a_list_under_a_key_is_found_at_the_top_only(
    items: list[Any], before: Any, after: Any, indent: int | None, size: int
) -> None:
    document = {"x": {"w": [1]}, "y": before, "w": items, "z": after}
    assert [r.value for r in found(json.dumps(document, indent=indent).encode(), size, "w")] == items
    assert [r.value for r in found(json.dumps({"w2": before}).encode(), size, "w")] == [{"w2": before}]


@settings(max_examples=100)
@given(
    items=ITEMS.filter(bool), indent=INDENTS, size=BLOCKS, form=st.sampled_from(["lines", "list", "wrapped"])
)
def test_reading_goes_on_at_every_point(items: list[Any], indent: int | None, size: int, form: str) -> None:
    if form == "lines":
        data = "\n\n".join(json.dumps(item) for item in [*items, {}]).encode()
        items = [*items, {}]
    else:
        data = json.dumps(items if form == "list" else {"a": [], "w": items, "b": 1}, indent=indent).encode()
    policy = IngestPolicy(batch_bytes=max(size, 1_000 if form == "lines" else 0))
    wrapper = "w" if form == "wrapped" else ""
    records = json_records(io.BytesIO(data), policy, wrapper)
    points = [(record.number, records.point) for record in records]
    rest = (
        list(enumerate(items, start=1)) if form != "lines" else [(2 * n + 1, v) for n, v in enumerate(items)]
    )
    for done, (_, point) in enumerate(points, start=1):
        if point is None:
            assert done == len(items)  # behind the last item there is nothing to go on with
            continue
        stream = io.BytesIO(data)
        stream.seek(point.offset)
        again = [(r.number, r.value) for r in json_records(stream, policy, wrapper, point)]
        assert again == rest[done:]


def test_a_source_in_another_encoding_has_no_points() -> None:
    records = json_records(io.BytesIO('[{"a": 1}, {"a": 2}]'.encode("utf-16")), IngestPolicy())
    assert [(r.value, records.point) for r in records] == [({"a": 1}, None), ({"a": 2}, None)]


def document(indent: int | None) -> bytes:
    inner = [{"id": 7, "text": "hey, you"}, {"id": 8, "text": "]], ["}]
    return json.dumps(
        [{"id": n, "s": 'a, b: {x} "q" [z]', "m": inner} for n in range(50)], indent=indent
    ).encode()


DAMAGES = {
    "a quote too many": (0, b'"', 0),
    "a quote too few": (-1, b"", 1),
    "a bracket too many": (0, b'"}', 0),
    "an open bracket": (-1, b"{", 0),
    "closing brackets": (-1, b"]]}}", 0),
    "words": (-1, b"nothing of the kind", 9),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("size", [800, 64_000_000])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_faulty_item_is_refused_alone(damage: str, size: int, indent: int | None) -> None:
    data = document(indent)
    at = data.index(b"hey", data.index(b'"id": 20'))
    shift, put, gone = DAMAGES[damage]
    at += shift
    records = found(data[:at] + put + data[at + gone :], size)
    faults = [r for r in records if isinstance(r.value, JsonFault)]
    ids = [r.value["id"] for r in records if isinstance(r.value, dict) and "s" in r.value]
    assert ids == [n for n in range(50) if n != 20]
    assert faults
    if size > len(data):
        assert [f.number for f in faults] == [21]
        assert isinstance(faults[0].raw, bytes)
        assert faults[0].raw.strip().startswith(b"{")


def test_a_cut_document_keeps_what_came_before() -> None:
    data = document(None)
    records = found(data[: data.index(b'"id": 20') + 30])
    assert [r.value["id"] for r in records[:-1] if isinstance(r.value, dict)] == list(range(20))
    assert isinstance(records[-1].value, JsonFault)
    assert records[-1].value.reason == "truncated_json"


def test_nothing_of_a_fault_is_lost() -> None:
    """What is refused holds all that was not read, so that it can be mended and tried again."""
    data = document(None)
    at = data.index(b'"id": 20')
    records = found(data[:at] + b'"id": {' + data[at + 8 :])
    kept = b"".join(r.raw for r in records if isinstance(r.raw, bytes))
    assert b'"id": {' in kept
    assert len(records) == 50


class Endless(io.RawIOBase):
    """A long array that is never whole anywhere."""

    def __init__(self, count: int, opening: bytes, item: bytes, closing: bytes) -> None:
        super().__init__()
        self._parts = self._made(count, opening, item, closing)
        self._rest = b""

    def _made(self, count: int, opening: bytes, item: bytes, closing: bytes) -> Iterator[bytes]:
        yield opening
        for _ in range(count // 100):
            yield (item + b",") * 100
        yield item + closing

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (part := next(self._parts, b"")):
            self._rest += part
        block, self._rest = self._rest[:size], self._rest[size:]
        return block


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a": 1, "w": [', b'], "b": []}')])
def test_memory_does_not_grow_with_the_document(opening: bytes, closing: bytes) -> None:
    item = json.dumps({"id": 1, "content": "x" * 300}).encode()
    stream = Endless(60_000, opening, item, closing)
    tracemalloc.start()
    try:
        records = json_records(stream, IngestPolicy(batch_bytes=400_000), "w")  # type: ignore[arg-type]
        count = sum(isinstance(record.value, dict) for record in records)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 60_001
    assert peak < 4_000_000  # of 20 MB


@pytest.mark.parametrize("accounts", [("p", "p"), ("p", "q")])
def test_a_large_export_is_read_twice_to_the_same_rows(accounts: tuple[str, str]) -> None:
    node = {"id": "n", "message": {"id": "m", "author": {"role": "user"}, "content": {"parts": ["hello"]}}}
    chats = [
        {"id": f"c{n}", "user_id": who, "create_time": 1.7e9, "current_node": "n", "mapping": {"n": node}}
        for n, who in enumerate(accounts)
    ]
    data = json.dumps(chats)
    small = read("chatgpt-export", data, IngestPolicy(batch_bytes=80))
    assert small == read("chatgpt-export", data)
    assert {d["user_id"] for d in small.drafts} == ({"p", "q"} if accounts[1] == "q" else {None})


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("slowwave-jsonl", {"id": "n", "content": "hello"}),
        ("openai-messages", {"id": "n", "messages": [{"role": "user", "content": "hello"}]}),
        ("group-chat", {"session_meta": {"group_id": "g"}, "conversation_list": [{"content": "hello"}]}),
    ],
)
def test_readers_go_on_from_the_points_of_their_batches(name: str, record: dict[str, Any]) -> None:
    reader = reader_named(name)
    assert isinstance(reader, Resumable)
    data = "".join(json.dumps({**record, "id": f"r{n}"}) + "\n" for n in range(23)).encode()
    policy = IngestPolicy(batch_rows=5)
    batches = list(reader.read(io.BytesIO(data), "f", policy))
    assert len(batches) == 5
    for done, batch in enumerate(batches, start=1):
        assert batch.point is not None
        stream = io.BytesIO(data)
        stream.seek(batch.point.offset)
        again = list(reader.read_on(stream, "f", policy, batch.point))
        assert [b.drafts.to_dicts() for b in again] == [b.drafts.to_dicts() for b in batches[done:]]
