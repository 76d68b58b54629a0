"""A damaged index is never made live, never left live for good, and never a traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.publish import run_publish, run_rollback
from lake.index import POINTER, load_manifest, read_pointer
from lake.recall import Recall
from tests.flows.lakes import AS_OF, Command
from tests.flows.test_publish import live, night
from transforms.errors import CheckError, LakeError

AT = ("--as-of", AS_OF.isoformat())


def _cut(generation: Path) -> None:
    for file in generation.rglob("*.lance"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[:200])


def _flip(generation: Path) -> None:
    for file in generation.rglob("*.lance"):
        if file.is_file():
            data = bytearray(file.read_bytes())
            for place in (10, len(data) // 3, len(data) // 2, len(data) - 20):
                data[place] ^= 255
            file.write_bytes(data)


def _no_indices(generation: Path) -> None:
    for folder in generation.rglob("_indices"):
        shutil.rmtree(folder)


def _junk_versions(generation: Path) -> None:
    for folder in generation.rglob("_versions"):
        for file in folder.iterdir():
            file.write_bytes(b"x\n")


def _no_table(generation: Path) -> None:
    shutil.rmtree(generation / "main.lance")


def _no_data(generation: Path) -> None:
    shutil.rmtree(generation / "main.lance" / "data")


def _fewer_rows(generation: Path) -> None:
    path = generation / "manifest.json"
    record = json.loads(path.read_bytes())
    record["rows"] = record["tables"][0]["rows"] = 99
    path.write_text(json.dumps(record), "utf-8")


def _no_manifest(generation: Path) -> None:
    (generation / "manifest.json").unlink()


DAMAGES = [_cut, _flip, _no_indices, _junk_versions, _no_table, _no_data, _fewer_rows, _no_manifest]
BAD_RECORDS = [
    b"",
    b"{",
    b"[]",
    b"{}",
    b"null",
    b"\xff\x00\x93",
    b'{"generation": "x"}',
    b'{"generation": 7, "history": [7]}',
    b'{"generation": "gen-000001", "history": "gen-000001"}',
    b'{"generation": "../../x", "history": ["../../x"]}',
    b'{"generation": "gen-000001", "history": ["gen-000001", "gen-1/../.."]}',
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_generation_is_not_rolled_back_to(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    night(tmp_path, 3)
    job = night(tmp_path, 4)
    damage(tmp_path / "lake" / "index" / "gen-000001")
    before = (tmp_path / "lake" / POINTER).read_bytes()
    with pytest.raises(LakeError, match="gen-000001") as caught:
        run_rollback(job)
    assert "publish --force" in caught.value.remedy
    assert (tmp_path / "lake" / POINTER).read_bytes() == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_live_generation_is_found_and_built_anew(
    tmp_path: Path, command: Command, damage: Callable[[Path], None]
) -> None:
    job = night(tmp_path, 4)
    damage(tmp_path / "lake" / "index" / "gen-000001")
    said = command("--lake", tmp_path / "lake", "doctor", "--json")
    [index] = [f for f in said.json["findings"] if f["name"] == "index"]
    assert (said.code, index["passed"]) == (CheckError.exit_code, False)
    assert "publish --force" in index["detail"]
    assert run_publish(job).state == "done"
    assert live(job) == "gen-000002"
    assert run_publish(job).state == "unchanged"
    found = Recall(job.lake, embedder=job.embedder).search("harbour", tenant="acme", user="ana", as_of=AS_OF)
    assert found[0].text.endswith("harbour office")


@pytest.mark.parametrize("raw", BAD_RECORDS)
def test_a_damaged_pointer_is_told_and_published_over(tmp_path: Path, command: Command, raw: bytes) -> None:
    job = night(tmp_path, 3)
    (tmp_path / "lake" / POINTER).write_bytes(raw)
    with pytest.raises(LakeError, match="damaged"):
        run_rollback(job)
    words = ("--lake", tmp_path / "lake", *AT)
    said = command(*words, "--json", "recall", "harbour", "--tenant", "acme", "--user", "ana")
    assert (said.code, said.error["code"]) == (LakeError.exit_code, "lake")
    assert "publish --force" in said.error["remedy"]
    assert "index damaged: " in command(*words, "status").out
    assert "damaged" in command(*words, "status", "--json").json["index"]
    assert command(*words, "doctor", "--json").code == CheckError.exit_code
    assert run_publish(job).generation == "gen-000002"
    assert (tmp_path / "lake" / "index" / "gen-000001").exists()  # what was kept was not known
    pointer = read_pointer(job.lake)
    assert pointer is not None
    assert pointer.history == ("gen-000002",)


@pytest.mark.parametrize("raw", BAD_RECORDS)
def test_a_damaged_manifest_is_told_and_published_over(tmp_path: Path, command: Command, raw: bytes) -> None:
    job = night(tmp_path, 3)
    (tmp_path / "lake" / "index" / "gen-000001" / "manifest.json").write_bytes(raw)
    with pytest.raises(LakeError, match="gen-000001 is damaged"):
        load_manifest(job.lake, "gen-000001")
    assert "index damaged: " in command("--lake", tmp_path / "lake", *AT, "status").out
    assert run_publish(job).generation == "gen-000002"
    assert load_manifest(job.lake, "gen-000002").rows >= 3  # and what was derived


def test_a_manifest_of_another_generation_or_with_a_path_for_a_table_is_refused(tmp_path: Path) -> None:
    job = night(tmp_path, 3)
    path = tmp_path / "lake" / "index" / "gen-000001" / "manifest.json"
    whole = json.loads(path.read_bytes())
    for change in (
        {"generation": "gen-000002"},
        {"rows": "3"},
        {"dimensions": None},
        {"inputs": {}},
        {"as_of": "yesterday"},
        {"next_expiry_at": 7},
        {"tables": [{"name": "../main", "rows": 3}]},
        {"tables": [{"name": "main", "rows": -3}]},
    ):
        path.write_text(json.dumps({**whole, **change}), "utf-8")
        with pytest.raises(LakeError, match="damaged"):
            load_manifest(job.lake, "gen-000001")
    path.write_text(json.dumps(whole), "utf-8")
    assert load_manifest(job.lake, "gen-000001").rows >= 3


def test_a_live_generation_that_its_history_lacks_is_put_in_its_place(tmp_path: Path) -> None:
    for count in (2, 3, 4):
        job = night(tmp_path, count)
    record = {"generation": "gen-000002", "history": ["gen-000001", "gen-000003"], "rolled_back": None}
    (tmp_path / "lake" / POINTER).write_text(json.dumps(record), "utf-8")
    pointer = read_pointer(job.lake)
    assert pointer is not None
    assert pointer.history == ("gen-000001", "gen-000002", "gen-000003")
    assert run_rollback(job).generation == "gen-000001"


def test_what_lies_beside_the_generations_is_left_alone(tmp_path: Path) -> None:
    job = night(tmp_path, 3)
    (tmp_path / "lake" / "index" / "gen-abc").mkdir()
    (tmp_path / "lake" / "index" / "gen-xx").touch()
    assert run_publish(job, force=True).generation == "gen-000002"
    assert (tmp_path / "lake" / "index" / "gen-abc").exists()
