"""Facts beside newer messages in words that no rule reads: relevance decides."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from lake.online.asked import Asked
from lake.online.contested import contested
from lake.scope import Filters, Scope
from tests.transforms.columns import columns
from transforms.fact_keys import Fact, Hit
from transforms.policy import Policy
from transforms.route_effects import effect
from transforms.routing import Route
from transforms.scope_columns import ROLES, Positions, ScopeColumns

NOW = datetime(2026, 3, 20, tzinfo=UTC)
SOURCE, FACT, NEWER = 0, 1, 2


def lifts(
    newer: str, rank: float, *, source: str = "住在成都", predicate: str = "lives_in", **other: Any
) -> Any:
    """Relevance of source, fact and a newer message under the route; the fact is named in full."""
    texts = [source, "The user lives in 成都", newer]
    held = rows(texts, **other)
    names = [name.decode() for name in held.ids.tolist()]
    fact = Fact(names[FACT], "user", predicate, "", "成都", int(held.event_us[SOURCE]), (names[SOURCE],))
    route = Route("exact_key", facts=(Hit(fact.id, 1.0, "predicate", sources=fact.sources, fact=fact),))
    zeros = np.zeros(2, np.float32)
    asked = Asked("q", zeros, (Scope("t", "u"),), Filters(NOW), Policy(), 50, route=route)
    ranks = np.array([0.5, 0.4, rank])
    plain = effect(route, held, asked.policy.routing, 0)

    def payloads(places: Positions) -> list[dict[str, Any]]:
        return [{"text": texts[place], "event_at": int(held.event_us[place])} for place in places.tolist()]

    return contested(asked, held, ranks, plain, payloads).on(ranks)


def rows(texts: list[str], **other: Any) -> ScopeColumns:
    made = {
        "role": np.full(3, ROLES.index("user"), np.uint8),
        "is_derived": np.array([False, True, False]),
        "is_fresh": np.array([False, False, True]),
    }
    return columns([(None, None, text) for text in texts], **{**made, **other})


def test_a_newer_message_that_answers_as_well_as_the_source_stands_before_the_fact() -> None:
    ranks = lifts("住在昆明", 0.48)
    assert ranks[NEWER] == pytest.approx(1 - (1 - 0.48) * (1 - 0.8))
    assert ranks[FACT] == pytest.approx(0.5 * ranks[NEWER])
    assert ranks[SOURCE] == 0.5


@pytest.mark.parametrize(
    ("newer", "rank", "other"),
    [
        ("去了昆明", 0.3, {}),
        ("我住在哪里？", 0.5, {}),
        ("住在昆明", 0.48, {"is_fresh": np.zeros(3, np.bool_)}),
        ("住在昆明", -1.0, {}),
        ("住在昆明", 0.48, {"user": np.array([0, 0, 1], np.int32)}),
        ("住在昆明", 0.48, {"event_us": np.array([9, 9, 8], np.int64)}),
        ("喜欢茶", 0.5, {"predicate": "likes"}),
        ("It is nice to be in Lisbon", 0.5, {"source": "I live in 成都."}),
    ],
    ids=[
        "further",
        "question",
        "published",
        "left out",
        "another's",
        "older",
        "many values",
        "rules can read",
    ],
)
def test_what_does_not_replace_a_fact(newer: str, rank: float, other: dict[str, Any]) -> None:
    ranks = lifts(newer, rank, **other)
    assert ranks[FACT] == pytest.approx(0.8)
    assert ranks[NEWER] == rank or rank < 0
