"""What a scan of an encrypted lake opens: only text that is asked for, of rows that other filters leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lake import tables, upkeep
from lake.crypto import frames, opening
from lake.crypto.leftovers import drop_leftovers, leftovers
from lake.lake import Lake
from tests.flows.lakes import ingest, row, write
from tests.lake.crypto.sealed import files_with, keys, sealed_job
from transforms.schemas import EPISODES, QUARANTINE
from transforms.subjects import Subject


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    root = tmp_path_factory.mktemp("opening")
    job = sealed_job(root / "lake")
    for part in range(3):
        made = [row(40 * part + i, user_id=f"u{i % 4}", tags=[f"t{i}"] if i % 2 else None) for i in range(40)]
        ingest(job, write(root / f"{part}.jsonl", made))
    return job.lake


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, tuple[str, ...]]]:
    """Rows and text columns of each call that opens."""
    calls: list[tuple[int, tuple[str, ...]]] = []
    plain = frames.open_rows

    def noted(lake: Lake, table: Any, rows: pl.DataFrame) -> Any:
        calls.append((rows.height, tuple(n for n in rows.columns if n in table.free_text)))
        return plain(lake, table, rows)

    monkeypatch.setattr(opening, "open_rows", noted)
    return calls


Scan = Callable[[pl.LazyFrame], pl.LazyFrame]


@pytest.mark.parametrize(
    ("ask", "rows", "columns"),
    [
        (lambda f: f.select("episode_id", "event_at"), 0, set()),
        (lambda f: f.select(pl.len()), 0, set()),
        (lambda f: f.filter(pl.col("user_id") == "u1").select("user_id"), 0, set()),
        (lambda f: f.group_by("user_id").agg(pl.len()), 0, set()),
        (lambda f: f.filter(pl.col("user_id") == "u1").select("content"), 30, {"content"}),
        (lambda f: f.select("content").filter(pl.col("content") != ""), 120, {"content"}),
        (
            lambda f: f.filter(pl.col("content").str.contains("7"), pl.col("user_id") == "u3").select("tags"),
            30,
            {"content", "tags"},
        ),
        (
            lambda f: f.filter((pl.col("user_id") == "u1") & (pl.col("tenant_id") == "acme")).select(
                "content"
            ),
            30,
            {"content"},
        ),
        (lambda f: f.filter(pl.col("user_id") == "nobody"), 0, set(EPISODES.free_text)),
        (lambda f: f, 120, set(EPISODES.free_text)),
    ],
)
def test_only_what_is_asked_for_is_opened(
    lake: Lake, opened: list[tuple[int, tuple[str, ...]]], ask: Scan, rows: int, columns: set[str]
) -> None:
    found = ask(tables.scan(lake, EPISODES)).collect()
    assert sum(count for count, _ in opened) == rows
    assert {name for _, names in opened for name in names} == (columns if opened else set())
    plain = tables.scan(lake, EPISODES).collect()
    assert found.sort(found.columns).equals(ask(plain.lazy()).collect().sort(found.columns))


@pytest.mark.parametrize("count", [1, 5, 50, 200])
def test_a_head_opens_little_more(
    lake: Lake, opened: list[tuple[int, tuple[str, ...]]], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_LEAST_ROWS", 8)
    monkeypatch.setattr(opening, "BYTES_AT_ONCE", 1)
    found = tables.scan(lake, EPISODES).select("content").head(count).collect()
    assert found.height == min(count, 120)
    assert sum(rows for rows, _ in opened) <= max(count, 8) + 48


def test_files_are_opened_one_group_after_another(
    lake: Lake, opened: list[tuple[int, tuple[str, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tables.scan(lake, EPISODES).collect()
    opened.clear()
    monkeypatch.setattr(opening, "BYTES_AT_ONCE", 1)
    assert tables.scan(lake, EPISODES).collect().equals(whole)
    assert len(opened) == len(tables.data_files(lake, EPISODES)) > 1


def test_partitions_files_and_joins(lake: Lake) -> None:
    plain = tables.scan(lake, EPISODES).collect()
    bucket = lake.bucket("acme")
    months = ["2026-06"]
    assert tables.scan(lake, EPISODES, buckets=[bucket], months=months).collect().height == 120
    assert tables.scan(lake, EPISODES, buckets=[1 - bucket]).collect().is_empty()
    name = sorted(tables.data_files(lake, EPISODES))[0]
    some = tables.scan(lake, EPISODES, files=[name]).collect()
    assert 0 < some.height < 120
    wanted = plain.filter(pl.col("user_id") == "u2").select("episode_id").lazy()
    joined = tables.scan(lake, EPISODES).join(wanted, on="episode_id", how="semi").select("content").collect()
    assert joined.height == 30
    twice = tables.scan(lake, EPISODES)
    assert pl.concat([twice, twice]).select("content").collect().height == 240


def test_rewritten_as_stored_or_opened_the_rows_are_the_same(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(i, user_id=f"u{i % 3}") for i in range(12)]))
    whole = tables.scan(job.lake, EPISODES).collect().sort("episode_id")
    for as_stored in (True, False):
        files = tables.data_files(job.lake, EPISODES)
        held = tables.scan(job.lake, EPISODES, files=files, as_stored=as_stored).collect()
        tables.rewrite(job.lake, EPISODES, files, held, as_stored=as_stored)
        assert tables.scan(job.lake, EPISODES).collect().sort("episode_id").equals(whole)
    upkeep.compact(job.lake, EPISODES)
    assert tables.scan(job.lake, EPISODES).collect().sort("episode_id").equals(whole)
    assert files_with(tmp_path / "lake", "harbour") == set()


def test_leftovers_of_a_backup_are_counted_and_taken_out(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    rows = [row(i, user_id=f"u{i % 3}") for i in range(12)]
    ingest(job, write(tmp_path / "a.jsonl", [*rows, row(50, user_id="u1", event_at="never")]))
    assert leftovers(job.lake) == {}
    keys(job.lake).destroy(Subject("acme", user="u1"))
    ingest(job, write(tmp_path / "b.jsonl", [row(30, user_id="u1"), row(31, user_id="u2")]))  # she is back
    ids = tables.scan(job.lake, EPISODES).select("episode_id").collect()
    readable = tables.scan(job.lake, EPISODES).select("content").collect()
    assert (ids.height, readable.height) == (14, 10)
    assert leftovers(job.lake) == {"episodes": 4, "quarantine": 1}
    before = tables.version(job.lake, QUARANTINE)
    assert drop_leftovers(job.lake) == {"episodes": 4, "quarantine": 1}
    assert tables.version(job.lake, QUARANTINE) == before + 1
    assert drop_leftovers(job.lake) == {}
    assert tables.version(job.lake, QUARANTINE) == before + 1
    left = tables.scan(job.lake, EPISODES).select("content", "user_id").collect()
    assert left["user_id"].value_counts().sort("user_id").rows() == [("u0", 4), ("u1", 1), ("u2", 5)]
