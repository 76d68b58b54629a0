"""Needles in bytes: against a plain search for every form, at every place."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.readback.matcher import Matcher
from lake.readback.needles import CLASSES, Needles, patterns

LETTERS = st.text(alphabet="ab-. é", min_size=1, max_size=24)


def found(needles: Needles, data: bytes) -> set[tuple[str, int]]:
    return {(CLASSES[m.needle[0]], m.needle[1]) for m in Matcher(needles).find(data)}


def plain(needles: Needles, data: bytes) -> list[tuple[int, int, tuple[int, int]]]:
    """Every place of every pattern, by looking at every place."""
    return sorted(
        (at, at + len(p.data), p.needle)
        for p in patterns(needles)
        for at in range(len(data))
        if data.startswith(p.data, at)
    )


@given(st.lists(LETTERS, max_size=4), st.lists(LETTERS, max_size=4), LETTERS, st.integers(0, 9))
def test_every_place_of_every_form_is_found(
    texts: list[str], identifiers: list[str], filler: str, shift: int
) -> None:
    needles = Needles(identifiers=tuple(identifiers), texts=tuple(texts))
    parts = [*texts, filler, *reversed(identifiers), *identifiers, filler * 3, *texts]
    data = b"x" * shift + "".join(parts).encode()
    got = sorted({(s, e, p.needle) for s, e, p in Matcher(needles).raw(data)})
    assert got == sorted(set(plain(needles, data)))


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 20))
def test_an_id_is_found_wherever_it_lies(before: bytes, after: bytes, number: int) -> None:
    ids = frozenset(f"{n:032x}" for n in range(7, 200, 3))
    held = sorted(ids)[number]
    assert ("ids", number) in found(Needles(ids=ids), before + held.encode() + after)


TEXT = 'Zoë said "meet me at 5 <pm>" ✓'


@pytest.mark.parametrize(
    "form",
    [
        TEXT.encode(),
        json.dumps(TEXT).encode(),
        json.dumps(TEXT, ensure_ascii=False).encode(),
        json.dumps(TEXT).replace("\\u00eb", "\\u00EB").encode(),
        json.dumps(json.dumps(TEXT, ensure_ascii=False), ensure_ascii=False).encode(),
        html.escape(TEXT).encode(),
        quote(TEXT).encode(),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-be"),
        base64.b64encode(TEXT.encode()),
        base64.b64encode(b"12 " + TEXT.encode() + b" end"),
        base64.urlsafe_b64encode(b". " + TEXT.encode()),
    ],
)
@pytest.mark.parametrize("class_name", ["texts", "identifiers"])
def test_a_needle_is_found_in_every_form(form: bytes, class_name: str) -> None:
    needles = Needles(texts=(TEXT,)) if class_name == "texts" else Needles(identifiers=(TEXT,))
    assert found(needles, b"\x00\x01\x00 " + form + b" \xff") == {(class_name, 0)}
    assert not found(needles, b"\x00\x01\x00 " + form[: len(form) // 2] + b" \xff")


def test_a_part_of_a_long_text_is_found() -> None:
    text = " ".join(f"word{number}" for number in range(100))
    needles = Needles(texts=(text,))
    for part in (text[:80], text[-80:], text[250:480]):
        assert found(needles, part.encode()) == {("texts", 0)}
    assert not found(needles, text[70:150].encode())


@pytest.mark.parametrize(
    ("data", "is_found"),
    [
        ("ana", True),
        ("I met ana.", True),
        ('{"user_id":"ana","n":1}', True),
        ("user:ana", True),
        ("(ana)", True),
        ("ana\x00bob", True),
        ("日ana本", True),
        ("ana2", False),
        ("2ana", False),
        ("banana", False),
        ("ana_2", False),
        ("ana-2", False),
        ("ana.b", False),
        ("x@ana", False),
        ("ana@example.org", False),
        ("anaé", False),
        ("éana", False),
        ("Ana", False),
    ],
)
def test_an_identifier_ends_where_a_word_ends(data: str, is_found: bool) -> None:
    needles = Needles(identifiers=("ana",))
    assert bool(found(needles, data.encode())) == is_found
    assert bool(found(needles, f"before {data} after".encode())) == is_found


@pytest.mark.parametrize(("data", "is_found"), [("long-user-id", True), ("long-user-id2", False)])
def test_an_identifier_ends_in_every_form(data: str, is_found: bool) -> None:
    needles = Needles(identifiers=("long-user-id",))
    for form in ("utf-16-le", "utf-16-be"):
        assert bool(found(needles, f"an {data} a".encode(form))) == is_found
    for before in ("", "a ", "bc ", "def "):
        assert bool(found(needles, base64.b64encode(f"{before}{data} etc".encode()))) == is_found


def test_overlapping_needles_hide_none() -> None:
    needles = Needles(identifiers=("ana.bo", "ana", "ben"))
    assert found(needles, b"ana.bob") == set()
    assert found(needles, b"ana.bo") == {("identifiers", 0)}
    assert found(needles, b"see ana, ben") == {("identifiers", 1), ("identifiers", 2)}


def test_short_needles_are_left_out_of_compressed_bytes_and_counted() -> None:
    needles = Needles(identifiers=("ana", "x", "a-longer-id"), texts=("ok", "zebracanary"))
    matcher = Matcher(needles)
    assert len(matcher.find(b" ana zebracanary a-longer-id ")) == 3
    assert len(matcher.find(b" ana zebracanary a-longer-id ", is_packed=True)) == 2
    assert needles.searched() == {
        "ids": {"count": 0, "shortest_bytes": 0, "whole_values_only": 0},
        "identifiers": {"count": 3, "shortest_bytes": 1, "whole_values_only": 1},
        "texts": {"count": 2, "shortest_bytes": 2, "whole_values_only": 1},
    }


@given(st.lists(LETTERS, max_size=4), st.lists(LETTERS, max_size=4), st.permutations(range(8)))
def test_texts_searched_together_give_what_each_gives_alone(
    texts: list[str], identifiers: list[str], order: list[int]
) -> None:
    matcher = Matcher(Needles(identifiers=tuple(identifiers), texts=tuple(texts)))
    held = [t.encode() for t in (*texts, "", *identifiers)]
    halves = [part for data in held for part in (data[: len(data) // 2], data[len(data) // 2 :], data)]
    parts = [halves[number] for number in order if number < len(halves)]
    alone = [(number, match) for number, data in enumerate(parts) for match in matcher.find(data)]
    assert list(matcher.parts(parts)) == alone


@given(st.integers(15, 80), st.integers(1, 40), st.integers(0, 16), st.booleans())
def test_needles_that_begin_alike_are_told_apart(size: int, count: int, shift: int, is_last: bool) -> None:
    """Padded numbers share nearly all their words; each is found, and none that was not asked for."""
    made = [f"{number:0{size}d}" if is_last else f"{number:03d}".ljust(size, "0") for number in range(count)]
    ids = sorted(made[::2])
    data = b"x" * shift + "-".join(made).encode()
    got = {match.needle[1] for match in Matcher(Needles(ids=frozenset(ids))).find(data)}
    assert got == {number for number, value in enumerate(ids) if value.encode() in data}
    assert len(got) == len(ids)


@given(st.lists(st.text("ab", min_size=15, max_size=40), min_size=1, max_size=30, unique=True), st.data())
def test_alike_patterns_at_any_place_are_all_found(values: list[str], draw: st.DataObject) -> None:
    """Two letters make keys that many patterns share; against a plain search."""
    order = draw.draw(st.permutations(values))
    data = "".join(order).encode()
    needles = Needles(ids=frozenset(values))
    got = sorted({(s, e, p.needle) for s, e, p in Matcher(needles).raw(data)})
    assert got == sorted(set(plain(needles, data)))


def test_no_needles_find_nothing() -> None:
    assert Matcher(Needles()).find(b"anything" * 100) == []
    assert Matcher(Needles(texts=("", "  "), identifiers=("",), ids=frozenset({""}))).find(b"  ") == []
