"""Terms and labels: what a reader would call the topic, in any script, the same every time."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.declarations import TEXTS
from transforms.topics.labels import labels, terms

OTHERS = pl.DataFrame(
    schema={"tenant_id": pl.String, "owner": pl.String, "topic_id": pl.String, "label": TEXTS}
)


def said(**topics: list[str]) -> pl.DataFrame:
    rows = [
        ("t", "user:u", topic, f"{topic}{i}", text)
        for topic, texts in topics.items()
        for i, text in enumerate(texts)
    ]
    return pl.DataFrame(
        rows, schema=["tenant_id", "owner", "topic_id", "episode_id", "content"], orient="row"
    )


def label_of(found: pl.DataFrame, topic: str) -> list[str]:
    return found.filter(pl.col("topic_id") == topic)["label"].to_list()[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The tomatoes have BLIGHT, what can I do?", {"tomatoes", "blight"}),
        ("Don't worry, it's 12 345 and 2026-05-01!", {"worry"}),
        ("e-mail to [REDACTED:email] about the X-ray", {"e-mail", "x-ray"}),
        ("It's Life's lake, isn't it? L’hôtel d'Odile", {"life", "lake", "hôtel", "odile"}),
        ("Ich habe die Küche geputzt", {"küche", "geputzt"}),
        ("數據庫的連接池", {"數據", "據庫", "連接", "接池"}),
        ("我的猫不肯用猫砂盆", {"猫砂", "砂盆"}),
        ("フィルムのカメラを買いました", {"フィルム", "カメラ"}),
        ("욕실 실리콘이 떨어졌어요", {"욕실", "실리콘이", "떨어졌어요"}),
        ("база данных упала", {"база", "данных", "упала"}),
        ("ﬁle ＡＢＣ", {"file", "abc"}),
        ("", set()),
        ("👍 42", set()),
    ],
)
def test_terms(text: str, expected: set[str]) -> None:
    assert set(terms(pl.DataFrame({"content": [text]}))["term"]) == expected


def test_a_term_counts_once_a_text() -> None:
    assert terms(pl.DataFrame({"content": ["rye rye Rye"]}))["term"].to_list() == ["rye"]


def test_a_label_is_what_sets_a_topic_apart() -> None:
    garden = ["prune the roses today Anna", "roses need water Anna", "compost for roses and water Anna"]
    bread = ["knead the dough Anna", "dough must rise Anna", "bake dough with water Anna"]
    found = labels(said(garden=garden, bread=bread), OTHERS, 2)
    assert label_of(found, "garden")[0] == "roses"
    assert label_of(found, "bread")[0] == "dough"
    assert "anna" not in label_of(found, "garden") + label_of(found, "bread")


def test_labels_of_topics_that_are_not_here_count_against_their_terms() -> None:
    texts = ["dough and flour", "dough and flour"]
    other = pl.DataFrame([("t", "user:u", "x", ["dough"])], schema=OTHERS.schema, orient="row")
    assert label_of(labels(said(a=texts), OTHERS, 1), "a") == ["dough"]
    assert label_of(labels(said(a=texts), other, 1), "a") == ["flour"]


def test_other_owners_do_not_matter() -> None:
    texts = ["dough and flour", "dough and flour"]
    foreign = said(b=["dough", "dough"]).with_columns(owner=pl.lit("user:v"))
    alone = labels(said(a=texts), OTHERS, 2)
    assert label_of(labels(pl.concat([said(a=texts), foreign]), OTHERS, 2), "a") == label_of(alone, "a")


def test_forms_of_one_word_stand_once_and_pairs_of_characters_are_joined() -> None:
    found = labels(
        said(a=["invoice invoices ledger", "invoice invoices ledger"], b=["数据库", "数据库"]), OTHERS, 4
    )
    assert label_of(found, "a") == ["invoice", "ledger"]
    assert label_of(found, "b") == ["数据库"]


def test_a_topic_without_terms_has_an_empty_label() -> None:
    assert label_of(labels(said(a=["12 34", "the"]), OTHERS, 4), "a") == []


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from(["loaf", "rye", "oven", "salt"]))),
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_labels_are_the_oracles_in_any_order(
    drawn: list[tuple[str, list[str]]], shuffler: random.Random
) -> None:
    topics = {topic: [" ".join(words) for t, words in drawn if t == topic] for topic in "ab"}
    rows = said(**topics)
    order = list(range(rows.height))
    shuffler.shuffle(order)
    found = dict(labels(rows[order], OTHERS, 4).iter_rows()) if rows.height else {}
    for topic, texts in topics.items():
        others = [text for other, held in topics.items() if other != topic for text in held]
        scores = {}
        for term in {word for text in texts for word in text.split()}:
            share = sum(term in text.split() for text in texts) / len(texts)
            elsewhere = sum(term in text.split() for text in others)
            scores[term] = round(share * (0.1 + math.log((1 + len(others)) / (1 + elsewhere))), 9)
        expected = sorted(scores, key=lambda term: (-scores[term], term))
        assert found.get(topic, []) == expected
