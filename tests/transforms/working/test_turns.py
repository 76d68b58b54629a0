from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.working.made import WORDS, row, rows
from transforms.working.rows import Row
from transforms.working.turns import Cut, answers, cut, cuttable, groups


def places(words: str, most: int) -> Cut:
    return cut(rows(words), most, 1_000_000)


@pytest.mark.parametrize(
    ("words", "most", "start", "head"),
    [
        ("u a u a u a", 6, 0, None),
        ("u a u a u a", 5, 2, None),  # whole turns leave
        ("u a u a u a", 4, 2, None),
        ("u a u a u a", 3, 4, None),
        ("u a u c1 r1 a", 3, 5, 2),  # the newest turn is too long: its opening stays
        ("u a u c1 r1 a", 2, 5, 2),
        ("u c1 a r1 a", 3, 4, 0),  # never between the call and its result
        ("u c1 c2 r1 r2 a", 4, 5, 0),  # nor between parallel ones
        ("u c1 u r1 u a", 3, 4, None),  # a late result ties its turns together
        ("u c1 u r1 a", 2, 4, 2),
        ("u a c1", 2, 2, 0),
        ("u a c1 c2 a", 2, 2, 0),  # calls in work wait for their results, whatever the limit
        ("a a a a", 2, 2, None),
        ("r9 a u a", 3, 2, None),
        ("c1 r1 c1 r1", 2, 2, None),  # an id that is used again
        ("", 3, 0, None),
    ],
)
def test_where_a_window_begins(words: str, most: int, start: int, head: int | None) -> None:
    assert places(words, most) == Cut(start, head)


def test_tokens_limit_it_too() -> None:
    long = row(1, "u", content="x" * 4_000)
    assert cut([row(0, "u"), long, row(2, "u")], 15, 1_012) == Cut(1)
    assert cut([row(0, "u"), long, row(2, "u")], 15, 900) == Cut(2)
    assert cut([long], 15, 10) == Cut(0)  # the newest turn stays, whatever its size


def plain_answers(held: list[Row]) -> dict[int, int]:
    """The rule told the slow way: for each result, look back."""
    taken: set[int] = set()
    found: dict[int, int] = {}
    for place, one in enumerate(held):
        if not one.is_result:
            continue
        calls = [
            n
            for n in range(place)
            if held[n].is_call and not held[n].is_answered and held[n].link == one.link and n not in taken
        ]
        if one.link is None:
            turn = max((n for n in range(place) if held[n].is_opening), default=-1)
            calls = [n for n in calls if n > turn][:1]
        if calls:
            taken.add(calls[-1])
            found[place] = calls[-1]
    return found


@given(WORDS)
def test_results_find_their_calls(words: list[str]) -> None:
    held = rows(" ".join(words))
    assert answers(held) == plain_answers(held)


@given(WORDS, st.integers(1, 12), st.integers(1, 60))
def test_no_window_splits_a_call_from_its_result(words: list[str], most: int, tokens: int) -> None:
    held = rows(" ".join(words))
    made = cut(held, most, tokens)
    shown = {one.id for one in made.shown(held)}
    for result, call in answers(held).items():
        assert (held[result].id in shown) == (held[call].id in shown)
    assert [one.id for one in made.left(held)] == [one.id for one in held if one.id not in shown]


@given(WORDS, st.integers(1, 12))
def test_a_window_is_as_long_as_may_be(words: list[str], most: int) -> None:
    """Within the limit where any place allows it, and no longer one that also does."""
    held = rows(" ".join(words))
    made = cut(held, most, 1_000_000)
    free = cuttable(held)
    turns = [n for n, one in enumerate(held) if free[n] and (n == 0 or one.is_opening)]
    fitting = [n for n in turns if len(held) - n <= most]
    if fitting:
        assert made == Cut(fitting[0])
    elif held:
        size = len(made.shown(held))
        rest = [n for n in range(turns[-1] + 1, len(held)) if free[n]]
        assert size <= most or made.start == (rest[-1] if rest else turns[-1])


@given(WORDS, st.integers(1, 12))
def test_what_is_left_stays_left(words: list[str], most: int) -> None:
    """A window of what a window shows leaves nothing more, unless it is over the limit."""
    held = rows(" ".join(words))
    shown = cut(held, most, 1_000_000).shown(held)
    assert len(shown) > most or cut(shown, most, 1_000_000).left(shown) == []


@given(WORDS, WORDS, st.integers(1, 9))
def test_groups_do_not_depend_on_when(words: list[str], more: list[str], least: int) -> None:
    held = rows(" ".join(["u", *words, "u", *more]))
    first = groups(held[: 1 + len(words)], least)
    assert groups(held, least)[: len(first)] == first
    assert all(len(group) >= least for group in groups(held, least))
    told = [row for group in groups(held, least) for row in group]
    assert told == held[: len(told)]
    assert all(group[0].is_opening for group in groups(held, least))
