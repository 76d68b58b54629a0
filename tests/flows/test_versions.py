"""Edited messages: each text lands once, the last one is served, and all that was derived follows."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.commit import Tally
from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.job import Job
from flows.nightly import run_nightly
from flows.quarantine import Chosen, retry
from flows.versions import PENDING
from lake import landing, revisions, tables
from lake.chain import chain_of
from lake.recall import Recall
from lake.scope import Scope
from tests.flows.dying import living
from tests.flows.erasing import erase
from tests.flows.lakes import AS_OF, content, files_below, ingest, job_on, row, write
from tests.lake.crypto.sealed import sealed_lake
from transforms.policy import IngestPolicy, Policy
from transforms.schemas import CLAIMS, EPISODES, FACTS, LINEAGE, QUARANTINE
from transforms.validate import Defaults

TOLD = ("I live in Lisbon.", "I live in Porto.", "I live in Braga.")
TEA = row(1, "My favourite drink is green tea.")
ANA = Scope("acme", "ana")


def on(job: Job, day: int) -> Job:
    """The same lake a day later."""
    return replace(job, as_of=AS_OF + timedelta(days=day))


def served(job: Job) -> list[str]:
    return content(job).filter(~pl.col("is_injected"))["content"].sort().to_list()


def asked(job: Job) -> list[str]:
    """What a recall gives at the job's instant."""
    reader = Recall(job.lake, embedder=job.embedder)
    found = reader.search("I live in Lisbon or Porto", tenant="acme", user="ana", as_of=job.as_of)
    return [memory.text for memory in found]


def facts(job: Job) -> list[str]:
    return revisions.standing(job.lake, FACTS)["fact"].sort().to_list()


def links(job: Job) -> pl.DataFrame:
    return content(job, LINEAGE).filter(pl.col("derived_kind") == "episodes")


def place(text: str) -> dict[str, Any]:
    return row(2, text)


