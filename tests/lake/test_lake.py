from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lake import landing, tables
from lake.lake import VERSION, init_lake, open_lake
from lake.storage import LocalStorage
from tests.lake.made import command, episodes
from transforms.errors import LakeError, UsageError
from transforms.schemas import EPISODES

GOOD = {"format": "slowwave", "version": VERSION, "lake_id": "00", "buckets": 16}


def test_init_makes_a_lake_once(tmp_path: Path) -> None:
    first = init_lake(f"{tmp_path}/lake", 4)
    again = init_lake(f"{tmp_path}/lake")
    assert (again.lake_id, again.buckets, again.is_local) == (first.lake_id, 4, True)
    assert [p.name for p in (tmp_path / "lake").iterdir() if p.is_file()] == ["lake.json"]
    assert open_lake(f"file://{tmp_path}/lake").lake_id == first.lake_id
    with pytest.raises(UsageError, match=r"4 tenant buckets, for life.*--buckets"):
        init_lake(f"{tmp_path}/lake", 64)


@pytest.mark.parametrize("name", ["recall.py", "tables", "index", "landing", ".git", "lake.json.bak"])
def test_a_folder_that_holds_anything_else_is_refused_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(LakeError, match=f"is no lake and holds {name}") as caught:
        init_lake(str(tmp_path))
    assert "empty or new folder" in caught.value.remedy
    assert [p.name for p in tmp_path.rglob("*")] == [name]


def test_many_strangers_are_counted(tmp_path: Path) -> None:
    for name in "edcba":
        (tmp_path / name).touch()
    with pytest.raises(LakeError, match="holds a, b, c and 2 more"):
        init_lake(str(tmp_path))


def test_an_init_killed_at_any_write_can_be_run_again(tmp_path: Path) -> None:
    """Each write of an init is where another one stops dead: its next try makes the lake."""
    for kill_at in range(1, 4):
        root = tmp_path / str(kill_at)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LocalStorage, "_stage", _dying(LocalStorage._stage, kill_at))
            patch.setattr(LocalStorage, "delete", lambda *_: None)
            patch.setattr(Path, "unlink", lambda *_, **__: None)
            with pytest.raises(KeyboardInterrupt):
                init_lake(str(root))
        assert not (root / "lake.json").exists()
        assert [p for p in root.rglob("*") if p.is_file()]
        assert init_lake(str(root)).lake_id


def _dying(stage: Callable[[LocalStorage, str, bytes], Path], kill_at: int) -> Callable[..., Path]:
    calls: list[str] = []

    def staged(store: LocalStorage, key: str, data: bytes) -> Path:
        path = stage(store, key, data)
        calls.append(key)
        if len(calls) == kill_at:
            raise KeyboardInterrupt
        return path

    return staged


def test_two_inits_at_once_make_one_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one makes the lake, and writes into it, after this one found none."""
    made: list[str] = []
    read = LocalStorage.read

    def late(store: LocalStorage, key: str) -> bytes | None:
        found = read(store, key)
        if key == "lake.json" and not made:
            made.append("")
            other = init_lake(str(tmp_path / "lake"))
            tables.append(other, EPISODES, episodes(other, "acme", ["one"]))
            made.append(other.lake_id)
        return found

    monkeypatch.setattr(LocalStorage, "read", late)
    assert init_lake(str(tmp_path / "lake")).lake_id == made[1]


def test_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no lake at") as caught:
        open_lake(str(tmp_path))
    assert "init" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        json.dumps({**GOOD, "format": "other"}).encode(),
        json.dumps({**GOOD, "buckets": 0}).encode(),
        json.dumps({**GOOD, "buckets": "16"}).encode(),
        json.dumps({**GOOD, "version": "1"}).encode(),
        json.dumps({k: v for k, v in GOOD.items() if k != "lake_id"}).encode(),
    ],
)
def test_a_damaged_record(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "lake.json").write_bytes(raw)
    for act in (open_lake, init_lake):
        with pytest.raises(LakeError, match="damaged") as caught:
            act(str(tmp_path))
        assert caught.value.remedy
    assert (tmp_path / "lake.json").read_bytes() == raw


def test_another_version_whatever_else_its_record_holds(tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text('{"format": "slowwave", "version": 7, "shape": "unknown"}')
    with pytest.raises(LakeError, match="has version 7, this slowwave reads version 2") as caught:
        open_lake(str(tmp_path))
    assert "update slowwave" in caught.value.remedy


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text('{"format": "slowwave", "version": 7}')
    done = command(tmp_path, "status")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (LakeError.exit_code, "", 1)
    assert "version 7" in done.stderr
    done = command(tmp_path, "--json", "init")
    assert done.returncode == LakeError.exit_code
    assert json.loads(done.stdout)["error"]["code"] == "lake"


def test_a_store_that_ignores_conditions_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def overwrites(store: LocalStorage, key: str, data: bytes) -> bool:
        store.write(key, data)
        return True

    monkeypatch.setattr(LocalStorage, "create", overwrites)
    with pytest.raises(LakeError, match="ignores conditional writes"):
        init_lake(str(tmp_path / "lake"))
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_lake_that_may_only_be_read(
    open_dir: Path, plain_user: Callable[[], AbstractContextManager[None]]
) -> None:
    open_dir.chmod(0o555)
    with plain_user(), pytest.raises(LakeError, match="permission denied"):
        init_lake(f"{open_dir}/lake")
    open_dir.chmod(0o777)
    lake = init_lake(f"{open_dir}/lake")
    tables.append(lake, EPISODES, episodes(lake, "acme", ["one"]))
    landing.append(lake, [{"content": "two", "tenant_id": "acme"}])
    locked = [p for p in open_dir.rglob("*") if p.is_dir()]
    for path in locked:
        path.chmod(0o555)
    try:
        with plain_user():
            assert init_lake(lake.uri).lake_id == lake.lake_id
            assert tables.scan(lake, EPISODES).collect().height == 1
            with pytest.raises(LakeError, match="permission denied"):
                tables.append(lake, EPISODES, episodes(lake, "acme", ["three"]))
            with pytest.raises(LakeError, match="permission denied"):
                landing.append(open_lake(lake.uri), [{"content": "four", "tenant_id": "other"}])
    finally:
        for path in locked:
            path.chmod(0o755)
    assert tables.scan(lake, EPISODES).collect().height == 1
