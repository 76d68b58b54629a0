from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.working.made import WORDS, rows
from transforms.working.messages import NO_RESULT, messages
from transforms.working.rows import Row
from transforms.working.turns import cut


def told(words: str) -> str:
    """Messages as words: ``u text``, ``a text``, ``calls ids``, ``= id text``."""
    lines = []
    for one in messages(rows(words)):
        if one.get("tool_calls"):
            lines.append("calls " + " ".join(call["id"] for call in one["tool_calls"]))
        elif one["role"] == "tool":
            lines.append(f"= {one['tool_call_id']} {one['content']}")
        else:
            lines.append(f"{one['role'][0]} {one['content']}")
    return " | ".join(lines)


def test_a_call_and_its_result() -> None:
    assert told("u c1 r1 a") == "u text 0 | calls 1 | = 1 text 2 | a text 3"


def test_parallel_calls_are_one_message_and_results_move_up() -> None:
    assert told("u c1 c2 a r2 r1") == "u text 0 | calls 1 2 | = 1 text 5 | = 2 text 4 | a text 3"


def test_a_missing_result_is_said_to_be_missing_once_the_turn_went_on() -> None:
    assert told("u c1 a") == f"u text 0 | calls 1 | = 1 {NO_RESULT} | a text 2"


def test_calls_at_the_end_wait() -> None:
    assert told("u c1 c2 r1") == "u text 0 | calls 1 2 | = 1 text 3"


def test_a_result_of_an_unknown_call_gets_a_bare_one() -> None:
    name = f"call_{1:032x}"[:29]
    assert told("u r9 a") == f"u text 0 | calls {name} | = {name} text 1 | a text 2"


def test_a_row_that_is_call_and_result_at_once() -> None:
    name = f"call_{1:032x}"[:29]
    assert told("u w") == f"u text 0 | calls {name} | = {name} text 1"


def check(held: list[Row], told: list[dict[str, Any]]) -> None:
    """What an endpoint asks for, and that every row is in exactly one message."""
    waiting: list[str] = []
    for one in told:
        if one["role"] == "tool":
            assert one["tool_call_id"] in waiting
            waiting.remove(one["tool_call_id"])
            continue
        assert waiting == []
        waiting = [call["id"] for call in one.get("tool_calls", ())]
        if waiting:
            assert len(set(waiting)) == len(waiting)
    calls = sum(len(one.get("tool_calls", ())) for one in told)
    answered = sum(one["role"] == "tool" for one in told)
    orphans = calls - sum(row.is_call for row in held)
    assert calls - answered == len(waiting)
    assert orphans >= 0
    texts = [one["content"] for one in told if one["content"] not in (None, NO_RESULT)]
    said = [row.content for row in held if not row.is_call or row.is_answered]
    assert sorted(texts) == sorted(said)


@given(WORDS, st.integers(1, 12))
def test_an_endpoint_takes_every_window(words: list[str], most: int) -> None:
    held = rows(" ".join(words))
    shown = cut(held, most, 1_000_000).shown(held)
    check(shown, messages(shown))


@given(WORDS)
def test_an_endpoint_takes_any_rows_at_all(words: list[str]) -> None:
    held = rows(" ".join(words))
    check(held, messages(held))
