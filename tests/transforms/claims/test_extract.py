"""What the rules read: the planted changes of the samples, times, spans, and laws."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from samples.script_text import parse
from tests.transforms.claims.rows import SAID_AT, episode, episodes, tool
from tests.transforms.claims.turns import load, row
from transforms.claims.extract import extract
from transforms.claims.passages import masked, spans
from transforms.claims.read import read
from transforms.claims.rules import USER_RULES
from transforms.policy import Policy
from transforms.policy_sleep import ClaimsPolicy

SCRIPTS = Path(__file__).parents[3] / "samples" / "scripts"


def claims(content: str, **values: Any) -> list[dict[str, Any]]:
    return extract(episodes([episode(content=content, **values)]), Policy()).claims.rows(named=True)


def told(content: str, **values: Any) -> list[tuple[str, ...]]:
    return [(c["subject"], c["predicate"], c["aspect"], c["object"]) for c in claims(content, **values)]


@pytest.fixture(scope="module")
def of_samples() -> dict[str, list[dict[str, Any]]]:
    """Claims of the sample sessions by the id of their turn."""
    roles = {"U": "user", "A": "assistant", "T": "tool", "F": "tool"}
    rows = [
        episode(
            turn.turn_id, turn.text, tenant_id=session.tenant_id, user_id=session.user_id,
            role=roles.get(turn.mark, "other"), tool_name=turn.tool_name, speaker=None,
            kind="observation" if turn.tool_name else "conversation",
            event_at=turn.event_at.astimezone(UTC),
        )
        for script in sorted(SCRIPTS.glob("*.txt"))
        for session in parse(script.read_text(encoding="utf-8").splitlines())
        for turn in session.turns
    ]  # fmt: skip
    found: dict[str, list[dict[str, Any]]] = {}
    for claim in extract(episodes(rows), Policy()).claims.iter_rows(named=True):
        found.setdefault(claim["episode_id"], []).append(claim)
    return found


@pytest.mark.parametrize(
    ("before", "after", "slot", "objects"),
    [
        ("mira-seat-aisle", "mira-seat-window", ("user", "prefers", "seat"), ("aisle seat", "window seat")),
        ("mira-tea", "mira-coffee", ("user", "prefers", "drink"),
         ("black tea with milk", "flat white with oat milk")),
        ("mira-hostel", "mira-small-hotel", ("user", "prefers", "lodging"),
         ("hostels with a private room", "small quiet hotel")),
        ("mira-hostel", "mira-small-hotel", ("user", "budget", "lodging"),
         ("70 euros a night", "110 a night")),
        ("tomasz-threshold", "tomasz-signer", ("amounts above 500 euros", "responsible_for", ""),
         ("nneka", "ingrid")),
        ("wei-01-01", "wei-study-time", ("user", "prefers", "study hour"),
         ("evenings", "in the morning at seven")),
        ("leila-03-02", "leila-04-02", ("harbour branch", "located_at", ""),
         ("14 quayside row second floor", "41 quayside row ground floor")),
        ("anand-deadline-a", "anand-deadline-b", ("annual tax filing", "deadline", ""),
         ("15 july 2026", "30 june 2026")),
        ("kenji-shuttle-a", "kenji-shuttle-b", ("ryokan shuttle", "located_at", ""),
         ("north exit of saga arashiyama station", "south exit by the bicycle hire")),
    ],
)  # fmt: skip
def test_changes_of_the_samples_meet_in_one_slot(
    of_samples: dict[str, list[dict[str, Any]]], before: str, after: str, slot: tuple[str, ...],
    objects: tuple[str, str],
) -> None:  # fmt: skip
    held = []
    for turn in (before, after):
        [found] = [
            c
            for c in of_samples[turn]
            if (c["subject_key"], c["predicate"], c["aspect"]) == slot and c["polarity"] == "positive"
        ]
        held.append(found)
    assert tuple(c["object_key"].replace(" the ", " ") for c in held) == tuple(
        o.replace(" the ", " ") for o in objects
    )
    assert held[1]["confidence"] >= held[0]["confidence"]
    assert held[1]["valid_from"] > held[0]["valid_from"]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("leila-allergy", {("user", "allergic_to", "", "peanuts"), ("user", "allergic_to", "", "cashews")}),
        ("anand-currency", {("user", "prefers", "money format", "euros with two decimals")}),
        ("anand-callback", {("user", "rule", "", "changed bank account is only accepted after a call back to"
                            " the number on file")}),
        ("dayo-forwarded", {("user", "rule", "", "never trust X-Forwarded-For unless the peer is proxy-1")}),
        ("dayo-secrets-rule", {("user", "rule", "", "every repository gets the secret scan as a pre-commit"
                               " hook")}),
        ("tomasz-05-11", {("user", "rule", "", "group refunds go to the treasurer only, never to single"
                          " travellers")}),
        ("tomasz-cover", {("refunds desk", "responsible_for", "", "Aroha")}),
        ("leila-coriander", {("user", "likes", "", "fresh coriander")}),
    ],
)  # fmt: skip
def test_rules_and_allergy_of_the_samples(
    of_samples: dict[str, list[dict[str, Any]]], turn: str, expected: set[tuple[str, ...]]
) -> None:
    found = {(c["subject"], c["predicate"], c["aspect"], c["object"]) for c in of_samples[turn]}
    assert found == expected


def test_health_of_the_samples_is_restricted(of_samples: dict[str, list[dict[str, Any]]]) -> None:
    assert {c["sensitivity"] for c in of_samples["leila-allergy"]} == {"restricted"}


@pytest.mark.parametrize(
    ("content", "since", "until"),
    [
        ("I moved to Leipzig last month.", "2026-04-01", None),
        ("I moved to Leipzig two years ago.", "2024-05-13", None),
        ("I have worked at Halden Bank since 2019.", None, None),
        ("I've been working for Halden Bank since March.", "2026-03-01", None),
        ("I live in Leipzig until Friday.", None, "2026-05-16"),
        ("From June I'll be working for Osprey Rail.", "2026-06-01", None),
        ("I live in Leipzig.", None, None),
        ("We are back in Leipzig since the first of March.", "2026-03-01", None),
        ("I started at Halden Bank on Monday.", "2026-05-11", None),
        ("I'm on vacation until 20 October.", None, "2026-10-21"),
        ("I'm away from 6 to 17 July.", None, "2026-07-18"),
        ("I'm on leave from 20 May to the end of July.", None, "2026-08-01"),
        ("I'll be in Rome next week.", None, None),
    ],
)
def test_since_when_it_holds(content: str, since: str | None, until: str | None) -> None:
    for claim in claims(content):
        assert claim["valid_from"] == (
            datetime.fromisoformat(since).replace(tzinfo=UTC) if since else SAID_AT
        )
        assert claim["valid_until"] == (datetime.fromisoformat(until).replace(tzinfo=UTC) if until else None)


def test_what_somebody_else_says_is_less_sure() -> None:
    [plain] = claims("The deadline for the grant is 1 July.")
    [passed_on] = claims("Farida says the deadline for the grant is 1 July.")
    assert passed_on["confidence"] < plain["confidence"]
    assert (plain["subject_key"], plain["object_key"]) == (passed_on["subject_key"], passed_on["object_key"])


def test_of_two_values_in_one_message_the_last_stands() -> None:
    assert told("I live in Utrecht. No, sorry, I live in Leiden.") == [("user", "lives_in", "", "Leiden")]


def test_a_long_message_is_a_document() -> None:
    assert told("I like tea. " + "x " * 1_000) == []
    policy = Policy(claims=ClaimsPolicy(max_statement_chars=10))
    assert extract(episodes([episode(content="I live in Utrecht.")]), policy).claims.is_empty()


def test_spans_after_emoji_and_in_the_second_line() -> None:
    text = "🎂🎉 Hello!\nI’m allergic to peanuts 🥜, sadly."
    [claim] = claims(text)
    assert text[claim["span_start"] : claim["span_end"]] == "I’m allergic to peanuts"


TURNS = load()
_SHAPED = ("diet", "works_as", "has_relative", "goal", "allergic_to", "has_condition")
"""Predicates with objects that are not the message's words alone."""
PIECES = st.sampled_from([t.text for t in TURNS] + ["", " ", "“", "`", "\n", "🎂", "I like", "...", "?"])
CONTENTS = st.lists(PIECES, min_size=1, max_size=3).map(" ".join).filter(str.strip)
ROWS = st.lists(
    st.tuples(CONTENTS, st.sampled_from(["user", "tool", "assistant", "system", "other"]), st.booleans()),
    max_size=6,
)


