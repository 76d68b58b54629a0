"""Erasure after updates of the index: rows that an update only hid are in no file any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from lance.file import LanceFileReader

from flows.job import Job
from flows.publish import run_publish
from flows.published import dropped_episodes, wishes_of
from lake import tables
from lake.index import load_manifest, read_pointer
from lake.index_build import generations
from lake.readback.read_back import Needles, read_back
from lake.readback.token_set import TokenSet
from lake.recall import Recall
from tests.flows.erasing import erase, lake_of, people, said
from tests.flows.lakes import AS_OF, ingest, job_on, write
from tests.flows.test_publish_update import ALWAYS, forget, hear, require_same_as_whole
from tests.transforms.forgetting.plain import recall
from transforms.schemas import EPISODES, FACTS

HOUSE = "yellow house by the old mill"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    rows = [june(one) for one in people()]
    return lake_of(job_on(tmp_path / "lake", policy=ALWAYS), tmp_path, rows)


def june(row: dict[str, Any]) -> dict[str, Any]:
    """A row that is served still."""
    return {**row, "event_at": row["event_at"].replace("-03-", "-06-")}


def stored(job: Job, text: str) -> list[str]:
    """Lance files of the index that hold a text in any row, hidden ones too."""
    found = []
    for path in sorted(Path(job.lake.index_uri("x")).parent.rglob("*.lance")):
        if path.is_file() and path.parent.name == "data":
            rows = LanceFileReader(str(path)).read_all(batch_size=1_000).to_table()
            payloads = rows["payload"].to_pylist() if "payload" in rows.column_names else []
            if any(text in one for one in payloads):
                found.append(path.name)
    return found


def of(job: Job, user: str) -> list[str]:
    rows = tables.scan(job.lake, EPISODES).filter(pl.col("user_id") == user, pl.col("tenant_id") == "acme")
    return sorted(rows.collect()["episode_id"])


def update(job: Job) -> None:
    assert run_publish(job).detail["built"] == "updated"


def require_clean(job: Job, *texts: str) -> None:
    assert [stored(job, text) for text in texts] == [[] for _ in texts]
    assert read_back(job.lake, Needles(texts=texts)).leaks == ()
    pointer = read_pointer(job.lake)
    assert pointer
    manifest = load_manifest(job.lake, pointer.generation)
    assert (manifest.hidden_rows, manifest.hidden_since) == (0, None)
    assert len(generations(job.lake)) == 1


def test_rows_that_an_update_hid_go_with_the_erased_person(job: Job) -> None:
    forget(job, of(job, "ana")[:2])
    [fact] = (
        tables.scan(job.lake, FACTS)
        .filter(pl.col("owner") == "user:ana", pl.col("tenant_id") == "acme", pl.col("object_key") == "graz")
        .collect()
        .to_dicts()
    )
    newer = {**fact, "revision": fact["revision"] + 1, "fact": "Ana lives in Quxhaven", "object": "Quxhaven"}
    tables.append(job.lake, FACTS, pl.DataFrame([newer], schema=FACTS.polars, orient="row"))
    update(job)
    update_again = replace(job, as_of=AS_OF + timedelta(hours=1))
    forget(job, of(job, "ana")[:1])
    update(update_again)
    assert stored(job, HOUSE)
    assert stored(job, "Quxhaven")
    certificate = erase(update_again, user="ana")
    assert certificate.outcome == "complete"
    require_clean(job, HOUSE, "Quxhaven")


def test_a_person_of_whom_only_hidden_rows_are_left(job: Job) -> None:
    forget(job, of(job, "ana"))
    for table in ("facts", "summaries"):
        assert job.lake.storage.entries(f"tables/{table}"), table
    update(job)
    assert stored(job, HOUSE)
    assert erase(job, user="ana").outcome == "complete"
    require_clean(job, HOUSE)


def words(job: Job) -> set[bytes]:
    """Every word that a text index of any generation holds."""
    found: set[bytes] = set()
    for path in sorted(Path(job.lake.index_uri("x")).parent.rglob("*tokens.lance")):
        table = LanceFileReader(str(path)).read_all(batch_size=1_000).to_table()
        for name in table.column_names:
            found.update(*(TokenSet(one) for one in table[name].to_pylist() if isinstance(one, bytes)))
    return found


def test_words_of_an_appended_file_of_which_no_row_is_left(job: Job, tmp_path: Path) -> None:
    ingest(job, write(tmp_path / "c.jsonl", [june(said(90, "The zebracanary sleeps in the shed."))]))
    update(job)
    held = tables.scan(job.lake, EPISODES).filter(pl.col("content").str.contains("zebracanary")).collect()
    forget(job, held["episode_id"].to_list())
    update(job)
    assert stored(job, "zebracanary")  # in the generation before
    assert b"zebracanary" in words(job)
    assert erase(job, user="ana").outcome == "complete"
    assert b"zebracanary" not in words(job)
    assert b"boathouse" in words(job)
    require_clean(job, "zebracanary")


def test_hidden_rows_of_others_go_too_and_the_next_night_updates_again(job: Job, tmp_path: Path) -> None:
    forget(job, of(job, "ben")[:1])
    update(job)
    assert erase(job, user="ana2").outcome == "complete"
    require_clean(job, "ski to the office every winter")
    ingest(job, write(tmp_path / "b.jsonl", [june(said(80, "The ferry leaves at nine.", user_id="ben"))]))
    assert run_publish(job).state == "done"
    require_same_as_whole(job)
    found = Recall(job.lake, policy=job.policy, embedder=job.embedder).search(
        "ferry", tenant="acme", user="ben", as_of=AS_OF
    )
    assert any(one.text == "The ferry leaves at nine." for one in found)


def test_what_retention_took_leaves_the_files_within_the_days_that_the_policy_allows(job: Job) -> None:
    forget(job, of(job, "ana"))
    update(job)
    for days in range(1, 12):  # something changes each night
        late = replace(job, as_of=AS_OF + timedelta(days=days))
        left = of(job, "ben") + of(job, "ana2")
        if days in (2, 9):
            forget(job, left[:1])
        else:
            folder = Path(job.lake.storage.uri).parent
            more = [said(100 + days, f"The tide table of day {days} is on the wall.", user_id="cleo")]
            ingest(late, write(folder / f"{days}.jsonl", more))
        run_publish(late)
    # Hidden for seven days, then in generations that are kept for two more.
    assert stored(job, HOUSE) == []


def test_in_a_lake_where_nothing_changes_any_more_it_leaves_the_live_files_too(job: Job) -> None:
    forget(job, of(job, "ana"))
    update(job)
    built = []
    for days in range(1, 10):
        late = replace(job, as_of=AS_OF + timedelta(days=days))
        built.append(run_publish(late).detail.get("built"))
    assert built == [None] * 6 + ["whole"] + [None] * 2
    pointer = read_pointer(job.lake)
    assert pointer
    assert load_manifest(job.lake, pointer.generation).hidden_since is None


def test_what_an_erased_session_recalled_is_as_if_it_had_not(job: Job) -> None:
    house = of(job, "ana")[0]
    at = AS_OF - timedelta(hours=3)
    for n, session in enumerate(("quince", "medlar", "damson")):
        hear(job, recall(n, house, at + n * timedelta(minutes=1), user_id="ana", session_id=session))
    update(job)
    assert erase(job, user="ana", session="quince").outcome == "complete"
    require_same_as_whole(job, is_purged=True)
    assert run_publish(job).state == "unchanged"
    assert erase(job, user="ana", session="medlar").outcome == "complete"
    require_same_as_whole(job, is_purged=True)


def test_facts_of_a_group_that_stays_keep_their_speaker(tmp_path: Path) -> None:
    group = {"user_id": None, "agent_id": "club", "session_id": "group"}
    rows = [
        *people(),
        said(60, "I live in Bergen and keep seven goats in the barn.", speaker="ben", **group),
        said(61, "I live in Lyon.", speaker="ana", **group),
    ]
    job = lake_of(job_on(tmp_path / "lake", policy=ALWAYS), tmp_path, [june(one) for one in rows])
    assert erase(job, user="ana").outcome == "complete"
    require_same_as_whole(job, is_purged=True)


def test_an_episode_that_a_summary_stands_for_no_more_is_served_again(tmp_path: Path) -> None:
    policy = ALWAYS.model_copy(
        update={"summaries": ALWAYS.summaries.model_copy(update={"detail": "drop_after_summary"})}
    )
    made = job_on(tmp_path / "lake", policy=policy, as_of=AS_OF - timedelta(days=70))
    job = lake_of(made, tmp_path, people())
    bucket = job.lake.bucket("acme")
    assert dropped_episodes(job, [bucket], wishes_of(job)).height == 6
    assert erase(job, user="ana").outcome == "complete"
    assert dropped_episodes(job, [bucket], wishes_of(job)).height == 3  # of the four that stay
    assert run_publish(job).rows_out
    require_same_as_whole(job, is_purged=True)
