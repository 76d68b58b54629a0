"""What holds of every reader there is: a new one that has no sample, or no real file, is told here."""

from __future__ import annotations

import copy
import io
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import WRONG, damaged_bytes, damaged_json
from tests.transforms.readers.every import NAMES, UNSEEN, as_bytes, as_json, real_files, samples
from tests.transforms.readers.reading import Read, read
from transforms.policy import IngestPolicy
from transforms.readers.batch import Leaning, NameReading, Resumable
from transforms.readers.chats import Accompanied, Owned
from transforms.readers.parquet import PARQUET_MAGIC, sniff_head
from transforms.readers.registry import READERS, detect, reader_named

DRAWN = st.integers(0, 2**31)
EXAMPLES = 12
CASES = 24
"""Damaged fields of each sample, drawn by their number."""


def test_every_reader_has_a_sample_and_says_what_it_reads() -> None:
    assert set(samples()) == set(NAMES)
    assert all(reader.about.endswith(".") for reader in READERS)


def test_every_reader_has_a_real_file_or_is_known_to_have_none(real_data: Path) -> None:
    assert set(NAMES) - set(real_files(real_data)) == UNSEEN


def headed(data: bytes) -> bytes:
    return sniff_head(io.BytesIO(data)) if data.startswith(PARQUET_MAGIC) else data[:65_536]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=EXAMPLES)
@given(DRAWN, st.sampled_from(NAMES), st.sampled_from([1, 3, 50_000]))
def test_damage_and_splices_raise_nothing_and_lose_no_row(
    name: str, seed: int, other: str, batch_rows: int
) -> None:
    data, strange = samples()[name][1][:20_000], samples()[other][1][:20_000]
    chance = random.Random(seed)
    cut, at = chance.randrange(len(data) + 1), chance.randrange(len(strange) + 1)
    policy = IngestPolicy(batch_rows=batch_rows)
    for raw in (damaged_bytes(data, seed), data[:cut] + strange[at:], strange):
        require_told(read(name, raw, policy))
        if not raw.startswith(PARQUET_MAGIC):
            detect(headed(raw), "source")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=EXAMPLES)
@given(DRAWN)
def test_wrong_types_and_missing_keys_raise_nothing(name: str, seed: int) -> None:
    found = as_json(samples()[name][1])
    if found is None:
        return
    documents, is_lines = found
    documents = documents[:30]
    if is_lines:
        place = random.Random(seed).randrange(len(documents))
        lines = [as_bytes([one], is_lines=True) for one in documents]
        lines[place] = damaged_json(documents[place], seed) + b"\n"
        require_told(read(name, b"".join(lines)))
    else:
        require_told(read(name, damaged_json(documents[0], seed)))


@pytest.mark.parametrize("name", sorted(set(NAMES) - UNSEEN))
def test_damaged_real_files(name: str, real_data: Path) -> None:
    files = real_files(real_data)[name]
    for seed, (_, data) in enumerate(files[:6]):
        require_told(read(name, damaged_bytes(data, seed)))
        found = as_json(data)
        if found is not None and not found[1]:
            require_told(read(name, damaged_json(found[0][0], seed)))


def require_told(done: Read) -> None:
    """Every refused row has a file, a place, a reason and a sentence."""
    for row in done.refusals:
        assert row["source_file"] == "source"
        assert isinstance(row["source_line"], int), row
        assert row["reason"], row
        assert row["detail"], row


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_field_costs_no_more_than_the_item_it_stands_in(name: str) -> None:
    """Rows of other items land as they would had the item not been there at all."""
    found = as_json(samples()[name][1])
    if found is None:
        return
    documents, is_lines = found[0][:30], found[1]
    before = contents(name, documents, is_lines=is_lines)
    chance = random.Random(7)
    for path in chance.sample(places := list(paths(documents)), min(CASES, len(places))):
        wrong = copy.deepcopy(documents)
        put(wrong, path, copy.deepcopy(chance.choice(WRONG)))
        lost = before - contents(name, wrong, is_lines=is_lines)
        if lost and not any(
            lost <= before - contents(name, without(documents, item), is_lines=is_lines)
            for item in items_around(documents, path)
        ):
            raise AssertionError((path, lost))


Path_ = tuple[str | int, ...]


