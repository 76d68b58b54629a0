"""Precision and recall of merging on labelled pairs, held to the figures that docs/facts.md shows."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

from benchmarks.merge_pairs import PARTS, Measured, measure, read_pairs, table

ROOT = Path(__file__).resolve().parents[3]


@cache
def measured() -> list[Measured]:
    return measure()


def test_the_set_is_large_and_hard_enough() -> None:
    pairs = read_pairs()
    kinds = Counter(pairs["kind"].to_list())
    assert pairs.height >= 500
    assert {"numeral", "antonym", "name", "paraphrase", "language", "negation", "code"} <= set(kinds)
    assert min(kinds.values()) >= 10
    assert pairs.select("predicate", "aspect", "left", "right").is_unique().all()
    assert set(pairs["label"]) == {"same", "different"}
    assert set(pairs["part"]) == set(PARTS)


def test_at_the_default_merges_are_right_and_many() -> None:
    at = {row.part: row for row in measured() if row.cosine == 0.92}
    assert at["first"].precision >= 0.98
    assert at["second"].precision >= 0.98
    assert at["held_out"].precision >= 0.85
    for row in at.values():
        assert row.recall >= 0.6
        assert row.precision >= row.bare_precision + 0.25


def test_a_higher_cosine_merges_less() -> None:
    for part in PARTS:
        merged = [row.merged for row in measured() if row.part == part]
        assert merged == sorted(merged, reverse=True)


def test_the_page_shows_these_figures() -> None:
    assert table(measured()) in (ROOT / "docs" / "facts.md").read_text("utf-8")
