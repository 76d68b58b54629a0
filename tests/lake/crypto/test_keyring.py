"""Keys of subjects: made once, found again, destroyed for good; nothing lost where they are missing."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lake import tables
from lake.crypto import keyring as keyring_module
from lake.crypto import shelf
from lake.crypto.access import Keys
from lake.crypto.master import LocalMasterKey
from lake.crypto.setup import encrypt
from lake.lake import Lake, init_lake, open_lake
from tests.flows.lakes import ingest, job_on, row, write
from tests.lake.crypto.sealed import MASTER, OTHER, keys, ring, sealed_job, sealed_lake
from transforms.errors import LakeError, UsageError
from transforms.schemas import EPISODES
from transforms.subjects import Subject

ANA, BEN = Subject("acme", user="ana"), Subject("acme", user="ben")


def landed(root: Path, *users: str, first: int = 0, tenant: str = "acme") -> Lake:
    """An encrypted lake with one more row of each user."""
    job = sealed_job(root)
    made = [row(first + i, user_id=user, tenant_id=tenant) for i, user in enumerate(users)]
    ingest(job, write(root.parent / f"rows{first}{tenant}.jsonl", made))
    return job.lake


def readable(lake: Lake) -> list[str]:
    """Whose text opens, a name a row."""
    return sorted(tables.scan(lake, EPISODES).select("user_id", "content").collect()["user_id"])


def test_one_key_a_subject_and_none_named_by_its_id(tmp_path: Path) -> None:
    ana, ben = "ana-of-the-harbour", "ben-of-the-harbour"  # no chance find among letters of a key
    lake = landed(tmp_path / "lake", ana, ben, ana, ana)
    found = shelf.entries(keys(lake).storage)
    assert Counter(entry.version for entry in found) == {1: 2}
    assert len({entry.subject for entry in found}) == 2
    assert len({entry.tenant for entry in found}) == 1
    held = b"".join(p.read_bytes() for p in (tmp_path / "lake-keys").rglob("*") if p.is_file())
    assert not any(name in held for name in (b"harbour", b"acme"))


def test_agents_and_rows_of_nobody_have_keys_too(tmp_path: Path) -> None:
    lake = sealed_lake(tmp_path / "lake")
    own, tenant = keys(lake).hashed("acme", "")
    assert own == tenant
    agent, same = keys(lake).hashed("acme", "agent:ana")
    assert same == tenant
    assert len({own, agent, *keys(lake).hashed("acme", "user:ana"), *keys(lake).hashed(None, "")}) == 4


def test_a_destroyed_subject_opens_nowhere_others_do(tmp_path: Path) -> None:
    lake = landed(tmp_path / "lake", "ana", "ben")
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "lake", copy)
    assert keys(lake).count(ANA) == 1
    assert keys(lake).destroy(ANA) == 1
    assert keys(lake).destroy(ANA) == 0
    again = open_lake(str(copy), Keys(str(tmp_path / "lake-keys"), MASTER))
    for place in (lake, sealed_lake(tmp_path / "lake"), again):
        assert readable(place) == ["ben"]
        assert tables.scan(place, EPISODES).select(pl.len()).collect().item() == 2


def test_a_copy_of_the_keyring_made_before_still_opens(tmp_path: Path) -> None:
    """Why a keyring's backups must be short-lived, or its master key be changed after an erasure."""
    lake = landed(tmp_path / "lake", "ana", "ben")
    shutil.copytree(tmp_path / "lake-keys", tmp_path / "old-keys")
    keys(lake).destroy(ANA)
    assert readable(open_lake(lake.uri, Keys(str(tmp_path / "old-keys"), MASTER))) == ["ana", "ben"]


def test_who_comes_back_gets_a_new_key(tmp_path: Path) -> None:
    lake = landed(tmp_path / "lake", "ana", "ben")
    keys(lake).destroy(ANA)
    again = landed(tmp_path / "lake", "ana", first=7)
    assert readable(again) == ["ana", "ben"]
    mine, _ = keys(again).hashed("acme", "user:ana")
    assert [(e.version, e.destroyed_at is None) for e in shelf.versions(keys(again).storage, mine)] == [
        (1, False),
        (2, True),
    ]


def test_another_process_destroys_the_key_in_use(tmp_path: Path) -> None:
    """What seals looks again each time, so that nothing is sealed by a key that is gone."""
    lake = landed(tmp_path / "lake", "ana")
    other = sealed_lake(tmp_path / "lake")
    keys(other).destroy(ANA)
    job = replace(job_on(tmp_path / "lake"), lake=lake)
    ingest(job, write(tmp_path / "more.jsonl", [row(5)]))
    for place in (lake, other, sealed_lake(tmp_path / "lake")):
        rows = tables.scan(place, EPISODES).select("content").collect()
        assert rows["content"].to_list()[-1:] == ["note 5 on the harbour office"]


