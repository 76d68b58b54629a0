from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flows.consolidate import run_consolidate
from flows.job import Job
from flows.publish import run_publish
from lake import revisions, tables
from lake.recall import Recall
from tests.flows.lakes import AS_OF, Command, CountingEmbedder, files_below, job_on
from tests.flows.sleepers import PURE, claims, derived, facts, history, night, said, summaries
from transforms.errors import StorageError, UsageError
from transforms.policy import Policy
from transforms.schemas import (
    ATTEMPTS,
    CONVERSATIONS,
    DERIVED,
    EPISODES,
    FACTS,
    LINEAGE,
    PROCEDURES,
    SUMMARIES,
    TOPIC_MEMBERS,
)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


def test_a_history_comes_to_its_facts(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    assert facts(job, owner="user:ana", tenant_id="acme") == [
        ("allergic_to", "peanuts", "positive", None),
        ("likes", "rye bread", "positive", "retracted"),
        ("lives_in", "graz", "positive", "superseded"),
        ("lives_in", "lisbon", "positive", None),
        ("prefers", "aisle seat", "positive", "superseded"),
        ("prefers", "window seat", "positive", None),
    ]
    assert facts(job, owner="user:ben") == [("lives_in", "cork", "positive", None)]
    assert facts(job, tenant_id="umbrella") == [("lives_in", "turku", "positive", None)]
    objects = set(claims(job)["object_key"])
    assert not objects & {"rome", "oslo"}


def test_an_old_move_told_late_replaces_no_newer_home(job: Job, tmp_path: Path) -> None:
    rows = [
        said(1, "I moved to Graz in May 2026.", "06-01"),
        said(2, "I moved to Linz in 2019.", "06-02", session_id="later"),
        said(3, "I have lived in Linz since 2019.", "06-02", user_id="ben", session_id="b"),
    ]
    night(job, tmp_path, "all", rows)
    assert [f for f in facts(job, owner="user:ana") if f[3] is None] == [
        ("lives_in", "graz", "positive", None)
    ]
    assert [f for f in facts(job, owner="user:ben") if f[3] is None] == [
        ("lives_in", "linz", "positive", None)
    ]


def test_a_second_run_writes_nothing(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    before = files_below(tmp_path / "lake" / "tables")
    assert run_consolidate(job).state == "unchanged"
    again = run_consolidate(job, complete=True)
    assert again.rows_out == 0
    kept = {n: s for n, s in files_below(tmp_path / "lake" / "tables").items() if not n.startswith("runs/")}
    assert kept == {n: s for n, s in before.items() if not n.startswith("runs/")}


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 2), min_size=17, max_size=17), st.randoms(use_true_random=False))
def test_nights_in_any_cut_and_order_come_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, nights: list[int], order: Any
) -> None:
    rows = history()
    once = job_on(tmp_path_factory.mktemp("once") / "lake")
    night(once, tmp_path_factory.mktemp("rows"), "all", rows)
    cut = job_on(tmp_path_factory.mktemp("cut") / "lake")
    folder = tmp_path_factory.mktemp("rows")
    for number in range(3):
        mine = [r for r, place in zip(rows, nights, strict=True) if place == number]
        order.shuffle(mine)
        night(cut, folder, f"night-{number}", mine)
    expected, found = derived(once), derived(cut)
    for table in PURE:
        assert found[table.name].equals(expected[table.name]), table.name


