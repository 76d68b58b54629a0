"""Routes of questions: an invented list with the right kind and range of each, and laws that hold for all."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.fact_keys import FactKeys, keys_of
from transforms.policy_recall import RoutingPolicy
from transforms.routing import KINDS, Route, Sessions, route

AS_OF = datetime(2026, 6, 17, 10, 30, tzinfo=UTC)
"""A Wednesday."""
LIST = Path(__file__).with_name("routing_questions.tsv")
FACTS = """
user        name            -            Mara
user        prefers         seat         window
user        prefers         drink        oat milk latte
user        lives_in        -            Utrecht
user        works_at        -            Halden Labs
Halden_Labs located_at      -            Leiden
user        has_relative    -            sister Odile
Odile       lives_in        -            Porto
user        allergic_to     -            peanuts
user        has_pet         -            dog Biscuit
user        reports_to      -            Ines
Ines        speaks          -            Portuguese
user        timezone        -            Europe/Amsterdam
user        budget          trip         1200 euros
user        likes           -            hiking
user        likes           -            jazz
user        likes           -            ramen
payments-api limit          rate         500 requests per minute
payments-api version        -            3.2
"""


def known(text: str = FACTS) -> FactKeys:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(filter(None, text.splitlines())):
        subject, predicate, aspect, thing = line.split(None, 3)
        rows.append(
            {
                "memory_id": f"{subject} {predicate} {thing}",
                "subject": subject.replace("_", " "),
                "predicate": predicate,
                "aspect": "" if aspect == "-" else aspect,
                "object": thing,
                "event_at": number,
                "source_refs": [f"said-{number}"],
                "speaker": None,
            }
        )
    return keys_of(rows)


def asked(query: str, facts: FactKeys | None = None) -> Route:
    return route(query, AS_OF, known=facts)


def labelled() -> list[tuple[str, str, str, str, str]]:
    lines = LIST.read_text("utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]  # type: ignore[misc]


def test_the_list_is_long_and_has_every_kind() -> None:
    rows = labelled()
    assert len(rows) >= 150
    assert {row[1] for row in rows} == set(KINDS)


@pytest.mark.parametrize("row", labelled(), ids=lambda row: row[0])
def test_each_question_is_routed_as_a_reader_would(row: tuple[str, str, str, str, str]) -> None:
    query, kind, since, until, is_filter = row
    found = asked(query, known())
    assert (found.kind, _told(found.since), _told(found.until)) == (kind, since, until)
    assert ("yes" if found.is_filter else "no") == is_filter


def _told(instant: datetime | None) -> str:
    return "-" if instant is None else instant.strftime("%Y-%m-%dT%H:%M").replace("T00:00", "")


@pytest.mark.parametrize(
    ("query", "sessions"),
    [
        ("what did we do last session", Sessions(1, 1)),
        ("the previous conversation", Sessions(1, 1)),
        ("What was decided in the session before last?", Sessions(2, 1)),
        ("what happened two sessions ago", Sessions(2, 1)),
        ("summarise the last three conversations", Sessions(1, 3)),
        ("what did we say in our first conversation?", Sessions(-1, 1)),
        ("what did you say last time we talked", Sessions(1, 1)),
        ("the last chapter of the session rules", None),
        ("how long is a session?", None),
    ],
)
def test_sessions_are_told_by_their_place(query: str, sessions: Sessions | None) -> None:
    assert asked(query).sessions == sessions


def test_a_telling_question_filters_by_time_and_one_of_a_third_person_only_prefers() -> None:
    assert asked("What did I tell you about the roof in May?").is_filter
    assert not asked("What did Odile say about the roof in May?").is_filter


def test_the_zone_of_the_caller_decides_which_day_it_is() -> None:
    late = datetime(2026, 6, 17, 23, 30, tzinfo=UTC)  # the 18th in Tokyo
    found = route("what happened today", late, zone=ZoneInfo("Asia/Tokyo"))
    assert (found.since, found.until) == (
        datetime(2026, 6, 17, 15, tzinfo=UTC),
        datetime(2026, 6, 18, 15, tzinfo=UTC),
    )


def test_an_instant_without_zone_is_refused() -> None:
    with pytest.raises(UsageError):
        route("last week", AS_OF.replace(tzinfo=None))


def test_more_facts_of_one_key_than_allowed_single_none_out() -> None:
    many = known("\n".join(f"user likes - thing{i}" for i in range(9)))
    assert asked("What do I like?", many).facts == ()
    few = known("\n".join(f"user likes - thing{i}" for i in range(3)))
    assert len(asked("What do I like?", few).facts) == 3
    assert not route("What do I like?", AS_OF, known=few, policy=RoutingPolicy(exact_facts=2)).facts


def test_a_route_says_why_in_words() -> None:
    assert "named by aspect" in asked("Which seat do I like?", known()).why
    assert "2026-05-01" in asked("what happened in May").why
    assert asked("Who fixed the tap?").as_dict()["kind"] == "semantic"


@given(st.text())
def test_any_text_has_a_route(text: str) -> None:
    found = asked(text, known())
    assert found.kind in KINDS
    if found.since and found.until:
        assert found.since < found.until
    assert found.since is None or found.since.tzinfo is UTC
    assert len({hit.id for hit in found.facts}) == len(found.facts)


@given(
    st.lists(st.sampled_from(sorted({word for row in labelled() for word in row[0].split()})), max_size=12)
)
def test_any_mixture_of_known_words_has_a_route(words: list[str]) -> None:
    found = asked(" ".join(words), known())
    assert found.kind in KINDS
    for one in found.ranges:
        assert one.since is None or one.until is None or one.since < one.until


@given(st.permutations(FACTS.strip().splitlines()))
def test_the_order_of_facts_confirmed_at_once_changes_nothing(lines: list[str]) -> None:
    def hits(rows: list[str]) -> set[tuple[str, float]]:
        found = asked("In which city does my sister live?", known("\n".join(rows)))
        return {(hit.id, hit.strength) for hit in found.facts}

    assert hits(lines) == hits(FACTS.strip().splitlines())
