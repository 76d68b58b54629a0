"""Where sentences end, in several scripts, lists and code."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.summaries.sentences import SCHEMA, split

CASES = {
    "Rust it is. We ship on Friday!": ["Rust it is.", "We ship on Friday!"],
    "It is at v1.75.2, see docs.example.org/a.b for it.": [
        "It is at v1.75.2, see docs.example.org/a.b for it."
    ],
    "Use a store, e.g. Postgres, i.e. SQL. Done.": ["Use a store, e.g. Postgres, i.e. SQL.", "Done."],
    "Dr. J. Meier called. She said no. Then she left.": [
        "Dr. J. Meier called.",
        "She said no.",
        "Then she left.",
    ],
    "See no. 5 and fig. 3. Good.": ["See no. 5 and fig. 3.", "Good."],
    "Am 12. Mai geht es los. Bis dann.": ["Am 12. Mai geht es los.", "Bis dann."],
    "The limit is 60. Always retry.": ["The limit is 60.", "Always retry."],
    'He said "stop!" Then it stopped.': ['He said "stop!"', "Then it stopped."],
    "今日は疲れた。「行こう。」と言った！はい": ["今日は疲れた。", "「行こう。」", "と言った！", "はい"],
    "我们决定用它。下周开始？好": ["我们决定用它。", "下周开始？", "好"],
    "यह ठीक है। अब चलो।": ["यह ठीक है।", "अब चलो।"],
    "هل هذا صحيح؟ نعم.": ["هل هذا صحيح؟", "نعم."],
    "- one thing\n* two things\n1. three\n2) four": ["one thing", "two things", "three", "four"],
    "> quoted line\n# Title\n- [x] done it": ["quoted line", "Title", "done it"],
    "Run `a.b. C` now. Then wait.": ["Run `a.b. C` now.", "Then wait."],
    "Before.\n```py\nx = 1. \nY = 2\n```\nAfter.": ["Before.", "After."],
    "```never closed. Nothing": [],
    "a" * 70 + " is wrapped\nat the margin. Next.": ["a" * 70 + " is wrapped\nat the margin.", "Next."],
    "Wait... what?! Yes…": ["Wait...", "what?!", "Yes…"],
    "1. First thing. 2. Second thing.": ["First thing.", "Second thing."],
    "```x``` After it. ```y```": ["After it."],
    "": [],
    " \n\t ": [],
    "x": ["x"],
}


@pytest.mark.parametrize("text", CASES)
def test_sentences(text: str) -> None:
    assert split(pl.Series([text]), 300)["sentence"].to_list() == CASES[text]


def test_rows_numbers_and_places() -> None:
    found = split(pl.Series(["One. Two.", "", "🙂 Drei. Vier"]), 300)
    assert found.rows() == [
        (0, 0, 0, 4, "One.", False),
        (0, 1, 5, 9, "Two.", False),
        (2, 0, 0, 7, "🙂 Drei.", False),
        (2, 1, 8, 12, "Vier", False),
    ]
    assert found.schema == SCHEMA


def test_a_long_sentence_is_cut_at_a_word() -> None:
    cut = split(pl.Series(["word " * 30, "x" * 100, "short enough"]), 42)
    assert cut["sentence"].to_list() == ["word " * 7 + "word", "x" * 42, "short enough"]
    assert cut["is_cut"].to_list() == [True, True, False]
    assert split(pl.Series([], dtype=pl.String), 42).is_empty()


PIECES = [
    "Go. ",
    "No! ",
    "e.g. ",
    "Dr. ",
    "3.5 ",
    "a b",
    "。",
    "我们",
    "\n",
    "- ",
    "1. ",
    "`",
    "```",
    "🙂",
    "é",
    '"',
]


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=4))
def test_every_sentence_quotes_its_place_and_only_marks_and_code_are_left_out(texts: list[str]) -> None:
    found = split(pl.Series(texts, dtype=pl.String), 1000)
    for row, text in enumerate(texts):
        at, left = 0, []
        mine = found.filter(pl.col("row") == row)
        assert mine["number"].to_list() == list(range(mine.height))
        for start, end, sentence in mine.select("start", "end", "sentence").iter_rows():
            assert text[start:end] == sentence != ""
            assert at <= start
            left.append(text[at:start])
            at = end
        rest = re.sub(r"```.*?(```|$)", "", "\0".join([*left, text[at:]]), flags=re.DOTALL)
        assert not re.search(r"[^\W\d_](?<!\d)", re.sub("```.*", "", rest, flags=re.DOTALL))
