"""Rows out of files, hints over neutral commits, and history off the disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from lake import hints, lineage, tables, upkeep
from lake.erasure import history
from lake.erasure.removal import COMMIT_ROWS, Rule, count, files_of, matching, remove
from lake.lake import Lake, init_lake
from tests.lake.made import episodes
from transforms.schemas import EPISODES, VECTORS


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = init_lake(f"{tmp_path}/lake", 4)
    for month in ("2026-01", "2026-02", "2026-03"):
        tables.append(made, EPISODES, episodes(made, "acme", [f"{month}/{i}" for i in range(5)], month))
    return made


def says(*texts: str) -> Rule:
    def goes(rows: pl.DataFrame) -> pl.Series:
        return rows["content"].is_in(list(texts))

    return Rule(EPISODES, ["content"], goes, None)


def contents(lake: Lake) -> list[str]:
    return sorted(tables.scan(lake, EPISODES).collect()["content"])


def test_only_files_that_hold_a_row_are_written_anew(lake: Lake) -> None:
    was = tables.data_files(lake, EPISODES)
    rule = says("2026-02/3", "2026-02/1", "nowhere")
    assert count(lake, rule).rows == 2
    assert sorted(matching(lake, rule, ["content"])["content"]) == ["2026-02/1", "2026-02/3"]
    done = remove(lake, rule)
    assert (done.rows, len(done.files)) == (2, 1)
    assert len(tables.data_files(lake, EPISODES) & was) == 2
    assert len(contents(lake)) == 13
    assert count(lake, rule).rows == 0
    before = tables.version(lake, EPISODES)
    assert remove(lake, rule).rows == 0
    assert tables.version(lake, EPISODES) == before, "nothing to do writes nothing"


def test_a_file_of_nothing_else_goes_whole(lake: Lake) -> None:
    remove(lake, says(*(f"2026-03/{i}" for i in range(5))))
    assert len(files_of(lake, EPISODES, None)) == 2
    assert len(contents(lake)) == 10


def test_rows_are_written_in_bounded_commits(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert COMMIT_ROWS >= 100_000
    monkeypatch.setattr("lake.erasure.removal.COMMIT_ROWS", 3)
    before = tables.version(lake, EPISODES)
    remove(lake, says("2026-01/0", "2026-02/0", "2026-03/0"))
    assert tables.version(lake, EPISODES) - before == 3
    assert len(contents(lake)) == 12


def test_only_the_buckets_asked_for_are_looked_at(lake: Lake) -> None:
    tables.append(lake, EPISODES, episodes(lake, "umbrella", ["2026-01/0"]))
    assert lake.bucket("umbrella") != lake.bucket("acme")
    rule = says("2026-01/0")
    remove(lake, Rule(rule.table, rule.columns, rule.goes, [lake.bucket("acme")]))
    assert contents(lake).count("2026-01/0") == 1


def append(lake: Lake) -> None:
    tables.append(lake, EPISODES, episodes(lake, "acme", ["new"], "2026-02"))


def erased(lake: Lake) -> None:
    remove(lake, says("2026-01/2"))


def emptied(lake: Lake) -> None:
    remove(lake, says(*(f"2026-03/{i}" for i in range(5))))


def compacted(lake: Lake) -> None:
    upkeep.compact(lake, EPISODES)


@pytest.mark.parametrize(
    ("acts", "carried"),
    [
        ([], 0),
        ([erased], 1),
        ([erased, emptied], 2),
        ([append], 0),
        ([erased, append, emptied], 1),
        ([append, compacted], 0),
    ],
    ids=lambda value: "-".join(a.__name__ for a in value) if isinstance(value, list) else str(value),
)
def test_a_version_is_carried_over_commits_without_new_rows(
    lake: Lake, acts: list[Callable[[Lake], None]], carried: int
) -> None:
    version = tables.version(lake, EPISODES)
    for act in acts:
        act(lake)
    assert hints.settled_version(lake, EPISODES, version) == version + carried


def hint(lake: Lake, retry: list[str]) -> None:
    mark = lineage.mark(lake, EPISODES)
    parts = {"episodes": {"version": mark[0], "retry_files": retry, "mark": mark}}
    record = {"model_key": "m", "vectors": lineage.mark(lake, VECTORS), "tables": parts}
    lake.storage.write("state/embedded-x.json", json.dumps(record).encode())


def held(lake: Lake) -> dict[str, object]:
    raw = lake.storage.read("state/embedded-x.json")
    found: dict[str, object] = json.loads(raw or b"")["tables"]["episodes"]
    return found


def test_hints_of_embedding_are_carried_and_refused_texts_are_not_forgotten(lake: Lake) -> None:
    (january, february, _) = sorted(tables.data_files(lake, EPISODES))
    hint(lake, [january, february])
    erased(lake)
    assert hints.carry_over(lake) == 1
    (new,) = [name for name in tables.data_files(lake, EPISODES) if "month=2026-01" in name]
    now = held(lake)
    assert now["version"] == tables.version(lake, EPISODES)
    assert now["mark"] == list(lineage.mark(lake, EPISODES))
    assert now["retry_files"] == sorted([new, february])
    assert hints.carry_over(lake) == 0


def test_a_hint_of_another_history_or_of_nothing_is_left(lake: Lake) -> None:
    hint(lake, [])
    record = json.loads(lake.storage.read("state/embedded-x.json") or b"")
    record["tables"]["episodes"]["mark"][1] = "0" * 32
    lake.storage.write("state/embedded-x.json", json.dumps(record).encode())
    for key, raw in (("state/consolidated.json", b"{"), ("state/embedded-y.json", b"[]")):
        lake.storage.write(key, raw)
    erased(lake)
    assert hints.carry_over(lake) == 0


def test_history_goes_from_the_disk_and_the_table_stays(lake: Lake) -> None:
    root = Path(lake.table_uri(EPISODES))
    erased(lake)
    emptied(lake)
    (root / "tenant_bucket=0").mkdir(exist_ok=True)
    (root / "tenant_bucket=0" / "part-left-behind.zstd.parquet").write_bytes(b"half")
    (root / "tenant_bucket=0" / ".part.parquet.0123.tmp").write_bytes(b"half")
    was = contents(lake)
    done = history.clear(lake, [EPISODES, VECTORS])
    assert done.files == 2 + 1 + 1
    assert done.bytes > 0
    assert contents(lake) == was
    on_disk = {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}
    logs = {name for name in on_disk if name.startswith("_delta_log/")}
    assert on_disk - logs == set(tables.data_files(lake, EPISODES))
    assert logs
    assert history.clear(lake, [EPISODES]).files == 0
