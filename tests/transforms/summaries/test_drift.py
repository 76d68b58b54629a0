"""Summaries of summaries: five nights on which sources go, and what may be carried over."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.summaries.made import FEW, NONE, NOON, chars, episodes, policy
from transforms.summaries.summarise import summarise

SAID = [
    "We decided to take the smaller room for May.",
    "I prefer a window seat on the train.",
    "The import failed: the file has no header.",
    "Root cause: the clock of the terminal stood at 2019.",
    "I love strong coffee in the morning.",
    "We agreed on Friday 12 June for the move.",
    "Lesson learned: call the bank before paying.",
    "I never eat peanuts or cashews.",
    "Next time we book the quiet coach.",
    "We chose Porto over Lisbon.",
]
WHOLE = episodes(*[("user", text) for text in SAID])


def night(held: pl.DataFrame, previous: pl.DataFrame, gone: list[str], **limits: Any) -> pl.DataFrame:
    return summarise(held, previous, policy(**limits), chars, pl.Series(gone, dtype=pl.String))


def sentences(summary: pl.DataFrame) -> list[dict[str, Any]]:
    return list(json.loads(summary["sentences"][0]))


def test_five_nights_with_sources_disappearing() -> None:
    previous, gone, told = NONE, [], dict(WHOLE.select("episode_id", "content").iter_rows())
    kept: set[str] = set()
    for at in range(5):
        held = WHOLE.filter(~pl.col("episode_id").is_in(gone)).head(4 + at)
        summary = night(held, previous, gone, max_sentences=6)
        assert summary["missing_source_count"][0] == len(gone)
        assert summary["source_refs"][0].to_list() == sorted({*gone, *held["episode_id"]})
        found = sentences(summary)
        # Word for word what the episode said, whether it is still there or not.
        assert all(told[s["episode_id"]] == s["text"] for s in found)
        lost = {s["text"] for s in found if s["episode_id"] in gone}
        # What rests on lost episodes stood in the summary of the night before: nothing comes back.
        assert lost <= kept
        kept = {s["text"] for s in found}
        again = night(held, summary, gone, max_sentences=6)
        assert again.equals(summary)
        previous, gone = summary, [*gone, f"e{at:02}"]
    assert lost


def test_an_erased_source_takes_its_sentences_with_it() -> None:
    first = night(WHOLE.head(4), NONE, [])
    held = WHOLE[2:4]
    second = night(held, first, ["e01"])  # e00 was erased
    assert second["source_refs"][0].to_list() == ["e01", "e02", "e03"]
    assert second["missing_source_count"].to_list() == [1]
    assert "smaller room" not in second["text"][0]
    assert "window seat" in second["text"][0]
    third = night(held, second, [])  # now e01 is erased, too
    assert third.equals(summarise(held, NONE, FEW, chars))


def test_a_topic_whose_episodes_all_expired_keeps_its_words_and_one_erased_has_none() -> None:
    first = night(WHOLE.head(2), NONE, [])
    nobody = WHOLE.clear()
    second = night(nobody, first, ["e00", "e01"])
    assert second["text"].to_list() == first["text"].to_list()
    assert second["missing_source_count"].to_list() == [2]
    assert night(nobody, second, ["e00", "e01"]).equals(second)
    assert night(nobody, first, []).is_empty()
    assert night(nobody, first, ["e01"])["source_refs"].to_list() == [["e01"]]


def test_lost_sources_count_towards_trust_privacy_span_and_agent() -> None:
    private = WHOLE.head(3).with_columns(
        trust=pl.Series([0.4, 1.0, 1.0], dtype=pl.Float32),
        sensitivity=pl.Series(["restricted", "normal", "normal"]),
        agent_id=pl.Series(["h", "g", "g"]),
    )
    first = night(private, NONE, [])
    second = night(private[1:], first, ["e00"])
    assert second.select("trust", "sensitivity", "agent_id").equals(
        first.select("trust", "sensitivity", "agent_id")
    )
    assert second["first_event_at"].to_list() == [NOON]
    erased = night(private[1:], first, [])
    assert erased.select("trust", "sensitivity", "agent_id").rows() == [(1.0, "normal", "g")]
    assert erased["first_event_at"].to_list() == [NOON + timedelta(days=1)]


def test_what_asked_to_expire_is_not_carried_over() -> None:
    due = datetime(2026, 7, 1, tzinfo=UTC)
    frame = WHOLE.head(3).with_columns(
        expires_at=pl.Series([due, None, None], dtype=WHOLE["expires_at"].dtype)
    )
    second = night(frame[1:], night(frame, NONE, []), ["e00"])
    assert "smaller room" not in second["text"][0]
    assert second["expires_at"].to_list() == [None]


def test_an_episode_that_moved_to_another_topic_is_not_carried_over() -> None:
    first = night(WHOLE.head(3), NONE, [])
    moved = WHOLE.head(3).with_columns(topic_id=pl.Series(["x", "t", "t"]))
    second = night(moved, first, ["e00"])  # a stale list: the episode is there
    assert second.filter(topic_id="t")["source_refs"].to_list() == [["e01", "e02"]]
    assert second.filter(topic_id="x")["missing_source_count"].to_list() == [0]


def test_a_carried_sentence_may_lose_its_place_to_a_better_one() -> None:
    dull = episodes(("user", "The kettle in the hall is grey."), *[("user", text) for text in SAID[:1]])
    first = night(dull, NONE, [], max_sentences=2)
    held = pl.concat([dull[1:], episodes(*[("user", t) for t in SAID[1:4]], prefix="f")])
    second = night(held, first, ["e00"], max_sentences=2)
    assert "kettle" in first["text"][0]
    assert "kettle" not in second["text"][0]
    assert second["missing_source_count"].to_list() == [1]


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.integers(1, 10)), max_size=4
    ),
    st.integers(1, 5),
)
def test_nothing_rests_on_what_was_erased_or_never_quoted(
    nights: list[tuple[set[int], set[int], int]], limit: int
) -> None:
    previous, expired, erased = NONE, set[str](), set[str]()
    for leaves, goes, arrived in nights:
        here = {f"e{i:02}" for i in range(arrived)}
        erased |= {f"e{i:02}" for i in goes} & here
        expired |= {f"e{i:02}" for i in leaves} & here
        held = WHOLE.head(arrived).filter(~pl.col("episode_id").is_in([*expired, *erased]))
        gone = sorted(expired - erased)
        before = previous
        previous = night(held, before, gone, max_sentences=limit)
        assert night(held, previous, gone, max_sentences=limit).equals(previous)
        for row in previous.iter_rows(named=True):
            living = set(held["episode_id"])
            assert not erased & set(row["source_refs"])
            quoted = {s["episode_id"] for s in json.loads(row["sentences"])}
            old = {s["episode_id"] for r in before["sentences"] for s in json.loads(r)}
            assert quoted <= living | (set(gone) & old)
            assert row["missing_source_count"] == len(set(row["source_refs"]) - living)
