"""Which memory may be shared under which grants: a table, and laws over all of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.policy_entries import MEMORY_KINDS
from transforms.schemas import SENSITIVITIES
from transforms.sharing.rules import SHAREABLE, Allowed, Terms, Withheld, judged, require_terms


def memory(**fields: Any) -> dict[str, Any]:
    plain = {
        "memory_id": "m",
        "kind": "fact",
        "tier": "semantic",
        "text": "x",
        "sensitivity": "normal",
        "trust": 0.8,
    }
    return {**plain, **fields}


NORMAL, PERSONAL = Terms(), Terms(max_sensitivity="personal")
CASES: list[tuple[dict[str, Any], list[Terms], str | float]] = [
    ({}, [NORMAL], 0.4),
    ({}, [], "no_grant"),
    ({"trust": 0.1}, [NORMAL], 0.1),
    ({"trust": 0.1}, [Terms(trust=0.9)], 0.1),
    ({}, [Terms(trust=0.9)], 0.8),
    ({}, [Terms(trust=0.2)], 0.2),
    ({}, [Terms(trust=0.2), NORMAL], 0.4),
    ({"sensitivity": "personal"}, [NORMAL], "personal"),
    ({"sensitivity": "personal"}, [PERSONAL], 0.4),
    ({"sensitivity": "personal"}, [Terms(trust=0.9), PERSONAL], 0.4),
    ({"sensitivity": "restricted"}, [PERSONAL], "restricted"),
    ({"sensitivity": "restricted"}, [], "restricted"),
    ({"sensitivity": "unheard of"}, [PERSONAL], "restricted"),
    ({"kind": "pattern"}, [PERSONAL], "private"),
    ({"tier": "working"}, [PERSONAL], "private"),
    ({"text": "[Shared from c] x"}, [PERSONAL], "not_its_own"),
    ({}, [Terms(("lesson",))], "kind_not_granted"),
    ({}, [Terms(("lesson",)), Terms(("fact",))], 0.4),
    ({"sensitivity": "personal"}, [Terms(("fact",)), Terms(("lesson",), "personal")], "personal"),
]


@pytest.mark.parametrize(("fields", "terms", "expected"), CASES)
def test_table(fields: dict[str, Any], terms: list[Terms], expected: str | float) -> None:
    (told,) = judged([memory(**fields)], terms, 0.4)
    if isinstance(told, Withheld):
        assert told == Withheld("m", fields.get("kind", "fact"), str(expected))
    else:
        assert told.trust == expected


TERMS = st.builds(
    Terms,
    st.lists(st.sampled_from(SHAREABLE), max_size=3).map(tuple),
    st.sampled_from(["normal", "personal"]),
    st.none() | st.floats(0, 1),
)
MEMORIES = st.builds(
    memory,
    kind=st.sampled_from(MEMORY_KINDS),
    tier=st.sampled_from(["working", "episodic"]),
    sensitivity=st.sampled_from(SENSITIVITIES),
    trust=st.floats(0, 1),
    text=st.sampled_from(["x", "[Shared from b] x"]),
)


@given(st.lists(MEMORIES, max_size=6), st.lists(TERMS, max_size=3), TERMS)
def test_laws(rows: list[dict[str, Any]], terms: list[Terms], more: Terms) -> None:
    told, wider = judged(rows, terms, 0.4), judged(rows, [*terms, more], 0.4)
    assert len(told) == len(rows)
    for row, one, other in zip(rows, told, wider, strict=True):
        if isinstance(one, Withheld):
            continue
        assert row["sensitivity"] != "restricted"
        assert row["kind"] != "pattern"
        assert one.trust <= row["trust"]
        # A further grant takes nothing back.
        assert isinstance(other, Allowed)
        assert other.trust >= one.trust


def test_terms_that_no_grant_may_have() -> None:
    for terms in (
        Terms(("pattern",)),
        Terms(("",)),
        Terms((), "restricted"),
        Terms((), "none"),
        Terms(trust=-0.1),
    ):
        with pytest.raises(UsageError):
            require_terms(terms)
    require_terms(Terms(SHAREABLE, "personal", 1.0))
