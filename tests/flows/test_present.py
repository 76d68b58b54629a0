"""Tables for a person: nothing of a trace commands the terminal, turns what is read, or hides in it."""

from __future__ import annotations

import pytest

from flows.present import plain, table
from tests.flows.lakes import Command

HOSTILE = [
    "\x1b[31mred",
    "\x9b31mred",
    "a\u202eb",
    "a\u2066b",
    "a\u200bb",
    "a\U000e0041b",
    "a\rb",
    "a\u2028b",
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_cell_holds_only_what_is_seen(text: str) -> None:
    assert plain(text).isprintable()
    assert all(char.isprintable() or char == "\n" for char in table("", ("text",), [(text,)]))


def test_an_error_that_quotes_a_hostile_name_commands_nothing(command: Command) -> None:
    said = command(
        "recall", "query", "--lake", "/nowhere/\x1b[31m\u202elake", "--tenant", "acme", "--user", "ana"
    )
    assert said.code != 0
    assert "lake" in said.err
    assert said.err.rstrip("\n").isprintable()
