"""What a sentence takes back: after "forget that" and its like nothing is asserted."""

from __future__ import annotations

import re

from transforms.claims.rule import Rule

_VERBS = (
    r"(?:forget|never mind|scratch|ignore|disregard|delete|erase|strike|discard|drop|unlearn|remove|unsay"
    r"|undo|cancel"
    r"|stop (?:remembering|thinking|assuming|believing)|don't (?:remember|assume|believe|save|store|note))"
)
_SAID = r"(?:said|told you|told|claimed|mentioned|stated|wrote|meant)"
_BEFORE = (
    r"(?:^\W*|[,.;:!(\u2013-] |\b(?:please|pls|and|so|ok|okay|then|just|also|now|no|sorry|you should|you "
    r"can|you may|but|try to|want you to|like you to) )"
)
_MARK = re.compile(
    rf"{_BEFORE}(?:"
    rf"{_VERBS}(?: about)?(?: the (?:fact|note|part|bit|idea|memory|entry|line|claim))?(?: saying| where)?"
    r"(?: that (?=[^\W_])|(?<=forget|ignore|cratch) (?=(?:i|i'm|i've|i'd|we|we're|we've|my|our)\b)"
    rf"| (?:what|everything|anything|all|whatever) (?:i|we)(?:'ve| have)? (?:ever )?{_SAID}"
    r"(?: before| earlier| just now)?(?: about| on| that| of)? (?=[^\W_]))"
    rf"|{_VERBS} (?:this|that|it|the following|(?:this|that|the|my) (?:note|fact|entry|line|statement|claim"
    rf"|memory))"
    r"(?: from (?:your|my|the) [\w ]{1,20})?: (?=[^\W_])"
    rf"|(?:i|we)(?:'ve| have)? never(?: ever| actually| really)? (?:said|claimed|stated|wrote|meant)(?: to"
    r" (?:you|say))?(?: that)? (?=[^\W_])|(?:i|we) (?:didn't|did not|haven't|have not)(?: ever| actually| "
    r"really)? (?:say|claim|state|write|mean|said"
    r"|claimed|stated)(?: to (?:you|say))?(?: that)? (?=[^\W_])"
    r"|(?:i|we) (?:take (?:it )?back|withdraw|retract)(?: the (?:claim|statement))?"
    rf"(?: that| what (?:i|we) {_SAID}(?: about)?)? (?=[^\W_])"
    rf"|(?:i|we) (?:was|were|am|are) wrong (?:when (?:i|we) {_SAID}|to say|in saying|about)(?: that)? "
    rf"(?=[^\W_])|(?:i|we) (?:lied|misspoke) (?:when (?:i|we) {_SAID}|about)(?: that)? (?=[^\W_])"
    r"|(?:(?:it|that)(?:'s| is| was) (?:not|no longer|never)|(?:it|that) (?:isn't|wasn't|is wrong|was "
    r"wrong)|not|no longer)(?: at all| really| actually)? (?:true|right|correct|so|the case|a fact) that "
    r"(?=[^\W_])|it(?:'s| is| was) (?:wrong|false|untrue|a mistake|an error) that (?=[^\W_])"
    r")",
    re.IGNORECASE,
)
"""``don't forget that`` is none: what stands before the verb is a clause's start or a word of the list."""
_NEW_CLAUSE = re.compile(
    r"\s*(?:[;.!?\u2013\u2014]\s|,? \bbut\b|:|,\s*(?:(?:because|since|as|now|actually|instead|please|no"
    r"|from now on|in fact|so) )*(?:i|i'm|i've|i'd|we|we're|we've|my|our|it's|it is|now|actually|in fact)\b"
    r"|,? \b(?:because|as|since|so) (?:i|i'm|i've|we|we're)\b)",
    re.IGNORECASE,
)
_PRESUPPOSED = ("has_relative", "has_pet", "name")


def taken_back(text: str) -> list[tuple[int, int]]:
    """Offsets of what a masked sentence takes back, each up to where a clause of its own starts."""
    scopes: list[tuple[int, int]] = []
    for mark in _MARK.finditer(text):
        if scopes and mark.end() < scopes[-1][1]:
            continue
        stop = _NEW_CLAUSE.search(text, mark.end())
        scopes.append((mark.end(), stop.start() if stop else len(text)))
    return scopes


def may_be_taken_back(rule: Rule) -> bool:
    """Whether a match of the rule behind "forget that" is what is taken back.

    "Forget that I no longer live in Rome" takes nothing back that a rule could name, and "forget that my
    sister Odile lives in Lyon" still means a sister.
    """
    return rule.operation == "assert" and (rule.is_anchored or rule.predicate not in _PRESUPPOSED)
