from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.faults import storage_fault
from lake.storage import LocalStorage, make_directory, open_storage
from transforms.errors import LakeError, StorageError

KEYS = st.sampled_from(["a", "b", "sub/a", "sub/deep/b"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "create", "delete"]), KEYS, st.binary(max_size=20)), max_size=12
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_a_directory_behaves_like_a_dictionary(steps: list[tuple[str, str, bytes]]) -> None:
    held: dict[str, bytes] = {}
    with TemporaryDirectory() as name:
        store = LocalStorage(Path(name))
        for verb, key, data in steps:
            if verb == "write":
                store.write(key, data)
                held[key] = data
            elif verb == "create":
                assert store.create(key, data) == (key not in held)
                held.setdefault(key, data)
            else:
                store.delete(key)
                held.pop(key, None)
        assert {e.key: store.read(e.key) for e in store.entries("")} == held
        assert [e.key for e in store.entries("sub")] == sorted(k for k in held if k.startswith("sub/"))
        assert all(e.size_bytes == len(held[e.key]) for e in store.entries(""))
        assert list(Path(name).rglob("*.tmp")) == []


def test_what_is_not_there_reads_as_none(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path)
    store.write("file", b"x")
    assert (store.read("none"), store.read("file/below"), store.entries("none")) == (None, None, [])


