"""Scopes that several read: who reads what, and that a row is written to exactly one."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lake import landing
from lake.lake import Lake
from lake.rights import tombstones
from lake.scope import Filters, Scope, predicate
from lake.sharing import teams
from lake.sharing.reading import scopes_of
from tests.lake.recalled import NOW, job, land, make_lake, publish, reader
from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.subjects import Subject

OWN = {"tenant_id": "t", "user_id": "u", "agent_id": "a", "session_id": "s"}
PLACES = {
    "mine": OWN,
    "other-session": {**OWN, "session_id": "s2"},
    "agent": {"tenant_id": "t", "user_id": None, "agent_id": "a"},
    "other-user": {**OWN, "user_id": "u2", "session_id": "s3"},
    "nobody": {"tenant_id": "t", "user_id": None},
    "foreign": {**OWN, "tenant_id": "t2"},
}
"""Rows of ordinary scopes; the text of each row of a lake is tea and its name."""


def shared(lake: Lake, scope: str, text: str, **who: Any) -> list[str]:
    done = landing.append(lake, [{"content": text}], scope=scope, now=NOW - timedelta(days=1), **who)
    assert not done.refused, done.refused
    return done.landed


def full(folder: Path) -> Lake:
    """A lake with a row in every scope."""
    lake = make_lake(folder)
    land(lake, *({"content": f"tea {name}", **row} for name, row in PLACES.items()))
    for tenant in ("t", "t2"):
        for team in ("x", "y"):
            teams.add(lake, tenant, team, agent=f"writer-{team}", at=NOW)
            who = {"tenant_id": tenant, "agent_id": f"writer-{team}"}
            shared(lake, f"team:{team}", f"tea team-{team}-of-{tenant}", **who)
        shared(lake, "tenant", f"tea all-of-{tenant}", tenant_id=tenant)
    shared(lake, "system", "tea system")
    teams.add(lake, "t", "x", agent="a", at=NOW)
    teams.add(lake, "t", "y", user="u2", at=NOW)
    return lake


CASES: list[tuple[dict[str, Any], list[str], set[str]]] = [
    ({}, [], {"mine"}),
    ({}, ["user"], {"mine", "other-session"}),
    ({}, ["agent"], {"mine", "agent"}),
    ({}, ["team:x"], {"mine", "team-x-of-t"}),
    ({}, ["teams"], {"mine", "team-x-of-t"}),
    ({}, ["tenant"], {"mine", "all-of-t"}),
    ({}, ["system"], {"mine", "system"}),
    (
        {},
        ["user", "agent", "team:x", "tenant", "system", "system"],
        {"mine", "other-session", "agent", "team-x-of-t", "all-of-t", "system"},
    ),
    ({"user": "u2", "session": None}, ["teams"], {"other-user", "team-x-of-t", "team-y-of-t"}),
    ({"tenant": "t2"}, ["tenant", "system"], {"foreign", "all-of-t2", "system"}),
]


@pytest.mark.parametrize("state", ["landed", "published", "past"])
def test_reads_unite_what_the_caller_may_see(tmp_path: Path, state: str) -> None:
    """In the past it is the lake's tables that answer, not the index."""
    lake = full(tmp_path)
    if state != "landed":
        publish(job(lake))
    at = NOW - timedelta(hours=1) if state == "past" else NOW
    found = reader(lake)
    for change, also, expected in CASES:
        named = {"tenant": "t", "user": "u", "agent": "a", "session": "s", **change}
        texts = {m.text for m in found.search("tea", **named, also=also, k=50, as_of=at)}
        assert {text.removeprefix("tea ") for text in texts} == expected, (change, also)


def test_a_context_reads_them_too(tmp_path: Path) -> None:
    packed = reader(full(tmp_path)).context(
        "tea", tenant="t", agent="a", user="u", also=["team:x"], as_of=NOW
    )
    assert "tea team-x-of-t" in packed.text
    assert "tea team-y" not in packed.text