def framed(rows: list[tuple[str, str, bool]]) -> list[dict[str, Any]]:
    return [
        (tool if role == "tool" else episode)(f"e{n}", content, role=role, is_injected=injected)
        for n, (content, role, injected) in enumerate(rows)
    ]


@given(ROWS, st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_each_row_is_read_by_itself_and_spans_quote_it(
    rows: list[tuple[str, str, bool]], random: Any
) -> None:
    made = framed(rows)
    whole = extract(episodes(made), Policy())
    parts = [extract(episodes([r]), Policy()) for r in random.sample(made, len(made))]
    if parts:
        union = pl.concat(p.claims for p in parts)
        assert_frame_equal(
            whole.claims, union.sort("tenant_id", "owner", "subject_key", "predicate", "event_at", "claim_id")
        )
        assert whole.refused.height == sum(p.refused.height for p in parts)
    for claim in whole.claims.iter_rows(named=True):
        content, role, injected = rows[int(claim["episode_id"][1:])]
        assert role in ("user", "tool")
        assert not injected
        quoted = content[claim["span_start"] : claim["span_end"]]
        assert quoted.strip() == quoted != ""
        if role == "user" and claim["predicate"] not in _SHAPED:
            shown = claim["object"].removeprefix("no ").removesuffix(" driver")
            assert shown.split()[-1] in quoted


def test_cues_lose_nothing() -> None:
    """The prefilter is there for speed: every rule, tried on every message, finds the same."""
    users = [t for t in TURNS if t.mark == "U"]
    found = extract(episodes(row(t) for t in users), Policy()).claims
    cues = sorted({cue for rule in USER_RULES for cue in rule.cue_set})
    for turn in users:
        slow = read(turn.text, SAID_AT, USER_RULES, cues)
        fast = found.filter(pl.col("episode_id") == f"turn-{turn.number:03}")
        assert sorted({(r.span_start, r.span_end, r.predicate) for r in slow}) == sorted(
            set(fast.select("span_start", "span_end", "predicate").rows())
        ), turn.text


@given(CONTENTS)
def test_masking_keeps_every_place(text: str) -> None:
    hidden = masked(text)
    assert len(hidden) == len(text)
    places = spans(hidden)
    assert all(0 <= a < b <= len(text) for a, b in places)
    assert all(a[1] <= b[0] for a, b in pairwise(places))


@pytest.mark.parametrize(
    "content",
    [
        "Relevant memories:\n- I live in Rome\n- I'm allergic to nuts\n\nUser: hi",
        "Context from previous conversation: I live in Rome.",
        "Recalled: I live in Rome",
        "<context>\nI live in Rome\n</context>\nhello",
        "Write a bio: I live in Rome and I work at Acme.",
        "Here is my cover letter:\nI live in Rome and I work at Acme.",
        "Sentence to parse: I live in Rome",
        "I live in Rome. Just kidding.",
        "That I live in Rome is a lie",
        "I like coffee, not.",
        "I like neither tea nor coffee",
        "I live in Ro\u200bme.",
        "My name is Zo\u200d\u00eb",
    ],
)
def test_what_is_pasted_denied_in_jest_or_hidden_is_not_read(content: str) -> None:
    assert extract(episodes([episode(content=content)]), Policy()).claims.height == 0


def test_a_plain_statement_beside_these_words_is_read() -> None:
    for content in (
        "I live in Rome.",
        "My memories of school are bad. I live in Rome.",
        "Context: I live in Rome",
    ):
        found = extract(episodes([episode(content=content)]), Policy()).claims
        assert found["object_key"].to_list() == ["rome"], content
