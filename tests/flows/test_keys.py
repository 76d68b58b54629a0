"""Keys by command: made, used by every verb, rotated, destroyed; and what is said where they are wrong."""

from __future__ import annotations

import base64
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.config import Config, load_config
from flows.keys import MASTER_VARIABLE, keys_of
from flows.scratch import scratch
from lake import landing, tables
from lake.crypto import shelf
from lake.crypto.config import EncryptionConfig
from lake.lake import open_lake
from lake.rights import audit
from tests.flows.lakes import Command, Said, ingest, row, write
from tests.lake.crypto.sealed import files_with, keys, sealed_job
from transforms.errors import ConfigError
from transforms.schemas import EPISODES


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command on the lake of a configuration with keys, in the test's own folder."""
    command = Command(capsys)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(MASTER_VARIABLE, raising=False)
    configure(tmp_path)

    def run(*arguments: object) -> Said:
        return command(*arguments, "--json")

    return run


def configure(folder: Path, master: str = "master.key", **more: str) -> None:
    told = {"keyring": "keys", "master_key_file": master, **more}
    lines = ['lake = "lake"', "[encryption]", *(f'{name} = "{value}"' for name, value in told.items())]
    (folder / "slowwave.toml").write_text("\n".join(lines))


def started(say: Any, folder: Path) -> None:
    """A lake with a row of each of two people, and one that landed."""
    assert say("keys", "new-master", "--file", "master.key").json == {"file": "master.key"}
    assert say("init", "--encrypt", "--buckets", 2).json["is_encrypted"] is True
    made = [row(1, "I like quinceberry jam."), row(2, "I like mint.", user_id="ben")]
    assert say("ingest", write(folder / "rows.jsonl", made)).json["landed"] == 2


def test_a_lake_is_encrypted_from_its_first_row(say: Any, tmp_path: Path) -> None:
    started(say, tmp_path)
    assert (tmp_path / "master.key").stat().st_mode & 0o777 == 0o600
    assert say("nightly", tmp_path / "rows.jsonl").code == 0
    assert {name.split("/")[0] for name in files_with(tmp_path / "lake", "quinceberry")} == {"index"}
    found = say("recall", "quinceberry", "--tenant", "acme", "--user", "ana").json["results"]
    assert any("quinceberry" in result["text"] for result in found)
    facts = say("facts", "--tenant", "acme", "--user", "ana").json["facts"]
    assert [fact["object"] for fact in facts] == ["quinceberry jam"]
    told = {f["name"]: f for f in say("doctor").json["findings"]}
    assert told["encryption"]["passed"], told["encryption"]
    assert "AES-256-GCM, 2 keys open" in told["encryption"]["detail"]


def test_init_again_changes_nothing(say: Any, tmp_path: Path) -> None:
    started(say, tmp_path)
    held = {p: p.read_bytes() for p in (tmp_path / "keys").rglob("*") if p.is_file()}
    assert say("init", "--encrypt").json["is_encrypted"] is True
    assert say("keys", "init").json["is_encrypted"] is True
    assert {p: p.read_bytes() for p in (tmp_path / "keys").rglob("*") if p.is_file()} == held


