"""Landed rows of an encrypted lake: sealed before they touch the disk, opened by recall and by ingest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from flows.ingest import run_ingest
from lake import landing, tables
from lake.fresh import FreshTail
from lake.lake import open_lake
from lake.scope import Scope
from lake.storage import LocalStorage
from tests.flows.lakes import content, row
from tests.lake.crypto.sealed import files_with, keys, ring, sealed_job, sealed_lake
from transforms.errors import LakeError
from transforms.policy import Policy
from transforms.schemas import EPISODES, QUARANTINE
from transforms.subjects import Subject

ANA = Scope("acme", "ana")


def test_text_is_sealed_on_disk_and_opened_by_the_tail_and_by_ingest(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    good = row(1, "the quinceberry tart", tags=["quinceberry"], speaker="quinceberry", note="quinceberry")
    of_nobody = {"content": "quinceberry pie", "tenant_id": "acme"}
    receipt = landing.append(job.lake, [good, of_nobody, {"x": "quinceberry"}])
    assert (len(receipt.landed), len(receipt.refused)) == (2, 1)
    assert files_with(tmp_path / "lake", "quinceberry") == set()
    tail = FreshTail(job.lake, Policy()).episodes(ANA, -1)
    assert tail is not None
    assert tail.select("content", "tags").rows() == [("the quinceberry tart", ["quinceberry"])]
    _, tally = run_ingest(job, [])
    assert (tally.landed, tally.quarantined, tally.left_out) == (2, 1, {})
    assert files_with(tmp_path / "lake", "quinceberry") == set()
    assert "quinceberry" in content(job, QUARANTINE)["raw"].str.join("")[0]
    assert sorted(content(job)["content"]) == ["quinceberry pie", "the quinceberry tart"]


def test_without_keys_nothing_lands(tmp_path: Path) -> None:
    sealed_lake(tmp_path / "lake")
    bare = open_lake(str(tmp_path / "lake"))
    with pytest.raises(LakeError, match="its keys are not named"):
        landing.append(bare, [row(1)])
    assert [entry for entry in bare.storage.entries(landing.PREFIX) if entry.size_bytes] == []
    assert files_with(tmp_path / "lake", "harbour") == set()


def test_rows_of_a_destroyed_key_are_counted_and_left_out(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    landing.append(job.lake, [row(1), row(2, user_id="ben"), row(3)])
    keys(job.lake).destroy(Subject("acme", user="ana"))
    assert FreshTail(job.lake, Policy()).episodes(ANA, -1) is None
    _, tally = run_ingest(job, [])
    assert (tally.rows_in, tally.landed, tally.left_out) == (3, 1, {"key_destroyed": 2})
    assert content(job)["user_id"].to_list() == ["ben"]


def changed(line: bytes, **fields: Any) -> bytes:
    told = orjson.loads(line)
    told["episodes"] |= fields
    return orjson.dumps(told)


@pytest.mark.parametrize("fields", [{"content": "typed in by hand"}, {"user_id": "ben"}, {"tags": ["plain"]}])
def test_a_line_that_was_tampered_with_is_quarantined_alone(tmp_path: Path, fields: dict[str, Any]) -> None:
    job = sealed_job(tmp_path / "lake")
    landing.append(job.lake, [row(1, tags=["a"]), row(2, user_id="ben"), row(3, tags=["a"])])
    (entry,) = job.lake.storage.entries(landing.PREFIX)
    lines = (job.lake.storage.read(entry.key) or b"").splitlines()
    job.lake.storage.write(entry.key, b"\n".join([changed(lines[0], **fields), *lines[1:], b""]))
    _, tally = run_ingest(job, [])
    assert (tally.landed, tally.quarantined) == (2, 1)
    assert dict(tally.reasons) == {"bad_value": 1}


def test_the_tail_asks_for_keys_only_where_something_landed(tmp_path: Path) -> None:
    lake = sealed_lake(tmp_path / "lake")
    bare = open_lake(str(tmp_path / "lake"))
    assert FreshTail(bare, Policy()).episodes(ANA, -1) is None
    landing.append(lake, [row(1)])
    with pytest.raises(LakeError, match="its keys are not named"):
        FreshTail(bare, Policy()).episodes(ANA, -1)
    opened = open_lake(str(tmp_path / "lake"), ring(tmp_path / "lake"))
    tail = FreshTail(opened, Policy()).episodes(ANA, -1)
    assert tail is not None
    assert tail.height == 1
    assert tables.version(lake, EPISODES) == -1


class Bucketlike:
    """A store that is no local disk, on one: objects are put, and looked at again."""

    def __init__(self, inner: LocalStorage) -> None:
        self.inner = inner
        self.uri = inner.uri
        self.puts: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, key: str, data: bytes) -> None:
        self.puts.append(key)
        self.inner.write(key, data)


def test_on_an_object_store_a_row_is_put_once(tmp_path: Path) -> None:
    """Sealed anew, the same row has other bytes: that is no reason to put it again."""
    lake = sealed_lake(tmp_path / "lake")
    assert isinstance(lake.storage, LocalStorage)
    store = Bucketlike(lake.storage)
    landing.append(replace(lake, storage=store), [row(1)])
    assert len(store.puts) == 1
    assert len(lake.storage.entries(landing.PREFIX)) == 1
