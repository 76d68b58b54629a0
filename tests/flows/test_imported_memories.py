"""Exports of other memory stores end as standing facts of their users, with the stores' ids behind them."""

from __future__ import annotations

import gzip
import json
import zipfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.job import Job
from flows.publish import run_publish
from flows.retain import run_retain
from lake import revisions, tables
from lake.recall import Recall
from tests.flows.lakes import AS_OF, REPOSITORY, files_below, ingest, job_on, row, write
from tests.flows.sleepers import claims
from transforms.readers.memory_store import FIELD
from transforms.schemas import EPISODES, FACTS, SUMMARIES, TOPIC_MEMBERS, Table
from transforms.validate import Defaults

SAMPLES = [
    REPOSITORY / "samples" / "formats" / name
    for name in ("mem0-export.json", "zep-export.json", "langgraph-store.jsonl")
]
STANDING = [
    ("agent:planner", "Quote prices in euros"),
    ("user:u-bram", "Invoices go to the Graz office until the end of 2026"),
    ("user:u-bram", "name: Bram; languages: Dutch, German; budget: 1200"),
    ("user:u-ilka", "Eats no pork"),
    ("user:u-ilka", "Ilka lives in Linz"),
    ("user:u-ilka", "Is allergic to hazelnuts"),
    ("user:u-ilka", "Prefers aisle seats on trains"),
    ("user:u-ilka", "Sings alto in the choir"),
]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


def night(job: Job, *files: Path) -> None:
    if files:
        ingest(job, *files, defaults=Defaults(tenant_id="acme"))
    run_embed(job)
    run_consolidate(job)


def held(job: Job, table: Table) -> pl.DataFrame:
    return revisions.standing(job.lake, table).sort(table.sort_by)


def standing(job: Job) -> list[tuple[str, str]]:
    """Owners and sentences of the remembered facts that hold at the end of the job's day."""
    facts = held(job, FACTS).filter(
        pl.col("predicate") == "remembered",
        pl.col("retired_at").is_null(),
        pl.col("valid_until").is_null() | (pl.col("valid_until") > job.as_of),
    )
    return sorted(facts.select("owner", "fact").rows())


def memory(number: int, text: str, **fields: Any) -> dict[str, Any]:
    at = f"2026-06-{number:02d}T08:00:00+00:00"
    return {
        "id": f"m{number}",
        "memory": text,
        "user_id": "ana",
        "created_at": at,
        "updated_at": None,
        **fields,
    }


def test_memories_of_three_stores_stand_after_a_night(job: Job) -> None:
    night(job, *SAMPLES)
    assert standing(job) == STANDING
    facts = held(job, FACTS).filter(pl.col("predicate") == "remembered")
    assert set(facts["source"]) == {"imported"}
    ended = facts.filter(pl.col("valid_until").is_not_null())
    assert ended["fact"].to_list() == ["Bram works at Norden Freight (until 2026-04-15)"]
    sources = facts.select("fact", episode_id=pl.col("source_refs").list.first())
    rows = sources.join(tables.scan(job.lake, EPISODES).collect(), on="episode_id")
    ids = {json.loads(raw)[FIELD]["id"] for raw in rows["metadata"]}
    assert "a2c9e0d4-61bb-4f0e-9c7a-8d35e2f7b610" in ids
    assert len(ids) == rows.height == 9


def test_nothing_else_is_made_of_them(job: Job) -> None:
    night(job, *SAMPLES)
    assert claims(job).filter(pl.col("predicate") != "remembered")["fact"].to_list() == ["Ilka lives in Linz"]
    memories = tables.scan(job.lake, EPISODES).filter(pl.col("is_injected")).collect()
    assert memories.height == 9
    assert held(job, TOPIC_MEMBERS).join(memories, on="episode_id", how="semi").is_empty()
    assert held(job, SUMMARIES).is_empty()


def test_a_second_night_and_a_second_import_change_nothing(job: Job, tmp_path: Path) -> None:
    night(job, *SAMPLES)
    before = held(job, FACTS)
    night(job, *SAMPLES)
    files = files_below(tmp_path / "lake" / "tables")
    night(job)
    assert files_below(tmp_path / "lake" / "tables") == files
    assert held(job, FACTS).equals(before)


