"""What full-text search is asked, and the words that facts are asked for by."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lake.made import frame
from transforms.derived_memories import derived_memories, hashed, live_rows
from transforms.policy import Policy
from transforms.predicate_words import PREDICATE_WORDS
from transforms.predicates import BY_NAME
from transforms.schemas import FACTS, MEMORIES
from transforms.search_text import query_text


@pytest.mark.parametrize(
    ("asked", "searched"),
    [
        ("Where does Nadia live?", "Nadia live"),
        ("Which seat does Mira like on flights?", "seat Mira like flights"),
        ("What did I not say?", "What did I not say?"),
        ("don't", "don't"),
        ("orders-db out of slots", "orders db out slots"),
        ("鱼香茄子 怎么做", "鱼香茄子 怎么做"),
        ("où est le café", "où est le café"),
        ("birthday 🎂", "birthday  emoji1f382 "),
        ("??", "??"),
    ],
)
def test_words_that_only_make_a_question_are_not_searched(asked: str, searched: str) -> None:
    assert query_text(asked) == searched


@given(st.text(min_size=1))
def test_a_query_never_becomes_empty(query: str) -> None:
    assert query_text(query)


def test_every_predicate_has_its_words() -> None:
    assert PREDICATE_WORDS.keys() == BY_NAME.keys()
    assert all(words and words == words.lower() for words in PREDICATE_WORDS.values())


def test_a_fact_is_found_by_words_it_does_not_hold_and_shows_none_of_them() -> None:
    at = datetime(2026, 6, 30, tzinfo=UTC)
    row = {
        "fact_id": "f1",
        "kind": "fact",
        "fact": "Nadia lives in Porto",
        "predicate": "lives_in",
        "source_refs": ["e1"],
        "retention_tier": "permanent",
        "support": 1,
    }
    facts = frame(FACTS, [row]).drop("revision", "is_removed")
    served = hashed(live_rows(facts, FACTS, Policy(), at), FACTS, Policy())
    nothing = pl.DataFrame(schema={"text_hash": pl.String, "vector": pl.List(pl.Float32)})
    [memory] = derived_memories(served, nothing, FACTS).to_dicts()
    assert memory.keys() == set(MEMORIES.names)
    assert memory["text"] == "Nadia lives in Porto"
    assert memory["search_text"].startswith("Nadia lives in Porto ")
    assert "home" in memory["search_text"].split()
    assert (memory["tier"], memory["memory_id"], memory["source_refs"]) == ("semantic", "f1", ["e1"])
