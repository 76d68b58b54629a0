"""What every rule must be."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from transforms.claims.read import read, read_tool
from transforms.claims.rule import Rule, clause_starts
from transforms.claims.rules import TOOL_RULES, USER_RULES
from transforms.predicates import BY_NAME

ALL = [*USER_RULES, *TOOL_RULES]
FLAGS = {"anywhere", "reported", "conditional", "unreal", "loose", "not_a_choice", "whole"}


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: f"{rule.predicate}-{rule.pattern[:40]}")
def test_a_rule(rule: Rule) -> None:
    known = BY_NAME[rule.predicate]
    names = rule.compiled.groupindex
    assert "o" in names
    assert not re.search(r"\{[A-Za-z]+\}", rule.compiled.pattern)
    assert all(cue == cue.lower() and cue for cue in rule.cue_set)
    assert set(rule.flags) <= FLAGS
    assert rule.operation in ("assert", "retract")
    assert rule.polarity in ("positive", "negative")
    assert known.has_aspect or not rule.aspect or rule.otherwise
    assert not known.has_aspect or rule.aspect or "a" in names or known.name == "budget"
    assert not rule.otherwise or BY_NAME[rule.otherwise]


def test_no_rule_stands_twice() -> None:
    assert len({(rule.predicate, rule.pattern, rule.operation) for rule in ALL}) == len(ALL)


def test_every_predicate_has_a_rule() -> None:
    assert {rule.predicate for rule in ALL} == set(BY_NAME)


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("I like tea", ["I like tea"]),
        ("Well, I like tea", ["Well, I like tea", "I like tea"]),
        ("He left and I like tea", ["He left and I like tea", "I like tea"]),
        ("what I like", ["what I like"]),
    ],
)
def test_clauses_start_where_somebody_begins_to_speak(text: str, starts: list[str]) -> None:
    assert [text[at:] for at in clause_starts(text)] == starts


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("Applied. pool_size = 4, max_connections = 200", {"pool_size": "4", "max_connections": "200"}),
        ("timeout=45\nretries=3\n", {"timeout": "45", "retries": "3"}),
        ("    return self.request(cast_to, opts, stream=stream, limit=5)\n", {}),
        ('"viewport": "width=device-width, initial-scale=1.0, user-scalable=yes",', {}),
        ("id=1; Domain=.example.org, Path=/; Secure", {}),
        ("for (i = 0; n < 16; n = n + 1) {", {}),
        ("shape = shape\n", {}),
    ],
)
def test_settings_are_lines_of_nothing_else(text: str, settings: dict[str, str]) -> None:
    read = read_tool(text, [rule for rule in TOOL_RULES if rule.predicate == "setting"])
    assert {reading.aspect: reading.object for reading in read} == settings


@pytest.mark.parametrize(
    ("text", "versions"),
    [("Server: nginx/1.24.0 (Ubuntu)", ["1.24.0"]), ("https://example.org/api/atlas/1.0.0/find", [])],
)
def test_a_version_is_no_part_of_an_address(text: str, versions: list[str]) -> None:
    read = read_tool(text, [rule for rule in TOOL_RULES if rule.predicate == "version"])
    assert [reading.object for reading in read] == versions


@pytest.mark.parametrize("text", ["我最喜欢吃的就是火锅。", "我喜欢的是火锅", "我喜欢火锅"])
def test_what_is_liked_is_the_thing_alone(text: str) -> None:
    found = read(text, datetime(2026, 3, 1, tzinfo=UTC), USER_RULES, ["喜欢"])
    assert [reading.object for reading in found] == ["火锅"]
