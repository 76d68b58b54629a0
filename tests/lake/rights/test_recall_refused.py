"""What an erased or opted-out subject said is not served from the moment its tombstone is placed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.consolidate import run_consolidate
from lake.lake import Lake
from lake.rights import tombstones
from tests.lake.recalled import NOW, ingest, job, land, make_lake, publish, reader
from transforms.errors import UsageError
from transforms.subjects import Subject

REQUEST = "ab" * 16
ANA = Subject("t", user="ana")
SAID = NOW - timedelta(days=1)
"""When the rows of this test were said."""


def row(text: str, user: str = "ana", **more: Any) -> dict[str, Any]:
    return {"content": text, "user_id": user, "session_id": f"s-{user}", **more}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Published rows of three people, and fresh ones."""
    lake = make_lake(tmp_path)
    land(
        lake,
        row("harbour anchor"),
        row("harbour bridge", "anabel"),
        row("harbour crane", "ben", agent_id="bot"),
    )
    publish(job(lake))
    land(lake, row("harbour dock"), row("harbour eel", "anabel"))
    return lake


def served(lake: Lake, **scope: Any) -> set[str]:
    scope = scope or {"tenant_wide": True}
    found = {one.text for one in reader(lake).search("harbour", tenant="t", k=20, as_of=NOW, **scope)}
    packed = {one.text for one in reader(lake).context("harbour", tenant="t", as_of=NOW, **scope).memories}
    assert packed == found
    return {text.removeprefix("harbour ") for text in found}


EVERYTHING = {"anchor", "bridge", "crane", "dock", "eel"}


def test_without_tombstones_everything_is_served(lake: Lake) -> None:
    assert served(lake) == EVERYTHING
    assert served(lake, user="ana") == {"anchor", "dock"}


@pytest.mark.parametrize(
    ("subject", "gone"),
    [
        (ANA, {"anchor", "dock"}),
        (Subject("t", user="an"), set()),
        (Subject("t", agent="bot"), {"crane"}),
        (Subject("t", session="s-anabel"), {"bridge", "eel"}),
        (Subject("t"), EVERYTHING),
        (Subject("other", user="ana"), set()),
    ],
)
def test_a_refused_subject_is_not_served(lake: Lake, subject: Subject, gone: set[str]) -> None:
    tombstones.place(lake, subject, None, REQUEST)
    assert served(lake) == EVERYTHING - gone
    assert served(lake, user="ana") == {"anchor", "dock"} - gone
    tombstones.lift(lake, subject)
    assert served(lake) == EVERYTHING


def test_a_reader_that_is_kept_sees_it_with_its_next_call(lake: Lake) -> None:
    kept = reader(lake)

    def texts() -> set[str]:
        return {one.text for one in kept.search("harbour", tenant="t", tenant_wide=True, as_of=NOW)}

    assert len(texts()) == 5
    tombstones.place(lake, ANA, None, REQUEST, mark="opted_out")
    assert texts() == {"harbour bridge", "harbour crane", "harbour eel"}
    tombstones.lift(lake, ANA, mark="opted_out")
    assert len(texts()) == 5


def test_what_is_said_after_an_erasure_is_served(lake: Lake) -> None:
    tombstones.place(lake, ANA, SAID, REQUEST)
    assert served(lake) == EVERYTHING - {"anchor", "dock"}
    land(lake, row("harbour ferry", event_at=NOW.isoformat()))
    assert served(lake, user="ana") == {"ferry"}


def test_one_memory_is_not_served(lake: Lake) -> None:
    (one,) = (
        m
        for m in reader(lake).search("harbour", tenant="t", user="ana", as_of=NOW)
        if m.text.endswith("anchor")
    )
    tombstones.place(lake, Subject("t", memory=one.id), None, REQUEST)
    assert served(lake) == EVERYTHING - {"anchor"}


def test_rows_on_their_way_into_the_tables_are_not_served(lake: Lake) -> None:
    """Ingested, but not published: they are read from the tables' new files."""
    ingest(job(lake))
    tombstones.place(lake, ANA, None, REQUEST)
    assert served(lake) == EVERYTHING - {"anchor", "dock"}


def test_facts_and_explanations_are_not_told(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    land(lake, row("I live in Graz."), row("I live in Cork.", "anabel"))
    publish(job(lake))
    run_consolidate(job(lake))

    def facts(**more: Any) -> list[str]:
        found = reader(lake).facts(tenant="t", tenant_wide=True, **more)
        return sorted(one.values["object"] for one in found)

    assert facts() == facts(as_of=NOW) == ["Cork", "Graz"]
    (graz,) = reader(lake).facts(tenant="t", user="ana")
    assert reader(lake).explain(graz.id, tenant="t", user="ana").sources
    tombstones.place(lake, ANA, None, REQUEST)
    assert facts() == facts(as_of=NOW) == facts(history=True) == ["Cork"]
    for name in (graz.id, graz.values["source_refs"][0]):
        with pytest.raises(UsageError, match="no row"):
            reader(lake).explain(name, tenant="t", user="ana")
