"""The rules against the labelled turns; docs/claims.md tells how the three files came about."""

from __future__ import annotations

import pytest

from tests.transforms.claims.turns import PLACE, Result, areas, figures, load, misses, score
from transforms.predicates import BY_NAME


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return score(load())


def test_there_are_enough_turns_and_hard_negatives() -> None:
    turns = load()
    assert len(turns) >= 330
    assert sum(t.section.startswith("hard") for t in turns) >= 150
    assert sum(t.is_held_out for t in turns) >= 200


def test_precision_and_recall(results: list[Result]) -> None:
    held_out = [r for r in results if r.turn.is_held_out]
    for part in (results, held_out):
        precision, recall, *_ = figures(part)
        assert precision >= 0.90
        assert recall >= 0.60


def test_hard_negatives_stay_silent(results: list[Result]) -> None:
    hard = [r for r in results if r.turn.section.startswith("hard") and not r.turn.labels]
    assert sum(bool(r.wrong) for r in hard) / len(hard) <= 0.05


def test_the_misses_in_the_repository_are_those_of_the_code(results: list[Result]) -> None:
    assert (PLACE / "misses.txt").read_text(encoding="utf-8") == misses(results)


DOCS = PLACE.parents[2] / "docs" / "claims.md"


def test_the_docs_tell_the_figures_of_the_code(results: list[Result]) -> None:
    told = DOCS.read_text(encoding="utf-8")
    for part in ([r for r in results if r.turn.is_held_out == held] for held in (False, True)):
        precision, recall, *_ = figures(part)
        assert f"| {len(part)} | {precision:.3f} | {recall:.3f} |" in told
    held_out = {area: counts for area, *counts in areas([r for r in results if r.turn.is_held_out])}
    for area, *counts in areas(results):
        cells = [area, *counts, *held_out.get(area, [0, 0, 0])]
        assert "| " + " | ".join(str(c) for c in cells) + " |" in told
    assert all(f"| `{name}` |" in told for name in BY_NAME)