def paths(value: object, here: Path_ = ()) -> list[Path_]:
    """Places of all fields and items."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[Path_] = []
    for key, one in inner:
        found += [(*here, key), *paths(one, (*here, key))]
    return found


def at(value: object, path: Path_) -> object:
    for key in path:
        value = value[key]  # type: ignore[index]
    return value


def put(value: object, path: Path_, what: object) -> None:
    at(value, path[:-1])[path[-1]] = what  # type: ignore[index]


def items_around(value: object, path: Path_) -> list[Path_]:
    """The items of lists that hold the place, but for the outermost of a document, and the place itself."""
    ends = [path[:n] for n in range(1, len(path) + 1) if isinstance(at(value, path[: n - 1]), list)]
    return [one for one in ends if isinstance(at(value, one), dict)][-2:] or [path[:1]]


def without(documents: list[object], item: Path_) -> list[object]:
    left = copy.deepcopy(documents)
    holder = at(left, item[:-1])
    assert isinstance(holder, list)
    holder.pop(int(item[-1]))
    return left


def contents(name: str, documents: list[object], *, is_lines: bool) -> Counter[object]:
    return Counter(row["content"] for row in read(name, as_bytes(documents, is_lines=is_lines)).drafts)


@pytest.mark.parametrize("name", NAMES)
def test_one_broken_record_in_the_middle_is_refused_alone(name: str) -> None:
    found = as_json(samples()[name][1])
    if found is None or not found[1] or not isinstance(reader_named(name), Resumable):
        return
    lines = [as_bytes([one], is_lines=True) for one in found[0]]
    middle = len(lines) // 2
    own = Counter(row["content"] for row in read(name, lines[middle]).drafts)
    whole = Counter(row["content"] for row in read(name, b"".join(lines)).drafts)
    for broken in (b"{", b"null", b"[]", b'{"a":', b"\xff\xfe\x00", b'"' + b"x" * 100_000 + b'"'):
        done = read(name, b"".join([*lines[:middle], broken + b"\n", *lines[middle + 1 :]]))
        assert [row["source_line"] for row in done.refusals] == [middle + 1]
        assert whole - Counter(row["content"] for row in done.drafts) <= own
        require_told(done)


def test_what_readers_offer_is_what_the_protocols_ask() -> None:
    """A misspelt method would silently make a reader none of them."""
    offered = {
        "read_on": Resumable,
        "with_companions": Accompanied,
        "owned_by": Owned,
        "told_by": NameReading,
        "leans": Leaning,
    }
    for reader in READERS:
        for method, protocol in offered.items():
            assert isinstance(reader, protocol) == hasattr(reader, method)


@pytest.mark.parametrize("kind", [[], {}, [[]], 7, True, None])
def test_a_type_that_is_no_text_is_nobodys_mark(kind: object) -> None:
    """All readers are asked about every file: one that raises would take it from the others."""
    record = {"type": kind, "payload": {"type": kind}, "sessionId": "s", "messages": [{"type": kind}]}
    meta = {"id": "s", "timestamp": "2026-06-01T10:00:00Z", "instructions": None, "git": None}
    for documents in ([record, record], [meta, record, record]):
        for is_lines in (True, False):
            detect(as_bytes(documents if is_lines else documents[:1], is_lines=is_lines), "source")


@pytest.mark.parametrize("name", ["slowwave-parquet", "slowwave-export", "openai-messages"])
def test_bytes_of_parquet_that_are_no_text_cost_no_row_and_raise_nothing(name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    good = b"Berth three"
    texts = pa.array([good, b"Berth \xff\xfe", None, good]).cast(pa.binary())
    bad = pa.StringArray.from_buffers(4, texts.buffers()[1], texts.buffers()[2], texts.buffers()[0])
    at = pa.array(["2026-06-01T10:00:00Z"] * 4)
    file = io.BytesIO()
    pq.write_table(pa.table({"content": bad, "event_at": at, "id": pa.array(["a", "b", "c", "d"])}), file)
    done = read(name, file.getvalue())
    assert done.rows_in == 4
    if name == "slowwave-parquet":
        assert [row["content"] for row in done.drafts] == ["Berth three", "Berth \ufffd\ufffd", "Berth three"]
