"""What newer messages say of a fact."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from transforms.changed_facts import Said, changed_by, readings
from transforms.fact_keys import Fact

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
HOME = Fact("f", "user", "lives_in", "", "Graz", 0)
DRINK = Fact("d", "user", "likes", "", "coffee", 0)


def said(*texts: str) -> list[Said]:
    """Messages an hour apart, the last one an hour ago."""
    return [Said(text, NOW - timedelta(hours=len(texts) - place)) for place, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("text", "is_changed"),
    [
        ("I live in Lisbon now.", True),
        ("I moved to Lisbon last week.", True),
        ("Ich wohne jetzt in Lissabon.", True),
        ("I no longer live in Graz.", True),
        ("I live in Graz.", False),
        ("I don't live in Lisbon.", False),
        ("My sister lives in Oslo now.", False),
        ("Where do I live?", False),
        ("If I lived in Oslo I would ski.", False),
        ("I work at Tidewater.", False),
        ("", False),
    ],
)
def test_what_changes_where_somebody_lives(text: str, is_changed: bool) -> None:
    assert changed_by(HOME, said(text), NOW) == ([0] if is_changed else [])


def test_the_newest_word_decides() -> None:
    assert changed_by(HOME, said("I live in Porto.", "I moved to Lisbon.", "I live in Lisbon now."), NOW) == [
        1,
        2,
    ]
    assert changed_by(HOME, said("I live in Porto.", "I live in Graz after all."), NOW) == []
    swapped = said("I live in Lisbon now.", "I moved to Lisbon.", "I live in Porto.")[::-1]
    assert changed_by(HOME, swapped, NOW) == [0], "whatever order they come in"


def test_a_predicate_of_many_values_only_ends() -> None:
    assert changed_by(DRINK, said("I like tea.", "I love coffee."), NOW) == []
    assert changed_by(DRINK, said("I no longer like coffee."), NOW) == [0]


def test_a_name_within_another_word_is_another_value() -> None:
    fact = Fact("f", "user", "lives_in", "", "Ulm", 0)
    assert changed_by(fact, said("I live in Ulmen."), NOW) == [0]
    assert changed_by(fact, said("I live in Ulm on the Danube."), NOW) == []


def test_only_rules_of_the_predicate_read() -> None:
    (message,) = said("I live in Lisbon and I like tea.")
    assert {one.predicate for one in readings("lives_in", message)} == {"lives_in"}
    assert readings("no_such_predicate", message) == []