def test_a_destroyed_tenant_takes_its_subjects_along(tmp_path: Path) -> None:
    landed(tmp_path / "lake", "ana", "ben")
    lake = landed(tmp_path / "lake", "ana", first=4, tenant="umbrella")
    assert keys(lake).destroy(Subject("acme")) == 2
    rows = tables.scan(lake, EPISODES).select("tenant_id", "content").collect()
    assert rows["tenant_id"].to_list() == ["umbrella"]


def test_sessions_and_memories_have_no_key_of_their_own(tmp_path: Path) -> None:
    lake = landed(tmp_path / "lake", "ana")
    assert keys(lake).destroy(Subject("acme", session="s1")) == 0
    assert keys(lake).destroy(Subject("acme", memory="ab")) == 0
    assert readable(lake) == ["ana"]


def test_many_writers_make_one_key(tmp_path: Path) -> None:
    sealed_lake(tmp_path / "lake")
    lakes = [sealed_lake(tmp_path / "lake") for _ in range(8)]
    subjects = dict(keys(lakes[0]).hashed("acme", f"user:{i}") for i in range(20))
    found: list[list[Any]] = []
    barrier = threading.Barrier(len(lakes))

    def make(lake: Lake) -> None:
        barrier.wait()
        found.append([(s, key.version) for s, key in keys(lake).sealing(subjects).items()])

    threads = [threading.Thread(target=make, args=(lake,)) for lake in lakes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[(subject, 1) for subject in subjects]] * len(lakes)
    secrets = {
        keys(lake).unwrapped(entry)
        for lake in lakes
        for entry in shelf.entries(keys(lake).storage)
        if entry.subject == next(iter(subjects))
    }
    assert len(secrets) == 1


def test_many_subjects_are_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring_module, "LISTED_ABOVE", 5)
    lake = sealed_lake(tmp_path / "lake")
    subjects = dict(keys(lake).hashed("acme", f"user:{i}") for i in range(12))
    first = {s: key.version for s, key in keys(lake).sealing(subjects).items()}
    assert set(first.values()) == {1}
    keys(lake).destroy(Subject("acme", user="3"))
    gone, _ = keys(lake).hashed("acme", "user:3")
    for place in (lake, sealed_lake(tmp_path / "lake")):
        assert {s: k.version for s, k in keys(place).sealing(subjects).items()} == {**first, gone: 2}


def damage(path: Path, how: str) -> None:
    entry = json.loads(path.read_text())
    if how == "torn":
        path.write_bytes(path.read_bytes()[:40])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "wrapped":
        path.write_text(json.dumps({**entry, "wrapped": "AAAA" + entry["wrapped"][4:]}))
    elif how == "tenant":
        path.write_text(json.dumps({**entry, "tenant": "0" * 32}))
    elif how == "renamed":
        path.write_text(json.dumps({**entry, "subject": "0" * 32}))


@pytest.mark.parametrize("how", ["torn", "empty", "wrapped", "tenant", "renamed"])
def test_a_damaged_entry_is_named_and_the_others_open(tmp_path: Path, how: str) -> None:
    lake = landed(tmp_path / "lake", "ana", "ben")
    mine, _ = keys(lake).hashed("acme", "user:ana")
    (path,) = (tmp_path / "lake-keys").rglob(f"{mine}-000001.json")
    good = path.read_bytes()
    damage(path, how)
    fresh = sealed_lake(tmp_path / "lake")
    with pytest.raises(LakeError, match=f"{mine}-000001.json is damaged.*[Rr]estore that one file"):
        readable(fresh)
    others = tables.scan(fresh, EPISODES).filter(pl.col("user_id") == "ben").select("content").collect()
    assert others.height == 1
    path.write_bytes(good)
    assert readable(sealed_lake(tmp_path / "lake")) == ["ana", "ben"]


def test_a_lost_entry_is_no_destroyed_one(tmp_path: Path) -> None:
    lake = landed(tmp_path / "lake", "ana", "ben")
    mine, _ = keys(lake).hashed("acme", "user:ana")
    (path,) = (tmp_path / "lake-keys").rglob(f"{mine}-000001.json")
    path.unlink()
    with pytest.raises(LakeError, match=r"lacks 1 of the keys.*Restore the keyring"):
        readable(sealed_lake(tmp_path / "lake"))


