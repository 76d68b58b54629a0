"""The way to the store fails: requests are tried again, nothing is done twice, no secret is told."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from flows.__main__ import main
from lake import tables
from lake.lake import Lake, init_lake, open_lake
from lake.storage import S3Storage, open_storage
from tests.lake.made import episodes
from tests.lake.s3_store import KEY, SECRET, Weather
from transforms.errors import LakeError, StorageError
from transforms.schemas import EPISODES

pytestmark = pytest.mark.server
FAULTS = ("500", "503", "reset", "lost", "cut")


@pytest.fixture
def lake(weather: Weather) -> Lake:
    del weather
    return init_lake(f"s3://lakes/{secrets.token_hex(4)}", 2)


def fails(weather: Weather, how: str, times: int, part: str = "") -> None:
    """The next requests for keys with a certain part in them fail."""
    weather.failed.clear()
    weather.fails, weather.how = times, how
    weather.matches = lambda _, path: part in path


@pytest.mark.parametrize("how", FAULTS)
def test_our_own_calls_come_through(weather: Weather, lake: Lake, how: str) -> None:
    store = lake.storage
    assert isinstance(store, S3Storage)
    store.write("state/a", b"one")
    fails(weather, how, 2)
    assert store.read("state/a") == b"one"
    fails(weather, how, 2)
    store.write("state/b", b"two")
    fails(weather, how, 2)
    assert store.create("state/c", b"three")  # ours, also where the answer to the put was lost
    assert not store.create("state/c", b"another's")
    held = store.read_tagged("state/b")
    assert held is not None
    fails(weather, how, 2)
    assert store.replace("state/b", b"four", held[1])
    assert not store.replace("state/b", b"five", held[1])
    fails(weather, how, 2)
    assert [entry.key for entry in store.entries("state")] == ["state/a", "state/b", "state/c"]
    fails(weather, how, 2)
    store.delete("state/a")
    assert weather.failed
    assert [store.read(f"state/{name}") for name in "abc"] == [None, b"four", b"three"]


@pytest.mark.parametrize("how", FAULTS)
def test_a_commit_comes_through_once(weather: Weather, lake: Lake, how: str) -> None:
    tables.append(lake, EPISODES, episodes(lake, "t", ["first"]))
    parts = ("_delta_log", "parquet", "list-type")
    for part in parts:
        fails(weather, how, 2, part)
        tables.append(lake, EPISODES, episodes(lake, "t", [f"{how} {part}"]))
        assert weather.failed, part
    fails(weather, how, 2, "parquet")
    held = tables.scan(lake, EPISODES).collect()["content"].to_list()
    assert sorted(held) == sorted(
        ["first", *(f"{how} {part}" for part in ("_delta_log", "parquet", "list-type"))]
    )


@pytest.mark.parametrize("how", FAULTS)
def test_the_index_is_written_and_read(weather: Weather, lake: Lake, how: str) -> None:
    uri = f"{lake.uri}/index/gen-000001/main.lance"
    rows = pa.table({"number": list(range(100))})
    fails(weather, how, 2, "main.lance")
    lance.write_dataset(rows, uri)
    fails(weather, how, 2, "main.lance")
    assert lance.dataset(uri).to_table(filter="number >= 90").num_rows == 10


def test_a_store_that_fails_for_good_says_so_and_shows_no_half(weather: Weather, lake: Lake) -> None:
    tables.append(lake, EPISODES, episodes(lake, "t", ["first"]))
    fails(weather, "503", 10_000)
    weather.matches = lambda method, path: method == "PUT" and "_delta_log" in path
    began = time.monotonic()
    with pytest.raises(StorageError) as caught:
        tables.append(lake, EPISODES, episodes(lake, "t", ["second"]))
    assert time.monotonic() - began < 100
    assert caught.value.remedy
    assert SECRET not in str(caught.value)
    weather.fails = 0
    assert tables.scan(lake, EPISODES).collect()["content"].to_list() == ["first"]
    tables.append(lake, EPISODES, episodes(lake, "t", ["second"]))
    assert sorted(tables.scan(lake, EPISODES).collect()["content"]) == ["first", "second"]


def test_wrong_keys_are_told_without_the_keys(
    bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret-9c2e")
    assert main(["--lake", f"{bucket}/wrong", "init"]) == LakeError.exit_code
    told = capsys.readouterr()
    assert "permission denied" in told.err
    assert "another-secret" not in told.out + told.err
    assert "Traceback" not in told.err


def test_no_key_of_the_store_is_written_or_told(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = f"{bucket}/keyless"
    (tmp_path / "rows.jsonl").write_text(
        '{"content": "a marmot sleeps", "tenant_id": "t", "user_id": "u", "event_at": "2026-03-01T10:00:00Z"}'
    )
    for words in (["init"], ["ingest", str(tmp_path / "rows.jsonl")], ["status"], ["doctor"]):
        main(["--lake", uri, *words])
    told = capsys.readouterr()
    store = open_storage(uri)
    written = b"".join(store.read(entry.key) or b"" for entry in store.entries(""))
    runs = repr(tables.scan(open_lake(uri), EPISODES).collect().rows())
    for secret in (KEY, SECRET):
        assert secret not in told.out + told.err + runs
        assert secret.encode() not in written
