"""Which facts a question names, on small invented shelves."""

from __future__ import annotations

import pytest

from tests.transforms.test_routing import known
from transforms.fact_hops import hops
from transforms.fact_keys import Hit
from transforms.named_facts import named_facts

TWO_HOPS = [
    # facts (answer last), question
    (
        "user works_at - Halden Labs",
        "Halden_Labs located_at - Leiden",
        "Where is my employer located?",
    ),
    ("user reports_to - Ines", "Ines lives_in - Porto", "Where does my boss live?"),
    ("user has_relative - sister Odile", "Odile works_at - Norvik", "Who is the employer of my sister?"),
    ("user has_relative - daughter Ana", "Ana allergic_to - nuts", "Which allergies does my daughter have?"),
    ("user has_pet - dog Biscuit", "Biscuit takes - worm pills", "Which medicine does my pet take?"),
    (
        "Odile works_at - Norvik",
        "Norvik located_at - Bergen",
        "Address of the company Odile works at?",
    ),
    ("Odile reports_to - Bo", "Bo speaks - Finnish", "Which language does the manager of Odile speak?"),
    ("user works_on - Falcon", "Falcon deadline - 3 March", "What is the deadline of my project?"),
    ("user uses - payments-api", "payments-api version - 3.2", "Which version has the tool I use?"),
    ("user has_relative - partner Noor", "Noor born_on - 3 May", "When is the birthday of my partner?"),
]
BESIDE = """
user   lives_in  - Utrecht
user   likes     - jazz
user   likes     - ramen
Kari   lives_in  - Oslo
Kari   speaks    - Norwegian
printer located_at - second floor
"""


def fact(line: str) -> str:
    subject, predicate, aspect, thing = line.split(None, 3)
    return f"{subject} {predicate} {'-' if aspect == '-' else aspect} {thing}"


@pytest.mark.parametrize(("first", "second", "question"), TWO_HOPS, ids=lambda value: value)
def test_two_facts_are_joined_through_what_the_question_does_not_name(
    first: str, second: str, question: str
) -> None:
    found = hops(question, known(f"{fact(first)}\n{fact(second)}\n{BESIDE}"), most=8)
    answer = _id(second)
    assert [hit.id for hit in found if hit.is_hop] == [answer]
    assert _id(first) in {hit.id for hit in found}
    assert next(hit for hit in found if hit.id == answer).through == _id(first)


def _id(line: str) -> str:
    subject, predicate, _, thing = line.split(None, 3)
    return f"{subject} {predicate} {thing}"


@pytest.mark.parametrize(
    "question",
    [
        "Where do I live?",
        "What does Kari speak?",
        "Who painted the fence?",
        "my sister called",
        "where is Halden Labs?",
    ],
)
def test_no_hop_is_made_where_none_is_asked_for(question: str) -> None:
    facts = known(f"user works_at - Halden Labs\nHalden_Labs located_at - Leiden\n{BESIDE}")
    assert [hit for hit in hops(question, facts, most=8) if hit.strength >= 0.75] == []


def names(question: str, facts: str) -> list[str]:
    return [hit.id for hit in named_facts(question, known(facts), most=8, least=0.6)]


def test_facts_of_another_are_not_meant_by_a_question_about_one() -> None:
    facts = "Kari lives_in - Oslo\nBo lives_in - Turku\nuser lives_in - Utrecht"
    assert names("Where does Kari live?", facts) == ["Kari lives_in Oslo"]
    assert names("Where do I live?", facts) == ["user lives_in Utrecht"]


def test_a_name_that_no_fact_knows_keeps_the_users_facts_back() -> None:
    assert names("Which diet does Malin keep?", "user diet - vegan") == []
    assert names("Which diet do I keep?", "user diet - vegan") == ["user diet vegan"]
    own = "user name - Malin\nuser diet - vegan"
    assert "user diet vegan" in names("Which diet does Malin keep?", own)


def test_what_is_asked_beside_the_key_has_to_be_less_than_the_key() -> None:
    facts = "user likes - painting"
    assert names("What do I like?", facts) == ["user likes painting"]
    assert names("What was my favourite childhood book about dragons?", facts) == []


def test_a_speaker_is_the_subject_of_what_he_says_of_himself() -> None:
    shelf = known("user likes - painting\nuser likes - chess")
    for place, speaker in enumerate(("Kari", "Bo")):
        object.__setattr__(shelf.facts[place], "speaker", speaker)
    again = type(shelf)(shelf.facts)
    found: list[Hit] = named_facts("What does Kari like?", again, most=8, least=0.6)
    assert [hit.id for hit in found] == [shelf.facts[0].id]


def test_an_empty_shelf_and_an_empty_question_name_nothing() -> None:
    assert named_facts("Where do I live?", known("x likes - y"), most=8, least=0.6) == []
    assert named_facts("", known(), most=8, least=0.6) == []
    assert hops("", known(), most=8) == []