def ruined(root: Path, how: str) -> Keys:
    """Keys that do not open the lake."""
    good = ring(root)
    if how == "wrong master":
        return replace(good, master=OTHER)
    if how == "no keyring":
        return replace(good, keyring=str(root.parent / "elsewhere"))
    if how == "another lake's":
        other = sealed_lake(root.parent / "other")
        there = Path(ring(root.parent / "other").keyring) / other.lake_id
        shutil.copytree(there, root.parent / "mixed" / open_lake(str(root)).lake_id)
        return replace(good, keyring=str(root.parent / "mixed"))
    (record,) = Path(good.keyring).rglob("keyring.json")
    record.write_text("{}")
    return good


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("wrong master", "the master key is not the one of this keyring"),
        ("no keyring", "there is no keyring of this lake"),
        ("another lake's", "that of another lake"),
        ("damaged record", "keyring.json of the keyring at .* is damaged"),
    ],
)
def test_without_the_right_keys_nothing_is_read_written_or_lost(tmp_path: Path, how: str, told: str) -> None:
    root = tmp_path / "lake"
    landed(root, "ana", "ben")
    wrong = open_lake(str(root), ruined(root, how))
    before = stored_bytes(root)
    with pytest.raises(LakeError, match=told) as caught:
        readable(wrong)
    assert caught.value.remedy
    job = replace(job_on(root), lake=wrong)
    with pytest.raises(LakeError, match=told):
        ingest(job, write(tmp_path / "more.jsonl", [row(8)]))
    files = tables.data_files(wrong, EPISODES)
    with pytest.raises(LakeError, match=told):
        tables.rewrite(wrong, EPISODES, files, plain_rows(root))
    assert stored_bytes(root) == before
    assert tables.scan(wrong, EPISODES).select(pl.len()).collect().item() == 2


def plain_rows(root: Path) -> pl.DataFrame:
    stored = tables.scan(open_lake(str(root)), EPISODES, as_stored=True).collect()
    return stored.with_columns(pl.lit("plain").alias("content"))


def stored_bytes(root: Path) -> dict[Path, bytes]:
    """Every file of the tables but the ledger of runs, in which a failed one is noted."""
    files = (p for p in (root / "tables").rglob("*") if p.is_file() and "runs" not in p.parts)
    return {path: path.read_bytes() for path in files}


def test_opened_without_keys_it_counts_and_refuses_text(tmp_path: Path) -> None:
    landed(tmp_path / "lake", "ana", "ben")
    bare = open_lake(str(tmp_path / "lake"))
    assert bare.encryption is not None
    rows = tables.scan(bare, EPISODES).select("user_id", "event_at").collect()
    assert rows.height == 2
    with pytest.raises(LakeError, match="is encrypted, and its keys are not named"):
        tables.scan(bare, EPISODES).filter(pl.col("content") == "x").select("user_id").collect()


def test_a_plain_lake_with_keys_is_refused(tmp_path: Path) -> None:
    init_lake(str(tmp_path / "lake"))
    with pytest.raises(LakeError, match="not encrypted: rows would land as plain"):
        open_lake(str(tmp_path / "lake"), ring(tmp_path / "lake"))


def test_a_lake_with_rows_is_not_encrypted_any_more(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "rows.jsonl", [row(1)]))
    with pytest.raises(UsageError, match="holds rows already"):
        encrypt(job.lake, ring(tmp_path / "lake"))
    assert open_lake(job.lake.uri).encryption is None


@pytest.mark.parametrize("place", ["", "keys", "state/../keys", "link/keys"])
def test_a_keyring_inside_the_lake_is_refused(tmp_path: Path, place: str) -> None:
    lake = init_lake(str(tmp_path / "lake"))
    (tmp_path / "lake" / "link").symlink_to(tmp_path / "lake")
    with pytest.raises(LakeError, match="inside the lake"):
        encrypt(lake, Keys(str(tmp_path / "lake" / place), MASTER))
    (tmp_path / "way").symlink_to(tmp_path / "lake")
    with pytest.raises(LakeError, match="inside the lake"):
        encrypt(lake, Keys(str(tmp_path / "way" / "keys"), MASTER))
    assert open_lake(lake.uri).encryption is None


def test_a_prefix_of_the_lakes_name_is_outside(tmp_path: Path) -> None:
    lake = encrypt(init_lake(str(tmp_path / "lake")), Keys(str(tmp_path / "lake2"), MASTER))
    assert lake.keys is not None
    again = encrypt(init_lake(str(tmp_path / "lake")), Keys(str(tmp_path / "lake2"), MASTER))
    assert again.encryption == lake.encryption


@pytest.mark.parametrize("secret", [b"", b"short", b"x" * 31, b"x" * 33])
def test_a_master_key_has_32_bytes(secret: bytes) -> None:
    with pytest.raises(LakeError, match="32 bytes"):
        LocalMasterKey(secret)


def test_a_keyring_whose_disk_went_away_is_not_begun_anew(tmp_path: Path) -> None:
    lake = landed(tmp_path / "lake", "ana")
    (tmp_path / "lake-keys").rename(tmp_path / "elsewhere")
    with pytest.raises(LakeError, match="no keyring"):
        keys(lake).sealing(dict([keys(lake).hashed("acme", "user:ben")]))
    assert not (tmp_path / "lake-keys").exists()