REFUSED = [
    ({}, ["team:y"], "no member"),
    ({}, ["team:none"], "no member"),
    ({"tenant": "t2"}, ["team:x"], "no member"),
    ({"agent": None, "user": None}, ["team:x"], "the caller is no member"),
    ({}, ["team:x' OR '1'='1"], "no id of a team"),
    ({}, ["team:X"], "no id of a team"),
    ({}, ["team:x\0"], "no id of a team"),
    ({}, ["team:"], "no id of a team"),
    ({}, ["everything"], "no scope"),
    ({}, [None], "no scope"),
    ({}, "tenant", "not a list"),
    ({"agent": None}, ["agent"], "names none"),
    ({"user": None}, ["user"], "names none"),
    ({"agent": "team:x"}, [], "reserved"),
    ({"agent": "tenant:all"}, [], "reserved"),
    ({"tenant": "system"}, [], "reserved"),
    ({"tenant": "system", "agent": "system:all"}, [], "reserved"),
]


@pytest.mark.parametrize(("change", "also", "told"), REFUSED)
def test_what_the_caller_may_not_see_is_refused(tmp_path: Path, change: Any, also: Any, told: str) -> None:
    lake = make_lake(tmp_path)
    teams.add(lake, "t", "x", agent="a", at=NOW)
    teams.add(lake, "t", "y", agent="b", at=NOW)
    named = {"tenant": "t", "user": "u", "agent": "a", "session": "s", **change}
    for call in (reader(lake).search, reader(lake).context):
        with pytest.raises(UsageError, match=told):
            call("tea", **named, also=also)


def test_a_membership_holds_and_ends_at_once(tmp_path: Path) -> None:
    lake = full(tmp_path)
    found = reader(lake)
    mine = {"tenant": "t", "agent": "b", "also": ["team:x"], "as_of": NOW}
    with pytest.raises(UsageError):
        found.search("tea", **mine)
    assert teams.add(lake, "t", "x", agent="b", at=NOW)
    assert not teams.add(lake, "t", "x", agent="b", at=NOW)
    assert [m.text for m in found.search("tea", **mine)] == ["tea team-x-of-t"]
    assert teams.remove(lake, "t", "x", agent="b", at=NOW)
    assert not teams.remove(lake, "t", "x", agent="b", at=NOW)
    with pytest.raises(UsageError):
        found.search("tea", **mine)


