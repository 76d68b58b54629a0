"""Checks of answers: on small tables where they are high and where they are not, and against slow loops."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.health import checks_answers, crowding
from transforms.health.served import served_rows, with_ends
from transforms.schemas import FACTS, INSTANT, RECALLS

AT = datetime(2026, 6, 30, 12, tzinfo=UTC)
SCHEMA = {name: RECALLS.polars[name] for name in checks_answers.CALL_COLUMNS}


def row(call: str, rank: int, memory: str = "", **fields: Any) -> dict[str, Any]:
    """A candidate of a call, returned, an hour before ``AT``."""
    plain = {
        "tenant_id": "acme", "tenant_bucket": 0, "call_id": call, "verb": "search", "route": "semantic",
        "memory_id": memory, "kind": "conversation", "rank": rank, "relevance": 0.5, "cosine": 0.5,
        "is_returned": rank > 0, "event_at": AT - timedelta(days=10), "policy_hash": "p",
        "recalled_at": AT - timedelta(hours=1),
    }  # fmt: skip
    return {**plain, **fields}


def recalls(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


def test_calls_without_an_answer_and_answers_that_hardly_are_one() -> None:
    rows = [row(f"c{n}", 1, "m", relevance=0.6) for n in range(6)]
    rows += [row("empty", 0, is_returned=False)]
    rows += [row("unused", 1, "m", is_returned=False)]
    rows += [row("weak", 1, "m", relevance=0.1), row("weak", 2, "n", relevance=0.2)]
    rows += [row("newest", 1, "m", relevance=0.0, route="recency")]  # asks about nothing
    rows += [row("restored", 1, "m", relevance=0.0, verb="restore")]
    calls = checks_answers.answers(recalls(*rows))
    assert calls.height == 10
    empty, weak = checks_answers.irrelevance(calls, 0.3, 5)
    assert (empty.value, empty.detail) == (0.2, "of 10 calls")
    assert (weak.value, weak.detail) == (pytest.approx(1 / 7), "of 7 answers to a question")
    assert [m.value for m in checks_answers.irrelevance(calls, 0.3, 11)] == [None, None]


ROWS = st.lists(
    st.builds(
        row,
        st.sampled_from("abc"),
        st.integers(0, 3),
        st.sampled_from(["m", "n"]),
        verb=st.sampled_from(["search", "context", "restore"]),
        relevance=st.floats(0, 1),
        cosine=st.none() | st.floats(-1, 1),
        is_returned=st.booleans(),
    ),
    max_size=12,
)


@given(ROWS)
def test_answers_are_those_of_a_slow_loop(rows: list[dict[str, Any]]) -> None:
    found = {r["call_id"]: r for r in checks_answers.answers(recalls(*rows)).iter_rows(named=True)}
    asked = [r for r in rows if r["verb"] != "restore"]
    assert set(found) == {r["call_id"] for r in asked}
    for call, told in found.items():
        mine = [r for r in asked if r["call_id"] == call]
        given_ = [r for r in mine if r["is_returned"] and r["rank"] > 0]
        cosines = [r["cosine"] for r in mine if r["cosine"] is not None]
        assert told["returned"] == len(given_)
        assert told["best_relevance"] == max((r["relevance"] for r in given_), default=None)
        assert told["best_cosine"] == max(cosines, default=None)


def facts(*rows: tuple[str, datetime | None]) -> pl.DataFrame:
    """Facts of acme with when they were retired."""
    schema = {n: FACTS.polars[n] for n in ("tenant_id", "fact_id", "valid_until", "retired_at")}
    return pl.DataFrame([("acme", name, at, at) for name, at in rows], schema=schema, orient="row")


def test_stale_facts_are_those_retired_before_the_call() -> None:
    served = served_rows(
        recalls(
            row("a", 1, "old", kind="fact"),
            row("b", 1, "late", kind="fact"),
            row("c", 1, "live", kind="preference"),
            row("d", 1, "gone", kind="fact"),
            row("e", 1, "old"),  # a message of that id is no fact
        ).lazy()
    )
    held = with_ends(served, facts(("old", AT - timedelta(hours=2)), ("late", AT), ("live", None)))
    judged = pl.DataFrame({"is_expired": [False, True]})
    ratio, expired, age = checks_answers.stale(served, held, judged, 3)
    assert (ratio.value, ratio.detail) == (pytest.approx(1 / 3), "of 3 served facts that are held")
    assert expired.value == 1
    assert age.value == pytest.approx(10 - 1 / 24)
    fresh = with_ends(served, facts(("old", None), ("late", None), ("live", None)))
    assert checks_answers.stale(served, fresh, judged.clear(), 3)[0].value == 0.0
    assert checks_answers.stale(served.clear(), fresh, judged.clear(), 4)[0].value is None


def test_contradictions_are_two_facts_of_one_slot_in_one_answer() -> None:
    served = served_rows(
        recalls(
            *(row("both", n, name, kind="fact") for n, name in ((1, "f1"), (2, "f2"))),
            *(row("two slots", n, name, kind="fact") for n, name in ((1, "f1"), (2, "g1"))),
            row("one", 1, "f1", kind="fact"),
            row("none", 1, "m"),
        ).lazy()
    )
    contested = pl.DataFrame(
        {"tenant_id": ["acme"] * 4, "fact_id": ["f1", "f2", "g1", "g2"], "slot": [1, 1, 2, 2]}
    )
    assert checks_answers.contradictions_served(served, contested, 4).value == 0.25
    assert checks_answers.contradictions_served(served, contested.clear(), 4).value == 0.0
    assert checks_answers.contradictions_served(served, contested, 5).value is None
    foreign = contested.with_columns(tenant_id=pl.lit("umbrella"))
    assert checks_answers.contradictions_served(served, foreign, 4).value == 0.0


def test_trust_of_what_is_served() -> None:
    trusts = pl.Series([0.4, 1.0, None, 1.0, 0.2], dtype=pl.Float64).cast(pl.Float32).cast(pl.Float64)
    assert checks_answers.low_trust_served(trusts, 0.4, 4).value == 0.5
    assert checks_answers.low_trust_served(trusts, 0.4, 5).value is None


def test_pairs_that_say_the_same() -> None:
    def answer(call: str, *vectors: tuple[float, float]) -> list[tuple[Any, ...]]:
        return [("acme", call, n, f"{call}{n}", list(v)) for n, v in enumerate(vectors, 1)]

    rows = answer("alike", (1, 0), (1, 0), (1, 0)) + answer("apart", (1, 0), (0, 1)) + answer("one", (1, 0))
    schema = {"tenant_id": pl.String, "call_id": pl.String, "rank": pl.Int32, "content_hash": pl.String,
              "vector": pl.List(pl.Float32)}  # fmt: skip
    counted = crowding.answers(pl.DataFrame(rows, schema=schema, orient="row"), 0.92)
    assert checks_answers.similar_pairs(counted, 2).value == 0.75  # three of four pairs
    assert checks_answers.similar_pairs(counted, 3).value is None


def test_a_cosine_that_falls() -> None:
    def calls(before: float, after: float) -> pl.DataFrame:
        rows = [("semantic", AT - timedelta(days=9), before)] * 5 + [("semantic", AT, after)] * 5
        rows += [("recency", AT, 0.0)] * 9 + [("semantic", AT, None)]
        schema = {"route": pl.String, "recalled_at": INSTANT, "best_cosine": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    middle = AT - timedelta(days=3)
    found = checks_answers.cosine_fall(calls(0.7, 0.4), middle, 5)
    assert (found.value, found.detail) == (pytest.approx(0.3), "5 calls after 5")
    assert checks_answers.cosine_fall(calls(0.4, 0.7), middle, 5).value == 0.0
    assert checks_answers.cosine_fall(calls(0.7, 0.4), middle, 6).value is None


def test_a_mean_that_moves() -> None:
    rng = np.random.default_rng(7)

    def cloud(centre: list[float]) -> Any:
        rows = np.array(centre) + 0.1 * rng.normal(size=(60, 3))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    here, there = cloud([1, 0, 0]), cloud([0, 1, 0])
    assert checks_answers.mean_shift(here, cloud([1, 0, 0]), 50).value == pytest.approx(0, abs=0.01)
    assert checks_answers.mean_shift(here, there, 50).value == pytest.approx(1, abs=0.1)
    assert checks_answers.mean_shift(here, -here, 50).value == pytest.approx(2, abs=0.01)
    assert checks_answers.mean_shift(here, there[:40], 50).value is None
    both = np.concatenate([here, -here])
    assert checks_answers.mean_shift(both, there, 50).value is None
