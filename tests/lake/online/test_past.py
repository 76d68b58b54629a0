"""Answers as of the past, beside the answers that were given then."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from lake.recall import Recall
from tests.lake.recalled import NOW, job, land, make_lake, publish, reader


def test_an_answer_is_to_the_bit_the_one_that_the_index_gave_then(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    said = ["I play the violin in a hall", "the violin is old", "tea at noon", "a hall of tea and violin"]
    at = [(NOW - timedelta(hours=n)).isoformat() for n in range(1, 5)]
    rows = [{"content": text, "event_at": one} for text, one in zip(said, at, strict=True)]
    land(lake, *rows)
    publish(job(lake))

    def told(recall: Recall, query: str) -> list[Any]:
        ask: dict[str, Any] = {"tenant": "t", "user": "u", "as_of": NOW}
        context = recall.context(query, **ask)
        return [*recall.search(query, **ask), context.text, context.dropped_rows]

    queries = ["violin", "tea in a hall", "what did I say today"]
    then = [told(reader(lake), query) for query in queries]
    land(lake, {"content": "the violin is sold", "event_at": (NOW + timedelta(hours=2)).isoformat()})
    publish(job(lake, as_of=NOW + timedelta(days=1)))
    assert [told(reader(lake), query) for query in queries] == then


def test_what_landed_later_changes_no_score_of_an_unpublished_lake(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    land(lake, *({"content": f"violin lesson {n}", "event_at": NOW.isoformat()} for n in range(3)))
    ask: dict[str, Any] = {"tenant": "t", "user": "u", "as_of": NOW}
    then = list(reader(lake).search("violin", **ask))
    later = (NOW + timedelta(hours=1)).isoformat()
    land(lake, *({"content": f"violin violin {n}", "event_at": later} for n in range(5)))
    assert then
    assert list(reader(lake).search("violin", **ask)) == then