def test_restricted_rows_stay_in_the_scope_they_were_written_in(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    teams.add(lake, "t", "x", agent="a", at=NOW)
    land(lake, {"content": "tea and I have diabetes", **OWN}, {"content": "tea and my wife", **OWN})
    shared(lake, "team:x", "tea, says one: I have diabetes", tenant_id="t", agent_id="a")
    found = reader(lake)

    def texts(**named: Any) -> int:
        seen = found.search("tea diabetes", tenant="t", k=20, as_of=NOW, **named)
        return sum("diabetes" in memory.text for memory in seen)

    for is_published in (False, True):
        if is_published:
            publish(job(lake))
        assert texts(user="u") == 1
        assert texts(session="s") == 1
        assert texts(agent="a", also=["team:x"]) == 1, "the team's own, and no person's"
        assert texts(agent="a") == 0
        assert texts(tenant_wide=True) == 1
        assert texts(user="u2", agent="a", also=["agent", "tenant", "system"]) == 0
        assert sum("wife" in m.text for m in found.search("tea", tenant="t", agent="a", as_of=NOW)) == 1
    past = found.search("tea diabetes", tenant="t", agent="a", k=20, as_of=NOW - timedelta(hours=1))
    assert ["diabetes" in memory.text for memory in past] == [False]
    (one,) = found.search("diabetes", tenant="t", user="u", k=1, as_of=NOW)
    assert found.explain(one.id, tenant="t", user="u").text == one.text
    for wide in ({"agent": "a"}, {"tenant_wide": True}):
        with pytest.raises(UsageError, match="no row"):
            found.explain(one.id, tenant="t", **wide)  # type: ignore[arg-type]


WRITES: list[tuple[dict[str, Any], dict[str, Any], str | None, dict[str, Any] | str]] = [
    ({}, {"tenant_id": "t", "user_id": "u", "agent_id": "a"}, None, {"user_id": "u", "agent_id": "a"}),
    ({}, {"tenant_id": "t", "agent_id": "a"}, "team:x", {"user_id": None, "agent_id": "team:x"}),
    (
        {},
        {"tenant_id": "t", "user_id": "m"},
        "team:x",
        {"agent_id": "team:x", "speaker": "m", "user_id": None},
    ),
    ({"scope": "team:x"}, {"tenant_id": "t", "agent_id": "a"}, None, {"agent_id": "team:x"}),
    ({"scope": "tenant"}, {"tenant_id": "t", "agent_id": "a"}, "team:x", {"agent_id": "tenant:all"}),
    ({}, {}, "system", {"tenant_id": "system", "agent_id": "system:all"}),
    ({}, {"tenant_id": "t", "user_id": "u"}, "user", {"user_id": "u"}),
    ({"session_id": "s"}, {"tenant_id": "t"}, "session", {"session_id": "s"}),
    ({}, {"tenant_id": "t"}, "user", "ambiguous_scope"),
    ({}, {"tenant_id": "t", "user_id": "u"}, "session", "ambiguous_scope"),
    ({"user_id": "u"}, {"tenant_id": "t", "agent_id": "a"}, "team:x", "ambiguous_scope"),
    ({"agent_id": "a"}, {"tenant_id": "t", "agent_id": "a"}, "tenant", "ambiguous_scope"),
    ({"session_id": "s"}, {"tenant_id": "t", "agent_id": "a"}, "tenant", "ambiguous_scope"),
    ({}, {"tenant_id": "t", "agent_id": "a", "session_id": "s"}, "tenant", "ambiguous_scope"),
    ({}, {"tenant_id": "t"}, "system", "ambiguous_scope"),
    ({"tenant_id": "t"}, {}, "system", "ambiguous_scope"),
    ({}, {"agent_id": "a"}, "tenant", "no_tenant"),
    ({}, {"tenant_id": "system", "agent_id": "a"}, "tenant", "no_tenant"),
    ({}, {"tenant_id": "t", "agent_id": "b"}, "team:x", "not_a_member"),
    ({}, {"tenant_id": "t2", "agent_id": "a"}, "team:x", "not_a_member"),
    ({}, {"tenant_id": "t"}, "team:x", "not_a_member"),
    ({}, {"tenant_id": "t", "agent_id": "a"}, "team:X y", "unknown_scope"),
    ({"scope": 7}, {"tenant_id": "t", "agent_id": "a"}, None, "unknown_scope"),
    ({"scope": ["tenant"]}, {"tenant_id": "t", "agent_id": "a"}, None, "unknown_scope"),
    ({}, {"tenant_id": "t", "user_id": "gone"}, "tenant", "opted_out"),
    ({}, {"tenant_id": "t", "agent_id": "team:x"}, None, "reserved_id"),
    ({}, {"tenant_id": "t", "agent_id": "tenant:all"}, None, "reserved_id"),
    ({}, {"tenant_id": "t", "agent_id": "system:all"}, None, "reserved_id"),
    ({}, {"tenant_id": "system", "agent_id": "a"}, None, "reserved_id"),
    ({}, {"tenant_id": "t", "user_id": "team:x"}, None, {"user_id": "team:x"}),
    ({"agent_id": "Team:x"}, {"tenant_id": "t"}, None, {"agent_id": "Team:x"}),
]


def test_a_row_is_written_to_exactly_one_scope(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    teams.add(lake, "t", "x", agent="a", at=NOW)
    teams.add(lake, "t", "x", user="m", at=NOW)
    tombstones.place(lake, Subject("t", user="gone"), None, "0" * 32, mark="opted_out")
    for number, (row, call, scope, expected) in enumerate(WRITES):
        rows = [{"content": "plain"}, {"content": f"row {number}", **row}]
        done = landing.append(lake, rows[1:], scope=scope, now=NOW, **call)
        if isinstance(expected, str):
            assert [one.reason for one in done.refused] == [expected], (row, call, scope)
            assert done.landed == []
            continue
        assert done.refused == [], (row, call, scope)
        tail = _landed(lake, expected.get("tenant_id", "t"))
        assert {name: tail[done.landed[0]][name] for name in expected} == expected, (row, call, scope)


def _landed(lake: Lake, tenant: str) -> dict[str, Any]:
    from lake.fresh import FreshTail

    everything = Scope(tenant, is_tenant_wide=True, is_administrative=True)
    rows = FreshTail(lake, Policy()).episodes(everything, -1)
    assert rows is not None
    return {row["episode_id"]: row for row in rows.iter_rows(named=True)}


def test_nothing_is_kept_of_who_opted_out(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    tombstones.place(lake, Subject("t", user="gone"), None, "0" * 32, mark="opted_out")
    row = {"content": "the quokka of nobody"}
    done = landing.append(lake, [row], scope="tenant", tenant_id="t", user_id="gone", now=NOW)
    assert [one.reason for one in done.refused] == ["opted_out"]
    refused = landing.append(lake, [{**row, "user_id": "u"}], scope="tenant", tenant_id="t", now=NOW)
    assert [one.reason for one in refused.refused] == ["ambiguous_scope"]
    raw = b"".join(lake.storage.read(entry.key) or b"" for entry in lake.storage.entries("landing"))
    assert raw.count(b"quokka") == 1, "the ambiguous one goes to quarantine"
    assert b'"user_id":"u"' in raw, "under whose it is"


def test_refusals_keep_the_places_of_their_rows(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    rows: list[Any] = [
        {"content": "first", "user_id": "u"},
        {"content": "second", "scope": "tenant"},
        {"content": "", "scope": "tenant"},
        {"content": "third", "scope": "nowhere"},
        "no mapping",
        {"content": "fourth", "user_id": "u"},
        {"content": "fifth", "scope": "tenant", "user_id": "u"},
    ]
    done = landing.append(lake, rows, tenant_id="t", now=NOW)
    assert [(one.index, one.reason) for one in done.refused] == [
        (2, "no_content"),
        (3, "unknown_scope"),
        (4, "not_an_object"),
        (6, "ambiguous_scope"),
    ]
    texts = _landed(lake, "t")
    assert [texts[name]["content"] for name in done.landed] == ["first", "second", "fourth"]


def test_the_source_of_copies_is_reserved(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reserved"):
        landing.append(make_lake(tmp_path), [{"content": "x"}], tenant_id="t", user_id="u", source="share")


def test_a_shared_scope_names_nobody() -> None:
    for wrong in (
        {"user": "u"},
        {"agent": "a"},
        {"session": "s"},
        {"is_tenant_wide": True},
        {"is_userless": True},
    ):
        with pytest.raises(UsageError):
            Scope("t", shared="tenant", **wrong)  # type: ignore[arg-type]
    for tenant, name in (("t", "system"), ("system", "tenant"), ("", "tenant"), ("t", "team:")):
        with pytest.raises(UsageError):
            Scope(tenant, shared=name)
    assert predicate(Scope("t", shared="team:x"), Filters(NOW)).startswith(
        "tenant_id = 't' AND agent_id = 'team:x' AND user_id IS NULL AND session_id IS NULL"
    )


def test_scopes_come_once_and_the_callers_own_first(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    own = Scope("t", "u")
    assert scopes_of(lake, own, ["user", "tenant", "tenant"]) == (own, Scope("t", shared="tenant"))