def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a block syncs, renames and links, in order."""
    seen: list[str] = []
    sync, replace, link = os.fsync, Path.replace, os.link

    def fsync(handle: int) -> None:
        seen.append(f"sync {Path(f'/proc/self/fd/{handle}').readlink().name[-4:]}")
        sync(handle)

    def renamed(path: Path, target: Path) -> Path:
        seen.append("rename")
        return replace(path, target)

    def linked(source: Path, target: Path) -> None:
        seen.append("link")
        link(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(os, "link", linked)
    return seen


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads names of descriptors in /proc")
def test_content_is_on_disk_before_its_name_and_the_name_before_we_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root").mkdir()
    store = LocalStorage(tmp_path / "root")
    seen = calls(monkeypatch)
    store.write("key", b"x")
    assert seen == ["sync .tmp", "rename", "sync root"]
    seen.clear()
    store.create("other", b"x")
    assert seen == ["sync .tmp", "link", "sync root"]
    seen.clear()
    store.write("made/deep/key", b"x")
    assert seen == ["sync root", "sync made", "sync .tmp", "rename", "sync deep"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_content_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    store = LocalStorage(tmp_path)
    store.write("key", b"old")

    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((os, step, fails) if step == "fsync" else (Path, step, fails)))
    with pytest.raises(StorageError, match="writing key: the disk is full"):
        store.write("key", b"new")
    monkeypatch.undo()
    assert store.read("key") == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["key"]


def test_of_many_creators_one_wins(tmp_path: Path) -> None:
    store, start, won = LocalStorage(tmp_path), threading.Barrier(8), []

    def create(i: int) -> None:
        start.wait()
        if store.create("sub/key", b"%d" % i):
            won.append(i)

    threads = [threading.Thread(target=create, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert store.read("sub/key") == b"%d" % won[0]


def test_readers_see_the_old_or_the_new_never_half(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path)
    store.write("key", b"0" * 200_000)
    seen: set[bytes] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            data = store.read("key")
            assert data is not None
            seen.add(
                b"%d:" % len(data) + b"".join(sorted({data[i : i + 1] for i in range(0, len(data), 997)}))
            )

    reader = threading.Thread(target=read)
    reader.start()
    for digit in b"123456789":
        store.write("key", bytes([digit]) * 200_000)
    stop.set()
    reader.join()
    assert seen
    assert all(len(form) == len(b"200000:0") for form in seen)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OSError(errno.ENOSPC, "x"), StorageError, "disk is full"),
        (OSError(errno.EDQUOT, "x"), StorageError, "disk is full"),
        (RuntimeError("External: No space left on device (os error 28)"), StorageError, "disk is full"),
        (OSError(errno.EACCES, "x"), LakeError, "permission denied"),
        (OSError(errno.EROFS, "x"), LakeError, "permission denied"),
        (RuntimeError("put failed: 403 Forbidden: AccessDenied"), LakeError, "permission denied"),
        (RuntimeError("Client error 404: <Code>NoSuchBucket</Code>"), LakeError, "no such bucket"),
        (OSError(errno.ENOTDIR, "x"), LakeError, "not a directory"),
        (OSError(errno.EIO, "Input/output error"), StorageError, "Input/output error"),
        (RuntimeError("first line\nsecond line"), StorageError, "first line"),
        (RuntimeError(), StorageError, "RuntimeError"),
    ],
)
def test_faults_say_what_happened_and_what_to_do(error: Exception, kind: type, words: str) -> None:
    fault = storage_fault(error, "writing key")
    assert type(fault) is kind
    assert fault.message.startswith("writing key: ")
    assert words in fault.message
    assert "\n" not in fault.message
    assert fault.remedy
    assert ("AWS_ACCESS_KEY_ID" in fault.remedy) == ("403" in str(error))


def test_a_full_disk_keeps_what_was_there(small_disk: Callable[[int], Path]) -> None:
    store = LocalStorage(small_disk(64))
    store.write("key", b"old")
    for verb in (store.write, store.create):
        with pytest.raises(StorageError, match="the disk is full"):
            verb("key" if verb == store.write else "other", b"x" * 100_000)
    assert [e.key for e in store.entries("")] == ["key"]
    assert store.read("key") == b"old"
    assert list(store.root.rglob("*.tmp")) == []


def test_without_write_permission(
    open_dir: Path, plain_user: Callable[[], AbstractContextManager[None]]
) -> None:
    store = LocalStorage(open_dir)
    store.write("key", b"old")
    open_dir.chmod(0o555)
    with plain_user():
        assert store.read("key") == b"old"
        for act in (
            lambda: store.write("key", b"new"),
            lambda: store.create("k", b""),
            lambda: store.delete("key"),
        ):
            with pytest.raises(LakeError, match="permission denied") as caught:
                act()
            assert "permission on the lake" in caught.value.remedy
    open_dir.chmod(0o777)
    assert store.read("key") == b"old"


def test_a_file_where_a_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LakeError, match="not a directory"):
        LocalStorage(tmp_path / "file").write("key", b"x")
    with pytest.raises(LakeError, match="not a directory"):
        LocalStorage(tmp_path / "file").create("key", b"x")


def test_sweep_takes_old_rests_of_killed_writers_only(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path)
    store.write("sub/key", b"x")
    for name, age in (("old", 7200), ("young", 10)):
        rest = tmp_path / "sub" / f".key.{name}.tmp"
        rest.write_bytes(b"half")
        os.utime(rest, (time.time() - age,) * 2)
    assert store.sweep("sub", 3600) == 1
    assert sorted(p.name for p in (tmp_path / "sub").iterdir()) == [".key.young.tmp", "key"]
    assert store.sweep("nowhere", 0) == 0


def test_make_directory_is_content_with_what_is_there(tmp_path: Path) -> None:
    make_directory(tmp_path / "a" / "b")
    make_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(
    "address",
    ["s3://key:hush@bucket/x", "s3://hush@bucket", "s3://key:hu/sh@bucket", "s3://bucket/x?key=hush"],
)
def test_a_key_in_an_address_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(LakeError, match="must hold no key") as caught:
        open_storage(address)
    assert "hu" not in str(caught.value)


def test_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_storage("lake").uri == str(tmp_path / "lake")
    assert open_storage(f"file://{tmp_path}/a%20b").uri == f"{tmp_path}/a b"
    with pytest.raises(LakeError, match="gs:// are not supported"):
        open_storage("gs://bucket/lake")


@pytest.mark.parametrize("name", ["a[1]", "a]", "a^b", "a|b", "a\\b", "a%20b", "a\nb", "a\x7f", "a\udcffb"])
def test_a_path_that_the_tables_cannot_have_is_refused_before_anything_is_written(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(LakeError, match="cannot hold"):
        open_storage(str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


def test_the_home_of_nobody() -> None:
    with pytest.raises(LakeError, match="no such home"):
        open_storage("~no-such-user/lake")


def test_a_file_system_that_holds_no_folders() -> None:
    with pytest.raises(LakeError, match="not a directory that can hold a lake"):
        open_storage("/proc/lake").write("a", b"x")


def test_only_regular_files_are_entries(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "lake")
    storage.write("landing/sealed-a", b"x")
    (tmp_path / "secret").write_text("not of the lake")
    (storage.path("landing") / "sealed-b").symlink_to(tmp_path / "secret")
    os.mkfifo(storage.path("landing") / "open-c")
    assert [entry.key for entry in storage.entries("landing")] == ["landing/sealed-a"]