def export(job: Job, folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Import under a name of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        return ingest(job, write(Path(own) / f"{job.as_of:%m%d}.jsonl", rows))


def derived(job: Job) -> None:
    run_embed(job)
    run_consolidate(job)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


def test_a_night_after_an_edit_serves_and_believes_the_new_text_only(tmp_path: Path, job: Job) -> None:
    export(job, tmp_path, [TEA, place(TOLD[0])])
    run_nightly(job, ())
    assert facts(job) == ["The user likes green tea", "The user lives in Lisbon"]
    old = revisions.standing(job.lake, FACTS).filter(pl.col("fact").str.contains("Lisbon"))["fact_id"][0]

    tally = export(on(job, 1), tmp_path, [TEA, place(TOLD[1]), row(3)])
    assert {n: tally[n] for n in ("landed", "versions", "duplicates", "quarantined")} == {
        "landed": 2, "versions": 1, "duplicates": 1, "quarantined": 0,
    }  # fmt: skip
    assert "I live in Lisbon." not in asked(on(job, 1))  # though the index still has it
    assert "I live in Porto." in asked(on(job, 1))
    run_nightly(on(job, 1), ())
    assert served(job) == sorted([TEA["content"], TOLD[1], row(3)["content"]])
    assert content(job).filter(pl.col("content") == TOLD[0])["tags"].to_list() == [["replaced"]]
    assert facts(job) == ["The user likes green tea", "The user lives in Porto"]
    assert content(job, CLAIMS).filter(pl.col("fact").str.contains("Lisbon")).is_empty()
    found = asked(on(job, 1))
    assert not [text for text in found if "Lisbon" in text]
    assert {"I live in Porto.", "The user lives in Porto"} <= set(found)

    chain = chain_of(job.lake, ANA, old)
    assert (chain.is_removed, chain.text) == (True, "The user lives in Lisbon")
    assert [(one["relation"], one["content"]) for one in chain.versions] == [("replaced by", TOLD[1])]

    before = files_below(tmp_path / "lake")
    assert export(on(job, 2), tmp_path, [TEA, place(TOLD[0])])["duplicates"] == 2  # the older export again
    assert run_nightly(on(job, 1), ()).is_unchanged
    after = files_below(tmp_path / "lake")
    assert {n for n in before.keys() ^ after.keys() if not n.startswith(("state", "tables/runs"))} == set()


STEPS = st.lists(
    st.tuples(st.sampled_from(["edit", "grow", "older"]), st.integers(0, 5)), min_size=1, max_size=6
)


@settings(max_examples=8, deadline=None)
@given(STEPS, st.integers(0, 99))
def test_the_last_export_decides_whatever_came_before(steps: list[tuple[str, int]], seed: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = job_on(folder / "lake", policy=Policy(ingest=IngestPolicy(batch_rows=2, commit_rows=3)))
        now: dict[int, int] = dict.fromkeys(range(3), 0)
        exports, seen = list[list[dict[str, Any]]](), set[str]()
        for day, (what, which) in enumerate([("grow", 3), *steps]):
            if what == "edit":
                now[which % len(now)] += 1
            elif what == "grow":
                now[len(now)] = 0
            rows = [row(n, f"message {n}, text {edited}") for n, edited in now.items()]
            if what == "older" and exports:
                rows = exports[which % len(exports)]
            else:
                exports.append(rows)
            new = {one["content"] for one in rows} - seen
            seen |= new
            mixed = random.Random(seed).sample(rows, len(rows))
            assert export(on(job, day), folder, mixed)["landed"] == len(new)
        assert served(job) == sorted(one["content"] for one in exports[-1])
        assert content(job)["content"].sort().to_list() == sorted(seen)


def test_killed_anywhere_and_run_again_it_comes_to_the_same(tmp_path: Path) -> None:
    rows = [TEA, place(TOLD[1]), row(3)]
    file = write(tmp_path / "b.jsonl", rows)

    def begun(name: str) -> Job:
        job = job_on(tmp_path / name)
        ingest(job, write(tmp_path / "a.jsonl", [TEA, place(TOLD[0])]))
        return job

    whole = begun("whole")
    with living() as life:
        ingest(on(whole, 1), file)
    for last in range(life.count):
        job = begun(f"killed-{last}")
        with living(last):
            ingest(on(job, 1), file)
        ingest(on(job, 1), file)
        assert served(job) == served(whole), last
        assert links(job).equals(links(whole)), last
        assert content(job)["episode_id"].is_unique().all()
        assert job.lake.storage.read(PENDING) is None


def test_a_row_that_was_ready_to_be_replaced_is_marked_by_whoever_runs_next(tmp_path: Path, job: Job) -> None:
    export(job, tmp_path, [TEA, place(TOLD[0])])
    derived(job)
    late = on(job, 1)
    real = tables.rewrite
    with living() as life, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "rewrite", lambda *_, **__: life.die())
        export(late, tmp_path, [TEA, place(TOLD[1])])
    assert tables.rewrite is real
    assert TOLD[0] in served(job)
    derived(late)
    assert served(job) == sorted([TEA["content"], TOLD[1]])
    assert facts(job) == ["The user likes green tea", "The user lives in Porto"]


def test_a_reader_of_several_tenants_leaves_out_what_each_has_replaced(tmp_path: Path) -> None:
    job, tenants = job_on(tmp_path / "lake", buckets=1), ("acme", "globex")
    for day, text in enumerate(TOLD[:2]):
        export(on(job, day), tmp_path, [{**place(text), "tenant_id": one} for one in tenants])
        if day == 0:
            run_nightly(job, ())
    reader = Recall(job.lake, embedder=job.embedder)
    for one in (*tenants, *tenants):
        found = reader.search("I live in Lisbon", tenant=one, user="ana", as_of=on(job, 1).as_of)
        assert [memory.text for memory in found] == [TOLD[1]]


def test_a_text_is_served_until_the_one_that_replaces_it_has_landed(tmp_path: Path, job: Job) -> None:
    export(job, tmp_path, [TEA, place(TOLD[0])])
    run_nightly(job, ())
    late = on(job, 1)
    real = tables.append
    with living() as life, pytest.MonkeyPatch.context() as patch:
        lands = lambda lake, table, rows: life.die() if table is EPISODES else real(lake, table, rows)  # noqa: E731
        patch.setattr(tables, "append", lands)
        export(late, tmp_path, [TEA, place(TOLD[1])])
    assert links(job).height
    export(late, tmp_path, [row(3)])
    assert TOLD[0] in asked(late)
    export(late, tmp_path, [TEA, place(TOLD[1])])
    assert (TOLD[0] in asked(late), TOLD[1] in asked(late)) == (False, True)


def test_a_version_that_replaces_nothing_yet_is_served_alone_before_the_first_index(
    tmp_path: Path, job: Job
) -> None:
    export(job, tmp_path, [TEA, place(TOLD[0])])
    with living() as life, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "rewrite", lambda *_, **__: life.die())
        export(on(job, 1), tmp_path, [TEA, place("The museum opens at noon.")])
    assert TOLD[0] in served(job)
    assert sorted(asked(on(job, 1))) == [TEA["content"], "The museum opens at noon."]


