"""What a source names, how it is unpacked, and who reads it."""

from __future__ import annotations

import contextlib
import gzip
import io
import zipfile
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.sources import open_sources
from transforms.errors import InputError
from transforms.policy import IngestPolicy

LINES = b'{"content": "one"}\n{"content": "two"}\n'
CHATS = b'[{"uuid": "c", "chat_messages": [{"uuid": "m", "sender": "human", "text": "hi"}]}]'


def names(source: str | Path, **options: object) -> list[tuple[str, str]]:
    return [(s.file_name, s.reader.name) for s in open_sources(str(source), **options)]  # type: ignore[arg-type]


def contents(source: str | Path, **options: object) -> list[str]:
    found: list[str] = []
    for item in open_sources(str(source), **options):  # type: ignore[arg-type]
        with item.open() as stream:
            for batch in item.reader.read(stream, item.file_name, IngestPolicy()):
                found += batch.drafts["content"].to_list()
    return found


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return bytes(out.getvalue())


def test_folder_reads_what_it_can_and_tells_the_rest(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.jsonl").write_bytes(LINES)
    (tmp_path / "a.json").write_bytes(CHATS)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    skipped: list[tuple[str, str]] = []
    found = names(tmp_path, on_skip=lambda name, reason: skipped.append((name, reason)))
    assert found == [("a.json", "claude-export"), ("b/x.jsonl", "slowwave-jsonl")]
    assert skipped == [("picture.png", "of no known format")]


def test_glob(tmp_path: Path) -> None:
    for name in ("1.jsonl", "2.jsonl", "3.txt"):
        (tmp_path / name).write_bytes(LINES)
    assert [n for n, _ in names(tmp_path / "*.jsonl")] == ["1.jsonl", "2.jsonl"]


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_packed_files(tmp_path: Path, pack: object) -> None:
    for name in ("x.jsonl.gz", "no-suffix"):
        (tmp_path / name).write_bytes(pack(LINES))  # type: ignore[operator]
        assert contents(tmp_path / name) == ["one", "two"]


def test_packed_parquet(tmp_path: Path) -> None:
    out = io.BytesIO()
    pl.DataFrame({"content": ["one"]}).write_parquet(out)
    (tmp_path / "x.parquet").write_bytes(out.getvalue())
    (tmp_path / "x.parquet.gz").write_bytes(gzip.compress(out.getvalue()))
    assert contents(tmp_path) == ["one", "one"]


def test_zip_of_an_export(tmp_path: Path) -> None:
    data = zipped(**{"conversations.json": CHATS, "../../evil.jsonl": LINES, "users.json": b"{}"})
    (tmp_path / "export.zip").write_bytes(data)
    assert names(tmp_path / "export.zip") == [
        ("export.zip/../../evil.jsonl", "slowwave-jsonl"),
        ("export.zip/conversations.json", "claude-export"),
    ]
    assert contents(tmp_path / "export.zip") == ["one", "two", "hi"]
    assert [p.name for p in tmp_path.parent.glob("evil*")] == []


def test_standard_input() -> None:
    for data in (LINES, gzip.compress(LINES), zipped(**{"a.jsonl": LINES})):
        assert contents("-", stdin=io.BytesIO(data)) == ["one", "two"]


def test_object_store_url(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.jsonl").write_bytes(LINES)
    (tmp_path / "traces" / "b.jsonl.gz").write_bytes(gzip.compress(LINES))
    assert contents(f"file://{tmp_path}/traces") == ["one", "two"] * 2
    assert contents(f"file://{tmp_path}/traces/a.jsonl") == ["one", "two"]
    with pytest.raises(InputError):
        names(f"file://{tmp_path}/nothing/there")


def test_empty_file_is_read_as_no_rows(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert contents(tmp_path / "empty.jsonl") == []


def test_what_cannot_be_opened_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x01nothing")
    (tmp_path / "x.jsonl").write_bytes(LINES)
    (tmp_path / "void").mkdir()
    cases = {
        str(tmp_path / "absent"): "no such file",
        str(tmp_path / "*.absent"): "no file matches",
        str(tmp_path / "void"): "nothing readable",
        str(tmp_path / "x.bin"): "no known format",
        str(tmp_path / "*.bin"): "nothing readable",
    }
    for source, message in cases.items():
        with pytest.raises(InputError, match=message) as caught:
            names(source)
        assert caught.value.remedy
    with pytest.raises(InputError, match="unknown format") as caught:
        names(tmp_path / "x.jsonl", format="xml")
    assert "openai-messages" in caught.value.remedy


def test_bombs_are_stopped(tmp_path: Path) -> None:
    data = b'{"content": "' + b"x" * 5_000_000 + b'"}\n'
    policy = IngestPolicy(expansion_free_bytes=1_000_000, max_expansion_ratio=100)
    for name, packed in (("a.gz", gzip.compress(data)), ("b.zst", zstd(data)), ("c.zip", zipped(a=data))):
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(InputError, match="unpacks to more than"):
            contents(tmp_path / name, policy=policy)
        assert len(contents(tmp_path / name)) == 1


def test_cut_packing_is_an_input_error(tmp_path: Path) -> None:
    noise = b"".join(b'{"content": "%d"}\n' % (i * i * 7919) for i in range(20_000))
    for name, packed in (("a.gz", gzip.compress(noise)), ("b.zst", zstd(noise)), ("c.zip", zipped(a=noise))):
        (tmp_path / name).write_bytes(packed[: len(packed) * 2 // 3])
        with pytest.raises(InputError, match="damaged"):
            contents(tmp_path / name)


@given(
    st.binary(max_size=80),
    st.sampled_from([b"", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1", b"{"]),
)
def test_any_bytes_are_read_or_an_input_error(data: bytes, magic: bytes) -> None:
    with contextlib.suppress(InputError):
        contents("-", stdin=io.BytesIO(magic + data))
