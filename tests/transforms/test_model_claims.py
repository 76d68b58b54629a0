"""What a model may claim: only from what it was shown, quoted, complete, and as whose word the role says."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lake.made import frame
from tests.transforms.test_model_turns import episode, words
from transforms.claims.build import CANDIDATES, REFUSED
from transforms.model_claims import candidates, claim_requests, extract_with, extractor_of, locate
from transforms.model_requests import ModelAnswer, Spent
from transforms.policy import Policy
from transforms.predicates import BY_NAME
from transforms.schemas import CLAIMS, EPISODES

GOOD = {
    "turn": "e1",
    "evidence": "I moved to Lisbon",
    "operation": "assert",
    "subject": "user",
    "predicate": "lives_in",
    "aspect": "",
    "object": "Lisbon",
    "polarity": "positive",
    "confidence": 0.9,
    "valid_from": None,
    "valid_until": None,
    "is_inferred": False,
}
ROWS = [
    episode("a", "Hey! I moved to Lisbon on 3 March. My sister Ana has 2 cats."),
    episode("b", "You live in Madrid.", "assistant", 1),
    episode("c", "quota: 60 requests per minute", "tool", 2, tool_name="limits"),
]


@dataclass
class Scripted:
    """A model that answers every request with the same text or answer."""

    answer: str | ModelAnswer
    key: str = "scripted"
    spent: Spent = field(default_factory=Spent)

    def ask(self, requests):
        made = self.answer if isinstance(self.answer, ModelAnswer) else ModelAnswer("answered", self.answer)
        return [made for _ in requests]

    def estimate(self, requests):
        return Spent(requests=len(requests))


def episodes(*rows):
    made = frame(EPISODES, rows or ROWS)
    return made.with_columns(
        content_chars=pl.col("content").str.len_chars().cast(pl.Int64), trust=pl.lit(1.0, pl.Float32)
    )


def read(*claims, text=None, rows=()):
    """Candidates, refusals and pending ids of one answer that gives these claims."""
    requests = claim_requests(episodes(*rows), Policy().claims, words)
    answer = ModelAnswer("answered", text if text is not None else json.dumps({"claims": claims}))
    return candidates(requests, [answer] * len(requests))


def reasons(*claims, **more):
    return read(*claims, **more)[1]["reason"].to_list()


def test_a_good_claim_is_a_candidate_with_its_place_in_the_text():
    found, refused, pending = read(GOOD)
    assert found.schema == CANDIDATES
    assert refused.schema == REFUSED
    assert (refused.height, pending) == (0, [])
    row = found.row(0, named=True)
    assert row["episode_id"] == "a"
    assert ROWS[0]["content"][row["span_start"] : row["span_end"]] == "I moved to Lisbon"
    assert (row["object"], row["polarity"], row["is_inferred"]) == ("Lisbon", "positive", False)
    assert row["confidence"] == pytest.approx(0.9)


OPTIONAL = ("aspect", "valid_from", "valid_until", "is_inferred")


@pytest.mark.parametrize("name", [name for name in GOOD if name not in OPTIONAL])
@pytest.mark.parametrize("value", [None, 3, ["x"]])
def test_a_claim_without_a_field_is_refused_and_says_which(name, value):
    without = {k: v for k, v in GOOD.items() if k != name}
    expected = [f"missing_{name}"]
    assert reasons(without) == expected
    if not (name == "confidence" and value == 3):
        assert reasons({**GOOD, name: value}) == expected


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_claim_without_what_may_be_left_out_stays(name):
    assert read({k: v for k, v in GOOD.items() if k != name})[0].height == 1


@pytest.mark.parametrize("turn", ["e3", "b", "a", "", "E1"])
def test_a_turn_that_was_not_shown_to_be_claimed_from_is_refused(turn):
    found, refused, _ = read({**GOOD, "turn": turn}, GOOD)
    assert found.height == 1
    assert refused.row(0, named=True) == {
        "tenant_id": "t", "episode_id": None, "predicate": "lives_in", "reason": "unknown_turn",
        "span_start": None, "span_end": None,
    }  # fmt: skip


@pytest.mark.parametrize("quote", ["I moved to Porto", "", "…", "I", "You live in Madrid", "quota: 60"])
def test_evidence_that_the_turn_does_not_say_is_refused(quote):
    assert reasons({**GOOD, "evidence": quote}) == ["no_evidence"]


@pytest.mark.parametrize(
    ("quote", "text", "place"),
    [
        ("to Lisbon", "I moved to Lisbon", "to Lisbon"),
        ("TO  lisbon", "I moved to\n Lisbon", "to\n Lisbon"),
        ('"to Lisbon…"', "I moved to Lisbon", "to Lisbon"),
        ("don't eat", "I don’t eat pork", "don’t eat"),
        ("a &lt; b &amp; c", "if a < b & c", "a < b & c"),
        ("素食", "我现在吃素食了", "素食"),
        ("a.c (d", "abc a.c (d)", "a.c (d"),
        ("Lisboa", "I moved to Lisbon", None),
        (".", "a.b.", None),
    ],
)
def test_where_a_quotation_stands(quote, text, place):
    span = locate(quote, text)
    assert (text[slice(*span)] if span else None) == place


@given(st.text(max_size=40), st.data())
def test_an_exact_quotation_is_always_found(text, data):
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    span = locate(quote, text)
    if sum(c.isalnum() or c == "_" for c in quote) >= 2:
        assert span is not None
        assert text[slice(*span)] in quote


@pytest.mark.parametrize(
    ("given_time", "is_end", "instant"),
    [
        ("2026-03-03", False, datetime(2026, 3, 3, tzinfo=UTC)),
        ("2026-03", False, datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026", False, datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-03-03T10:00:00+02:00", False, datetime(2026, 3, 3, 8, tzinfo=UTC)),
        ("2026-03-03T10:00", False, datetime(2026, 3, 3, 10, tzinfo=UTC)),
        ("2026-03-31", True, datetime(2026, 4, 1, tzinfo=UTC)),
        ("2026-12", True, datetime(2027, 1, 1, tzinfo=UTC)),
        ("2026", True, datetime(2027, 1, 1, tzinfo=UTC)),
        ("", False, None),
        ("null", False, None),
        (None, True, None),
    ],
)
def test_times_are_read_and_an_end_is_the_first_instant_after_it(given_time, is_end, instant):
    name = "valid_until" if is_end else "valid_from"
    found, _, _ = read({**GOOD, name: given_time})
    assert found[name].to_list() == [instant]


@pytest.mark.parametrize(
    "time", ["soon", "2026-13", "0000", "9999-12-31", "9999", "0001-01-01T00:00+05:00", 2026, ["2026"]]
)
def test_a_time_that_cannot_be_read_refuses_the_claim(time):
    assert reasons({**GOOD, "valid_until": time}) == ["time_unread"]


@pytest.mark.parametrize(
    ("confidence", "kept"), [(7, 1.0), (-1, 0.0), (0.25, 0.25), (True, None), ("0.9", None)]
)
def test_confidence_is_clipped(confidence, kept):
    found, refused, _ = read({**GOOD, "confidence": confidence})
    assert found["confidence"].to_list() == ([] if kept is None else [kept])
    assert refused.height == int(kept is None)


@pytest.mark.parametrize(
    ("thing", "is_inferred"),
    [
        ("Lisbon", False),
        ("lisbon, Portugal", False),
        ("Madrid", True),
        ("Lisbon 1200", True),
        ("3 March", False),
    ],
)
def test_what_the_turn_cannot_be_what_says_is_inferred(thing, is_inferred):
    assert read({**GOOD, "object": thing})[0]["is_inferred"].to_list() == [is_inferred]


@pytest.mark.parametrize(
    ("text", "count", "lost"),
    [
        (json.dumps({"claims": [GOOD, GOOD]})[:-30], 1, ["answer_cut"]),
        (f"Here you go:\n```json\n{json.dumps({'claims': [GOOD]})}\n```", 1, []),
        ("I would rather not.", 0, ["answer_no_json"]),
        (json.dumps({"claims": [GOOD, 7, "x"]}), 1, ["answer_not_an_object"] * 2),
        (json.dumps({"claims": []}), 0, []),
    ],
)
def test_answers_that_are_cut_wrapped_or_no_json(text, count, lost):
    found, refused, _ = read(text=text)
    assert found.height == count
    assert refused["reason"].to_list() == lost


def test_a_failed_request_names_its_episodes_and_a_pending_one_waits():
    requests = claim_requests(episodes(), Policy().claims, words)
    _, refused, pending = candidates(requests, [ModelAnswer("failed", error="refused")])
    assert refused.select("episode_id", "reason").rows() == [("a", "model_refused"), ("c", "model_refused")]
    assert pending == []
    found, refused, pending = candidates(requests, [ModelAnswer("pending", error="http_503")])
    assert (found.height, refused.height, pending) == (0, 0, ["a", "c"])


def test_spans_of_the_parts_of_a_long_turn_count_from_its_start():
    text = "filler " * 300 + "I moved to Lisbon. " + "filler " * 300
    long = [episode("a", text)]
    policy = Policy().claims.model_copy(update={"max_input_tokens": 200})
    requests = claim_requests(episodes(*long), policy, words)
    answers = [ModelAnswer("answered", json.dumps({"claims": [GOOD]}))] * len(requests)
    found, refused, _ = candidates(requests, answers)
    assert found.height == 1
    assert text[slice(*found.select("span_start", "span_end").row(0))] == "I moved to Lisbon"
    assert refused["reason"].to_list() == ["no_evidence"] * (len(requests) - 1)


def test_claims_are_built_with_the_source_that_the_role_gives():
    sister = {
        **GOOD,
        "subject": "Ana",
        "predicate": "has_pet",
        "object": "2 cats",
        "evidence": "Ana has 2 cats",
    }
    tool = {**GOOD, "turn": "e2", "subject": "API", "predicate": "limit", "aspect": "requests per minute",
            "object": "60", "evidence": "60 requests per minute"}  # fmt: skip
    model = Scripted(json.dumps({"claims": [GOOD, sister, tool, {**GOOD, "predicate": "hates"}]}))
    claims, refused, pending = extract_with(model, episodes(), Policy(), words)
    assert claims.schema == CLAIMS.polars
    shown = claims.select("subject", "predicate", "object", "source", "confidence", "extractor").sort(
        "subject"
    )
    name = extractor_of(model)
    assert [row[:4] for row in shown.rows()] == [
        ("API", "limit", "60", "tool_result"),
        ("Ana", "has_pet", "2 cats", "user_said"),
        ("user", "lives_in", "Lisbon", "user_said"),
    ]
    assert shown["confidence"].to_list() == pytest.approx([0.4, 0.9, 0.9])
    assert shown["extractor"].unique().to_list() == [name]
    assert name.startswith("model:scripted@claims-")
    assert refused["reason"].to_list() == ["unknown_predicate"]
    assert pending == []


@given(st.permutations(range(3)))
def test_the_order_of_rows_changes_no_claim(order):
    model = Scripted(json.dumps({"claims": [GOOD]}))
    first = extract_with(model, episodes(), Policy(), words)
    again = extract_with(model, episodes(*[ROWS[i] for i in order]), Policy(), words)
    assert first.claims.equals(again.claims)


def test_the_instructions_name_every_predicate():
    (made,) = claim_requests(episodes(), Policy().claims, words)
    assert all(f"- {name}: " in made.request.system for name in BY_NAME)
    assert "<turns>" in made.request.system


ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.sampled_from(["e1", "Lisbon", "user"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*GOOD]), inner, max_size=12),
    max_leaves=14,
)


@given(st.lists(ANY, max_size=4))
def test_whatever_a_model_answers_each_claim_is_kept_or_refused_once(items):
    found, refused, _ = read(text=json.dumps({"claims": items}))
    noted = [
        r for r in refused["reason"].to_list() if r not in ("answer_not_finite", "answer_lone_surrogate")
    ]
    assert found.height + len(noted) == len(items)
