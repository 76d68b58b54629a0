"""What is saved of an answer that is not quite JSON."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.model_json import MAX_DEPTH, salvage_items, salvage_object

CASES = {
    # text: (items, lost)
    '{"claims": [{"a": 1}, {"a": 2}]}': ([1, 2], {}),
    '[{"a": 1}]': ([1], {}),
    '{"claims": []}': ([], {}),
    '{"result": {"claims": [{"a": 1}]}}': ([1], {}),
    '[{"claims": [{"a": 1}]}]': ([1], {}),
    # cut
    '{"claims": [{"a": 1}, {"a": 2': ([1], {"cut": 1}),
    '{"claims": [{"a": 1}, {"a": "x': ([1], {"cut": 1}),
    '{"claims": [{"a": 1}, {"a': ([1], {"cut": 1}),
    '{"claims": [{"a": 1}, {"a"': ([1], {"cut": 1}),
    '{"claims": [{"a": 1}': ([1], {"cut": 1}),
    '{"claims": [{"a": 1}]': ([1], {"cut": 1}),
    '{"claims": [': ([], {"cut": 1}),
    '{"claims"': ([], {"no_json": 1}),
    "": ([], {"no_json": 1}),
    # prose and fences
    'Sure! Here {it} is [1]:\n```json\n{"claims": [{"a": 1}]}\n```\nAnything else?': ([1], {}),
    '{"claims": [{"a": 9}]} No, rather: {"claims": [{"a": 1}]}': ([1], {}),
    "I found nothing.": ([], {"no_json": 1}),
    '{"claim": [{"a": 1}]}': ([], {"no_json": 1}),
    # commas, literals, numbers
    '{"claims": [{"a": 1,}, {"a": 2},],}': ([1, 2], {}),
    '{"claims": [{"a": 1} {"a": 2}]}': ([1, 2], {}),
    '{"claims": [{"a": NaN}, {"a": -Infinity}, {"a": 1e999}]}': ([None] * 3, {"not_finite": 3}),
    '{"claims": [{"a": True}, {"a": None}, {"a": -1.5e1}]}': ([True, None, -15.0], {}),
    '{"claims": [{"a": ' + "9" * 5_000 + "}]}": ([None], {"not_finite": 1}),
    # items that are none
    '{"claims": [1, "x", [2], {"a": 1}, null]}': ([1], {"not_an_object": 4}),
    '{"claims": [{"a": 1}, {"a": oops}, {"a": 3}]}': ([1, 3], {"bad_item": 1}),
    '{"claims": [{\'a\': 1}, {"a": 2}]}': ([2], {"bad_item": 1}),
    '{"claims": [{"a": "say "hi" now"}, {"a": 2}]}': ([2], {"bad_item": 1}),
    # strings
    '{"claims": [{"a": "\\ud83d\\ude00"}, {"a": "\\ud83d"}]}': (["😀", "\ufffd"], {"lone_surrogate": 1}),
    '{"claims": [{"a": "\ud83d"}]}': (["\ufffd"], {"lone_surrogate": 1}),
    '{"claims": [{"a": "two\nlines \\" \\n \\q \\/"}]}': (['two\nlines " \n q /'], {}),
    '{"claims": [{"a": "]}{"}]}': (["]}{"], {}),
    '{"claims": [{"a": 1, "a": 2}]}': ([2], {"duplicate_key": 1}),
}


@pytest.mark.parametrize("text", CASES, ids=range(len(CASES)))
def test_what_is_saved_and_what_is_lost(text):
    items, lost = CASES[text]
    found = salvage_items(text, "claims")
    assert [item["a"] for item in found.items] == items
    assert found.lost == lost


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        '{"claims": [' + '{"a":' * 30_000,
        '{"claims": [' * 50_000,
        "{" * 50_000,
        '{"' * 30_000,
    ],
)
def test_deep_nesting_is_refused_in_linear_time(text):
    started = time.process_time()
    assert salvage_items(text, "claims").items == []
    assert time.process_time() - started < 5


def test_an_item_may_be_nested_but_not_without_end():
    for depth, kept in ((MAX_DEPTH - 3, 2), (MAX_DEPTH, 1)):
        nested = '{"a": ' + "[" * depth + "]" * depth + "}"
        assert len(salvage_items(f'{{"claims": [{nested}, {{"a": 1}}]}}', "claims").items) == kept


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
ITEMS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), max_size=4)


@given(ITEMS, st.booleans(), st.sampled_from([None, 2]), st.data())
def test_any_prefix_of_a_document_gives_a_prefix_of_its_items(items, is_ascii, indent, data):
    text = json.dumps({"claims": items, "more": 1}, ensure_ascii=is_ascii, indent=indent)
    whole = salvage_items(text, "claims")
    assert whole.items == json.loads(text)["claims"]
    assert whole.lost == {}
    cut = data.draw(st.integers(0, len(text)))
    part = salvage_items(text[:cut], "claims").items
    assert part == whole.items[: len(part)]
    # Every item that was written to its end is there: two characters close it.
    ends = [len(json.dumps({"claims": items[: n + 1]}, ensure_ascii=is_ascii)) - 2 for n in range(len(items))]
    if indent is None:
        assert len(part) == sum(end <= cut for end in ends)


@given(ITEMS, st.text(alphabet="abc .`\n:", max_size=20), st.text(alphabet="abc .`\n:", max_size=20))
def test_prose_around_changes_nothing(items, before, after):
    text = before + json.dumps({"claims": items}) + after
    assert salvage_items(text, "claims").items == items


@given(st.text(alphabet='{}[]",:\\ua1 e-', max_size=60))
def test_anything_at_all_is_read_without_an_error(text):
    salvage_items(text, "claims")
    salvage_object(text)


@pytest.mark.parametrize(
    ("text", "item", "lost"),
    [
        ('{"title": "A", "topics": ["b"]}', {"title": "A", "topics": ["b"]}, {}),
        ('So: {"title": "A", "topics": ["b", "c', {"title": "A"}, {"cut": 1}),
        ('{"title": "A', None, {"no_json": 1}),
        ("nothing", None, {"no_json": 1}),
    ],
)
def test_one_object(text, item, lost):
    found = salvage_object(text)
    assert found.items == ([] if item is None else [item])
    assert {k: v for k, v in found.lost.items() if v} == lost
