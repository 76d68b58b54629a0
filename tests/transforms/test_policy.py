"""The policy: frozen, closed, consistent, and hashed by every number in it."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from transforms import redact_rules
from transforms.policy import Policy
from transforms.policy_entries import MEMORY_KINDS, MEMORY_TIERS
from transforms.policy_recall import RecallPolicy
from transforms.policy_retention import RetentionPolicy
from transforms.schemas import KINDS


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
    weights = policy.recall.weights_for(None).model_dump()
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


DEFAULTS = Policy().model_dump()
PLAIN = [(n, v) for n, v in NUMBERS if (isinstance(v, int | float) and not isinstance(v, bool)) or v is None]
ENTRIES = [(f"{n}.{key}", value) for n, v in NUMBERS if isinstance(v, dict) for key, value in v.items()]
ENTRIES += [("recall.relevance_floor.model@1", 0.5)]


def changed(name: str, value: Any) -> Policy:
    """The default policy with one number replaced."""
    section, field, *entry = name.split(".", 2)
    new: Any = {**DEFAULTS[section][field], entry[0]: value} if entry else value
    return Policy.model_validate({**DEFAULTS, section: {**DEFAULTS[section], field: new}})


def test_every_number_of_the_policy_is_among_those_tried() -> None:
    assert {n for n, _ in NUMBERS} - {n for n, _ in PLAIN} == {
        "ingest.min_event_at",
        "redact.is_enabled",
        "redact.keep_kinds",
        "redact.keep_restricted_tenants",
        "importance.by_kind",
        "retention.default_tier",
        "retention.by_kind_seconds",
        "retention.conversations_tier",
        "retention.attempts_tier",
        "staleness.is_enabled",
        "facts.retention_tier",
        "skills.pattern_tier",
        "skills.retention_tier",
        "summaries.detail",
        "summaries.retention_tier",
        "decay.half_life_days",
        "decay.refresh",
        "recall.agents",
        "recall.type_bonus",
        "recall.relevance_floor",
        "recall.weights",
        "recall.max_sensitivity",
        "routing.is_enabled",
        "context.shares",
        "context.encoding",
        "tune.metric",
        "working.row_tier",
        "working.state_tier",
        "run.on_busy",
    }


@pytest.mark.parametrize(("name", "value"), PLAIN + ENTRIES)
def test_every_number_has_two_bounds_and_no_other_type(name: str, value: Any) -> None:
    assert changed(name, value) == Policy() or "relevance_floor" in name
    for wrong in (-1, 10**400, -(10**400), 1e300, math.inf, math.nan, True, "5", "", [1], {}):
        with pytest.raises(ValidationError):
            changed(name, wrong)


@pytest.mark.parametrize(
    "name", [n for n, _ in PLAIN if n.endswith("_seconds") and n.startswith("retention")]
)
def test_a_lifetime_of_nothing_is_refused_and_never_is_none(name: str) -> None:
    with pytest.raises(ValidationError):
        changed(name, 0)
    assert changed(name, 1) != Policy()
    if name == "retention.user_cap_seconds":  # every tier ends for a person
        with pytest.raises(ValidationError):
            changed(name, "never")
    else:
        assert getattr(changed(name, "never").retention, name.split(".")[1]) is None


@pytest.mark.parametrize(
    "name",
    [
        "ingest.batch_rows",
        "ingest.batch_bytes",
        "ingest.commit_rows",
        "ingest.sniff_bytes",
        "upkeep.partition_files",
        "upkeep.checkpoint_commits",
        "ingest.max_content_chars",
        "decay.frequency_scale",
        "decay.half_life_days.action",
        "embed.batch_rows",
        "embed.max_text_chars",
        "context.default_budget_tokens",
        "publish.large_scope_rows",
    ],
)
def test_zero_where_nothing_would_move_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        changed(name, 0)


def test_a_half_life_is_set_for_any_known_kind_and_may_be_never() -> None:
    for kind in MEMORY_KINDS:
        assert changed(f"decay.half_life_days.{kind}", "never").decay.half_life_days[kind] is None
        assert changed(f"decay.half_life_days.{kind}", 3).decay.half_life_days[kind] == 3.0


@pytest.mark.parametrize(
    ("place", "known"),
    [
        ("importance.by_kind", KINDS),
        ("decay.half_life_days", MEMORY_KINDS),
        ("recall.type_bonus", MEMORY_TIERS),
    ],
)
def test_tables_take_known_names_only(place: str, known: tuple[str, ...]) -> None:
    for name in known:
        changed(f"{place}.{name}", 0.5)
    for name in ("", "Action", "dream", "[key]"):
        with pytest.raises(ValidationError, match="unknown name"):
            changed(f"{place}.{name}", 0.5)


def test_shares_name_known_tiers_and_sum_to_one() -> None:
    assert changed("context.shares", {"semantic": 1}).context.shares == {"semantic": 1.0}
    for wrong in ({}, {"semantic": 0.9}, {"semantic": 1.5, "working": -0.5}, {"dream": 1.0}):
        with pytest.raises(ValidationError):
            changed("context.shares", wrong)


def test_the_kind_that_others_fall_back_on_stays() -> None:
    with pytest.raises(ValidationError, match="conversation"):
        changed("importance.by_kind", {"action": 0.5})


def test_only_kinds_that_hold_no_credential_may_be_kept() -> None:
    for kind in redact_rules.KINDS:
        if kind in redact_rules.CREDENTIAL_KINDS:
            with pytest.raises(ValidationError, match="unknown name"):
                changed("redact.keep_kinds", [kind])
        else:
            assert changed("redact.keep_kinds", [kind]).redact.keep_kinds == (kind,)


def test_the_earliest_event_has_a_zone_and_is_kept_in_utc() -> None:
    offset = timezone(timedelta(hours=2))
    found = changed("ingest.min_event_at", datetime(2010, 1, 1, tzinfo=offset)).ingest.min_event_at
    assert found.isoformat() == "2009-12-31T22:00:00+00:00"
    for wrong in (datetime(2010, 1, 1), date(2010, 1, 1), datetime(1, 1, 1, tzinfo=offset), "soon", 10**400):
        with pytest.raises(ValidationError):
            changed("ingest.min_event_at", wrong)
