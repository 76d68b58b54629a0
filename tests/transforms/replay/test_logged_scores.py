"""Calls logged by real readers of real lakes: their scores come out again, for every row of every call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.publish import run_publish
from lake.lake import Lake
from lake.recall import Recall
from tests.lake.online.recalls import ME, fold, job_now, logging, own_words, recalls, say
from tests.lake.recalled import make_lake
from transforms.policy import Policy
from transforms.policy_recall import RecallPolicy
from transforms.policy_retention import DecayPolicy
from transforms.replay.arrays import Replay
from transforms.replay.calls import calls_of
from transforms.replay.scores import logged_scores, ranking

TALKS = (
    ("old", 58.0, ["My roof leaks over the kitchen.", "Call the roofer on Friday.", "I live in Delft."]),
    ("middle", 9.0, ["The roofer came and sealed the roof.", "I prefer a window seat on flights."]),
    ("new", 0.9, ["I live in Utrecht.", "My choir sings on Sunday.", "Thanks.", "The roof is dry now."]),
)
QUERIES = (
    "who sealed the roof?",
    "where do I live?",
    "what seat do I prefer on flights?",
    "what did we do last session?",
    "what did we say about the roof in the last session?",
    "what did we talk about last week?",
    "anything new?",
    "what happened recently?",
    "tell me about the roof",
    "what about the choir of the harbour, number 3?",
    "zebra",
)
NAMED = ["own:0.0/0.5/0.5/0.0/0.0", "own:0.0/0.0/1.0/0.0/0.0"]
"""Weights that a call named itself."""
DEFAULT = Policy()
OTHER = Policy(
    recall=RecallPolicy(
        weights="three",
        agents={"planner": {"relevance": 0.4, "importance": 0.35, "type": 0.25}, "writer": "two"},
        closeness_power=2.5,
        success_boost=0.4,
        type_bonus={"working": 0.3, "procedural": 0.9, "semantic": 0.45, "episodic": 0.1},
        candidates=30,
        diversity_share=0.0,
    ),
    decay=DecayPolicy(
        half_life_days={"conversation": 21.0, "fact": 5.0, "preference": None}, frequency_scale=7.0
    ),
)


@dataclass
class Logged:
    """What readers were told, and the log of it."""

    rows: pl.DataFrame
    newest_first: dict[str, bool]
    is_few: bool


def landed(lake: Lake) -> None:
    now = datetime.now(UTC)
    for session, days, texts in TALKS:
        for place, text in enumerate(texts):
            at = now - timedelta(days=days) + timedelta(minutes=place)
            say(lake, {"content": text, "session_id": session, "event_at": at.isoformat()})
    notes = [
        {
            "content": f"the violin of harbour number {i} {'and its roof' * (i % 3)} {own_words(i)}",
            "session_id": f"s{i % 5}",
            "agent_id": ("planner", "writer", None)[i % 3],
            "outcome": ("success", "failure", None)[i % 3],
            "importance": (i % 7) / 7,
            "event_at": (now - timedelta(days=1 + i / 2)).isoformat(),
        }
        for i in range(70)
    ]
    say(lake, *notes)


def slept(lake: Lake, policy: Policy) -> None:
    job = job_now(lake, policy)
    run_ingest(job, [])
    run_embed(job)
    run_consolidate(job)
    run_publish(job, force=True)


def asked(reader: Recall, told: dict[str, bool]) -> None:
    month = f"{datetime.now(UTC) - timedelta(days=30):%B %Y}"
    queries = (*QUERIES, f"what happened in {month}?", f"which number of the harbour was it in {month}?")
    for place, query in enumerate(queries):
        agent = (None, "planner", "writer", "stranger")[place % 4]
        scope: dict[str, Any] = {"tenant": "t", "tenant_wide": True} if place % 5 == 4 else ME
        answers = [
            reader.search(query, **scope, k=(3, 10, 60)[place % 3]),
            reader.search(query, **{**ME, "agent": agent}) if agent else reader.search(query, **ME),
            reader.search(query, **ME, weights={"recency": 0.5, "importance": 0.5}, kinds=["conversation"]),
        ]
        for answer in answers:
            told[answer.call_id] = answer.route is not None and answer.route.is_newest_first
        reader.search("the violin of harbour number 7", **ME, k=1, weights={"importance": 1.0})
        reader.used([memory.id for memory in answers[0][:1]], tenant="t", call_id=answers[0].call_id)
        reader.context(query, **ME, budget=200, preset="large" if place % 2 else None)


@pytest.fixture(scope="module", params=["default", "other", "few logged"])
def logged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Policy, Logged]:
    """Two nights; asked after each, the second time with accesses folded in, and with rows that just came."""
    policy = OTHER if request.param == "other" else DEFAULT
    lake, told = make_lake(tmp_path_factory.mktemp("logged")), dict[str, bool]()
    landed(lake)
    slept(lake, policy)
    is_few = request.param == "few logged"
    reader = logging(lake, policy, candidates=1 if is_few else 50)
    asked(reader, told)
    reader.flush()
    slept(lake, policy)
    say(lake, {"content": "I live in Breda now, under a new roof.", "session_id": "late"})
    asked(reader, told)
    reader.flush()
    fold(lake, policy)
    return policy, Logged(recalls(lake), told, is_few)


def test_every_row_of_every_call_has_its_score_again(logged: tuple[Policy, Logged]) -> None:
    policy, said = logged
    calls = calls_of(said.rows)
    assert len(calls) > 60
    found = logged_scores(Replay.made(calls), policy, block_bytes=1_000_000)
    assert np.abs(found - calls.rows["score"].to_numpy()).max() < 1e-9


def test_the_log_is_as_varied_as_the_test_wants_it(logged: tuple[Policy, Logged]) -> None:
    policy, said = logged
    rows = said.rows
    assert {"general", "recency", "temporal", "semantic", "topic", "exact_key"} <= set(rows["route"])
    assert rows["weighting"].n_unique() == (5 if policy is OTHER else 3)
    assert set(rows["verb"]) == {"search", "context"}
    assert {"conversation", "fact", "preference"} <= set(rows["kind"])
    assert rows["access_count"].max() > 0  # type: ignore[operator]
    assert rows["closeness"].is_between(0, 1, closed="none").any()
    assert rows["generation"].n_unique() == 2
    assert (Replay.made(calls_of(rows)).beyond > 0).any() == said.is_few


def test_who_was_answered_newest_first_is_read_off_the_log(logged: tuple[Policy, Logged]) -> None:
    _, said = logged
    calls = calls_of(said.rows)
    is_kept = Replay.made(calls).is_kept
    sizes = np.diff(calls.starts)
    by_id = {
        name: kept
        for name, kept, size in zip(calls.heads["call_id"], is_kept.tolist(), sizes.tolist(), strict=True)
        if size > 3  # of fewer rows both orders may be true
    }
    assert {name: said.newest_first[name] for name in by_id if name in said.newest_first} == {
        name: kept for name, kept in by_id.items() if name in said.newest_first
    }
    assert sum(by_id.values()) > 3


@pytest.mark.parametrize("logged", ["other"], indirect=True)
def test_without_diversity_the_policy_of_then_gives_the_order_of_then(logged: tuple[Policy, Logged]) -> None:
    """Diversity needs vectors, which the log does not hold: this reader goes without."""
    policy, said = logged
    own = said.rows.filter(~pl.col("weighting").is_in(NAMED))
    calls = calls_of(own)
    replay = Replay.made(calls)
    for place in range(len(calls)):
        order, scores = ranking(replay, policy, place)
        assert (order - calls.starts[place]).tolist() == list(range(len(order)))
        assert scores == pytest.approx(calls.rows["score"].to_numpy()[order], abs=1e-9)
