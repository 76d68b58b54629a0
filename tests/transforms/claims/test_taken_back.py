"""After "forget that" and its like nothing is asserted; a denial of health ends what stood."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.claims.rows import SAID_AT, episode, episodes
from tests.transforms.facts.claimed import VECTORS
from transforms.claims.extract import extract
from transforms.claims.taken_back import taken_back
from transforms.facts.near import object_groups
from transforms.facts.reconcile import reconcile
from transforms.policy import Policy

MARKS = [
    "Forget that", "Please forget that", "Scratch that", "Ignore that", "Delete the fact that", "Forget",
    "Please ignore what I said about",
    "Never mind that", "Disregard everything I said about", "I never said that",
    "I didn't say", "It's not true that", "It is no longer true that", "I was wrong to say that",
    "I take back that", "Remove this from your memory:", "Ok, erase the note saying that",
]  # fmt: skip
CLAUSES = [
    "I am allergic to nuts", "I'm allergic to penicillin and latex", "I have asthma", "I take metformin",
    "I live in Rome", "I speak French", "I'm vegan", "I prefer tea", "I work at Fabrikam", "I like jazz",
    "I use Vim", "my deadline is on Friday", "my budget is 80 euros", "I am away until Friday",
]  # fmt: skip


def operations(content: str) -> list[str]:
    found = extract(episodes([episode(content=content)]), Policy()).claims
    return found["operation"].to_list()


@given(st.sampled_from(MARKS), st.sampled_from(CLAUSES), st.sampled_from(["", " and that ", " and "]))
def test_nothing_is_asserted(mark: str, clause: str, more: str) -> None:
    said = f"{mark} {clause}{more + 'I like opera' if more else ''}."
    assert "assert" not in operations(said)


@pytest.mark.parametrize("clause", CLAUSES[:11])
def test_what_is_said_plainly_is_what_is_taken_back(clause: str) -> None:
    assert set(operations(f"{clause}.")) == {"assert"}
    assert set(operations(f"Forget that {clause}.")) == {"retract"}


@pytest.mark.parametrize(
    "content",
    [
        "Don't forget that I am allergic to nuts.",
        "Please never forget that I am allergic to nuts.",
        "I often forget that I am allergic to nuts.",
        "Scratch that, I am allergic to nuts.",
        "Ignore what I said about nuts: I am allergic to nuts.",
    ],
)
def test_what_is_not_taken_back(content: str) -> None:
    assert operations(content) == ["assert"]


@pytest.mark.parametrize(
    ("text", "scopes"),
    [
        ("Forget that I like tea, I like coffee", ["I like tea"]),
        ("I like tea", []),
        ("Forget that", []),
        ("ok, ignore what I said about tea but keep the rest", ["tea"]),
    ],
)
def test_scopes(text: str, scopes: list[str]) -> None:
    assert [text[a:b] for a, b in taken_back(text)] == scopes


def standing(*messages: str) -> list[str]:
    """Facts that stand after messages of one day each."""
    rows = [
        episode(f"e{n}", text, session_id=f"s{n}", event_at=SAID_AT + timedelta(days=n),
                ingested_at=SAID_AT + timedelta(days=n))
        for n, text in enumerate(messages)
    ]  # fmt: skip
    claims = extract(episodes(rows), Policy()).claims
    groups = object_groups(claims, pl.DataFrame(schema=VECTORS), Policy())
    facts = reconcile(claims, groups, Policy()).facts
    live = facts.filter(pl.col("retired_at").is_null()).sort("fact")
    return live["fact"].to_list()


@pytest.mark.parametrize(
    ("first", "then", "left"),
    [
        ("I am allergic to nuts.", "I am not allergic to nuts after all.", []),
        ("I have a nut allergy.", "I'm no longer allergic to nuts.", []),
        ("I am allergic to nuts and eggs.", "I don't have a nut allergy any more.",
         ["Mira is allergic to eggs"]),
        ("I am allergic to nuts and eggs.", "I don't have any allergies.", []),
        ("I am allergic to nuts.", "Forget that I am allergic to nuts.", []),
        ("I'm lactose intolerant.", "I am not lactose intolerant anymore", []),
        ("Ana is allergic to peanuts.", "Ana is no longer allergic to peanuts", []),
        ("I have asthma.", "I no longer have asthma.", []),
        ("I'm diabetic.", "I no longer have diabetes.", []),
        ("I take metformin.", "I quit taking metformin", []),
        ("I'm vegetarian.", "I eat meat again now", []),
        ("I like tea.", "Forget my preference for tea", []),
        ("I live in Rome.", "Forget where I live", []),
        ("I prefer my reports as PDF.", "Please send reports as spreadsheets from now on",
         ["Mira prefers spreadsheets (format)"]),
        ("I prefer dark mode", "Light mode from now on", ["Mira prefers light mode (theme)"]),
        ("I prefer short answers.", "Longer answers from now on", ["Mira prefers longer answers (length)"]),
        ("My favourite colour is green.", "My favourite colour is blue.", ["Mira prefers blue (colour)"]),
        ("Never book meetings before ten.", "Meetings before ten are fine now", []),
        ("I use Vim.", "I switched from Vim to Helix", ["Mira prefers Helix (editor)"]),
        ("I am allergic to nuts.", "I'm not allergic to eggs.", ["Mira is allergic to nuts"]),
    ],
)  # fmt: skip
def test_what_ends_in_the_fold(first: str, then: str, left: list[str]) -> None:
    assert standing(first)
    assert standing(first, then) == left