def test_every_derived_row_rests_on_living_episodes_of_its_own_owner(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    episodes = tables.scan(job.lake, EPISODES).collect()
    owner_of = {
        e["episode_id"]: (e["tenant_id"], f"user:{e['user_id']}") for e in episodes.iter_rows(named=True)
    }
    injected = set(episodes.filter("is_injected")["episode_id"])
    pairs = set(tables.scan(job.lake, LINEAGE).select("derived_id", "source_id").collect().iter_rows())
    seen = 0
    for table in (FACTS, SUMMARIES, PROCEDURES, ATTEMPTS):
        for row in revisions.standing(job.lake, table).iter_rows(named=True):
            if row.get("kind") == "pattern":  # it rests on conversations
                continue
            assert row["source_refs"]
            seen += 1
            for source in row["source_refs"]:
                assert owner_of[source] == (row["tenant_id"], row["owner"])
                assert source not in injected
                assert (row[table.key[0]], source) in pairs
    assert seen > 8


def test_what_loses_its_last_source_goes_with_a_complete_run(job: Job, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    night(job, tmp_path, "all", history())
    DeltaTable(job.lake.table_uri(EPISODES)).delete("user_id = 'ben'")
    run_consolidate(job, complete=True)
    for table in (FACTS, CONVERSATIONS, ATTEMPTS, PROCEDURES, SUMMARIES, TOPIC_MEMBERS):
        assert "user:ben" not in revisions.standing(job.lake, table)["owner"].to_list(), table.name
    assert facts(job, owner="user:ana", tenant_id="acme")


def test_killed_at_any_commit_it_comes_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = job_on(tmp_path / "whole")
    night(whole, tmp_path, "all", history())
    expected = derived(whole)
    real: Callable[..., None] = tables.append
    for fatal in (1, 2, 5, 8):
        job = job_on(tmp_path / f"killed-{fatal}")
        count = 0

        def dying(*arguments: Any, fatal: int = fatal) -> None:
            nonlocal count
            count += arguments[1].name in {t.name for t in DERIVED}
            if count == fatal:
                raise StorageError("killed", "Run again.")
            real(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(tables, "append", dying)
            with pytest.raises(StorageError):
                night(job, tmp_path, "all", history())
        run_consolidate(job)
        found = derived(job)
        assert all(found[t.name].equals(expected[t.name]) for t in PURE), fatal
        assert claims(job).equals(claims(whole)), fatal


def test_a_dry_run_says_what_the_real_one_does_and_writes_nothing(job: Job, tmp_path: Path) -> None:
    rows = history()
    night(job, tmp_path, "first", rows[:6])
    from tests.flows.lakes import ingest, write

    ingest(job, write(tmp_path / "second.jsonl", rows[6:]))
    before = files_below(tmp_path / "lake")
    dry = run_consolidate(replace(job, is_dry=True))
    assert files_below(tmp_path / "lake") == before
    changes = sorted((row["change"], row["fact"]) for row in dry.detail["diff"])
    assert ("superseded", next(f for c, f in changes if "Graz" in f)) in changes
    done = night(job, tmp_path, "second", [])
    assert dry.detail["facts"] == done.detail["facts"]
    assert done.detail["facts"]["added"] == 4
    assert done.detail["facts"]["retired"] == 1
    assert "diff" not in done.detail


def test_episodes_that_come_of_age_are_summarised_without_any_new_one(job: Job, tmp_path: Path) -> None:
    early = replace(job, as_of=AS_OF - timedelta(days=1))
    rows = [
        said(n, f"We decided to ship the harbour report on Friday, draft {n}.", "06-24", session_id=f"s{n}")
        for n in range(6)
    ]
    night(early, tmp_path, "young", rows)
    assert summaries(job).height == 0
    ripe = replace(job, as_of=AS_OF + timedelta(days=3))
    assert run_consolidate(ripe).state == "done"
    assert summaries(job).height == 1
    assert run_consolidate(ripe).state == "unchanged"
    # A later run at an earlier instant takes nothing back.
    run_consolidate(early)
    assert summaries(job).height == 1


def test_another_model_starts_topics_anew(job: Job, tmp_path: Path) -> None:
    rows = [said(n, f"The harbour office asks for crane number {n}.", "06-02") for n in range(6)]
    night(job, tmp_path, "all", rows)
    other = CountingEmbedder("other")
    again = replace(job, make_embedder=lambda: other)
    night(again, tmp_path, "again", [])
    from transforms.schemas import TOPICS

    assert set(revisions.standing(job.lake, TOPICS)["space"]) <= {again.space}


def test_facts_are_recalled_and_what_no_longer_holds_is_not(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    published = run_publish(job)
    assert published.detail["facts"] == 5
    reader = Recall(job.lake, embedder=job.embedder)
    found = reader.search(
        "seat on flights", tenant="acme", user="ana", kinds=["preference", "fact"], as_of=AS_OF
    )
    texts = [memory.text for memory in found]
    assert any("window seat" in text for text in texts)
    assert not any("aisle" in text or "rye bread" in text for text in texts)
    assert all(memory.source_refs for memory in found)


def test_facts_as_of_an_instant(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    reader = Recall(job.lake, embedder=job.embedder)

    def lives(at: str | None, **more: Any) -> list[str]:
        found = reader.facts(tenant="acme", user="ana", as_of=at, **more)
        return [f.values["object"] for f in found if f.values["predicate"] == "lives_in"]

    assert lives("2026-04-01T00:00:00Z") == ["Graz"]
    assert lives("2026-06-30T00:00:00Z") == ["Lisbon"]
    assert lives("2026-03-01T00:00:00Z") == []
    assert lives("2026-06-30T23:30:00Z", recorded_by="2026-06-30T22:00:00Z") == []
    assert sorted(lives("2026-06-30T00:00:00Z", history=True)) == ["Graz", "Lisbon"]
    with pytest.raises(UsageError):
        reader.facts(tenant="acme")


def test_facts_and_explain_stay_in_scope(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "all", history())
    reader = Recall(job.lake, embedder=job.embedder)
    [ben] = reader.facts(tenant="acme", user="ben", as_of=AS_OF)
    chain = reader.explain(ben.id, tenant="acme", user="ben")
    assert chain.table == "facts"
    assert [claim["quote"] for claim in chain.claims] == ["I live in Cork"] or "Cork" in chain.claims[0][
        "quote"
    ]
    assert [(d["operation"], d["result_id"]) for d in chain.decisions] == [("ADD", ben.id)]
    for scope in (
        {"tenant": "acme", "user": "ana"},
        {"tenant": "umbrella", "user": "ben"},
        {"tenant": "acme", "session": "s-03-05"},
    ):
        with pytest.raises(UsageError, match="no row"):
            reader.explain(ben.id, **scope)


def test_explain_leads_from_a_fact_to_its_words_and_what_it_replaced(
    job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night(job, tmp_path, "all", history())
    command = Command(capsys)
    words = ("--lake", tmp_path / "lake", "--json")
    scope = ("--tenant", "acme", "--user", "ana")
    found = command(*words, "facts", *scope, "--as-of", "2026-06-30T23:00:00Z").json["facts"]
    lisbon = next(f for f in found if f["object"] == "Lisbon")
    assert lisbon["supersedes"]
    chain = command(*words, "explain", lisbon["id"], *scope).json["chain"]
    assert chain["history"][0]["fact"].endswith("Graz")
    assert {d["operation"] for d in chain["decisions"]} >= {"UPDATE", "NOOP"}
    assert all("Lisbon" in claim["quote"] for claim in chain["claims"])
    episode = chain["sources"][0]["episode_id"]
    assert command(*words, "explain", episode, *scope).json["chain"]["built_on_it"]["facts"] == [
        {"id": lisbon["id"], "text": lisbon["fact"]}
    ]
    text = command("--lake", tmp_path / "lake", "explain", lisbon["id"], *scope).out
    assert "Graz" in text
    assert command(*words, "explain", "0" * 32, *scope).code == 2


def test_a_dry_night_shows_everything_and_leaves_the_lake_as_it_was(
    job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.flows.lakes import write

    rows = history()
    command = Command(capsys)
    words = ("--lake", tmp_path / "lake", "--json", "--as-of", "2026-06-30T23:00:00Z", "nightly")
    command(*words, write(tmp_path / "first.jsonl", rows[:6]))
    before = files_below(tmp_path / "lake")
    dry = command(*words, write(tmp_path / "second.jsonl", rows[6:]), "--dry-run").json
    after = files_below(tmp_path / "lake")
    assert {name: s for name, s in after.items() if not name.startswith("locks/scratch")} == before
    consolidated = next(step for step in dry["steps"] if step["name"] == "consolidate")
    assert {row["change"] for row in consolidated["diff"]} == {"added", "superseded", "retired"}
    real = command(*words, tmp_path / "second.jsonl").json
    assert next(s for s in real["steps"] if s["name"] == "consolidate")["facts"] == consolidated["facts"]


def test_summarised_detail_is_dropped_only_where_the_policy_says_so(tmp_path: Path) -> None:
    rows = [
        said(n, f"We decided to ship the harbour report on Friday, draft {n}.", "06-02", session_id=f"s{n}")
        for n in range(6)
    ]
    kept = job_on(tmp_path / "kept")
    night(kept, tmp_path, "rows", rows)
    assert run_publish(kept).rows_out == 6 + summaries(kept).height + derived(kept)["facts"].height
    policy = Policy()
    policy = policy.model_copy(
        update={"summaries": policy.summaries.model_copy(update={"detail": "drop_after_summary"})}
    )
    dropped = replace(kept, policy=policy)
    run_consolidate(dropped)
    done = run_publish(dropped)
    covered = {name for refs in summaries(dropped)["source_refs"] for name in refs}
    assert done.detail["dropped"] == len(covered) > 0
    found = Recall(dropped.lake, embedder=dropped.embedder).search(
        "harbour report", tenant="acme", user="ana", as_of=AS_OF
    )
    assert not covered & {memory.id for memory in found}
    assert any(memory.kind == "summary" for memory in found)


def test_frames_that_hold_nothing(job: Job) -> None:
    assert run_consolidate(job).state == "unchanged"
    assert pl.DataFrame().height == tables.version(job.lake, FACTS) + 1
