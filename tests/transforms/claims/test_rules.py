"""What every rule must be."""

from __future__ import annotations

import re

import pytest

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
