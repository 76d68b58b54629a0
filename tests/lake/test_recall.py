"""Recall end to end on small lakes: against a brute-force oracle, and rule by rule."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lake import landing
from lake.lake import Lake
from lake.recall import Recall
from tests.lake.recalled import NOW, WordEmbedder, ingest, job, land, make_lake, policy, publish, reader
from transforms.errors import ModelMismatchError, UsageError
from transforms.policy import Policy
from transforms.policy_recall import RecallPolicy
from transforms.weights import Weights, weights_of

ME: dict[str, Any] = {"tenant": "t", "user": "u", "as_of": NOW}
WORDS = ["tea", "ferry", "window", "aisle", "refund", "harbour", "lantern", "violin", "garden", "copper"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def only_cosine() -> RecallPolicy:
    return RecallPolicy(
        weights=Weights(relevance=1),
        vector_share=1,
        duplicate_cosine=1,
        substance_share=0,
        question_share=0,
        neighbour_vectors=0,
    )


def made_rows(count: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(5)
    return [
        {
            "content": " ".join([*draw.choice(WORDS, 4), f"n{i}", f"m{i}"]),
            "user_id": f"u{i % 3}",
            "event_at": (NOW - timedelta(minutes=i)).isoformat(),
        }
        for i in range(count)
    ]


@pytest.mark.parametrize("large_scope_rows", [20_000, 50])
@pytest.mark.parametrize("published_rows", [0, 200, 300])
def test_search_is_exact_cosine_of_a_plain_oracle(
    lake: Lake, large_scope_rows: int, published_rows: int
) -> None:
    with_policy = policy(large_scope_rows=large_scope_rows).model_copy(update={"recall": only_cosine()})
    rows = made_rows(300)
    ids = land(lake, *rows[:published_rows]) if published_rows else []
    if published_rows:
        publish(job(lake, with_policy))
    ids += land(lake, *rows[published_rows:]) if published_rows < 300 else []
    recall, model = reader(lake, with_policy), WordEmbedder()
    texts = [f"[29 June 2026] user: {row['content']}" for row in rows]
    times = [datetime.fromisoformat(row["event_at"]) for row in rows]
    texts = [f"[{t.day} June 2026] user: {row['content']}" for t, row in zip(times, rows, strict=True)]
    vectors = model.embed(texts).vectors
    for question in ("violin garden", "tea n7", "saffron"):
        query = model.embed([question]).vectors[0]
        expected = sorted(
            (-max(float(np.dot(vectors[i], query)), 0.0), ids[i]) for i in range(300) if i % 3 == 1
        )[:10]
        found = recall.search(question, tenant="t", user="u1", as_of=NOW)
        assert found.pool is not None
        cosines = dict(zip(found.pool.ids.tolist(), found.pool.inputs["cosine"].tolist(), strict=True))
        told = [cosines[m.id.encode()] for m in found]
        assert told == pytest.approx([-s for s, _ in expected], abs=2e-3)
        assert [m.score for m in found] == sorted((m.score for m in found), reverse=True)
        # Half-float vectors may swap rows whose cosines differ in the fourth digit, no others.
        exact = {name: -s for s, name in expected}
        assert len({m.id for m in found} & set(exact)) >= 9


def test_a_landed_row_is_recalled_before_ingest_after_ingest_and_after_publish_exactly_once(
    lake: Lake,
) -> None:
    land(lake, {"content": "old violin lesson"})
    publish(job(lake))
    recall = reader(lake)
    [new] = land(lake, {"content": "the violin teacher is called Ansa"})
    for stage, is_fresh in (
        (lambda: None, True),
        (lambda: ingest(job(lake)), True),
        (lambda: publish(job(lake)), False),
    ):
        stage()
        for reading in (recall, reader(lake)):
            found = reading.search("violin teacher", **ME)
            assert [m.id for m in found].count(new) == 1
            assert len(found) == 2
            assert {m.id: m.is_fresh for m in found}[new] is is_fresh
            assert found[0].text == "the violin teacher is called Ansa"


def test_rows_landed_one_by_one_into_a_growing_segment_are_all_seen(lake: Lake) -> None:
    recall = reader(lake)
    for n in range(25):
        land(lake, {"content": f"note{n} about copper{n}"})
        assert len(recall.search(f"copper{n}", **ME, k=100)) == n + 1


def test_a_row_is_gone_from_the_instant_of_its_expiry_without_a_new_publish(lake: Lake) -> None:
    expiry = NOW + timedelta(hours=1)
    land(lake, {"content": "the door code is in the drawer", "expires_at": expiry.isoformat()})
    tick = timedelta(microseconds=1)
    for stage in (lambda: None, lambda: ingest(job(lake)), lambda: publish(job(lake))):
        stage()
        recall = reader(lake)
        assert len(recall.search("door code", tenant="t", user="u", as_of=expiry - tick)) == 1
        assert recall.search("door code", tenant="t", user="u", as_of=expiry) == []
        assert recall.context("door code", tenant="t", user="u", as_of=expiry).packed == 0


def test_a_row_of_a_later_event_is_not_served_in_a_replay(lake: Lake) -> None:
    event = NOW + timedelta(hours=2)
    land(lake, {"content": "copper kettle bought", "event_at": event.isoformat()})
    for stage in (lambda: None, lambda: ingest(job(lake)), lambda: publish(job(lake))):
        stage()
        recall = reader(lake)
        assert recall.search("kettle", **ME) == []
        assert len(recall.search("kettle", tenant="t", user="u", as_of=event)) == 1


def test_without_as_of_a_row_from_a_clock_ahead_is_recalled_at_once(lake: Lake) -> None:
    ahead = datetime.now(UTC) + timedelta(minutes=5)
    from lake import landing

    row = {"content": "copper kettle", "event_at": ahead.isoformat(), "tenant_id": "t", "user_id": "u"}
    assert landing.append(lake, [row]).landed
    assert len(reader(lake).search("kettle", tenant="t", user="u")) == 1


@pytest.mark.parametrize("large_scope_rows", [20_000, 50])
@pytest.mark.parametrize("expiring", [10, 160])
def test_the_best_rows_being_expired_hides_none_of_the_others(
    lake: Lake, large_scope_rows: int, expiring: int
) -> None:
    """Ten of 200: left out of what was fetched. 160: more than was fetched, the search is made again."""
    with_policy = policy(large_scope_rows=large_scope_rows).model_copy(update={"recall": only_cosine()})
    soon = (NOW + timedelta(hours=1)).isoformat()
    going = [{"content": f"violin violin n{i}", "expires_at": soon} for i in range(expiring)]
    staying = [{"content": f"violin garden copper k{i} l{i} o{i}"} for i in range(200 - expiring)]
    land(lake, *going)
    left = set(land(lake, *staying))
    publish(job(lake, with_policy))
    recall = reader(lake, with_policy)
    before = recall.search("violin", tenant="t", user="u", as_of=NOW)
    assert all(memory.text.startswith("violin violin") for memory in before)
    after = recall.search("violin", tenant="t", user="u", as_of=NOW + timedelta(hours=1))
    assert {memory.id for memory in after} <= left
    every = recall.search("violin", tenant="t", user="u", as_of=NOW + timedelta(hours=1), k=200)
    assert {memory.id for memory in every} == left
    assert [memory.id for memory in every[:10]] == [memory.id for memory in after]


@pytest.mark.parametrize("is_published", [False, True])
def test_the_policy_may_hold_restricted_rows_back(lake: Lake, is_published: bool) -> None:
    land(lake, {"content": "I was diagnosed with an allergy to penicillin"}, {"content": "I like saffron"})
    if is_published:
        publish(job(lake))
    assert len(reader(lake).search("penicillin saffron", **ME)) == 2
    held_back = reader(lake, policy(max_sensitivity="personal"))
    assert {m.text for m in held_back.search("penicillin saffron", **ME)} == {"I like saffron"}


@pytest.mark.parametrize("is_published", [False, True])
def test_near_duplicates_keep_the_better_row(lake: Lake, is_published: bool) -> None:
    land(
        lake,
        {
            "content": "The ferry leaves at nine from the old harbour",
            "event_at": (NOW - timedelta(days=9)).isoformat(),
        },
        {"content": "the  ferry leaves at NINE from the old harbour"},
        {"content": "The lantern is broken"},
    )
    if is_published:
        publish(job(lake))
    recall = reader(lake)
    found = recall.search("ferry harbour", **ME)
    assert [m.text for m in found] == [
        "the  ferry leaves at NINE from the old harbour",
        "The lantern is broken",
    ]
    packed = recall.context("ferry harbour", **ME)
    assert [row["reason"] for row in packed.dropped_rows] == ["duplicate"]


@pytest.mark.parametrize("is_published", [False, True])
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("🦊", "we saw a 🦊 in the yard"),
        ("豆瓣酱", "鱼香茄子不放糖，放醋和豆瓣酱"),
        ("カレー", "昨日はカレーを作りました"),
        ("김치", "저는 김치 좋아해요"),
        ("ÄRGER", "viel ärger mit der heizung"),
    ],
)
def test_words_of_every_script_and_emoji_are_found_as_text(
    lake: Lake, query: str, text: str, is_published: bool
) -> None:
    # Relevance is the word search alone, so that only it can bring the row to the top.
    words_only = RecallPolicy(
        weights=Weights(relevance=1),
        vector_share=0,
    )
    with_policy = Policy(recall=words_only)
    land(lake, {"content": text}, *({"content": f"filler {word} number {i}"} for i, word in enumerate(WORDS)))
    if is_published:
        publish(job(lake, with_policy))
    best, *others = reader(lake, with_policy).search(query, **ME)
    assert best.text == text
    assert best.factors["relevance"] > 0.5
    assert [other.factors["relevance"] for other in others] == [0] * len(others)


OWN = {"importance": 0.75, "frequency": 0.25}


@pytest.mark.parametrize("weights", ["five", "three", "two", OWN])
def test_every_factor_is_returned_and_the_score_is_their_weighted_sum(
    lake: Lake, weights: str | dict[str, float]
) -> None:
    land(lake, {"content": "violin lesson", "importance": 0.8}, {"content": "garden"})
    publish(job(lake))
    land(lake, {"content": "a violin case", "outcome": "success"})
    of = weights_of(weights)
    found = reader(lake).search("violin", **ME, weights=weights)
    assert {memory.is_fresh for memory in found} == {True, False}
    for memory in found:
        assert list(memory.factors) == ["relevance", "recency", "importance", "frequency", "type"]
        total = sum(memory.factors[name] * getattr(of, name) for name in memory.factors)
        assert memory.score == pytest.approx(total, abs=1e-9)


def test_an_agent_has_weights_of_its_own(lake: Lake) -> None:
    mine: dict[str, Any] = {"tenant_id": "t", "user_id": "u"}
    for agent in ("planner", "support"):
        land(lake, {**mine, "content": "violin lesson", "agent_id": agent, "importance": 1.0})
    recall = RecallPolicy.model_validate({"agents": {"planner": {"importance": 1}, "support": "two"}})
    asking = reader(lake, policy().model_copy(update={"recall": recall}))

    def score(**named: Any) -> tuple[float, dict[str, float]]:
        (best, *_) = asking.search("violin", **{**ME, **named})
        return best.score, best.factors

    value, factors = score(agent="planner")
    assert value == pytest.approx(factors["importance"])
    value, factors = score(agent="support")
    assert value == pytest.approx(0.7 * factors["relevance"] + 0.3 * factors["recency"])
    value, factors = score(agent="planner", weights="two")  # what the call says comes first
    assert value == pytest.approx(0.7 * factors["relevance"] + 0.3 * factors["recency"])
    with pytest.raises(UsageError, match="no weights"):
        score(weights="four")
    with pytest.raises(UsageError, match=r"sum to 0\.5"):
        score(weights={"relevance": 0.5})


def test_context_and_search_rank_alike(lake: Lake) -> None:
    land(lake, *made_rows(60))
    publish(job(lake))
    land(lake, {"content": "violin n99", "user_id": "u1"})
    recall = reader(lake, policy(floor_share=0))  # a context leaves far rows out, a search does not
    scope = {"tenant": "t", "user": "u1", "as_of": NOW}
    found = recall.search("violin garden", k=50, **scope)
    packed = recall.context("violin garden", budget=100_000, **scope)
    assert {m.id: m for m in packed.memories} == {m.id: m for m in found}
    assert packed.as_dict()["memories"][0]["event_at"].endswith("+00:00")


def test_kinds_and_narrower_scopes(lake: Lake) -> None:
    land(
        lake,
        {"content": "violin one", "session_id": "s1", "agent_id": "a1"},
        {"content": "violin two", "session_id": "s2", "agent_id": "a1", "kind": "outcome"},
        {"content": "violin three", "user_id": None, "agent_id": "a2"},
    )
    for stage in (lambda: None, lambda: publish(job(lake))):
        stage()
        recall = reader(lake)

        def texts(recall: Recall = recall, **scope: Any) -> set[str]:
            return {m.text for m in recall.search("violin", tenant="t", as_of=NOW, **scope)}

        assert texts(user="u") == {"violin one", "violin two"}
        assert texts(user="u", kinds=["outcome"]) == {"violin two"}
        assert texts(user="u", kinds=["fact"]) == set()
        assert texts(agent="a1") == {"violin one", "violin two"}
        assert texts(agent="a2") == {"violin three"}
        assert texts(session="s1") == {"violin one"}
        assert texts(user="u", session="s2", agent="a1") == {"violin two"}
        assert texts(user="u", agent="a2") == set()
        assert texts(tenant_wide=True) == {"violin one", "violin two", "violin three"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"as_of": datetime(2026, 6, 30)},
        {"k": 0},
        {"k": -1},
        {"kinds": ["dream"]},
        {"kinds": []},
        {"kinds": "outcome"},
        {"query": ""},
        {"query": " \n\t"},
        {"tenant": ""},
        {"user": None},
        {"user": ""},
        {"user": "u", "agent": ""},
        {"user": "u\0"},
        {"user": "\ud83d"},
        {"tenant": None},
        {"tenant": 7},
        {"tenant": b"t"},
        {"user": 7},
        {"user": 0},
        {"user": False},
        {"user": ["u"]},
        {"agent": 7},
        {"session": 1.5},
        {"tenant_wide": "no"},
        {"tenant_wide": 1},
        {"query": None},
        {"query": 7},
        {"query": b"violin"},
        {"query": ["violin"]},
        {"k": "3"},
        {"k": 3.0},
        {"k": True},
        {"k": 10_001},
        {"k": 10**4000},
        {"kinds": 3},
        {"kinds": [["outcome"]]},
        {"kinds": [None]},
        {"kinds": {"outcome": 1}},
        {"as_of": "2026-06-30"},
        {"as_of": "2026-06-30T12:00:00"},
        {"as_of": "yesterday"},
        {"as_of": ""},
        {"as_of": 1_782_820_800},
        {"as_of": date(2026, 6, 30)},
        {"as_of": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))},
    ],
)
def test_a_wrong_call_is_refused_and_says_how(lake: Lake, wrong: dict[str, Any]) -> None:
    land(lake, {"content": "violin"})
    publish(job(lake))
    call: dict[str, Any] = {"query": "violin", "tenant": "t", "user": "u", **wrong}
    with pytest.raises(UsageError) as error:
        reader(lake).search(**call)
    assert error.value.remedy
    if not {"k", "kinds"} & set(wrong):
        with pytest.raises(UsageError):
            reader(lake).context(**call)


@pytest.mark.parametrize("budget", [0, -1, "100", 100.0, True, [100], 10**4000])
def test_a_wrong_budget_is_refused_and_says_how(lake: Lake, budget: Any) -> None:
    with pytest.raises(UsageError, match="budget") as error:
        reader(lake).context("violin", **ME, budget=budget)
    assert error.value.remedy


def test_a_budget_too_small_for_any_row_says_what_was_dropped_and_why(lake: Lake) -> None:
    landed = land(lake, {"content": "the violin is old"}, {"content": "the violin teacher is called Ansa"})
    found = reader(lake).context("violin", **ME, budget=1)
    assert (found.text, found.tokens_used, found.packed, found.dropped) == ("", 0, 0, 2)
    assert {(row["id"], row["reason"]) for row in found.dropped_rows} == {(n, "budget") for n in landed}


def test_as_of_may_be_text_with_a_zone_of_any_year(lake: Lake) -> None:
    land(lake, {"content": "violin"})
    for stage in (lambda: None, lambda: publish(job(lake))):
        stage()
        recall = reader(lake)
        for told in ("2026-06-30T12:00:00Z", "2026-06-30T14:00:00+02:00", "20260630T120000Z"):
            assert len(recall.search("violin", tenant="t", user="u", as_of=told, k=np.int64(3))) == 1  # type: ignore[arg-type]
            assert recall.context("violin", tenant="t", user="u", as_of=told).packed == 1
        for early in ("0001-01-01T00:00:00Z", "0999-12-31T00:00:00Z", "1969-12-31T23:59:59.999999Z"):
            assert recall.search("violin", tenant="t", user="u", as_of=early) == []
        assert recall.search("violin", tenant="t", user="u", as_of="9999-12-31T00:00:00Z") == []


def test_a_lake_is_named_by_text_path_or_itself(lake: Lake) -> None:
    row = {"content": "violin", "tenant_id": "t", "user_id": "u", "event_at": NOW.isoformat()}
    for n, named in enumerate((lake.uri, Path(lake.uri), lake), 1):
        assert landing.append(named, [row | {"content": f"violin {n}"}], now=NOW).landed
        assert len(Recall(named, embedder=WordEmbedder()).search("violin", **ME)) == n


@pytest.mark.parametrize("named", [None, 7, b"lake", ["lake"], True])
def test_anything_else_is_no_lake(named: Any) -> None:
    for call in (lambda: Recall(named), lambda: landing.append(named, [])):
        with pytest.raises(UsageError, match="a lake is named by") as error:
            call()
        assert error.value.remedy


def test_an_index_of_another_model_is_refused(lake: Lake) -> None:
    land(lake, {"content": "violin"})
    publish(job(lake))
    with pytest.raises(ModelMismatchError):
        Recall(lake, embedder=WordEmbedder("other")).search("violin", **ME)


@pytest.mark.parametrize("is_published", [False, True])
def test_an_empty_scope_gives_nothing(lake: Lake, is_published: bool) -> None:
    if is_published:
        publish(job(lake))
    recall = reader(lake)
    assert recall.search("violin", **ME) == []
    assert recall.context("violin", **ME).packed == 0


def test_importing_recall_loads_no_orchestrator_index_or_model_client() -> None:
    code = "import sys, lake.recall; print([m for m in sys.modules if m.split('.')[0] in sys.argv[1:]])"
    heavy = [
        "prefect",
        "lancedb",
        "lance",
        "openai",
        "wordllama",
        "tokenizers",
        "tiktoken",
        "duckdb",
        "flows",
    ]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, *heavy], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
