"""Searches whose questions name times, sessions or facts, in a lake that slept a night."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.publish import run_publish
from lake.lake import Lake
from lake.online import held_views
from lake.online.fact_shelf import FactShelf
from lake.recall import Answer, Memory, Recall
from lake.rights import tombstones
from lake.scope import Filters, Scope
from tests.lake.recalled import NOW, job, land, make_lake, policy, reader
from transforms.policy import Policy
from transforms.policy_recall import RoutingPolicy
from transforms.subjects import Subject

ME: dict[str, Any] = {"tenant": "t", "user": "u"}
WEDNESDAY = datetime(2026, 6, 24, 9, tzinfo=UTC)
"""Of the week before NOW, which is a Tuesday."""
TALKS = {
    "old": (
        datetime(2026, 5, 4, 9, tzinfo=UTC),
        ["My roof leaks over the kitchen.", "Call the roofer on Friday."],
    ),
    "middle": (WEDNESDAY, ["The roofer came and sealed the roof.", "I prefer a window seat on flights."]),
    "new": (NOW - timedelta(hours=20), ["I live in Utrecht.", "My choir sings on Sunday.", "Thanks."]),
}


def rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"{session}-{place}",
            "session_id": session,
            "content": text,
            "event_at": (began + timedelta(minutes=place)).isoformat(),
        }
        for session, (began, texts) in TALKS.items()
        for place, text in enumerate(texts)
    ]


def sleep(run: Job) -> None:
    run_ingest(run, [])
    run_embed(run)
    run_consolidate(run)
    run_publish(run, force=True)


def made(folder: Path, policy: Policy) -> Lake:
    lake = make_lake(folder)
    land(lake, *rows())
    land(lake, {"content": "I prefer an aisle seat on flights.", "user_id": "other", "session_id": "x"})
    land(lake, {"content": "I prefer the roof seat.", "tenant_id": "t2", "session_id": "y"})
    sleep(job(lake, policy))
    return lake


@pytest.fixture(scope="module")
def slept(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return made(tmp_path_factory.mktemp("slept"), Policy())


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same with a table of its own for each scope, as large ones have."""
    return made(tmp_path_factory.mktemp("split"), policy(large_scope_rows=1))


