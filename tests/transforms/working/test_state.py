from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.working.made import START
from transforms.working.state import LISTS, SINGLE, Change, TaskState, change_of, folded, whole

TEXTS = st.sampled_from(["a", "b", "c", "d"])
PARTS = {
    "set": st.fixed_dictionaries(
        {}, optional={**dict.fromkeys(SINGLE, st.none() | TEXTS), **dict.fromkeys(LISTS, st.lists(TEXTS))}
    ),
    "add": st.fixed_dictionaries({}, optional=dict.fromkeys(LISTS, st.lists(TEXTS))),
    "drop": st.fixed_dictionaries({}, optional=dict.fromkeys(LISTS, st.lists(TEXTS))),
}


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    return [
        Change(START + timedelta(seconds=n), **{name: draw(part) for name, part in PARTS.items()})
        for n in range(draw(st.integers(0, 6)))
    ]


def plain(made: list[Change], most: int) -> dict[str, Any]:
    """The rule told the slow way."""
    held: dict[str, Any] = {**dict.fromkeys(SINGLE), **{name: [] for name in LISTS}}
    for change in made:
        for name, value in change.set.items():
            held[name] = list(value or []) if name in LISTS else value
        for name in LISTS:
            for text in change.drop.get(name, []):
                held[name] = [t for t in held[name] if t != text]
            more = list(dict.fromkeys(change.add.get(name, [])))
            held[name] = [t for t in held[name] if t not in more] + more
            held[name] = list(dict.fromkeys(held[name]))[-most:]
    return held


@given(changes(), st.integers(1, 4))
def test_changes_fold_as_told(made: list[Change], most: int) -> None:
    state = folded(made, most).as_dict()
    state.pop("updated_at")
    assert state == plain(made, most)


@given(changes(), st.integers(1, 4))
def test_a_state_as_one_change_is_the_state(made: list[Change], most: int) -> None:
    state = folded(made, most)
    if made:
        assert folded([whole(state)], most) == state
    else:
        assert state == TaskState()


@given(changes())
def test_changes_are_kept_as_they_are(made: list[Change]) -> None:
    assert [change_of(change.as_dict()) for change in made] == made


def test_two_who_add_lose_nothing_of_each_other() -> None:
    one = Change(START, set={"goal": "x"}, add={"notes": ["one"]})
    two = Change(START, set={"current_action": "y"}, add={"notes": ["two"]})
    for made in ([one, two], [two, one]):
        state = folded(made, 10)
        assert (state.goal, state.current_action, set(state.notes)) == ("x", "y", {"one", "two"})


@pytest.mark.parametrize(
    "told",
    [{"at": "now"}, {"at": START.isoformat(), "set": {"aim": "x"}}, {"at": START.isoformat(), "add": 3}],
)
def test_what_is_no_change_is_said_so(told: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        change_of(told)


def test_a_state_without_changes_is_no_change() -> None:
    with pytest.raises(ValueError, match="without changes"):
        whole(TaskState())
    assert TaskState().is_empty
    assert TaskState(sub_tasks=("a", "b"), completed=("a",)).open_tasks == ("b",)