def test_the_rounds_of_a_watched_folder_add_up_in_every_count() -> None:
    counts = [one.name for one in fields(Tally) if isinstance(one.default, int)]
    parts = [
        Tally(**{name: number * at for at, name in enumerate(counts, 1)}, reasons=Counter(a=number))
        for number in (1, 2)
    ]
    total = Tally()
    for part in parts:
        total.add(part)
    assert total.as_dict() == {
        **{name: 3 * at for at, name in enumerate(counts, 1)}, "reasons": {"a": 3}, "left_out": {},
    }  # fmt: skip


def test_two_texts_of_one_time_in_one_file_are_refused_and_somebody_may_decide(tmp_path: Path) -> None:
    tight = Policy(ingest=IngestPolicy(batch_rows=1, commit_rows=1))
    job = job_on(tmp_path / "lake", policy=tight)
    rows = [place(TOLD[0]), place(TOLD[1])]
    assert export(job, tmp_path, rows)["reasons"] == {"duplicate_id": 1}
    kept = served(job)
    grown = export(on(job, 1), tmp_path, [*rows, row(3)])  # in another file, a commit each
    assert (grown["landed"], grown["versions"], grown["reasons"]) == (1, 0, {"duplicate_id": 1})
    assert served(job) == [*kept, row(3)["content"]]
    done = retry(on(job, 2), Chosen(reason="duplicate_id"), Defaults())
    assert (done.tried, done.landed, done.refused) == (2, 1, {})
    assert served(job) == [*({TOLD[0], TOLD[1]} - set(kept)), row(3)["content"]]
    assert content(job, QUARANTINE).is_empty()


def test_an_edit_with_a_later_time_in_the_same_file_is_a_version(tmp_path: Path, job: Job) -> None:
    later = row(2, TOLD[1], event_at="2026-06-20T10:00:00Z")
    assert export(job, tmp_path, [later, place(TOLD[0])])["versions"] == 1
    assert served(job) == [TOLD[1]]
    older = row(2, TOLD[2], event_at="2026-06-02T10:00:00Z")
    assert export(on(job, 1), tmp_path, [older])["reasons"] == {"duplicate_id": 1}
    assert served(job) == [TOLD[1]]


def test_rows_that_agents_append_are_versions_too(job: Job) -> None:
    for day, text in enumerate(TOLD[:2]):
        landing.append(job.lake, [place(text)], policy=job.policy, now=on(job, day).as_of)
        ingest(on(job, day))
    assert served(job) == [TOLD[1]]


def test_an_erased_version_takes_nothing_else_with_it_and_does_not_come_again(
    tmp_path: Path, job: Job
) -> None:
    for day, text in enumerate(TOLD):
        export(on(job, day), tmp_path, [TEA, place(text)])
    derived(on(job, 2))
    last = content(job).filter(pl.col("content") == TOLD[2])["episode_id"][0]
    erase(on(job, 2), memory=last)
    assert sorted(content(job)["content"]) == sorted([TEA["content"], *TOLD[:2]])
    assert last not in set(links(job)["derived_id"]) | set(links(job)["source_id"])
    assert facts(job) == ["The user likes green tea"]
    assert export(on(job, 3), tmp_path, [place(TOLD[2])])["left_out"] == {"erased_subject": 1}
    assert export(on(job, 3), tmp_path, [place(TOLD[0])])["duplicates"] == 1
    assert served(job) == [TEA["content"]]


