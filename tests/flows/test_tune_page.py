"""The page of a tuning: verdict first, nothing fetched, all escaped, and no number that its JSON lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

from flows import tune_page
from flows.html_pages import UNKNOWN, count, instant, share, size
from flows.tune_page import record_html, tune_html
from flows.tune_record import MOST_POINTS, by_week, drawn_trials, tune_record
from tests.flows.tuned import KEYS, LIFE, RECENCY, START, answers, trials, tuning, weeks
from transforms.tuning import result


class Page(HTMLParser):
    """Text outside of charts and rules, tags, and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.inside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.inside += tag in ("svg", "style", "title")
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag in ("svg", "style", "title")

    def handle_data(self, data: str) -> None:
        if not self.inside and data.strip():
            self.text.append(data)


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    return page


def values_of(record: Any) -> list[Any]:
    if isinstance(record, Mapping):
        return [v for part in (*record.keys(), *record.values()) for v in values_of(part)]
    if isinstance(record, list):
        return [v for part in record for v in values_of(part)]
    return [record]


def forms(value: Any) -> set[str]:
    """Every way in which the page writes a value."""
    if isinstance(value, str):
        return {value, instant(value), instant(value)[:10]}
    if isinstance(value, bool) or value is None:
        return set()
    told = {f"{value:.3f}", f"{value:.1f}", f"{value:+.3f}", f"{value:g}", str(value), f"{100 * value:g}"}
    return told | {count(value), share(value), size(value)}


def numbers(text: str) -> list[str]:
    return re.findall(r"[-+]?\d[\d\u202f]*(?:\.\d+)?", text)


def test_every_number_of_the_page_is_in_its_record() -> None:
    record = json.loads(json.dumps(tune_record(tuning(), answers()), allow_nan=False))
    told = {number for value in values_of(record) for form in forms(value) for number in numbers(form)}
    shown = [number for text in parsed(record_html(record)).text for number in numbers(text)]
    assert len(shown) > 300
    assert [number for number in shown if number not in told] == []


def test_the_page_is_one_file_that_fetches_nothing_and_escapes_all() -> None:
    text = tune_html(tuning(), answers())
    page = parsed(text)
    assert page.addresses == []
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed"}
    assert not re.search(r"https?:|url\(|@import|@font-face", text)
    assert "default-src 'none'" in text
    shown = " ".join(page.text)
    for hostile in ("<script>alert()</script>", "<img src=x>", "<b>zeta</b>"):
        assert hostile in shown
    assert text.count("<svg") == 5
    assert text.count("size: A4") == 1


def test_the_verdict_stands_first_and_says_which() -> None:
    for is_recommended, colour in ((True, "good"), (False, "warn")):
        result_of = tuning(is_recommended=is_recommended)
        page = tune_html(result_of, [])
        text = parsed(page).text
        assert f'<div class="outcome {colour}">' in page
        assert text.index(result_of.verdict) < text.index("What changes in the policy")
        assert text.index(result_of.warnings[0]) < text.index("What changes in the policy")
        assert any("conversation = 30.0" in part for part in text) is is_recommended


def test_changes_are_told_from_what_to_what() -> None:
    record = tune_record(tuning(), [])
    assert record["changes"] == [
        {"key": LIFE, "current": "7", "best": "30"},
        {"key": RECENCY, "current": "0.3", "best": "0.15"},
    ]
    never = tuning(best=result.Measured(1, {LIFE: None}, {"ndcg": 0.5}, {"ndcg": 0.5}))
    assert tune_record(never, [])["changes"] == [{"key": LIFE, "current": "7", "best": "never"}]
    assert "never" in parsed(tune_html(never, [])).text


def test_a_key_that_no_trial_has_is_told_as_not_stated() -> None:
    best = result.Measured(1, {"recall.weights.type": 0.1}, {"ndcg": 0.5}, {"ndcg": 0.5})
    told = tune_record(tuning(best=best), [])["changes"]
    assert told == [{"key": "recall.weights.type", "current": UNKNOWN, "best": "0.1"}]


def test_lifetimes_are_told_in_days_and_hours() -> None:
    life, kind = "retention.medium_term_seconds", "retention.by_kind_seconds.fact"
    tried = trials().with_columns(pl.lit(7_776_000.0).alias(life), pl.lit(None, pl.Float64).alias(kind))
    best = result.Measured(1, {life: 172_800.0, kind: 3_600}, {"ndcg": 0.5}, {"ndcg": 0.5})
    knobs = pl.DataFrame([(life, 0.1, 0.5, 0.6, "never", "7.776e+06")], result.KNOBS, orient="row")
    sweep = pl.DataFrame([(life, 7_776_000.0, "7.776e+06", 0.6, True)], result.SWEEP, orient="row")
    told = tune_record(tuning(trials=tried, keys=(life, kind), best=best, knobs=knobs, sweep=sweep), [])
    assert told["changes"] == [
        {"key": kind, "current": "never", "best": "1 h"},
        {"key": life, "current": "90 days", "best": "2 days"},
    ]
    assert (told["knobs"][0]["at_most"], told["knobs"][0]["held"]) == ("never", "90 days")
    assert (told["sweep"][0]["value"], told["sweep"][0]["told"]) == (7_776_000.0, "90 days")


def test_trials_of_the_front_say_what_they_change() -> None:
    record = tune_record(tuning(), [])
    tried = {row["trial"]: row for row in tuning().trials.iter_rows(named=True)}
    assert len(record["pareto"]) >= 3
    for row in record["pareto"]:
        mine = {k: tried[row["trial"]][k] for k in KEYS}
        differing = {k for k in KEYS if mine[k] != tried[0][k]}
        assert set(row["changes"]) == differing