@pytest.fixture(params=["held", "large"])
def recall(
    slept: Lake, split: Lake, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Recall:
    """A reader of scopes that are held whole, and of the same as if they were too large for it."""
    if request.param == "held":
        return reader(slept)
    monkeypatch.setattr(held_views, "MOST_ROWS", 0)
    return reader(split)


def texts(found: list[Memory]) -> list[str]:
    return [memory.text for memory in found]


def episodes(found: list[Memory]) -> set[str]:
    return {memory.text for memory in found if memory.session_id}


def ask(recall: Recall, query: str, **more: Any) -> Answer:
    return recall.search(query, **{"as_of": NOW, "k": 10, **ME, **more})


def test_the_last_session_is_shown_newest_first(recall: Recall) -> None:
    found = ask(recall, "what did we do last session?")
    assert texts(found) == ["Thanks.", "My choir sings on Sunday.", "I live in Utrecht."]
    assert found.route is not None
    assert (found.route.kind, found.route.is_filter) == ("recency", True)
    assert "last session" in found.route.why


def test_the_session_before_last_and_the_first_one(recall: Recall) -> None:
    assert episodes(ask(recall, "what happened in the session before last?")) == set(TALKS["middle"][1])
    assert episodes(ask(recall, "what was our first conversation?")) == set(TALKS["old"][1])


def test_last_week_leaves_everything_else_out(recall: Recall) -> None:
    found = ask(recall, "what did we talk about last week?")
    assert episodes(found) == set(TALKS["middle"][1])
    assert all(WEDNESDAY.date() == memory.event_at.date() for memory in found)
    about = ask(recall, "what did I tell you about the roof in May?")
    assert episodes(about) == set(TALKS["old"][1])
    assert about[0].text == TALKS["old"][1][0]


def test_a_range_without_rows_is_waived_and_told(recall: Recall) -> None:
    found = ask(recall, "what did we talk about in February?")
    assert len(found) > 0
    assert found.route is not None
    assert not found.route.is_filter
    assert "there are none" in found.route.why


def test_a_time_in_a_question_about_another_only_weighs(recall: Recall) -> None:
    plain = ask(recall, "roof", k=2, kinds=["conversation"])
    assert texts(plain)[0] != TALKS["old"][1][0], "else the time would change nothing"
    found = ask(recall, "which roof leaks in May 2026?", kinds=["conversation"])
    assert found[0].text == TALKS["old"][1][0]
    assert found[0].route == {}
    other = next(memory for memory in found if memory.text == TALKS["middle"][1][0])
    assert 0 < other.route["share"] < 1
    assert found.route is not None
    assert (found.route.kind, found.route.is_filter) == ("temporal", False)


def test_a_fact_named_by_its_key_comes_first_however_it_is_worded(recall: Recall) -> None:
    found = ask(recall, "Which Sitzplatz do I want?")
    assert found.route is not None
    assert found.route.kind == "exact_key"
    assert found[0].kind == "preference"
    assert "window" in found[0].text
    assert found[0].route["least"] > 0
    assert all("aisle" not in text and "roof seat" not in text for text in texts(found)), "another's"


def test_scores_stay_the_weighted_sum_of_their_factors_on_every_route(recall: Recall) -> None:
    weights = Policy().recall.weights_for(None)
    for query in ("Which seat do I like?", "which roof leaks in May 2026?", "what did we do last session"):
        for memory in ask(recall, query):
            total = sum(getattr(weights, name) * value for name, value in memory.factors.items())
            assert memory.score == pytest.approx(min(1.0, total))
            assert all(0 <= value <= 1 for value in memory.factors.values())


def test_routing_can_be_switched_off(slept: Lake) -> None:
    off = reader(slept, Policy(routing=RoutingPolicy(is_enabled=False)))
    found = ask(off, "what did we do last session?")
    assert found.route is None
    assert {memory.session_id for memory in found} >= {"old", "new"}


def test_kinds_and_k_hold_on_every_route(recall: Recall) -> None:
    found = ask(recall, "Which seat do I like?", kinds=["conversation"], k=2)
    assert len(found) == 2
    assert {memory.kind for memory in found} == {"conversation"}
    assert len(ask(recall, "what did we do last session?", k=1)) == 1


def test_rows_that_have_only_landed_count_as_the_last_session(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    land(lake, *rows())
    sleep(job(lake))
    later = NOW - timedelta(hours=1)
    land(lake, {"content": "The boiler is fixed.", "session_id": "fresh", "event_at": later.isoformat()})
    recall = reader(lake)
    assert texts(ask(recall, "what did we do last session?")) == ["The boiler is fixed."]
    going_on = later + timedelta(minutes=2)
    assert episodes(ask(recall, "what did we do last session?", as_of=going_on)) == set(TALKS["new"][1])


def test_a_question_of_the_past_knows_the_facts_of_then(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    land(lake, *rows())
    moved = {"content": "I live in Oslo now.", "session_id": "moved", "event_at": NOW.isoformat()}
    land(lake, moved)
    run = job(lake, as_of=NOW + timedelta(days=1))
    sleep(run)
    recall = reader(lake)
    now = ask(recall, "Where do I live?", as_of=NOW + timedelta(days=1))
    then = ask(recall, "Where do I live?", as_of=NOW - timedelta(hours=1))
    assert "Oslo" in now[0].text
    assert now[0].kind == "fact"
    assert "Utrecht" in then[0].text
    assert then[0].kind == "fact"


def test_a_forgotten_persons_facts_are_not_even_hinted_at(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    land(lake, *rows())
    sleep(job(lake))
    recall = reader(lake)
    assert ask(recall, "Which seat do I like?").route is not None
    tombstones.place(lake, Subject("t", user="u"), None, "ab" * 16)
    found = ask(recall, "Which seat do I like?")
    assert list(found) == []
    assert found.route is not None
    assert found.route.facts == ()
    assert found.route.kind == "semantic"
    assert "seat" not in found.route.why


def test_base_facts_are_the_newest_confirmed_of_the_scope(slept: Lake) -> None:
    recall = reader(slept)
    asked = recall._asked("anything", (Scope("t", "u"),), Filters(NOW), 10, None)
    found = recall._searcher.base_facts(asked, 20)
    assert [row["predicate"] for row in found][:2] == ["lives_in", "prefers"]
    assert recall._searcher.base_facts(asked, 1) == found[:1]
    assert {row["user_id"] for row in found} == {"u"}


def test_the_shelf_holds_so_many_bytes_and_reads_again_what_went(slept: Lake) -> None:
    recall = reader(slept)
    ask(recall, "seat")
    generation = recall._searcher.index.live(None)
    assert generation is not None
    own, other = Scope("t", "u"), Scope("t", "other")
    first = FactShelf().of(generation, own)
    small = FactShelf(most_bytes=first.nbytes)
    assert small.of(generation, own).rows == first.rows
    assert small.of(generation, own) is small.of(generation, own)
    small.of(generation, other)
    assert small.nbytes <= first.nbytes
    assert small.of(generation, own).rows == first.rows
    tiny = FactShelf(most_bytes=1)
    assert tiny.of(generation, own).rows == first.rows
    assert tiny.nbytes == 0


def since_then(lake: Lake, text: str, **more: Any) -> None:
    """A message after the night."""
    said_at = (NOW - timedelta(hours=1)).isoformat()
    land(lake, {"content": text, "session_id": "today", "event_at": said_at, **more})


@pytest.mark.parametrize(
    "said", ["I live in Oslo now.", "I moved to Oslo last week.", "Ich wohne jetzt in Oslo."]
)
def test_a_change_that_no_night_has_read_stands_before_the_fact(tmp_path: Path, said: str) -> None:
    lake = make_lake(tmp_path)
    land(lake, *rows())
    sleep(job(lake))
    assert ask(reader(lake), "Where do I live?")[0].kind == "fact"
    since_then(lake, said)
    found = ask(reader(lake), "Where do I live?")
    assert found[0].text == said
    (fact,) = (memory for memory in found if memory.kind == "fact" and "Utrecht" in memory.text)
    assert found[0].route["least"] > fact.factors["relevance"]
    assert 0 < fact.route["share"] < 1


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ("I live in Utrecht.", {}),
        ("My sister lives in Oslo now.", {}),
        ("Where do I live?", {}),
        ("You live in Oslo now.", {"role": "assistant"}),
        ("I live in Oslo now.", {"role": "assistant"}),
        ("I live in Oslo now.", {"user_id": "other"}),
    ],
)
def test_what_changes_nothing_leaves_the_fact_first(tmp_path: Path, said: str, more: dict[str, Any]) -> None:
    lake = make_lake(tmp_path)
    land(lake, *rows())
    sleep(job(lake))
    since_then(lake, said, **more)
    found = ask(reader(lake), "Where do I live?")
    assert found[0].kind == "fact"
    assert "Utrecht" in found[0].text
    assert "share" not in found[0].route
