"""What must agree for two objects to be one, whatever their vectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.facts.agreement import agree, signature
from transforms.facts.wording import are_forms

SAME = [
    ("aisle seat", "an aisle seat"),
    ("aisle seat", "aisle seats"),
    ("seat by the window", "window seat"),
    ("two guitars", "2 guitars"),
    ("1,000 rows", "1000 rows"),
    ("5kg", "5 kg"),
    ("black coffee without sugar", "black coffee, no sugar"),
    ("Porto, Portugal", "Porto in Portugal"),
    ("Porto", "Porto, Portugal"),
    ("Northwind Corp", "Northwind"),
    ("colourful notebooks", "colorful notebooks"),
    ("to run a marathon", "running a marathon"),
    ("e-books", "ebooks"),
    ("лыжные прогулки", "лыжная прогулка"),
    ("咖啡", "喝咖啡"),
    ("small boat", "little boat"),
]
DIFFERENT = {
    "number": ("100 requests", "1000 requests"),
    "number in words": ("two cats", "three cats"),
    "fraction": ("a half marathon", "a marathon"),
    "unit": ("30 seconds", "30 minutes"),
    "version": ("v2.1", "v2.10"),
    "id": ("AKX-1120", "AKX-1121"),
    "address": ("m.lopez@example.org", "m.lopes@example.org"),
    "code": ("enableCache", "enableTrash"),
    "path": ("/srv/data", "/srv/logs"),
    "negation": ("use metric units", "do not use metric units"),
    "contracted negation": ("answers mails", "doesn't answer mails"),
    "negation in Chinese": ("吃肉", "不吃肉"),
    "opposite": ("aisle seat", "window seat"),
    "opposite prefix": ("formal tone", "informal tone"),
    "particle": ("move in in spring", "move out in spring"),
    "day": ("meetings on Fridays", "meetings on Mondays"),
    "colour": ("red wine", "white wine"),
    "kin": ("sister Ana", "mother Ana"),
    "name": ("daughter Ana", "daughter Eva"),
    "near name": ("daughter Ana", "daughter Anna"),
    "name in front": ("New York", "York"),
    "order": ("migrate from Spark to Polars", "migrate from Polars to Spark"),
    "comparison": ("tabs over spaces", "spaces over tabs"),
    "word for word": ("oat milk", "almond milk"),
    "opposite in Spanish": ("asiento a la izquierda", "asiento a la derecha"),
    "sign of one class": ("红茶", "绿茶"),
}


@pytest.mark.parametrize(("left", "right"), SAME)
def test_phrasings_of_one_thing_agree(left: str, right: str) -> None:
    assert agree(signature(left), signature(right))


@pytest.mark.parametrize("kind", DIFFERENT)
def test_things_that_vectors_confuse_do_not(kind: str) -> None:
    left, right = DIFFERENT[kind]
    assert not agree(signature(left), signature(right))


WORDS = st.sampled_from(
    ["no", "not", "from", "to", "over", "Ana", "Eva", "new", "York", "half", "two", "2", "left", "red",
     "v2", "tea", "teas", "a@b.c", "Δ", "茶", "不", "don't", "İ", "ß"]
)  # fmt: skip
TEXT = st.lists(WORDS, max_size=4).map(" ".join) | st.text(max_size=12)


@given(TEXT, TEXT)
def test_agreement_is_mutual_and_every_text_agrees_with_itself(left: str, right: str) -> None:
    assert agree(signature(left), signature(right)) == agree(signature(right), signature(left))
    assert agree(signature(left), signature(left))


@pytest.mark.parametrize(
    ("left", "right"),
    [("hike", "hiking"), ("goes", "going"), ("running", "run"), ("city", "cities"),
     ("penicilin", "penicillin"), ("friend", "freind"), ("咖啡", "喝咖啡"), ("прогулка", "прогулки")],
)  # fmt: skip
def test_forms_of_one_word(left: str, right: str) -> None:
    assert are_forms(left, right)
    assert are_forms(right, left)


@pytest.mark.parametrize(
    ("left", "right"), [("thick", "thin"), ("oat", "goat"), ("tea", "ten"), ("salmon", "tuna")]
)
def test_other_words(left: str, right: str) -> None:
    assert not are_forms(left, right)
    assert not are_forms(right, left)