def test_they_are_recalled_once_each(job: Job, tmp_path: Path) -> None:
    night(
        job, write(tmp_path / "m.jsonl", [memory(2, "Is allergic to hazelnuts"), memory(3, "Rows at dawn")])
    )
    run_publish(job)
    reader = Recall(job.lake, embedder=job.embedder)
    found = reader.search("hazelnuts", tenant="acme", user="ana", as_of=AS_OF)
    said = [(memory.kind, memory.text) for memory in found if "hazelnuts" in memory.text]
    assert said == [("fact", "Is allergic to hazelnuts")]


def test_they_outlive_the_rows_they_came_in(job: Job) -> None:
    night(job, *SAMPLES)
    later = replace(job, as_of=AS_OF + timedelta(days=150))
    run_retain(later)
    night(later)
    assert tables.scan(job.lake, EPISODES).filter(pl.col("is_injected")).collect().is_empty()
    assert standing(job) == STANDING


def test_what_the_user_says_stands_beside_them(job: Job, tmp_path: Path) -> None:
    night(job, write(tmp_path / "m.jsonl", [memory(2, "Lives in Graz")]))
    night(job, write(tmp_path / "c.jsonl", [row(9, "I live in Linz.", event_at="2026-06-20T10:00:00Z")]))
    facts = held(job, FACTS).filter(pl.col("retired_at").is_null())
    assert sorted(facts.select("predicate", "source").rows()) == [
        ("lives_in", "user_said"),
        ("remembered", "imported"),
    ]


def test_versions_of_a_memory_come_one_after_the_other(job: Job, tmp_path: Path) -> None:
    history = [
        {"id": "h1", "memory_id": "m1", "new_memory": "Likes tea and coffee", "event": "ADD",
         "created_at": "2026-06-01T08:00:00Z", "updated_at": None},
        {"id": "h2", "memory_id": "m1", "new_memory": "Likes tea", "event": "UPDATE",
         "created_at": "2026-06-01T08:00:00Z", "updated_at": "2026-06-09T08:00:00Z"},
    ]  # fmt: skip
    defaults = Defaults(tenant_id="acme", user_id="ana")
    ingest(job, write(tmp_path / "first.jsonl", history[:1]), defaults=defaults)
    night(job)
    assert standing(job) == [("user:ana", "Likes tea and coffee")]
    ingest(job, write(tmp_path / "both.jsonl", history), defaults=defaults)
    night(job)
    assert standing(job) == [("user:ana", "Likes tea")]


def test_an_export_in_which_a_memory_was_edited_replaces_it(job: Job, tmp_path: Path) -> None:
    old, kept = memory(2, "Likes tea and coffee"), memory(3, "Rows at dawn")
    new = {**old, "memory": "Likes tea", "updated_at": "2026-06-09T08:00:00+00:00"}
    night(job, write(tmp_path / "old.jsonl", [old, kept]))
    night(job, write(tmp_path / "new.jsonl", [new, kept]))
    assert standing(job) == [("user:ana", "Likes tea"), ("user:ana", "Rows at dawn")]
    night(job, write(tmp_path / "again.jsonl", [new, kept]))
    assert standing(job) == [("user:ana", "Likes tea"), ("user:ana", "Rows at dawn")]


def test_a_fact_that_ended_in_its_store_ends_here(job: Job, tmp_path: Path) -> None:
    edge = {
        "uuid": "e1",
        "fact": "Ana works at Norden",
        "created_at": "2026-05-01T00:00:00Z",
        "user_id": "ana",
    }
    night(job, write(tmp_path / "old.jsonl", [edge]))
    assert standing(job) == [("user:ana", "Ana works at Norden")]
    night(job, write(tmp_path / "new.jsonl", [{**edge, "invalid_at": "2026-06-10T00:00:00Z"}]))
    assert standing(job) == []


def test_a_backup_that_holds_its_memories_twice_lands_them_once(job: Job, tmp_path: Path) -> None:
    item = {"id": "m1", "content": "Eats late", "state": "active", "created_at": "2026-06-01T08:00:00Z"}
    document = {"user": {"id": "x", "user_id": "ana"}, "apps": [], "memory_categories": []}
    line = {**item, "app": None, "categories": []}
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as packed:
        packed.writestr("memories.json", json.dumps({**document, "memories": [{**item, "user_id": "x"}]}))
        packed.writestr("memories.jsonl.gz", gzip.compress(json.dumps(line).encode()))
    tally = ingest(job, tmp_path / "backup.zip", defaults=Defaults(tenant_id="acme", user_id="ana"))
    assert (tally["rows_in"], tally["landed"], tally["duplicates"]) == (2, 1, 1)
    night(job)
    assert standing(job) == [("user:ana", "Eats late")]
