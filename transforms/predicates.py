"""The closed list of predicates: what may be claimed, and how claims of it meet.

A single-valued predicate holds one object at a time for each subject and aspect, so a newer one
replaces the older; objects of a multi-valued one stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Predicate:
    """One predicate.

    Args:
        name: As stored.
        area: identity, work, home, family, preference, health, plan, tool, system or decision.
        meaning: One line, for the docs and for a model's instructions.
        is_single_valued: Whether a newer object replaces an older one.
        has_aspect: Whether ``aspect`` says which: which seat, which limit.
        kind: Kind of the fact it makes.
        positive: The fact as a sentence, of ``{subject}``, ``{aspect}`` and ``{object}``.
        negative: The same where it is denied.
        by_aspect: The same where the object is a phrase, as in the morning; empty where there is none.
    """

    name: str
    area: str
    meaning: str
    is_single_valued: bool
    positive: str
    negative: str
    has_aspect: bool = False
    by_aspect: str = ""
    kind: Literal["fact", "preference"] = "fact"


PREDICATES: tuple[Predicate, ...] = (
    Predicate(
        "name",
        "identity",
        "what the subject is called",
        True,
        "{subject} is called {object}",
        "{subject} is not called {object}",
    ),
    Predicate(
        "born_on",
        "identity",
        "birthday or year of birth",
        True,
        "{subject} was born on {object}",
        "{subject} was not born on {object}",
    ),
    Predicate(
        "age",
        "identity",
        "age in years",
        True,
        "{subject} is {object} years old",
        "{subject} is not {object} years old",
    ),
    Predicate(
        "comes_from",
        "identity",
        "country or town of origin",
        True,
        "{subject} comes from {object}",
        "{subject} does not come from {object}",
    ),
    Predicate(
        "speaks",
        "identity",
        "a language",
        False,
        "{subject} speaks {object}",
        "{subject} does not speak {object}",
    ),
    Predicate(
        "works_as",
        "work",
        "occupation or role",
        True,
        "{subject} works as {object}",
        "{subject} does not work as {object}",
    ),
    Predicate(
        "works_at",
        "work",
        "employer or workplace",
        True,
        "{subject} works at {object}",
        "{subject} does not work at {object}",
    ),
    Predicate(
        "reports_to",
        "work",
        "manager",
        True,
        "{subject} reports to {object}",
        "{subject} does not report to {object}",
    ),
    Predicate(
        "works_on",
        "work",
        "a project or product",
        False,
        "{subject} works on {object}",
        "{subject} does not work on {object}",
    ),
    Predicate(
        "studies",
        "work",
        "subject, course or exam being studied",
        False,
        "{subject} studies {object}",
        "{subject} does not study {object}",
    ),
    Predicate(
        "responsible_for",
        "work",
        "the person in charge of the subject: who signs, approves or owns it",
        True,
        "{object} is in charge of {subject}",
        "{object} is not in charge of {subject}",
    ),
    Predicate(
        "lives_in",
        "home",
        "town, district or country of residence",
        True,
        "{subject} lives in {object}",
        "{subject} does not live in {object}",
    ),
    Predicate(
        "located_at",
        "home",
        "address or place of a thing, branch or office",
        True,
        "{subject} is at {object}",
        "{subject} is not at {object}",
    ),
    Predicate(
        "timezone",
        "home",
        "time zone",
        True,
        "{subject} is in time zone {object}",
        "{subject} is not in time zone {object}",
    ),
    Predicate(
        "has_relative",
        "family",
        "a relative, partner or friend, as 'daughter Ana'",
        False,
        "{subject} has {object}",
        "{subject} has no {object}",
    ),
    Predicate(
        "has_pet",
        "family",
        "a pet, as 'dog Biscuit'",
        False,
        "{subject} has a pet: {object}",
        "{subject} has no pet: {object}",
    ),
    Predicate(
        "likes",
        "preference",
        "something liked; polarity false for disliked",
        False,
        "{subject} likes {object}",
        "{subject} does not like {object}",
        kind="preference",
    ),
    Predicate(
        "prefers",
        "preference",
        "the choice for an aspect: seat, drink, format, hour",
        True,
        "{subject} prefers {object} ({aspect})",
        "{subject} does not want {object} ({aspect})",
        has_aspect=True,
        by_aspect="{subject}'s {aspect}: {object}",
        kind="preference",
    ),
    Predicate(
        "habit",
        "preference",
        "what the subject does regularly",
        False,
        "{subject} usually does this: {object}",
        "{subject} does not do this: {object}",
        kind="preference",
    ),
    Predicate(
        "allergic_to",
        "health",
        "an allergen or intolerance",
        False,
        "{subject} is allergic to {object}",
        "{subject} is not allergic to {object}",
    ),
    Predicate(
        "diet",
        "health",
        "a diet or food rule, as vegetarian or no pork",
        False,
        "{subject}'s diet: {object}",
        "{subject} does not keep this diet: {object}",
    ),
    Predicate(
        "has_condition",
        "health",
        "a condition, injury or constraint of the body",
        False,
        "{subject}'s health: {object}",
        "{subject} does not have this condition: {object}",
    ),
    Predicate(
        "takes",
        "health",
        "a medicine or treatment",
        False,
        "{subject} takes {object}",
        "{subject} does not take {object}",
    ),
    Predicate(
        "plans",
        "plan",
        "something intended, with its time where named",
        False,
        "{subject} has planned: {object}",
        "{subject} has not planned: {object}",
    ),
    Predicate(
        "goal", "plan", "an aim", False, "{subject}'s goal: {object}", "No goal of {subject}: {object}"
    ),
    Predicate(
        "deadline",
        "plan",
        "date by which the subject is due",
        True,
        "{subject} is due {object}",
        "{subject} is not due {object}",
    ),
    Predicate(
        "budget",
        "plan",
        "money limit for the aspect",
        True,
        "{subject} has a budget of {object} ({aspect})",
        "{subject} has no budget of {object} ({aspect})",
        has_aspect=True,
    ),
    Predicate(
        "uses",
        "tool",
        "a tool, language, device or service",
        False,
        "{subject} uses {object}",
        "{subject} does not use {object}",
    ),
    Predicate(
        "owns", "tool", "a thing owned", False, "{subject} owns {object}", "{subject} does not own {object}"
    ),
    Predicate(
        "account",
        "tool",
        "user name or plan at the aspect, a service",
        True,
        "{subject} has the account {object} ({aspect})",
        "{subject} does not have the account {object} ({aspect})",
        has_aspect=True,
    ),
    Predicate(
        "limit",
        "system",
        "rate, quota or size limit of a system; aspect says of what",
        True,
        "{subject}: {object} ({aspect} limit)",
        "{subject} does not have the limit {object} ({aspect})",
        has_aspect=True,
    ),
    Predicate(
        "setting",
        "system",
        "configured value; aspect names the setting",
        True,
        "{subject} is set to {object} ({aspect})",
        "{subject} is not set to {object} ({aspect})",
        has_aspect=True,
    ),
    Predicate(
        "version",
        "system",
        "version in use",
        True,
        "{subject} is at version {object}",
        "{subject} is not at version {object}",
    ),
    Predicate(
        "costs",
        "system",
        "price of the subject",
        True,
        "{subject} costs {object}",
        "{subject} does not cost {object}",
    ),
    Predicate(
        "decided",
        "decision",
        "a decision taken",
        False,
        "{subject} decided: {object}",
        "{subject} did not decide: {object}",
    ),
    Predicate(
        "rule",
        "decision",
        "a standing rule that the user set",
        False,
        "{subject}'s rule: {object}",
        "No longer {subject}'s rule: {object}",
        kind="preference",
    ),
)

REMEMBERED = Predicate(
    "remembered",
    "memory",
    "a memory of another store, in its words; aspect says which, so that its next version replaces it",
    True,
    "{object}",
    "Not so: {object}",
    has_aspect=True,
)
"""Of imported memories alone: no rule reads it, and no model may claim it."""

BY_NAME: dict[str, Predicate] = {p.name: p for p in PREDICATES}
"""What may be read from words."""
ALL_BY_NAME: dict[str, Predicate] = {**BY_NAME, REMEMBERED.name: REMEMBERED}
SINGLE_VALUED: tuple[str, ...] = tuple(p.name for p in ALL_BY_NAME.values() if p.is_single_valued)