def test_an_empty_lake_can_be_encrypted_later(say: Any, tmp_path: Path) -> None:
    say("keys", "new-master", "--file", "master.key")
    (tmp_path / "slowwave.toml").rename(tmp_path / "aside.toml")
    assert say("--lake", "lake", "init").json["is_encrypted"] is False
    (tmp_path / "aside.toml").rename(tmp_path / "slowwave.toml")
    assert "not encrypted" in say("status").error["message"]
    assert say("keys", "init").json["keyring"] == "keys"
    assert say("status").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("init", "--encrypt"), "no keyring is named"),
        (("keys", "init"), "no keyring is named"),
        (("keys", "status"), "no keyring is named"),
        (("keys", "new-master"), "needs a file"),
        (("keys", "destroy"), "needs a tenant"),
        (("keys", "destroy", "--tenant", "t"), "needs a subject"),
        (("keys", "destroy", "--tenant", "t", "--session", "s"), "no key of its own"),
    ],
)
def test_what_is_missing_is_named(say: Any, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    (tmp_path / "slowwave.toml").write_text('lake = "lake"\n')
    said = say(*arguments)
    assert said.code == 2
    assert told in said.error["message"]
    assert not (tmp_path / "lake").exists()


def test_without_its_key_status_works_and_what_needs_text_says_so(say: Any, tmp_path: Path) -> None:
    started(say, tmp_path)
    (tmp_path / "master.key").rename(tmp_path / "away.key")
    assert say("status").json["tenants"][0]["episodes"] == 2
    more = write(tmp_path / "b.jsonl", [row(3)])
    for arguments in (("consolidate",), ("ingest", more), ("keys", "status")):
        said = say(*arguments)
        assert said.code == 5, arguments
        assert "master.key cannot be read" in said.error["message"]
    (tmp_path / "away.key").rename(tmp_path / "master.key")
    assert say("ingest", more).json["landed"] == 1


def test_a_master_key_is_never_overwritten(say: Any, tmp_path: Path) -> None:
    started(say, tmp_path)
    before = (tmp_path / "master.key").read_bytes()
    assert "is there already" in say("keys", "new-master", "--file", "master.key").error["message"]
    assert (tmp_path / "master.key").read_bytes() == before


def test_status_rotate_and_destroy(say: Any, tmp_path: Path) -> None:
    started(say, tmp_path)
    counts = say("keys", "status").json
    assert (counts["subjects"], counts["keys"], counts["destroyed"], counts["leftovers"]) == (2, 2, 0, {})
    say("keys", "new-master", "--file", "new.key")
    configure(tmp_path, "new.key")
    assert "not the one of this keyring" in say("keys", "rotate").error["message"]
    turned = say("keys", "rotate", "--previous-key-file", "master.key", "--data").json
    assert turned == {"wrapped": 2, "keys": 2, "renewed": 2}
    (tmp_path / "master.key").unlink()
    ana = ("keys", "destroy", "--tenant", "acme", "--user", "ana")
    assert say(*ana).json == {"dry_run": True, "subject_kind": "user", "keys": 2}
    assert say("keys", "status").json["keys"] == 4
    assert say(*ana, "--yes").json == {"dry_run": False, "subject_kind": "user", "keys": 2}
    counts = say("keys", "status").json
    assert (counts["keys"], counts["destroyed"], counts["under_another_master"]) == (2, 2, 0)
    assert counts["leftovers"] == {"episodes": 1}
    told = {f["name"]: f for f in say("doctor").json["findings"]}
    assert not told["encryption"]["passed"]
    assert "1 in episodes" in told["encryption"]["detail"]
    assert say("keys", "sweep").json == {"dry_run": True, "leftovers": {"episodes": 1}}
    assert say("keys", "sweep", "--yes").json == {"dry_run": False, "leftovers": {"episodes": 1}}
    assert say("keys", "sweep", "--yes").json == {"dry_run": False, "leftovers": {}}
    assert say("status").json["tenants"][0]["episodes"] == 1
    kinds = [entry.kind for entry in audit.entries(open_lake(str(tmp_path / "lake")))]
    assert kinds == ["keys_rotated", "keys_destroyed", "keys_swept"]
    events = b"".join(p.read_bytes() for p in (tmp_path / "lake" / "audit").rglob("*") if p.is_file())
    assert b"ana" not in events


def test_a_destroyed_key_makes_the_index_out_of_date(say: Any, tmp_path: Path) -> None:
    started(say, tmp_path)
    night = say("nightly", tmp_path / "rows.jsonl").json["generation"]
    assert say("publish").json["state"] == "unchanged"
    say("keys", "destroy", "--tenant", "acme", "--user", "ana", "--yes")
    say("keys", "sweep", "--yes")
    told = {f["name"]: f for f in say("doctor").json["findings"]}["encryption"]
    assert not told["passed"]
    assert "serves their text still" in told["detail"]
    assert say("publish").json["generation"] != night
    told = {f["name"]: f for f in say("doctor").json["findings"]}["encryption"]
    assert told["passed"], told
    assert say("recall", "quinceberry", "--tenant", "acme", "--user", "ana").json["results"] == []
    assert say("publish").json["state"] == "unchanged"


def test_a_destroyed_key_is_enough_without_a_sweep(say: Any, tmp_path: Path) -> None:
    started(say, tmp_path)
    say("nightly", tmp_path / "rows.jsonl")
    say("keys", "destroy", "--tenant", "acme", "--user", "ana", "--yes")
    assert say("recall", "quinceberry", "--tenant", "acme", "--user", "ana").json["results"]
    assert say("publish").json["state"] == "done"
    assert say("recall", "quinceberry", "--tenant", "acme", "--user", "ana").json["results"] == []


def test_the_master_key_comes_from_file_then_environment() -> None:
    config = Config(encryption=EncryptionConfig(keyring="keys"))
    assert keys_of(Config()) is None
    bare = keys_of(config, environment={})
    assert bare is not None
    with pytest.raises(ConfigError, match="no master key is given"):
        bare.masters()
    text = base64.b64encode(b"k" * 32).decode()
    named = keys_of(config, environment={MASTER_VARIABLE: f" {text}\n"})
    assert named is not None
    assert "k" * 8 not in repr(named)
    assert len(named.masters()) == 1


@pytest.mark.parametrize("line", ['keyrin = "x"', "keyring = 1", 'keyring = ""', ""])
def test_a_wrong_section_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "slowwave.toml").write_text(f"[encryption]\n{line}\n")
    with pytest.raises(ConfigError, match="encryption"):
        load_config(str(tmp_path / "slowwave.toml"), {})


def test_a_dry_night_makes_no_key(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    ingest(job, write(tmp_path / "rows.jsonl", [row(1)]))
    landing.append(job.lake, [row(2, user_id="new")])
    shutil.copytree(tmp_path / "lake-keys", tmp_path / "before")
    with scratch(job) as dry:
        ingest(dry, write(tmp_path / "more.jsonl", [row(3, user_id="newer")]))
        held = tables.scan(dry.lake, EPISODES).select("user_id", "content").collect()
        assert sorted(held["user_id"]) == ["ana", "new", "newer"]
        assert len(shelf.entries(keys(job.lake).storage)) == 2
    again = replace(job, lake=open_lake(job.lake.uri))
    assert tables.scan(again.lake, EPISODES).select("user_id").collect().height == 1