def test_an_erased_person_takes_all_versions_along(tmp_path: Path, job: Job) -> None:
    other = row(7, "I live in Faro.", user_id="ben")
    for day, text in enumerate(TOLD):
        export(on(job, day), tmp_path, [TEA, place(text), other])
    derived(on(job, 2))
    erase(on(job, 2), user="ana")
    assert content(job)["content"].to_list() == [other["content"]]
    assert links(job).is_empty()


def test_each_version_goes_by_its_own_time_and_its_lineage_with_it(tmp_path: Path, job: Job) -> None:
    def said(text: str) -> dict[str, Any]:
        return row(2, text, retention_tier="short_term", event_at="2026-06-28T10:00:00Z")

    for day, text in enumerate(TOLD[:2]):
        export(on(job, day), tmp_path, [said(text)])
    run_nightly(on(job, 1), ())
    assert (content(job).height, links(job).height) == (2, 2)
    run_nightly(on(job, 9), ())
    assert (content(job).height, links(job).height) == (0, 2)  # a fact rests on it
    run_nightly(on(job, 500), ())
    assert (facts(job), links(job).height) == ([], 0)


def test_a_complete_run_comes_to_what_the_nights_came_to(tmp_path: Path, job: Job) -> None:
    for day, text in enumerate(TOLD):
        export(on(job, day), tmp_path, [TEA, place(text)])
        derived(on(job, day))
    held = facts(job), links(job), content(job, CLAIMS)["claim_id"].to_list()
    run_consolidate(on(job, 2), complete=True)
    after = facts(job), links(job), content(job, CLAIMS)["claim_id"].to_list()
    assert (after[0], after[2]) == (held[0], held[2])
    assert after[1].equals(held[1])


def test_an_encrypted_lake_marks_what_is_replaced(tmp_path: Path) -> None:
    job = replace(job_on(tmp_path / "plain"), lake=sealed_lake(tmp_path / "sealed"))
    for day, text in enumerate(TOLD[:2]):
        export(on(job, day), tmp_path, [TEA, place(text)])
        derived(on(job, day))
    assert served(job) == sorted([TEA["content"], TOLD[1]])
    assert facts(job) == ["The user likes green tea", "The user lives in Porto"]
    assert tables.scan(job.lake, EPISODES).filter("is_injected").collect()["tags"].to_list() == [["replaced"]]


@pytest.mark.parametrize("commit_rows", [1, 2, 100])
@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("names", [("jan/chat.jsonl", "feb/chat.jsonl"), ("jan.jsonl", "feb.jsonl")])
def test_of_exports_that_give_an_edit_one_time_the_one_read_later_stands(
    tmp_path: Path, names: tuple[str, str], is_turned: bool, commit_rows: int
) -> None:
    tight = Policy(ingest=IngestPolicy(batch_rows=1, commit_rows=commit_rows))
    job = job_on(tmp_path / "lake", policy=tight)
    files = [tmp_path / name for name in names]
    for path, text in zip(files, TOLD, strict=False):
        path.parent.mkdir(exist_ok=True)
        write(path, [TEA, place(text), row(3)])
    files, texts = (files[::-1], TOLD[1::-1]) if is_turned else (files, TOLD[:2])
    tally = ingest(job, *files)
    assert (tally["landed"], tally["versions"], tally["duplicates"]) == (4, 1, 2)
    assert served(job) == sorted([TEA["content"], row(3)["content"], texts[1]])
    for path in (*files, *files[::-1]):  # neither order changes anything any more
        assert ingest(on(job, 1), path)["landed"] == 0
    assert served(job) == sorted([TEA["content"], row(3)["content"], texts[1]])


def test_two_texts_of_one_time_in_the_second_file_of_a_name_are_refused_however_commits_cut_it(
    tmp_path: Path,
) -> None:
    for commit_rows in (1, 100):
        tight = Policy(ingest=IngestPolicy(batch_rows=1, commit_rows=commit_rows))
        job = job_on(tmp_path / f"{commit_rows}", policy=tight)
        (tmp_path / "b").mkdir(exist_ok=True)
        first = write(tmp_path / "chat.jsonl", [TEA])
        second = write(tmp_path / "b" / "chat.jsonl", [place(TOLD[0]), row(3), place(TOLD[1])])
        assert ingest(job, first, second)["reasons"] == {"duplicate_id": 1}