def test_a_policy_that_was_tried_twice_stands_on_the_front_once() -> None:
    once = tuning()
    twin = once.trials.filter("is_pareto").with_columns(pl.col("trial") + 5_000)
    twice = tuning(trials=pl.concat([once.trials, twin]))
    assert tune_record(twice, [])["pareto"] == tune_record(once, [])["pareto"]


def test_what_is_not_there_leaves_its_part_out() -> None:
    nothing: dict[str, Any] = {
        name: pl.DataFrame(schema=getattr(result, name.upper()))
        for name in ("finalists", "sweep", "knobs", "heat", "weeks", "slices")
    }
    bare = tuning(is_recommended=False, has_bytes=False, constraints={}, warnings=(), notes=(), **nothing)
    page = parsed(tune_html(bare, []))
    heads = ("Half-life and weight of recency", "Which key matters", "Who gains, who loses")
    assert not set(heads) & set(page.text)
    assert set(heads) <= set(parsed(tune_html(tuning(), [])).text)
    assert "No limit was set." in page.text
    assert any("No call of the later span has another nDCG@10" in text for text in page.text)


def test_the_best_being_the_current_policy_is_told() -> None:
    same = tuning(is_recommended=False, best=tuning().current)
    assert any("none was better than the current policy" in text for text in parsed(tune_html(same, [])).text)


def test_long_texts_and_long_tables_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    long = answers(1)
    long[0]["query"] = "word " * 500
    text = parsed(tune_html(tuning(), long)).text
    assert max(len(part) for part in text if part.startswith("word")) <= tune_page.QUERY_CHARS
    assert max(len(part) for part in text if part.startswith("<img")) <= tune_page.TEXT_CHARS
    monkeypatch.setattr(tune_page, "MOST_ROWS", 1)
    shown = " ".join(parsed(tune_html(tuning(), [])).text)
    assert "the first 1 of 3" in shown
    assert "<b>zeta</b>" not in shown


def test_changes_of_one_section_name_it_once() -> None:
    changes = {
        "recall.weights.type": "0.1",
        "decay.half_life_days.fact": "9",
        "recall.weights.recency": "0.2",
    }
    assert tune_page._grouped(changes) == {
        "recall.weights": {"type": "0.1", "recency": "0.2"},
        "decay.half_life_days": {"fact": "9"},
    }


def test_a_week_in_which_the_spans_meet_is_one_point() -> None:
    by = by_week(weeks())
    assert by["week_at"].to_list() == sorted(set(weeks()["week_at"]))
    assert by["span"].to_list() == ["train"] * 8 + ["train and test"] + ["test"] * 3
    rows = pl.DataFrame(
        [(START, "train", 1, 0.0, 0.4), (START, "test", 3, 1.0, 0.8)], schema=result.WEEKS, orient="row"
    )
    assert by_week(rows).select("calls", "current", "best").row(0) == (4, 0.75, pytest.approx(0.7))


def test_a_chart_of_many_trials_keeps_the_front_the_current_and_the_best() -> None:
    many = trials(5_000)
    drawn = drawn_trials(many)
    marked = many.filter(pl.col("is_pareto") | pl.col("is_best") | (pl.col("trial") == 0))
    assert set(marked["trial"]) <= set(drawn["trial"])
    assert drawn.height <= MOST_POINTS + marked.height
    assert drawn_trials(trials(50)).height == 50


def test_the_front_of_two_is_what_no_cheaper_trial_equals() -> None:
    rows = [
        {"trial": i, "quality": q, "tokens": t, "is_feasible": ok}
        for i, (q, t, ok) in enumerate(
            [
                (0.5, 10, True),
                (0.5, 12, True),
                (0.7, 20, True),
                (0.6, 25, True),
                (0.9, 5, False),
                (0.7, 20, True),
            ]
        )
    ]
    assert tune_page._undominated(rows, "tokens") == {0, 2}


@pytest.mark.parametrize(
    ("life", "weight", "cell"),
    [
        (28.0, 0.16, (30.0, 0.15)),
        (None, 0.9, (None, 0.5)),
        (1e9, 0.0, (120.0, 0.0)),
        (4.0, 0.09, (3.0, 0.05)),
    ],
)
def test_the_cell_nearest_to_a_policy_is_framed(life: float | None, weight: float, cell: object) -> None:
    tried = trials().with_columns(
        pl.when(pl.col("trial") == 1).then(pl.lit(life, pl.Float64)).otherwise(LIFE).alias(LIFE),
        pl.when(pl.col("trial") == 1).then(weight).otherwise(RECENCY).alias(RECENCY),
    )
    found = tune_record(tuning(trials=tried), [])
    assert tuple(found["heat_best"].values()) == cell
    assert tuple(found["heat_current"].values()) == (7.0, 0.3)
    assert tune_record(tuning(keys=(RECENCY,)), [])["heat_best"] is None


def test_a_measure_that_is_no_number_is_null_and_shown_as_none() -> None:
    lost = result.Measured(0, {}, {"ndcg": 0.5, "lost": float("nan")}, {"ndcg": 0.5, "tokens": float("nan")})
    record = tune_record(tuning(current=lost), [])
    assert json.dumps(record, allow_nan=False)
    assert record["current"]["test"]["tokens"] is None
    assert "–" in parsed(record_html(record)).text
