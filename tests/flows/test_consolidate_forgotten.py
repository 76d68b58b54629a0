"""What is derived of episodes that retention took out stands; what is derived of erased ones does not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.job import Job
from lake import revisions, tables
from tests.flows.lakes import AS_OF, job_on
from tests.flows.sleepers import PURE, history, night, said
from transforms.owners import owner_expr
from transforms.schemas import (
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    DERIVED,
    EPISODES,
    FACTS,
    FORGOTTEN,
    LINEAGE,
    SUMMARIES,
    Table,
)

OWNERS = ["tenant_id", "owner"]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


def without(job: Job, gone: pl.Expr) -> pl.DataFrame:
    """Take episodes out of the lake; they are given back."""
    rows = tables.scan(job.lake, EPISODES).collect()
    left = rows.filter(gone)
    tables.rewrite(job.lake, EPISODES, tables.data_files(job.lake, EPISODES), rows.filter(~gone))
    return left.with_columns(owner_expr())


def forget(job: Job, gone: pl.Expr) -> None:
    rows = without(job, gone).with_columns(
        reason=pl.lit("expired"), due_at=pl.lit(AS_OF), removed_at=pl.lit(AS_OF)
    )
    tables.append(job.lake, FORGOTTEN, rows.select(FORGOTTEN.names))


def stood(job: Job, table: Table) -> list[dict[str, object]]:
    rows = revisions.standing(job.lake, table).drop("tenant_bucket").sort(table.key)
    if table is DECISIONS:  # a topic is one of living episodes
        rows = rows.filter(pl.col("item_kind") == "claim")
    return rows.to_dicts()


def physical(job: Job) -> str:
    """Every derived row that any current file holds, whatever its revision."""
    held = {t.name: tables.scan(job.lake, t).collect().to_dicts() for t in DERIVED}
    return repr(held)


def test_what_rests_on_forgotten_episodes_stands(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    before = {table.name: stood(job, table) for table in PURE}
    assert all(before.values())
    forget(job, pl.lit(True))
    run_consolidate(job, complete=True)
    assert {table.name: stood(job, table) for table in PURE} == before


def test_new_claims_meet_those_of_forgotten_episodes(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "first", history())
    forget(job, pl.col("event_at").dt.month() < 6)
    night(job, tmp_path, "second", [said(40, "I moved to Bergen yesterday.", "06-20")])
    facts = pl.DataFrame(stood(job, FACTS)).filter(
        (pl.col("user_id") == "ana") & (pl.col("tenant_id") == "acme") & (pl.col("predicate") == "lives_in")
    )
    assert facts.sort("valid_from")["object"].to_list() == ["Graz", "Lisbon", "Bergen"]
    assert facts.filter(pl.col("retired_at").is_null())["object"].to_list() == ["Bergen"]


def test_a_session_that_lost_its_beginning_keeps_what_was_said_of_it(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "first", history())
    before = {t.name: stood(job, t) for t in (CONVERSATIONS,)}
    forget(job, pl.col("session_id") == "s-06-03")
    night(job, tmp_path, "second", [said(41, "Thanks.", "06-03")])
    assert {t.name: stood(job, t) for t in (CONVERSATIONS,)} == before


def test_owners_of_erased_episodes_are_derived_of_what_remains(job: Job, tmp_path: Path) -> None:
    kept = [row for row in history() if row["session_id"] != "s-03-06"]
    night(job, tmp_path, "all", history())
    others = {t.name: [r for r in stood(job, t) if r["tenant_id"] == "umbrella"] for t in PURE}
    gone = without(job, pl.col("session_id") == "s-03-06")
    run_consolidate(
        job, owners=gone.select(OWNERS).unique(), erased=gone.select(*OWNERS, "session_id").unique()
    )
    assert "peanuts" not in physical(job)
    assert not set(gone["episode_id"]) & set(tables.scan(job.lake, CLAIMS).collect()["episode_id"])
    assert not set(gone["episode_id"]) & set(tables.scan(job.lake, LINEAGE).collect()["source_id"])
    assert {t.name: [r for r in stood(job, t) if r["tenant_id"] == "umbrella"] for t in PURE} == others
    remaining = {table.name: stood(job, table) for table in PURE}
    fresh = job_on(tmp_path / "again")
    night(fresh, tmp_path, "kept", kept)
    assert {table.name: stood(fresh, table) for table in PURE if table is not DECISIONS} == {
        name: rows for name, rows in remaining.items() if name != DECISIONS.name
    }


def test_an_owner_without_any_episode_left_leaves_nothing(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    gone = without(job, (pl.col("user_id") == "ben") & (pl.col("tenant_id") == "acme"))
    owners = gone.select(OWNERS).unique()
    run_consolidate(job, owners=owners, erased=gone.select(*OWNERS, "session_id"))
    for table in DERIVED:
        rows = tables.scan(job.lake, table).collect()
        if "owner" in rows.columns:
            assert rows.join(owners, on=OWNERS, how="semi").is_empty(), table.name
    assert "Cork" not in physical(job)


def test_a_summary_outlives_its_forgotten_episodes_and_not_its_erased_ones(job: Job, tmp_path: Path) -> None:
    old = [
        said(n, f"We decided to ship the Bluewater invoices on day {n}.", f"03-{n:02d}") for n in range(1, 9)
    ]
    night(job, tmp_path, "old", old)
    before = stood(job, SUMMARIES)
    assert before
    forget(job, pl.lit(True))
    run_consolidate(job, complete=True)
    after = stood(job, SUMMARIES)
    assert [row["text"] for row in after] == [row["text"] for row in before]
    assert all(row["missing_source_count"] == len(row["source_refs"]) for row in after)  # type: ignore[arg-type]
    forgotten = tables.scan(job.lake, FORGOTTEN).collect()
    tables.rewrite(job.lake, FORGOTTEN, tables.data_files(job.lake, FORGOTTEN), forgotten.clear())
    owners = forgotten.with_columns(owner_expr()).select(*OWNERS, "session_id").unique()
    run_consolidate(job, owners=owners.select(OWNERS).unique(), erased=owners)
    assert stood(job, SUMMARIES) == []
    assert "Bluewater" not in physical(job)
