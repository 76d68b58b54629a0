"""Backups: the same answers elsewhere, only what is new copied, half and damaged ones refused, and who was
erased since stays gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake import tables
from lake.copies import backup, record
from lake.copies.places import places
from lake.lake import open_lake
from lake.rights import tombstones
from lake.storage import LocalStorage
from tests.flows.erasing import holding, people, said
from tests.flows.lakes import Command, Said, environment, files_below, write
from transforms.errors import HistoryError, InputError, LakeError, UsageError
from transforms.schemas import EPISODES, STORED
from transforms.subjects import Subject

NOON = "2026-06-30T23:00:00Z"
ANA = ("--tenant", "acme", "--user", "ana")
BEN = ("--tenant", "acme", "--user", "ben")
HOUSE = "yellow house by the old mill"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the lake after a night, made once."""
    folder = tmp_path_factory.mktemp("made")
    rows = write(folder / "rows.jsonl", people())
    for words in (("init", "--buckets", "2"), ("nightly", str(rows), "--as-of", NOON)):
        done = subprocess.run(
            [sys.executable, "-m", "flows", "--lake", str(folder / "lake"), *words],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which the test works."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def say(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    del here
    command = Command(capsys)
    return lambda lake, *words: command("--lake", lake, "--json", *words)


def answers(say: Callable[..., Said], lake: str) -> list[Any]:
    """What people ask of a lake, without what depends on where it lies and when it is asked."""
    at = ("--as-of", NOON)
    told = [
        say(lake, "recall", "aisle seat", *BEN, *at).json["results"],
        say(lake, "facts", *ANA, *at).json["facts"],
        say(lake, "context", "the mill", *ANA, *at).json["packed"],
    ]
    status = say(lake, "status", *at).json
    status.pop("lake", None)
    cost = say(lake, "report", "cost", "--out", f"{lake}-cost", *at).json
    return [*told, json.dumps(status, sort_keys=True).replace(lake, ""), cost.get("total")]


def test_restored_elsewhere_it_gives_the_same_answers(say: Callable[..., Said], here: Path) -> None:
    before = answers(say, "lake")
    first = say("lake", "backup", "--to", "copy").json
    assert first["files"] == first["files_copied"] > 0
    assert say("restored", "restore", "--from", "copy").json["erased_again"] == 0
    assert answers(say, "restored")[:3] == before[:3]
    old, new = open_lake("lake"), open_lake("restored")
    assert (old.lake_id, old.buckets) == (new.lake_id, new.buckets)
    for table in STORED:
        assert tables.version(new, table) == tables.version(old, table)
        held = [tables.scan(lake, table).collect().sort(table.key) for lake in (old, new)]
        assert held[0].equals(held[1])
    night = say("restored", "nightly", here / "rows.jsonl", "--as-of", NOON).json
    assert {step["state"] for step in night["steps"]} == {"unchanged"}
    assert night["generation"] == first["generation"]
    assert say("restored", "doctor").json["passed"]
    assert not list(Path("restored").rglob("*restoring*"))


def test_the_next_backup_copies_what_is_new(say: Callable[..., Said], here: Path) -> None:
    say("lake", "backup", "--to", "copy")
    held = files_below(here / "copy" / "files")
    again = say("lake", "backup", "--to", "copy").json
    assert again["files_copied"] <= 1  # where backups lie is known to the lake now
    assert files_below(here / "copy" / "files") == held
    more = write(here / "more.jsonl", [said(90, "A heron stands in the reeds.", user_id="dora")])
    say("lake", "ingest", more)
    third = say("lake", "backup", "--to", "copy").json
    data = {name for name in files_below(here / "copy" / "files") if name not in held}
    assert any(name.startswith("tables/episodes/") for name in data)
    assert third["files_copied"] < third["files"] / 2
    assert third["copies_removed"] == 1
    assert record.copies(LocalStorage(here / "copy")) == [third["copy"]]


def test_a_newer_copy_is_never_taken_for_an_older_one(here: Path) -> None:
    """Copies of one instant, and one made after the clock went back: the last made is the one that stays."""
    lake, place = open_lake("lake"), LocalStorage(here / "copy")
    at = datetime(2026, 6, 30, 12, tzinfo=UTC)
    for instant in (at, at, at, at - timedelta(days=1)):
        made = backup.make(lake, place, instant)
        assert record.copies(place) == [made.copy.copy_id]


def test_a_copy_is_kept_beside_the_new_one_and_can_be_restored(say: Callable[..., Said], here: Path) -> None:
    first = say("lake", "backup", "--to", "copy").json["copy"]
    say("lake", "ingest", write(here / "more.jsonl", [said(90, "A heron stands in the reeds.")]))
    say("lake", "backup", "--to", "copy", "--keep", "2")
    say("old", "restore", "--from", "copy", "--copy", first)
    say("new", "restore", "--from", "copy")
    counts = [tables.scan(open_lake(lake), EPISODES).collect().height for lake in ("old", "new")]
    assert counts[1] == counts[0] + 1
    assert say("x", "restore", "--from", "copy", "--copy", "nonsense").code == LakeError.exit_code


def test_a_person_erased_after_the_backup_is_not_back_after_a_restore(
    say: Callable[..., Said], here: Path
) -> None:
    say("lake", "backup", "--to", "copy")
    say("stale", "restore", "--from", "copy")
    assert holding(here / "stale", [HOUSE])  # a restore that is told of nothing brings her back
    certificate = say("lake", "erase", *ANA, "--basis", "gdpr-art-17", "--yes").json["certificate"]
    assert "1 backup is known" in certificate["covers_backups"]
    (here / "certificate.json").write_text(json.dumps(certificate))
    for number, told in enumerate(("lake", "certificate.json")):
        back = f"back{number}"
        assert say(back, "restore", "--from", "copy", "--erasures", told).json["erased_again"] >= 1
        assert holding(here / back, [HOUSE]) == {}
        assert say(back, "recall", "the mill", *ANA, "--as-of", NOON).json["results"] == []
        assert say(back, "recall", "aisle seat", *BEN, "--as-of", NOON).json["results"]
        assert tombstones.load(open_lake(back)).of(Subject("acme", user="ana")) is not None
        again = say(back, "ingest", here / "rows.jsonl").json
        assert again["landed"] == 0
    # Told to the backup alone, it needs no flag; and the next backup holds nothing of her.
    assert say("lake", "backup", "--to", "copy", "--erasures-only").json["tombstones"] >= 1
    assert say("back9", "restore", "--from", "copy").json["erased_again"] >= 1
    assert holding(here / "back9", [HOUSE]) == {}
    name = say("lake", "backup", "--to", "copy").json["copy"]
    copy = record.load(LocalStorage(here / "copy"), name)
    parts = {
        f"{folder}/{file}" for folder in ("files", "objects") for file in files_below(here / "copy" / folder)
    }
    assert parts == {item.place for item in copy.items}
    say("fresh", "restore", "--from", "copy")
    assert holding(here / "fresh", [HOUSE]) == {}


def test_who_came_back_after_an_erasure_is_not_erased_again(say: Callable[..., Said], here: Path) -> None:
    say("lake", "erase", *ANA, "--basis", "gdpr-art-17", "--yes")
    later = said(95, "I moved to Linz and bought a boat.", event_at="2999-01-01T10:00:00Z")
    landed = say(
        "lake", "ingest", write(here / "more.jsonl", [later]), "--as-of", "2999-01-02T00:00:00Z"
    ).json
    assert landed["landed"] == 1
    say("lake", "backup", "--to", "copy")
    assert say("back", "restore", "--from", "copy", "--erasures", "lake").json["erased_again"] == 0
    assert (
        "I moved to Linz and bought a boat." in tables.scan(open_lake("back"), EPISODES).collect()["content"]
    )


def test_a_damaged_copy_is_refused_by_name(say: Callable[..., Said], here: Path) -> None:
    say("lake", "backup", "--to", "copy")
    victim = next(p for p in sorted((here / "copy" / "files" / "tables").rglob("*.parquet")))
    raw = bytearray(victim.read_bytes())
    raw[len(raw) // 2] ^= 1
    victim.write_bytes(raw)
    for words in (("lake", "backup", "--to", "copy", "--check"), ("back", "restore", "--from", "copy")):
        error = say(*words).error
        assert victim.relative_to(here / "copy").as_posix() in error["message"]
        assert "damaged" in error["message"]
    assert say("back", "status").code == LakeError.exit_code  # no half lake
    assert say("back", "init").code == LakeError.exit_code
    victim.unlink()
    assert "missing" in say("back", "restore", "--from", "copy").error["message"]
    say("lake", "backup", "--to", "copy")  # copies anew what is not there
    assert say("back", "restore", "--from", "copy").code in (0, LakeError.exit_code)
    shutil.rmtree(here / "back")
    assert say("back", "restore", "--from", "copy").code == 0


def test_a_damaged_list_is_refused(say: Callable[..., Said], here: Path) -> None:
    name = say("lake", "backup", "--to", "copy").json["copy"]
    path = here / "copy" / "copies" / f"{name}.json"
    path.write_text(path.read_text().replace("lake.json", "lake.jsom"))
    assert "damaged" in say("back", "restore", "--from", "copy").error["message"]
    assert not (here / "back").exists()


def test_killed_midway_it_goes_on_and_half_of_it_is_no_backup(say: Callable[..., Said], here: Path) -> None:
    wanted = say("lake", "backup", "--to", "whole").json["files"]
    for _ in range(2):
        assert not killed_backup(here), "through before it could be killed"
        error = say("back", "restore", "--from", "copy").error
        assert error["message"].startswith("there is no complete")
    assert say("lake", "backup", "--to", "copy").json["files"] >= wanted
    assert not list((here / "copy").rglob(".*.tmp"))
    assert say("lake", "backup", "--to", "copy", "--check").code == 0
    assert say("back", "restore", "--from", "copy").code == 0


def count_below(folder: Path) -> int:
    """Files by their names only: one may be renamed between the list and a look at it."""
    return sum(len(names) for _, _, names in os.walk(folder))


def killed_backup(here: Path) -> bool:
    """Start a backup and kill it after a few more files; whether it was through before."""
    before = count_below(here / "copy")
    process = subprocess.Popen(
        [sys.executable, "-m", "flows", "--lake", "lake", "backup", "--to", "copy"],
        cwd=here,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while process.poll() is None:
        if count_below(here / "copy") >= before + 5:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.communicate()
    return process.returncode == 0


def test_a_restore_that_was_killed_goes_on(say: Callable[..., Said], here: Path) -> None:
    say("lake", "backup", "--to", "copy")
    say("back", "restore", "--from", "copy")
    (here / "back" / "lake.json").unlink()  # as if killed before the last file
    (here / "back" / "state" / "restoring.json").write_text(
        json.dumps({"copy": record.copies(LocalStorage(here / "copy"))[-1]})
    )
    victim = next(iter(sorted((here / "back" / "tables").rglob("*.parquet"))))
    victim.write_bytes(victim.read_bytes()[:-1] + b"?")
    assert say("back", "restore", "--from", "copy").code == 0
    assert say("back", "doctor").json["passed"]
    assert "is not empty" in say("back", "restore", "--from", "copy").error["message"]


def test_as_of_an_earlier_instant(say: Callable[..., Said], here: Path) -> None:
    lake = open_lake("lake")
    commits = tables.create_table(lake, EPISODES).history()
    newest = max(entry["timestamp"] for entry in commits)
    before = sorted(tables.scan(lake, EPISODES).collect()["episode_id"])
    say("lake", "ingest", write(here / "more.jsonl", [said(90, "A heron stands in the reeds.")]))
    then = datetime.fromtimestamp(newest / 1000 + 0.5, UTC).isoformat()
    copy = say("lake", "--as-of", then, "backup", "--to", "copy").json
    assert copy["generation"] is None
    say("back", "restore", "--from", "copy")
    assert sorted(tables.scan(open_lake("back"), EPISODES).collect()["episode_id"]) == before
    assert say("back", "publish", "--as-of", NOON).code == 0
    say("lake", "erase", *ANA, "--basis", "gdpr-art-17", "--yes")
    for instant in (then, "2020-01-01T00:00:00Z"):
        assert say("lake", "--as-of", instant, "backup", "--to", "copy").code == HistoryError.exit_code


def test_places_that_will_not_do(say: Callable[..., Said], here: Path) -> None:
    assert say("lake", "backup", "--to", "lake/copies").code == UsageError.exit_code
    assert say("lake/deep", "restore", "--from", "lake").code in (UsageError.exit_code, LakeError.exit_code)
    (here / "full").mkdir()
    (here / "full" / "notes.txt").write_text("mine")
    assert "is no backup" in say("lake", "backup", "--to", "full").error["message"]
    say("other", "init")
    say("other", "backup", "--to", "others")
    assert "of another lake" in say("lake", "backup", "--to", "others").error["message"]
    say("lake", "backup", "--to", "copy")
    told = say("back", "restore", "--from", "copy", "--erasures", "other")
    assert told.code == InputError.exit_code
    assert say("back", "restore", "--from", "copy", "--erasures", "full").code == InputError.exit_code
    assert not (here / "back").exists()
    assert say("lake", "backup", "--to", "copy", "--keep", "0").code == UsageError.exit_code
    assert places(open_lake("lake")) == [str(here / "copy")]
