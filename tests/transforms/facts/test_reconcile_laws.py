"""Reconciling held to a plain loop over dictionaries, and to the laws that any set of claims must keep."""

from __future__ import annotations

import json
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.facts_plain import plain_reconcile
from tests.transforms.facts.claimed import REVISIONS, SMALL, drawn_claims, frame, keyed
from transforms.facts.reconcile import Reconciled, reconcile
from transforms.predicates import SINGLE_VALUED
from transforms.schemas import DECISIONS, FACTS

SLOT = ["tenant_id", "owner", "subject_key", "predicate", "aspect"]


def folded(claims: list[dict[str, Any]]) -> Reconciled:
    held = frame(claims)
    return reconcile(held, keyed(held), SMALL)


def assert_equal(frame: pl.DataFrame, rows: list[dict[str, Any]]) -> None:
    assert frame.height == len(rows)
    for found, expected in zip(frame.to_dicts(), rows, strict=True):
        if "evidence" in found:
            found["evidence"] = json.loads(found["evidence"])
        assert set(found) == set(expected)
        for name, value in expected.items():
            if isinstance(value, dict | float):
                assert found[name] == pytest.approx(value, abs=2e-4 if name == "evidence" else 1e-6), name
            else:
                assert found[name] == value, name


@settings(max_examples=300, deadline=None)
@given(drawn_claims())
def test_as_the_plain_loop(claims: list[dict[str, Any]]) -> None:
    held = frame(claims)
    rows = held.join(keyed(held), on="claim_id").to_dicts()
    facts, decisions = plain_reconcile(rows, SMALL)
    found = folded(claims)
    assert_equal(found.facts, facts)
    assert_equal(found.decisions, decisions)
