"""The policy: frozen, closed, consistent, and hashed by every number in it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from transforms.policy import Policy, RecallPolicy, RetentionPolicy


def numbers(model: BaseModel, prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            found += numbers(value, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", value))
    return found


NUMBERS = numbers(Policy())


def test_the_published_numbers_are_the_defaults() -> None:
    policy = Policy()
    day = 86_400
    assert policy.retention.ttl_seconds() == {
        "transient": 3_600,
        "session": day,
        "short_term": 7 * day,
        "medium_term": 90 * day,
        "long_term": 365 * day,
        "permanent": 3 * 365 * day,
    }
    weights = {name: getattr(policy.recall, f"{name}_weight") for name in
               ("relevance", "recency", "importance", "frequency", "type")}  # fmt: skip
    assert weights == {"relevance": 0.35, "recency": 0.2, "importance": 0.2, "frequency": 0.1, "type": 0.15}
    assert policy.context.shares == {"working": 0.4, "semantic": 0.25, "episodic": 0.2, "procedural": 0.15}
    lives = {k: v for k, v in policy.decay.half_life_days.items() if v}
    assert lives == {
        "conversation": 7,
        "action": 7,
        "observation": 7,
        "outcome": 7,
        "summary": 30,
        "preference": 90,
    }
    assert policy.recall.duplicate_cosine == 0.92
    assert policy.publish.min_recall_ratio == 0.95


def test_a_cap_shortens_every_longer_tier() -> None:
    ttl = RetentionPolicy(user_cap_seconds=30 * 86_400).ttl_seconds()
    assert max(seconds for seconds in ttl.values() if seconds is not None) == 30 * 86_400
    assert None not in ttl.values()


def test_nothing_can_be_changed_or_added() -> None:
    policy = Policy()
    with pytest.raises(ValidationError):
        policy.recall = RecallPolicy()  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Policy.model_validate({"recall": {"recency_wieght": 1}})


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, v in NUMBERS if isinstance(v, int | float)])
def test_the_hash_changes_with_every_number(name: str, value: Any) -> None:
    changed: Any = not value if isinstance(value, bool) else value + 1
    section, field = name.split(".")
    old = Policy()
    new = old.model_copy(update={section: getattr(old, section).model_copy(update={field: changed})})
    assert new.hash() != old.hash()
    assert len(old.hash()) == 16
    assert Policy().hash() == old.hash()


def test_no_number_is_lost() -> None:
    for name, value in NUMBERS:
        assert not isinstance(value, float) or math.isfinite(value), name
