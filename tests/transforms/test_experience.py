"""Hints from attempts and outcomes, on small invented rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from transforms.experience import Hint, by_episode, hints

AT = datetime(2026, 6, 1, tzinfo=UTC)


def memory(name: str, text: str, **fields: Any) -> dict[str, Any]:
    plain = {
        "memory_id": name,
        "kind": "conversation",
        "tier": "episodic",
        "text": text,
        "outcome": None,
        "failure_reason": None,
        "source_refs": [name],
        "event_at": AT,
    }
    return {**plain, **fields}


def attempt(name: str, episodes: list[str], outcome: str | None, **fields: Any) -> dict[str, Any]:
    plain = {
        "attempt_id": name,
        "task_type": "deploy",
        "tool_sequence": ["build", "push"],
        "outcome": outcome,
        "failure_reason": None,
        "is_transient": False,
        "reward": {"success": 1.0, "failure": 0.0}.get(outcome or ""),
        "fix": None,
        "source_refs": episodes,
        "event_at": AT,
    }
    return {**plain, **fields}


def told(found: list[tuple[dict[str, Any], float]], *attempts: dict[str, Any], most: int = 9) -> list[Hint]:
    return hints(found, by_episode(attempts), most=most)


def test_a_request_leads_to_how_its_attempt_ended() -> None:
    asked = memory("e1", "Please deploy the service")
    [hint] = told([(asked, 0.8)], attempt("a", ["e1", "e2"], "success"))
    assert (hint.kind, hint.id, hint.text) == ("hint", "a", "deploy: build → push worked")
    assert "deploy the service" in hint.why
    assert hint.source_refs == ["e1", "e2"]


def test_a_failure_says_why_and_what_worked() -> None:
    failed = attempt("a", ["e1"], "failure", failure_reason="no quota", fix="Ask for quota first.")
    [hint] = told([(memory("e1", "deploy"), 0.8)], failed)
    assert hint.kind == "different_approach"
    assert hint.text == "deploy: build → push failed: no quota; what worked: Ask for quota first."


@pytest.mark.parametrize(
    "fields", [{"is_transient": True}, {"failure_reason": "connection timed out"}, {"outcome": "partial"}]
)
def test_what_passes_by_itself_or_came_half_way_says_nothing(fields: dict[str, Any]) -> None:
    assert told([(memory("e1", "deploy"), 0.8)], {**attempt("a", ["e1"], "failure"), **fields}) == []


def test_an_outcome_without_attempt_speaks_for_itself_unless_it_passes() -> None:
    rows = [
        (memory("e1", "Deployed.", kind="outcome", outcome="success"), 0.5),
        (memory("e2", "Deploy broke", kind="outcome", outcome="failure", failure_reason="bad config"), 0.6),
        (memory("e3", "Deploy broke", kind="outcome", outcome="failure", failure_reason="HTTP 503"), 0.7),
        (memory("e4", "hello"), 0.9),
    ]
    assert [(hint.id, hint.kind) for hint in told(rows)] == [("e2", "different_approach"), ("e1", "hint")]


def test_skills_are_told_as_what_they_are_and_habits_are_not() -> None:
    skill = {"tier": "procedural", "source_refs": ["e1", "e2"]}
    rows = [
        (memory("p", "For deploy: build → push worked 4 of 5 times", kind="procedure", **skill), 0.5),
        (memory("l", "deploy: no quota → ask first", kind="lesson", **skill), 0.4),
        (memory("q", "writes in the evening", kind="pattern", **skill), 0.9),
    ]
    assert [hint.kind for hint in told(rows)] == ["procedure", "different_approach"]


def test_each_attempt_once_the_most_alike_first_and_no_more_than_wanted() -> None:
    rows = [(memory("e1", "deploy"), 0.3), (memory("e2", "deploy it"), 0.9), (memory("e3", "x"), 0.5)]
    attempts = [attempt("a", ["e1", "e2"], "success"), attempt("b", ["e3"], "success", tool_sequence=["c"])]
    found = told(rows, *attempts)
    assert [(hint.id, hint.score) for hint in found] == [("a", 0.9), ("b", 0.5)]
    assert told(rows, *attempts, most=1) == found[:1]
    assert told(list(reversed(rows)), *reversed(attempts)) == found


def test_feedback_against_an_outcome_makes_its_hint_weaker() -> None:
    sure = told([(memory("e", "deploy"), 0.8)], attempt("a", ["e"], "success"))
    doubted = told([(memory("e", "deploy"), 0.8)], attempt("a", ["e"], "success", reward=0.5))
    assert doubted[0].score < sure[0].score


def test_of_two_attempts_with_one_episode_the_later_counts() -> None:
    later = attempt("b", ["e"], "failure", event_at=AT + timedelta(days=1))
    assert by_episode([later, attempt("a", ["e"], "success")])["e"]["attempt_id"] == "b"


def test_a_digest_of_others_is_no_experience() -> None:
    assert (
        told([(memory("s", "all worked", kind="summary", outcome="success", source_refs=["e1"]), 0.9)]) == []
    )
