"""What a lake is for, on a real store: sessions, sharing, copies, keys, and erasure to the last orphan."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from lake.lake import open_lake
from lake.recall import Recall
from lake.storage import Storage, open_storage
from tests.flows.erasing import people
from tests.flows.lakes import Command, write

pytestmark = pytest.mark.server
NOON = "2026-03-20T12:00:00Z"
ANA = ("--tenant", "acme", "--user", "ana")
SAID = b"yellow house"


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, which must succeed; its JSON."""
    monkeypatch.chdir(tmp_path)
    command = Command(capsys)

    def run(lake: object, *words: object) -> dict[str, Any]:
        at = () if words[0] in ("backup", "restore") else ("--as-of", NOON)
        said = command("--lake", lake, *at, "--json", *words)
        assert said.code == 0, said.out
        return said.json

    return run


def plant_orphans(store: Storage) -> set[str]:
    """What killed writers leave: files that no commit and no pointer names, with a person's words in them."""
    data = next(e.key for e in store.entries("tables/episodes") if e.key.endswith(".parquet"))
    index = next(e.key for e in store.entries("index") if "main.lance/data/" in e.key)
    planted = {
        f"{data.rsplit('/', 1)[0]}/part-orphan.parquet": data,
        f"{index.rsplit('/', 1)[0]}/orphan.lance": index,
        "index/gen-000099/main.lance/data/orphan.lance": index,
    }
    for key, source in planted.items():
        store.write(key, store.read(source) or b"")
    return set(planted)


def test_an_encrypted_lake_from_first_row_to_erasure(bucket: str, say: Any, tmp_path: Path) -> None:
    uri, ring = f"{bucket}/{secrets.token_hex(4)}", f"{bucket}/keys-{secrets.token_hex(4)}"
    told = f'lake = "{uri}"\n[encryption]\nkeyring = "{ring}"\nmaster_key_file = "master.key"\n'
    (tmp_path / "slowwave.toml").write_text(told)
    say(uri, "keys", "new-master", "--file", "master.key")
    assert say(uri, "init", "--encrypt", "--buckets", 2)["is_encrypted"]
    night = say(uri, "nightly", write(tmp_path / "rows.jsonl", people()))
    assert {step["state"] for step in night["steps"]} <= {"done", "unchanged"}
    store = open_storage(uri)
    spoken = [e.key for e in store.entries("") if SAID in (store.read(e.key) or b"")]
    assert {key.split("/")[0] for key in spoken} <= {"index"}
    assert say(uri, "recall", "aisle seat", *ANA)["results"]
    assert say(uri, "facts", *ANA)["facts"]
    assert say(uri, "keys", "status")
    assert say(uri, "doctor")["passed"]
    planted = plant_orphans(store)
    certificate = say(uri, "erase", *ANA, "--basis", "gdpr-art-17", "--yes")["certificate"]
    assert (certificate["outcome"], certificate["verification"]["leaks"]) == ("complete", 0)
    assert certificate["keys_destroyed"] == 1
    assert "half_written" not in certificate["verification"]
    assert planted.isdisjoint(e.key for e in store.entries(""))
    assert say(uri, "recall", "aisle seat", *ANA)["results"] == []
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    say(uri, "erase", *ANA, "--verify", "certificate.json")
    in_lake = f"certificates/{certificate['request_id']}.json"
    assert say(uri, "erase", *ANA, "--verify", in_lake)["absence"]["passed"]


def test_sessions_sharing_and_copies(bucket: str, say: Any, tmp_path: Path) -> None:
    uri = f"{bucket}/{secrets.token_hex(4)}"
    say(uri, "init", "--buckets", 2)
    say(uri, "ingest", write(tmp_path / "rows.jsonl", people()))
    say(uri, "embed")
    say(uri, "publish")
    session = Recall(uri).session(tenant="acme", agent="club", session_id="w1", user="ana")
    session.add("user", "remember the yellow house by the mill")
    again = Recall(uri).session(tenant="acme", agent="club", session_id="w1", user="ana")
    assert "yellow house" in again.as_text()
    between = ("--tenant", "acme", "--from", "club", "--to", "other")
    say(uri, "grant", *between, "--yes")
    assert say(uri, "share", "yellow house", *between)["shared"]
    assert say(uri, "export", *ANA, "--out", tmp_path / "ana.zip")
    for name in ("compliance", "cost", "quality"):
        assert say(uri, "report", name, "--out", tmp_path / name)

    backup = f"{bucket}/backup-{secrets.token_hex(4)}"
    first = say(uri, "backup", "--to", backup)
    assert first["files_copied"] > 0
    assert say(uri, "backup", "--to", backup)["files_copied"] <= 1
    assert say(uri, "backup", "--to", backup, "--check")["files"] >= first["files"]
    for place in (f"{bucket}/{secrets.token_hex(4)}", tmp_path / "restored"):
        say(place, "restore", "--from", backup)
        told = [say(lake, "recall", "yellow house", *ANA)["results"] for lake in (uri, place)]
        assert [r["id"] for r in told[0]] == [r["id"] for r in told[1]]
        assert told[0]
    local = tmp_path / "local-backup"
    say(uri, "backup", "--to", local)
    say(uri, "erase", *ANA, "--basis", "gdpr-art-17", "--yes")
    back = f"{bucket}/{secrets.token_hex(4)}"
    assert say(back, "restore", "--from", local, "--erasures", uri)["erased_again"] == 1
    store = open_storage(back)
    assert not [e.key for e in store.entries("") if SAID in (store.read(e.key) or b"")]
    assert say(back, "recall", "yellow house", *ANA)["results"] == []
    assert open_lake(back).lake_id == open_lake(uri).lake_id
