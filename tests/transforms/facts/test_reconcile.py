"""Reconciling on small visible tables: what is decided on each claim, and the facts that come of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.transforms.facts.claimed import POLICY, claim, days, frame, keyed
from transforms.errors import LakeError
from transforms.facts.fold import RULES
from transforms.facts.reconcile import reconcile
from transforms.schemas import CLAIMS, DECISIONS, FACTS

Claims = list[dict[str, Any]]


def decided(claims: Claims) -> list[tuple[str, str]]:
    """Operation and reason of each claim, in the order given."""
    held = frame(claims)
    made = reconcile(held, keyed(held), POLICY).decisions
    rule = {row["item_id"]: (row["operation"], row["reason"]) for row in made.to_dicts()}
    return [rule[c["claim_id"]] for c in claims]


def facts(claims: Claims) -> Claims:
    """Facts in the order in which they begin."""
    held = frame(claims)
    return reconcile(held, keyed(held), POLICY).facts.sort("valid_from", "recorded_at").to_dicts()


def test_a_move_supersedes_and_both_rows_stay() -> None:
    claims = [claim(1, "Oslo", 0), claim(2, "Rome", 5, known=6)]
    assert decided(claims) == [("ADD", "new"), ("UPDATE", "superseded")]
    oslo, rome = facts(claims)
    assert (oslo["object"], oslo["valid_from"], oslo["valid_until"]) == ("Oslo", days(0), days(5))
    assert (oslo["retired_at"], oslo["retired_reason"]) == (days(6), "superseded")
    assert (oslo["superseded_by"], rome["supersedes"]) == (rome["fact_id"], oslo["fact_id"])
    assert (rome["valid_from"], rome["valid_until"], rome["retired_at"]) == (days(5), None, None)


def test_said_again_is_confirmed_and_counts_sessions_once() -> None:
    claims = [claim(n, "Oslo", n, session_id=s, confidence=0.6) for n, s in enumerate(["a", "a", "b", None])]
    assert decided(claims) == [("ADD", "new"), *[("NOOP", "confirmed")] * 3]
    (fact,) = facts(claims)
    assert (fact["support"], fact["session_count"]) == (4, 3)
    assert fact["confidence"] == pytest.approx(1 - 0.4 * 0.5**2)
    assert (fact["first_mentioned_at"], fact["last_confirmed_at"]) == (days(0), days(3))
    assert fact["claim_ids"] == [c["claim_id"] for c in claims]


def test_a_nearly_equal_object_is_merged_and_the_better_phrasing_kept() -> None:
    claims = [
        claim(1, "oslo", 0, confidence=0.7),
        claim(2, "oslo'", 1, confidence=0.7, object="Oslo, Norway"),
        claim(3, "oslo", 2, confidence=0.6, object="Oslo in the kingdom of Norway"),
    ]
    assert decided(claims) == [("ADD", "new"), ("NOOP", "merged"), ("NOOP", "confirmed")]
    (fact,) = facts(claims)
    assert (fact["object"], fact["object_key"]) == ("Oslo, Norway", "oslo'")
    assert fact["span_episode_id"] == "e2"


def test_an_inference_never_replaces_what_the_user_said() -> None:
    claims = [claim(1, "Oslo", 0)]
    claims += [claim(n, "Rome", n, source="inferred", confidence=1.0) for n in (2, 3, 4)]
    assert decided(claims)[1:] == [("NOOP", "weaker_source")] * 3
    assert [f["object"] for f in facts(claims)] == ["Oslo"]


def test_an_inference_counts_from_three_sessions_on() -> None:
    claims = [claim(n, "Oslo", n, source="inferred", confidence=0.4 + n / 10) for n in (0, 1, 2, 3)]
    claims[1]["session_id"] = claims[0]["session_id"]
    rules = [("NOOP", "supports"), ("NOOP", "supports"), ("NOOP", "supports"), ("ADD", "new")]
    assert decided(claims[:3]) == [("NOOP", "awaits_support")] * 3
    assert decided(claims) == rules
    (fact,) = facts(claims)
    assert (fact["support"], fact["session_count"], fact["source"]) == (4, 3, "inferred")
    assert (fact["valid_from"], fact["first_mentioned_at"]) == (days(3), days(0))
    assert facts(claims[:3]) == []


def test_waiting_starts_anew_when_the_slot_changes() -> None:
    waits = [claim(n, "Oslo", n, source="inferred") for n in (0, 1)]
    change = [claim(2, "", 2, operation="retract")]
    after = [claim(n, "Oslo", n, source="inferred") for n in (3, 4)]
    assert decided([*waits, *after])[2:] == [("ADD", "new"), ("NOOP", "confirmed")]
    assert decided([*waits, *change, *after])[3:] == [("NOOP", "awaits_support")] * 2


def test_tools_are_capped_and_many_of_them_consolidate_to_the_lowest() -> None:
    said = [0.4, 0.3, 0.4]
    claims = [claim(n, "Oslo", n, source="tool_result", confidence=c, trust=0.4) for n, c in enumerate(said)]
    (two,), (three,) = facts(claims[::2]), facts(claims)
    assert (two["source"], two["confidence"]) == ("tool_result", pytest.approx(0.4))
    assert (three["source"], three["confidence"]) == ("consolidated", pytest.approx(0.3))


def test_the_users_word_takes_over_what_a_tool_said() -> None:
    claims = [
        claim(1, "Oslo", 0, source="tool_result", confidence=0.4, trust=0.4),
        claim(2, "Oslo", 1),
        claim(3, "Oslo", 2, source="tool_result", confidence=0.4, trust=0.4),
    ]
    assert decided(claims)[1:] == [("UPDATE", "confirmed_by_stronger"), ("NOOP", "weaker_confirmation")]
    tool, user = facts(claims)
    assert tool["superseded_by"] == user["fact_id"]
    assert (user["trust"], user["support"], user["source"]) == (1.0, 1, "user_said")


def test_less_confident_words_of_the_same_source_change_nothing() -> None:
    claims = [claim(1, "Oslo", 0, confidence=0.8), claim(2, "Rome", 1, confidence=0.7)]
    assert decided(claims)[1] == ("NOOP", "less_confident")
    claims[1]["confidence"] = 0.8
    assert decided(claims)[1] == ("UPDATE", "superseded")
    claims.append(claim(3, "Rome", 2, confidence=0.3))  # confirmed, and the best stays the measure
    claims.append(claim(4, "Bonn", 3, confidence=0.7))
    assert decided(claims)[2:] == [("NOOP", "confirmed"), ("NOOP", "less_confident")]


def test_denial_ends_what_it_names_and_nothing_else() -> None:
    claims = [
        claim(1, "Oslo", 0),
        claim(2, "Rome", 1, polarity="negative"),
        claim(3, "Oslo", 2, polarity="negative"),
        claim(4, "Oslo", 3, polarity="negative"),
    ]
    assert decided(claims)[1:] == [
        ("NOOP", "negates_nothing"),
        ("DELETE", "negated"),
        ("NOOP", "negates_nothing"),
    ]
    (fact,) = facts(claims)
    assert (fact["valid_until"], fact["retired_reason"]) == (days(2), "negated")


def test_objects_of_a_multi_valued_predicate_stand_side_by_side_and_turn_by_themselves() -> None:
    likes = {"predicate": "likes"}
    claims = [
        claim(1, "tea", 0, **likes),
        claim(2, "rain", 1, **likes),
        claim(3, "tea", 2, polarity="negative", **likes),
    ]
    assert decided(claims) == [("ADD", "new"), ("ADD", "new"), ("UPDATE", "superseded")]
    assert [(f["object"], f["polarity"], f["retired_reason"]) for f in facts(claims)] == [
        ("tea", "positive", "superseded"),
        ("rain", "positive", None),
        ("tea", "negative", None),
    ]


def test_retraction_of_one_object_and_of_all() -> None:
    likes = {"predicate": "likes"}
    claims = [claim(n, thing, 0, **likes) for n, thing in enumerate(["tea", "rain", "jazz"])]
    one = claim(5, "tea", 1, operation="retract", **likes)
    rest = claim(6, "", 2, operation="retract", **likes)
    again = claim(7, "", 3, operation="retract", **likes)
    assert decided([*claims, one, rest, again])[3:] == [
        ("DELETE", "retracted"),
        ("DELETE", "retracted"),
        ("NOOP", "nothing_to_retract"),
    ]
    assert {f["retired_reason"] for f in facts([*claims, one, rest])} == {"retracted"}
    held = frame([*claims, one, rest])
    made = reconcile(held, keyed(held), POLICY).decisions
    evidence = json.loads(made.filter(item_id=rest["claim_id"])["evidence"][0])
    assert evidence["retired"] == 2


def test_a_tool_cannot_take_back_what_the_user_said() -> None:
    claims = [claim(1, "Oslo", 0), claim(2, "", 1, operation="retract", source="tool_result")]
    assert decided(claims)[1] == ("NOOP", "weaker_source")


def test_a_stated_end_closes_without_retiring() -> None:
    claims = [claim(1, "Oslo", 0, until=5), claim(2, "Oslo", 6), claim(3, "Rome", 8, source="tool_result")]
    assert decided(claims) == [("ADD", "new"), ("ADD", "new"), ("NOOP", "weaker_source")]
    first, second = facts(claims)
    assert (first["valid_until"], first["retired_at"]) == (days(5), None)
    assert (second["valid_until"], second["support"]) == (None, 1)
    later = [claim(1, "Oslo", 0), claim(2, "Oslo", 1, until=4), claim(3, "Oslo", 2)]
    assert [(f["valid_until"], f["support"]) for f in facts(later)] == [(days(4), 3)]


def test_late_arrivals_take_the_place_their_event_gives_them() -> None:
    claims = [claim(1, "Oslo", 0), claim(2, "Rome", 5), claim(3, "Bonn", 3, known=9)]
    assert decided(claims) == [("ADD", "new"), ("UPDATE", "superseded"), ("UPDATE", "superseded")]
    oslo, bonn, rome = facts(claims)
    assert [f["object"] for f in (oslo, bonn, rome)] == ["Oslo", "Bonn", "Rome"]
    assert (oslo["valid_until"], bonn["valid_until"]) == (days(3), days(5))
    # Rome was known when Oslo's end was learned; Bonn was never believed to be current.
    assert oslo["retired_at"] == days(5)
    assert (bonn["recorded_at"], bonn["retired_at"]) == (days(9), days(9))


def test_an_announced_change_leaves_the_old_until_it_comes() -> None:
    claims = [claim(1, "Oslo", 0), claim(2, "Rome", 1, since=30)]
    oslo, rome = facts(claims)
    assert (oslo["valid_until"], oslo["retired_at"]) == (days(30), days(30))
    assert rome["valid_from"] == days(30)


def test_at_one_instant_the_stronger_source_then_the_text_decides() -> None:
    one = [claim(1, "Rome", 0, source="tool_result", confidence=0.4), claim(2, "Oslo", 0)]
    assert decided(one) == [("NOOP", "weaker_source"), ("ADD", "new")]
    two = [
        claim(1, "Rome", 0, episode_id="e", span_start=40),
        claim(2, "Oslo", 0, episode_id="e", span_start=10),
    ]
    assert decided(two) == [("UPDATE", "superseded"), ("ADD", "new")]


def test_aspects_subjects_and_owners_do_not_meet() -> None:
    claims = [
        claim(1, "aisle", 0, predicate="prefers", aspect="seat"),
        claim(2, "tea", 1, predicate="prefers", aspect="drink"),
        claim(3, "aisle", 2, predicate="prefers", aspect="seat", subject_key="ana"),
        claim(4, "aisle", 3, predicate="prefers", aspect="seat", user_id="v"),
        claim(5, "aisle", 4, predicate="prefers", aspect="seat", tenant_id="w"),
        claim(6, "aisle", 5, predicate="prefers", aspect="seat", user_id=None),
    ]
    assert decided(claims) == [("ADD", "new")] * 6


def test_a_fact_is_as_private_and_as_trusted_as_its_least_source() -> None:
    claims = [
        claim(1, "Oslo", 0, sensitivity="personal", trust=1.0, importance=0.2, expires_at=days(9)),
        claim(2, "Oslo", 1, sensitivity="restricted", trust=0.4, importance=0.9, expires_at=days(7)),
        claim(3, "Oslo", 2, agent_id="b", expires_at=days(8)),
    ]
    (two,), (three,) = facts(claims[:2]), facts(claims)
    assert (two["sensitivity"], two["trust"], two["importance"]) == (
        "restricted",
        pytest.approx(0.4),
        pytest.approx(0.9),
    )
    assert (two["expires_at"], two["agent_id"], two["user_id"]) == (days(9), "a", "u")
    assert three["agent_id"] is None
    assert facts([*claims, claim(4, "Oslo", 3)])[0]["expires_at"] is None


def test_kind_tier_and_links_of_a_decision() -> None:
    claims = [
        claim(1, "tea", 0, predicate="likes"),
        claim(2, "tea", 1, predicate="likes", polarity="negative"),
    ]
    old, new = facts(claims)
    assert (old["kind"], old["retention_tier"], old["is_pinned"]) == ("preference", "long_term", False)
    held = frame(claims)
    made = reconcile(held, keyed(held), POLICY).decisions
    row = made.filter(item_id=claims[1]["claim_id"]).to_dicts()[0]
    assert (row["result_id"], row["other_id"]) == (new["fact_id"], old["fact_id"])
    assert json.loads(row["evidence"]) == {"confidence": 0.8, "sessions": 1, "standing_confidence": 0.8}
    assert row["decided_at"] == days(1)


def test_text_of_any_script_and_predicates_that_are_no_more() -> None:
    claims = [
        claim(1, "東京", 0),
        claim(2, "東京", 1),
        claim(3, "Łódź 🏠", 2),
        claim(4, "x", 3, predicate="gone"),
    ]
    assert [f["object"] for f in facts(claims)] == ["東京", "Łódź 🏠", "x"]


def test_nothing_in_nothing_out_in_the_tables_columns() -> None:
    empty = CLAIMS.empty()
    made = reconcile(empty, keyed(empty), POLICY)
    for found, table in ((made.facts, FACTS), (made.decisions, DECISIONS)):
        assert found.is_empty()
        assert found.schema == pl.Schema(
            {n: t for n, t in table.polars.items() if n not in ("revision", "is_removed")}
        )
    held = frame([claim(1)])
    some = reconcile(held, keyed(held), POLICY)
    assert some.facts.schema == made.facts.schema
    assert some.decisions.schema == made.decisions.schema


def test_the_page_lists_every_reason_with_its_operation() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "facts.md").read_text("utf-8")
    shown = re.findall(r"^\| `(\w+)` \| (ADD|UPDATE|DELETE|NOOP) \|", page, re.MULTILINE)
    assert sorted(shown) == sorted((reason, operation) for operation, reason in RULES)


def test_a_claim_without_group_is_a_fault() -> None:
    held = frame([claim(1), claim(2)])
    with pytest.raises(LakeError, match="1 rows have no object group"):
        reconcile(held, keyed(held.head(1)), POLICY)
