"""What a source names, how it is unpacked, and who reads it."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import tempfile
import zipfile
from pathlib import Path

import obstore
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.sources import open_sources
from transforms.errors import InputError, StorageError
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


def test_frames_that_zstd_passes_over_may_come_first(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.zst").write_bytes(
        b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"size" + zstd(LINES)
    )
    assert contents(tmp_path / "x.jsonl.zst") == ["one", "two"]


def test_a_zip_of_many_files_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its list of members is read once: for each of ten thousand it would take an hour."""
    (tmp_path / "a.zip").write_bytes(zipped(**{f"{n}.jsonl": LINES for n in range(20)}))
    opened: list[object] = []
    real = zipfile.ZipFile.__init__

    def init(archive: zipfile.ZipFile, *words: object) -> None:
        opened.append(archive)
        real(archive, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(zipfile.ZipFile, "__init__", init)
    assert len(contents(tmp_path / "a.zip")) == 40
    assert len(opened) == 1


def test_a_file_that_went_or_is_denied_is_told_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        (tmp_path / name).write_bytes(LINES)
    skipped: list[tuple[str, str]] = []
    sources = open_sources(str(tmp_path), on_skip=lambda *told: skipped.append(told))
    assert next(sources).file_name == "a.jsonl"
    (tmp_path / "b.jsonl").unlink()
    assert [source.file_name for source in sources] == ["c.jsonl"]
    assert skipped == [("b.jsonl", "cannot be read: No such file or directory")]


def test_a_folder_that_cannot_be_looked_into_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.jsonl").write_bytes(LINES)
    real = os.scandir

    def scandir(place: str | Path) -> object:
        if str(place).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(place))
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir)
    skipped: list[tuple[str, str]] = []
    assert len(names(tmp_path, on_skip=lambda *told: skipped.append(told))) == 1
    assert skipped == [("closed", "cannot be looked into: Permission denied")]


def test_a_store_that_is_away_ends_the_run_and_an_object_that_went_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(LINES)
    sources = open_sources(f"file://{tmp_path}")
    assert next(sources).file_name == "a.jsonl"
    (tmp_path / "b.jsonl").unlink()
    assert list(sources) == []

    def away(*_: object) -> None:
        raise obstore.exceptions.GenericError("no route to host")

    monkeypatch.setattr(obstore, "open_reader", away)
    with pytest.raises(StorageError, match="cannot be read"):
        names(f"file://{tmp_path}")


def test_standard_input_that_the_disk_does_not_hold_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", full)
    with pytest.raises(StorageError, match="disk is full") as caught:
        names("-", stdin=io.BytesIO(LINES))
    assert "TMPDIR" in caught.value.remedy


def test_a_disk_that_fails_on_the_way_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(io.FileIO):
        def readinto(self, buffer: object) -> int:
            if self.tell():
                raise OSError(errno.EIO, "Input/output error")
            return super().readinto(buffer)  # type: ignore[arg-type]

    (tmp_path / "x.jsonl").write_bytes(LINES * 40_000)
    [source] = open_sources(str(tmp_path / "x.jsonl"))
    monkeypatch.setattr(io, "FileIO", Failing)
    with pytest.raises(InputError, match="Input/output error"), source.open() as stream:
        stream.read()
