"""Reconciling held to a plain loop over dictionaries, and to the laws that any set of claims must keep."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.facts_plain import plain_reconcile
from tests.transforms.facts.claimed import NOON, SMALL, days, drawn_claim, drawn_claims, frame, keyed
from transforms.facts.belief import current
from transforms.facts.fold import REASONS, RULES
from transforms.facts.reconcile import Reconciled, reconcile
from transforms.predicates import SINGLE_VALUED
from transforms.schemas import DECISIONS, FACTS

Claims = list[dict[str, Any]]
UNIT = ["tenant_id", "owner", "subject_key", "predicate"]
SLOT = [*UNIT, "aspect"]
LAW = settings(max_examples=15, deadline=None)


def folded(claims: Claims) -> Reconciled:
    held = frame(claims)
    return reconcile(held, keyed(held), SMALL)


def assert_rows(found: pl.DataFrame, expected: Claims) -> None:
    assert found.height == len(expected)
    for row, wanted in zip(found.to_dicts(), expected, strict=True):
        if "evidence" in row:
            row["evidence"] = json.loads(row["evidence"])
        assert set(row) == set(wanted)
        for name, value in wanted.items():
            if name == "evidence":
                assert set(row[name]) == set(value)
                assert all(abs(row[name][figure] - value[figure]) < 2e-4 for figure in value), row[name]
            elif isinstance(value, float):
                assert abs(row[name] - value) < 1e-6, name
            else:
                assert row[name] == value, name


def assert_same(one: Reconciled, other: Reconciled) -> None:
    assert one.facts.equals(other.facts)
    assert one.decisions.equals(other.decisions)


@settings(max_examples=60, deadline=None)
@given(drawn_claims())
def test_as_the_plain_loop(claims: Claims) -> None:
    held = frame(claims)
    facts, decisions = plain_reconcile(held.join(keyed(held), on="claim_id").to_dicts(), SMALL)
    found = folded(claims)
    assert_rows(found.facts, facts)
    assert_rows(found.decisions, decisions)


def test_many_claims_meet_every_rule_as_in_the_plain_loop() -> None:
    rng = random.Random(5)
    claims = [drawn_claim(rng, number) for number in range(3_000)]
    held = frame(claims)
    facts, decisions = plain_reconcile(held.join(keyed(held), on="claim_id").to_dicts(), SMALL)
    found = folded(claims)
    assert_rows(found.facts, facts)
    assert_rows(found.decisions, decisions)
    counts = Counter(found.decisions["reason"].to_list())
    assert set(counts) == set(REASONS)
    assert min(counts.values()) >= 5
    made = found.decisions.select("operation", "reason").unique().rows()
    assert set(made) <= set(RULES)


@LAW
@given(drawn_claims(), st.randoms(use_true_random=False))
def test_the_order_of_rows_is_of_no_meaning(claims: Claims, shuffler: random.Random) -> None:
    mixed = claims.copy()
    shuffler.shuffle(mixed)
    assert_same(folded(mixed), folded(claims))


@LAW
@given(drawn_claims(), st.randoms(use_true_random=False))
def test_seven_nights_are_as_one(claims: Claims, rng: random.Random) -> None:
    """A night folds what it touches, with all that was claimed of it before, and replaces what stood."""
    held = frame(claims)
    facts, decisions = FACTS.empty(), DECISIONS.empty()
    facts, decisions = facts.drop("revision", "is_removed"), decisions.drop("revision", "is_removed")
    night = pl.Series([rng.randrange(7) for _ in claims], dtype=pl.Int64)
    for number in range(7):
        touched = held.filter(night == number).select(UNIT).unique()
        seen = held.filter(night <= number).join(touched, on=UNIT, how="semi")
        part = reconcile(seen, keyed(seen), SMALL)
        facts = pl.concat([facts.join(touched, on=UNIT, how="anti"), part.facts])
        decisions = pl.concat([decisions.join(part.decisions, on="item_id", how="anti"), part.decisions])
    assert_same(
        Reconciled(facts.sort(FACTS.sort_by), decisions.sort(DECISIONS.sort_by)),
        folded(claims),
    )


@LAW
@given(drawn_claims())
def test_each_claim_ends_in_one_decision_and_each_fact_rests_on_claims_of_its_owner(claims: Claims) -> None:
    found = folded(claims)
    by_id = {c["claim_id"]: c for c in claims}
    assert sorted(found.decisions["item_id"]) == sorted(by_id)
    assert found.facts["fact_id"].is_unique().all()
    rests = Counter(found.facts["claim_ids"].explode(keep_nulls=False, empty_as_null=False))
    assert set(rests.values()) <= {1}
    for fact in found.facts.to_dicts():
        assert fact["claim_ids"]
        for name in SLOT:
            assert {by_id[c][name] for c in fact["claim_ids"]} == {fact[name]}
        assert fact["trust"] == pytest.approx(min(by_id[c]["trust"] for c in fact["claim_ids"]))
        assert fact["source_refs"] == sorted({by_id[c]["episode_id"] for c in fact["claim_ids"]})
    rule = {d["item_id"]: d["reason"] for d in found.decisions.to_dicts()}
    lineage = {"new", "superseded", "confirmed_by_stronger", "confirmed", "merged"}
    assert {c for c, reason in rule.items() if reason in lineage} <= set(rests)
    assert set(rests) <= {c for c, reason in rule.items() if reason in {*lineage, "supports"}}


@LAW
@given(drawn_claims())
def test_one_owner_is_folded_as_if_alone(claims: Claims) -> None:
    found = folded(claims)
    for tenant, owner in sorted({(c["tenant_id"], c["owner"]) for c in claims})[:4]:
        alone = folded([c for c in claims if (c["tenant_id"], c["owner"]) == (tenant, owner)])
        mine = (pl.col("tenant_id") == tenant) & (pl.col("owner") == owner)
        assert_same(alone, Reconciled(found.facts.filter(mine), found.decisions.filter(mine)))


def instants(facts: pl.DataFrame) -> list[datetime]:
    """Every instant at which a belief can change."""
    names = ("valid_from", "valid_until", "recorded_at", "retired_at")
    return sorted({instant for name in names for instant in facts[name].drop_nulls()} | {NOON})


@LAW
@given(drawn_claims())
def test_a_single_valued_slot_holds_one_object_at_any_instant(claims: Claims) -> None:
    facts = folded(claims).facts
    single = facts.filter(pl.col("predicate").is_in(list(SINGLE_VALUED)))
    for known in instants(single):
        for asked in (days(day + 0.5) for day in (-1, 1, 3, 4, 5, 7, 9)):
            if asked <= known:
                assert current(single, known, asked).select(SLOT).is_unique().all()


@LAW
@given(drawn_claims())
def test_what_is_retired_is_not_current_and_holds_no_longer_than_it_says(claims: Claims) -> None:
    facts = folded(claims).facts
    assert (facts["retired_at"].is_null() == facts["retired_reason"].is_null()).all()
    assert (facts["valid_until"] >= facts["valid_from"]).all()
    assert (facts["retired_at"] >= facts["recorded_at"]).all()
    for at in instants(facts):
        held = current(facts, at)
        assert held.filter(pl.col("retired_at") <= at).is_empty()
        assert held.filter(pl.col("retired_at").is_null() & (pl.col("valid_until") <= at)).is_empty()


@LAW
@given(drawn_claims())
def test_chains_of_supersession_end(claims: Claims) -> None:
    facts = {f["fact_id"]: f for f in folded(claims).facts.to_dicts()}
    for fact_id, fact in facts.items():
        replaced = fact["supersedes"]
        if replaced is not None:
            assert facts[replaced]["superseded_by"] == fact_id
            assert facts[replaced]["retired_reason"] == "superseded"
        if fact["superseded_by"] is not None:
            assert facts[fact["superseded_by"]]["supersedes"] == fact_id
        seen = {fact_id}
        while replaced is not None:
            assert replaced not in seen
            seen.add(replaced)
            replaced = facts[replaced]["supersedes"]


@LAW
@given(drawn_claims(), st.integers(0, 9))
def test_a_wider_set_of_sessions_never_takes_a_fact_away(claims: Claims, day: int) -> None:
    """Said once more by the user, last of all, a fact that stands is still there, confirmed."""
    facts = folded(claims).facts
    standing = facts.filter(pl.col("retired_at").is_null() & pl.col("valid_until").is_null())
    standing = standing.filter(pl.col("source") == "user_said")
    for fact in standing.to_dicts()[:3]:
        opening = next(c for c in claims if c["claim_id"] == fact["claim_ids"][0])
        again = {**opening, "claim_id": "again", "episode_id": "again", "session_id": "again"}
        again |= {"event_at": days(100 + day), "recorded_at": days(100 + day), "operation": "assert"}
        again |= {"valid_until": None, "object_key": fact["object_key"], "polarity": fact["polarity"]}
        after = folded([*claims, again]).facts
        confirmed = after.filter(pl.col("fact_id") == fact["fact_id"]).to_dicts()[0]
        assert confirmed["support"] == fact["support"] + 1
        assert confirmed["confidence"] >= fact["confidence"] - 1e-6
        assert confirmed["last_confirmed_at"] == days(100 + day)
