from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from tests.lake.made import NOON, frame
from transforms.claims.corrections import corrected, correction_of, corrections, without_corrections
from transforms.claims.extract import extract
from transforms.facts.reconcile import reconcile
from transforms.policy import Policy
from transforms.schemas import EPISODES

FACT = {
    "fact_id": "f1",
    "subject": "user",
    "predicate": "prefers",
    "aspect": "seat",
    "polarity": "positive",
    "object": "aisle seat",
}
TOLD = json.dumps({"correction": correction_of(FACT, "window seat", "ab" * 16)})


def episode(name: str = "e1", **more: Any) -> dict[str, Any]:
    text = "I prefer a window seat on flights."
    plain = {
        "episode_id": name,
        "tenant_id": "acme",
        "user_id": "ana",
        "role": "user",
        "kind": "conversation",
        "content": text,
        "content_chars": len(text),
        "trust": 1.0,
        "source": "correction",
        "retention_tier": "long_term",
        "sensitivity": "normal",
        "metadata": TOLD,
        "event_at": NOON,
    }
    return {**plain, **more}


def episodes(*told: dict[str, Any]) -> pl.DataFrame:
    return frame(EPISODES, told)


def test_a_correction_takes_back_and_asserts() -> None:
    claims = extract(episodes(episode()), Policy()).claims
    shown = claims.sort("operation").select(
        "operation", "subject", "predicate", "aspect", "object", "source", "confidence", "valid_from"
    )
    assert shown.rows() == [
        ("assert", "user", "prefers", "seat", "window seat", "user_said", 1.0, NOON),
        ("retract", "user", "prefers", "seat", "aisle seat", "user_said", 1.0, NOON),
    ]


def test_the_words_of_a_correction_are_not_read_as_well() -> None:
    wordy = episode(content="I live in Graz and I prefer a window seat on flights.", content_chars=53)
    claims = extract(episodes(wordy), Policy()).claims
    assert claims["predicate"].unique().to_list() == ["prefers"]
    assert claims.height == 2


@pytest.mark.parametrize(
    "odd",
    [
        {"source": "jsonl"},  # whatever a file's metadata says
        {"metadata": None},
        {"metadata": "{"},
        {"metadata": "[1]"},
        {"metadata": '{"correction": {"request_id": "ab"}}'},  # of an episode: read as any other
        {"metadata": '{"correction": {"fact_id": "f1"}}'},
    ],
)
def test_anything_else_is_read_by_the_rules(odd: dict[str, Any]) -> None:
    one = episodes(episode(**odd))
    assert corrections(one) == {}
    assert without_corrections(one).equals(one)
    assert extract(one, Policy()).claims["operation"].to_list() == ["assert"]


def test_rows_depend_on_themselves_alone() -> None:
    both = episodes(
        episode("e2"), episode("e1", source="jsonl"), episode("e3", content="hi", content_chars=2)
    )
    whole = extract(both, Policy()).claims
    apart = pl.concat(
        [extract(both.filter(pl.col("episode_id") == n), Policy()).claims for n in ("e1", "e2", "e3")]
    )
    assert whole.sort("claim_id").equals(apart.sort("claim_id"))
    assert extract(both.reverse(), Policy()).claims.equals(whole)
    assert corrected(both)["episode_id"].to_list() == ["e2", "e2", "e3", "e3"]


def test_what_is_taken_back_goes_before_the_new_comes_however_near_the_two_are() -> None:
    """Also where near vectors make one object of both."""
    before = episode("e0", source="jsonl", metadata=None, event_at=NOON - timedelta(days=1))
    before |= {"content": "I prefer an aisle seat on flights.", "content_chars": 34}
    claims = extract(episodes(before, episode()), Policy()).claims
    for group in ("aisle seat", None):
        groups = claims.select("claim_id", object_group=pl.coalesce(pl.lit(group), "object_key"))
        groups = groups.with_columns(similarity=pl.lit(None, pl.Float32))
        facts = reconcile(claims, groups, Policy()).facts.sort("valid_from", "retired_at")
        shown = facts.select("object", "retired_reason").rows()
        assert sorted(shown) == [("aisle seat", "retracted"), ("window seat", None)]
