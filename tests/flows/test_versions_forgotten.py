"""Edits of messages that are not here any more: in cold storage, or taken out by retention."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.commit import bring_back
from flows.consolidate import run_consolidate
from flows.job import Job
from flows.nightly import run_nightly
from flows.retain import run_retain
from lake import cold, revisions, tables
from lake.recall import Recall
from tests.flows.dying import living
from tests.flows.erasing import erase
from tests.flows.lakes import AS_OF, content, ingest, job_on, row, write
from tests.lake.crypto.sealed import sealed_lake
from transforms.policy import Policy
from transforms.policy_retention import ColdPolicy
from transforms.presets import PRESETS
from transforms.schemas import COLD, EPISODES, FACTS, FORGOTTEN, LINEAGE
from transforms.subjects import Subject

TOLD = ("I live in Lisbon.", "I live in Porto.", "I live in Braga.")
TEA = row(1, "My favourite drink is green tea.", event_at="2026-06-29T10:00:00Z")
COOLING = Policy(cold=ColdPolicy(after_days=20.0))
ANA = Subject("acme", user="ana")


def said(text: str, **fields: Any) -> dict[str, Any]:
    return row(2, text, **fields)


def on(job: Job, days: float) -> Job:
    return replace(job, as_of=AS_OF + timedelta(days=days))


def imported(job: Job, folder: Path, *rows: dict[str, Any]) -> dict[str, Any]:
    return ingest(job, write(folder / f"{job.as_of:%Y%m%d}.jsonl", rows))


def served(job: Job) -> list[str]:
    return content(job).filter(~pl.col("is_injected"))["content"].sort().to_list()


def facts(job: Job) -> list[str]:
    return revisions.standing(job.lake, FACTS)["fact"].sort().to_list()


def links(job: Job) -> list[tuple[str, str]]:
    rows = content(job, LINEAGE).filter(pl.col("derived_kind") == "episodes")
    return sorted(rows.select("derived_id", "source_id").iter_rows())


def recalled(job: Job) -> list[str]:
    reader = Recall(job.lake, embedder=job.embedder)
    found = reader.search("Where do I live?", tenant="acme", user="ana", as_of=job.as_of)
    return [memory.text for memory in found]


def cooled(root: Path, folder: Path) -> Job:
    """A lake whose old message lies in cold storage after a night."""
    job = job_on(root, policy=COOLING)
    imported(job, folder, TEA, said(TOLD[0]))
    run_nightly(job, ())
    assert content(job, COLD)["content"].to_list() == [TOLD[0]]
    assert facts(job) == ["The user likes green tea", "The user lives in Lisbon"]
    return job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return cooled(tmp_path / "lake", tmp_path)


def test_an_edit_of_a_cold_row_is_its_next_version(tmp_path: Path, job: Job) -> None:
    first = content(job, COLD)["episode_id"][0]
    late = on(job, 1)
    tally = imported(late, tmp_path, TEA, said(TOLD[1]))
    assert (tally["landed"], tally["versions"], tally["duplicates"]) == (1, 1, 1)
    assert served(job) == sorted([TEA["content"], TOLD[1]])
    marked = content(job, COLD).select("episode_id", "content", "is_injected", "tags").rows()
    assert marked == [(first, TOLD[0], True, ["replaced"])]
    assert first in {source for _, source in links(job)}
    run_consolidate(late)
    assert facts(job) == ["The user likes green tea", "The user lives in Porto"]
    older = imported(on(job, 2), tmp_path, TEA, said(TOLD[0]))
    assert (older["landed"], older["duplicates"]) == (0, 2)


def test_what_was_replaced_while_it_lay_cold_comes_back_as_replaced(tmp_path: Path, job: Job) -> None:
    late = on(job, 1)
    imported(late, tmp_path, said(TOLD[1]))
    assert bring_back(late, ANA) == 1
    assert content(job, COLD).is_empty()
    assert content(job, FORGOTTEN).is_empty()
    assert served(job) == sorted([TEA["content"], TOLD[1]])
    assert content(job)["content"].sort().to_list() == sorted([TEA["content"], *TOLD[:2]])
    run_nightly(replace(late, policy=Policy()), ())
    assert facts(job) == ["The user likes green tea", "The user lives in Porto"]
    found = recalled(late)
    assert TOLD[1] in found
    assert not [text for text in found if "Lisbon" in text]


def test_a_row_that_was_not_marked_in_cold_storage_is_marked_when_it_comes_back(
    tmp_path: Path, job: Job
) -> None:
    late = on(job, 1)
    before = content(job, COLD)
    imported(late, tmp_path, said(TOLD[1]))
    # As where retain had copied it before the edit, and takes it out after.
    tables.rewrite(job.lake, COLD, sorted(tables.data_files(job.lake, COLD)), before)
    bring_back(late, ANA)
    assert served(job) == sorted([TEA["content"], TOLD[1]])


def test_versions_that_went_cold_are_told_apart_there(tmp_path: Path, job: Job) -> None:
    imported(on(job, 1), tmp_path, said(TOLD[1]))
    run_nightly(on(job, 2), ())
    assert content(job, COLD)["content"].sort().to_list() == sorted(TOLD[:2])
    told = links(job)
    assert told
    again = imported(on(job, 3), tmp_path, said(TOLD[0]))
    assert again["duplicates"] == 1
    again = imported(on(job, 4), tmp_path, said(TOLD[1]))
    assert again["duplicates"] == 1
    assert imported(on(job, 5), tmp_path, said(TOLD[2]))["versions"] == 1
    assert set(told) < set(links(job))
    run_consolidate(on(job, 5))
    assert facts(job) == ["The user likes green tea", "The user lives in Braga"]
    bring_back(on(job, 5), ANA)
    assert served(job) == sorted([TEA["content"], TOLD[2]])
    run_nightly(on(job, 600), ())
    assert content(job).is_empty()
    assert links(job) == []


def test_killed_anywhere_an_edit_of_a_cold_row_comes_to_the_same(tmp_path: Path) -> None:
    file = write(tmp_path / "edit.jsonl", [TEA, said(TOLD[1])])
    whole = cooled(tmp_path / "whole", tmp_path)
    with living() as life:
        ingest(on(whole, 1), file)
    run_consolidate(on(whole, 1))
    for last in range(life.count):
        job = cooled(tmp_path / f"killed-{last}", tmp_path)
        with living(last):
            ingest(on(job, 1), file)
        ingest(on(job, 1), file)
        run_consolidate(on(job, 1))
        assert content(job, COLD)["is_injected"].to_list() == [True], last
        assert content(job, FORGOTTEN).is_empty(), last
        assert (served(job), links(job), facts(job)) == (served(whole), links(whole), facts(whole)), last


def test_killed_anywhere_a_restore_comes_to_the_same(tmp_path: Path) -> None:
    def begun(name: str) -> Job:
        job = cooled(tmp_path / name, tmp_path)
        imported(on(job, 1), tmp_path, said(TOLD[1]))
        return on(job, 1)

    whole = begun("whole")
    with living() as life:
        bring_back(whole, ANA)
    for last in range(life.count):
        job = begun(f"killed-{last}")
        with living(last):
            bring_back(job, ANA)
        bring_back(job, ANA)
        assert content(job).equals(content(whole)), last
        assert content(job, COLD).is_empty()


def test_erasing_takes_the_cold_version_and_the_one_that_replaced_it(tmp_path: Path, job: Job) -> None:
    other = row(7, "I live in Faro.", user_id="ben", event_at="2026-06-29T10:00:00Z")
    imported(on(job, 1), tmp_path, said(TOLD[1]), other)
    run_nightly(on(job, 1), ())
    erase(on(job, 1), user="ana")
    assert content(job)["content"].to_list() == [other["content"]]
    assert content(job, COLD).is_empty()
    assert links(job) == []
    assert facts(job) == ["The user lives in Faro"]
    assert imported(on(job, 2), tmp_path, said(TOLD[0]), said(TOLD[1]))["landed"] == 0


def test_a_cold_row_of_an_encrypted_lake_is_replaced(tmp_path: Path) -> None:
    job = replace(job_on(tmp_path / "plain", policy=COOLING), lake=sealed_lake(tmp_path / "sealed"))
    imported(job, tmp_path, TEA, said(TOLD[0]))
    run_nightly(job, ())
    assert content(job, COLD)["content"].to_list() == [TOLD[0]]
    assert imported(on(job, 1), tmp_path, said(TOLD[1]))["versions"] == 1
    bring_back(on(job, 1), ANA)
    assert served(job) == sorted([TEA["content"], TOLD[1]])


def test_an_old_text_stays_known_as_long_as_something_rests_on_the_one_that_replaced_it(
    tmp_path: Path,
) -> None:
    job = job_on(tmp_path / "lake")
    imported(job, tmp_path, said(TOLD[0]))
    imported(on(job, 1), tmp_path, said(TOLD[1]))
    run_nightly(on(job, 1), ())
    gone = on(job, 100)
    run_nightly(gone, ())
    assert (content(job).height, facts(job)) == (0, ["The user lives in Porto"])
    tally = imported(gone, tmp_path, said(TOLD[0]))
    assert (tally["landed"], tally["duplicates"]) == (0, 1)
    run_nightly(on(job, 101), ())
    assert facts(job) == ["The user lives in Porto"]
    run_nightly(on(job, 500), ())  # and nothing rests on it any more
    assert (facts(job), links(job), content(job, FORGOTTEN).height) == ([], [], 0)


OLD = "2026-01-02T10:00:00Z"


@pytest.mark.parametrize("texts", [TOLD[:1], TOLD[:2]], ids=["as it was", "edited"])
def test_a_longer_lifetime_brings_back_what_facts_rest_on(tmp_path: Path, texts: tuple[str, ...]) -> None:
    short = job_on(tmp_path / "lake")
    for day, text in enumerate(texts):
        file = write(tmp_path / f"{day}.jsonl", [said(text, event_at=OLD)])
        assert ingest(on(short, day), file)["landed"] == 1
    late = on(short, 1)
    run_nightly(late, ())
    told = facts(short)
    assert (content(short).height, len(told)) == (0, 1)
    grown = write(tmp_path / "grown.jsonl", [said(texts[-1], event_at=OLD), TEA])
    assert ingest(late, grown)["duplicates"] == 1  # the night would take it again
    assert served(short) == [TEA["content"]]

    kept = replace(late, policy=Policy.model_validate(PRESETS["archive"]))
    assert ingest(kept, grown)["landed"] == 1
    run_nightly(kept, ())
    assert served(kept) == sorted([texts[-1], TEA["content"]])
    assert facts(kept) == sorted([*told, "The user likes green tea"])
    assert content(kept, FORGOTTEN)["episode_id"].is_in(content(kept)["episode_id"].implode()).sum() == 0
    older = write(tmp_path / "older.jsonl", [said(TOLD[0], event_at=OLD)])
    ingest(kept, older)
    assert served(kept) == sorted([texts[-1], TEA["content"]])


def test_what_no_budget_has_room_for_stays_forgotten_until_there_is(tmp_path: Path) -> None:
    def allowing(count: int) -> Policy:
        whole = Policy().model_dump()
        return Policy.model_validate({**whole, "capacity": {**whole["capacity"], "episodes": count}})

    rows = [row(n, f"I live in {place}.") for n, place in enumerate(("Lisbon", "Porto", "Braga", "Faro"), 3)]
    few = job_on(tmp_path / "lake", policy=allowing(2))
    imported(few, tmp_path, *rows)
    run_nightly(few, ())
    assert (content(few).height, content(few, FORGOTTEN).height) == (2, 2)
    late = on(few, 1)
    assert imported(late, tmp_path, *rows, TEA)["landed"] == 1
    many = replace(late, policy=allowing(9))
    assert imported(many, tmp_path, *rows, TEA)["landed"] == 2
    run_retain(many)
    assert content(many).height == 5


def test_a_restore_and_a_look_at_cold_storage_are_of_one_scope(tmp_path: Path, job: Job) -> None:
    imported(on(job, 1), tmp_path, said(TOLD[1]))
    assert bring_back(on(job, 1), Subject("acme", user="ben")) == 0
    assert cold.cold_rows(job.lake, ANA)["is_injected"].to_list() == [True]
    assert EPISODES.names == content(job).columns
