"""Grants and shares: what goes, what stays and why, and that nothing goes without a grant."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.ingest import run_ingest
from lake import landing, tables
from lake.lake import Lake
from lake.rights import audit, tombstones
from lake.sharing import grants, teams
from lake.sharing.grants import Grant
from lake.sharing.share import Shared
from tests.lake.crypto.sealed import sealed_lake
from tests.lake.recalled import job, make_lake, reader
from transforms.errors import LakeError, UsageError
from transforms.policy import Policy
from transforms.schemas import EPISODES
from transforms.sharing.rules import Terms
from transforms.subjects import Subject

NOW = datetime.now(UTC)
ROWS: dict[str, dict[str, Any]] = {
    "plain": {"content": "tea invoices need the decimal comma", "role": "assistant"},
    "of u": {"content": "tea invoices of the harbour are blue", "user_id": "u", "role": "user"},
    "personal": {"content": "my wife files the tea invoices", "user_id": "u", "role": "user"},
    "restricted": {"content": "tea invoices and I have diabetes", "user_id": "u", "role": "user"},
    "card": {"content": "tea invoices paid by 4111 1111 1111 1111", "user_id": "u", "role": "user"},
    "tool": {"content": "tea invoices imported", "role": "tool", "tool_name": "import", "outcome": "success"},
    "soon": {
        "content": "tea invoices close tomorrow",
        "role": "assistant",
        "expires_at": (NOW + timedelta(days=1)).isoformat(),
    },
}


def lake_of(folder: Path) -> Lake:
    lake = make_lake(folder)
    fill(lake)
    return lake


def fill(lake: Lake) -> None:
    rows = [{"tenant_id": "t", "agent_id": "a", "id": name, **row} for name, row in ROWS.items()]
    foreign = {"tenant_id": "t2", "agent_id": "a", "content": "tea invoices of another tenant"}
    other = {"tenant_id": "t", "agent_id": "c", "content": "tea invoices of another agent"}
    done = landing.append(lake, [*rows, foreign, other], now=NOW - timedelta(hours=1))
    assert not done.refused


def grant(lake: Lake, receiver: str = "b", giver: str = "a", **terms: Any) -> Grant:
    until = terms.pop("until", None)
    return grants.make(lake, Grant("t", giver, receiver, Terms(**terms), NOW, until))


def share(lake: Lake, **change: Any) -> Shared:
    call = {"tenant": "t", "from_agent": "a", "to_agent": "b", "k": 20, **change}
    return reader(lake).share("tea invoices", **call)


def names(done: Shared) -> set[str]:
    """Names of the rows that were shared."""
    texts = {row["content"]: name for name, row in ROWS.items()}
    return {texts[one.text.removeprefix("[Shared from a] ")] for one in done.shared}


def withheld(done: Shared) -> list[str]:
    return sorted(one.reason for one in done.withheld)


def copies(lake: Lake) -> dict[str, dict[str, Any]]:
    run_ingest(job(lake, as_of=datetime.now(UTC)), [])
    rows = tables.scan(lake, EPISODES).collect().filter(source="share")
    return {row["content"]: row for row in rows.iter_rows(named=True)}


def test_nothing_goes_without_a_grant_nor_is_anything_searched(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    found = reader(lake)
    found._found = None  # type: ignore[method-assign,assignment]
    done = found.share("tea", tenant="t", from_agent="a", to_agent="b")
    assert (done.shared, withheld(done)) == ([], ["no_grant"])
    assert done.withheld[0].id == ""


def test_what_goes_and_what_stays(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    grant(lake)
    assert names(share(lake)) == {"plain", "of u", "tool", "soon"}
    done = share(lake, user="u")
    assert names(done) == {"of u"}
    assert withheld(done) == ["personal", "restricted", "restricted"]
    ids = {one.id for one in done.withheld}
    assert len(ids) == 3
    assert "" not in ids
    grant(lake, max_sensitivity="personal")
    done = share(lake, user="u")
    assert names(done) == {"of u", "personal"}
    assert withheld(done) == ["restricted", "restricted"]
    grant(lake, kinds=("fact",))
    done = share(lake)
    assert done.shared == []
    assert set(withheld(done)) == {"kind_not_granted"}


def test_a_copy_is_an_observation_of_the_receiver_with_its_origin(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    grant(lake)
    done = share(lake)
    held = copies(lake)
    assert len(held) == len(done.shared) == 4
    sources = {row["content"]: row for row in tables.scan(lake, EPISODES).collect().iter_rows(named=True)}
    for one in done.shared:
        row, source = held[one.text], sources[one.text.removeprefix("[Shared from a] ")]
        assert (row["agent_id"], row["kind"], row["role"]) == ("b", "observation", "other")
        assert (row["user_id"], row["session_id"]) == (source["user_id"], None)
        assert (row["episode_id"], row["parent_id"]) == (one.id, source["episode_id"])
        origin = json.loads(row["metadata"])
        assert (origin["shared_from"], origin["source_id"]) == ("a", source["episode_id"])
        assert row["trust"] == pytest.approx(one.trust)
        assert one.trust == pytest.approx(min(source["trust"], 0.4))
        chain = reader(lake).explain(one.id, tenant="t", agent="b").as_dict()
        assert json.loads(chain["row"]["metadata"])["source_id"] == one.source_id
    tomorrow = held["[Shared from a] " + ROWS["soon"]["content"]]["expires_at"]
    assert tomorrow == NOW + timedelta(days=1)
    ninety = held["[Shared from a] " + ROWS["plain"]["content"]]["expires_at"]
    assert ninety <= NOW - timedelta(hours=1) + timedelta(days=90)


TRUSTS = [
    (None, "user", 0.4),
    (0.2, "user", 0.2),
    (0.9, "user", 0.9),
    (0.9, "assistant", 0.7),
    (0.9, "tool", 0.4),
]


@pytest.mark.parametrize(("trust", "role", "expected"), TRUSTS)
def test_trust_is_the_grants_and_never_more_than_the_sources(
    tmp_path: Path, trust: float | None, role: str, expected: float
) -> None:
    lake = make_lake(tmp_path)
    landing.append(lake, [{"content": "tea", "role": role}], tenant_id="t", agent_id="a")
    grant(lake, trust=trust)
    assert share(lake).shared[0].trust == pytest.approx(expected)


def test_the_same_memory_lands_once(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    grant(lake)
    first, second = share(lake), share(lake)
    assert {one.id for one in first.shared} == {one.id for one in second.shared}
    assert len(copies(lake)) == 4
    again = {one.id for one in share(lake).shared}
    assert again == {one.id for one in first.shared}
    assert len(copies(lake)) == 4
    found = reader(lake).search("tea invoices", tenant="t", agent="b", k=20)
    assert len(found) == 4


def test_a_copy_is_not_passed_on(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    grant(lake)
    grant(lake, giver="b", receiver="d")
    share(lake)
    done = share(lake, from_agent="b", to_agent="d")
    assert done.shared == []
    assert set(withheld(done)) == {"not_its_own"}


def test_k_counts_what_is_shared(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    grant(lake)
    assert len(share(lake, k=2).shared) == 2
    assert len(share(lake, k=None).shared) == 4
    for k in (0, -1, 101, True, "3"):
        with pytest.raises(UsageError):
            share(lake, k=k)


def test_secrets_are_taken_out_again_whatever_the_tenant_keeps(tmp_path: Path) -> None:
    """A tenant that keeps addresses for itself gives none of them away."""
    lake = make_lake(tmp_path)
    keeping = Policy.model_validate({"redact": {"keep_kinds": ("email",)}})
    landing.append(
        lake,
        [{"content": "tea invoices go to mira@example.com"}],
        tenant_id="t",
        agent_id="a",
        policy=keeping,
    )
    assert "mira@" in reader(lake).search("tea", tenant="t", agent="a")[0].text
    grant(lake, max_sensitivity="personal")
    done = reader(lake, keeping).share("tea", tenant="t", from_agent="a", to_agent="b")
    assert [one.text for one in done.shared] == ["[Shared from a] tea invoices go to [REDACTED:email]"]


def test_what_tombstones_hide_is_not_shared(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    grant(lake)
    tombstones.place(lake, Subject("t", user="u"), None, "0" * 32, mark="opted_out")
    assert names(share(lake)) == {"plain", "tool", "soon"}
    assert share(lake, user="u").withheld == []


def test_a_grant_holds_from_when_it_is_made_until_it_is_taken_back(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    giving, taking = reader(lake), reader(lake)
    call = {"tenant": "t", "from_agent": "a", "to_agent": "b"}
    assert giving.share("tea", **call).shared == []
    grant(lake)
    assert giving.share("tea", **call).shared
    assert taking.share("tea", **call).shared
    assert grants.revoke(lake, "t", "a", "b", NOW)
    assert not grants.revoke(lake, "t", "a", "b", NOW)
    assert giving.share("tea", **call).shared == []
    assert taking.share("tea", **call).shared == []


def test_a_grant_runs_out(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    grant(lake, until=NOW + timedelta(hours=1))
    for after, count in ((0, 1), (3599, 1), (3600, 0), (7200, 0)):
        held = grants.permitting(lake, "t", "a", "b", NOW + timedelta(seconds=after))
        assert len(held) == count, after


WHO = [
    # receiver of the grant, agents that may be given
    ("b", {"b"}),
    ("team:x", {"b", "c"}),
    ("team:y", set()),
    ("tenant", {"b", "c", "d"}),
]


@pytest.mark.parametrize(("receiver", "expected"), WHO)
def test_whom_a_grant_is_to(tmp_path: Path, receiver: str, expected: set[str]) -> None:
    lake = lake_of(tmp_path)
    for agent in ("b", "c"):
        teams.add(lake, "t", "x", agent=agent, at=NOW)
    teams.add(lake, "t2", "y", agent="b", at=NOW)
    teams.add(lake, "t", "y", user="b", at=NOW)
    grant(lake, receiver)
    for agent in ("b", "c", "d"):
        assert bool(share(lake, to_agent=agent).shared) == (agent in expected), agent
    assert share(lake, tenant="t2", to_agent="b").shared == []
    assert share(lake, from_agent="c", to_agent="d").shared == []


def test_several_grants_give_what_any_of_them_gives(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    grant(lake, "b", kinds=("action",), trust=0.1)
    grant(lake, "tenant", kinds=("conversation",), max_sensitivity="personal")
    done = share(lake, user="u")
    assert names(done) == {"of u", "personal"}
    trusts = {one.kind: one.trust for one in share(lake).shared}
    assert trusts == {"action": pytest.approx(0.1), "conversation": pytest.approx(0.4)}


WRONG: list[dict[str, Any]] = [
    {"from_agent": "b", "to_agent": "b"},
    {"from_agent": ""},
    {"to_agent": ""},
    {"to_agent": "team:x"},
    {"from_agent": "tenant:all"},
    {"tenant": "system"},
    {"tenant": ""},
    {"to_agent": "b\0"},
    {"to_agent": 7},
    {"user": ""},
    {"from_agent": "x" * 513},
]


@pytest.mark.parametrize("change", WRONG)
def test_odd_calls_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    lake = lake_of(tmp_path)
    grant(lake)
    with pytest.raises(UsageError):
        share(lake, **change)


BAD_GRANTS = [
    Grant("t", "a", "a", Terms(), NOW),
    Grant("t", "a", "team:X Y", Terms(), NOW),
    Grant("t", "team:x", "b", Terms(), NOW),
    Grant("t", "*", "b", Terms(), NOW),
    Grant("t", "a", "global", Terms(), NOW),
    Grant("system", "a", "b", Terms(), NOW),
    Grant("t", "a", "b", Terms(("pattern",)), NOW),
    Grant("t", "a", "b", Terms(("nonsense",)), NOW),
    Grant("t", "a", "b", Terms(max_sensitivity="restricted"), NOW),
    Grant("t", "a", "b", Terms(trust=1.5), NOW),
    Grant("t", "a", "b", Terms(), NOW, NOW),
    Grant("t", "a\n", "b", Terms(), NOW),
]


@pytest.mark.parametrize("bad", BAD_GRANTS)
def test_a_grant_that_cannot_be_is_refused(tmp_path: Path, bad: Grant) -> None:
    lake = make_lake(tmp_path)
    with pytest.raises(UsageError):
        grants.make(lake, bad)
    assert grants.load_all(lake) == []


@pytest.mark.parametrize(
    "change",
    [
        {"max_sensitivity": "restricted"},
        {"kinds": ["pattern"]},
        {"trust": 7},
        {"until": "soon"},
        {"granted_at": "2026-01-01"},
        {"giver": "b"},
        {"tenant": None},
        None,
    ],
)
def test_a_damaged_grant_shares_nothing(tmp_path: Path, change: dict[str, Any] | None) -> None:
    lake = lake_of(tmp_path)
    grant(lake)
    (entry,) = lake.storage.entries(grants.PREFIX)
    raw = json.loads(lake.storage.read(entry.key) or b"")
    lake.storage.write(entry.key, b"{" if change is None else json.dumps({**raw, **change}).encode())
    with pytest.raises(LakeError, match="damaged"):
        share(lake)
    assert grants.revoke(lake, "t", "a", "b", NOW), "a damaged one can be taken back"
    assert withheld(share(lake)) == ["no_grant"]


def test_every_grant_and_share_is_audited_without_a_name(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    teams.add(lake, "t", "x", agent="agent-of-the-audit", at=NOW)
    grant(lake, "agent-of-the-audit")
    share(lake, to_agent="agent-of-the-audit")
    grants.revoke(lake, "t", "a", "agent-of-the-audit", NOW)
    teams.remove(lake, "t", "x", agent="agent-of-the-audit", at=NOW)
    told = audit.entries(lake)
    assert [one.kind for one in told] == [
        "team_added",
        "grant_made",
        "memory_shared",
        "grant_revoked",
        "team_removed",
    ]
    assert told[2].counts["shared"] == 4
    assert audit.verify(lake).broken is None
    raw = b"".join(lake.storage.read(entry.key) or b"" for entry in lake.storage.entries("audit"))
    assert b"agent-of-the-audit" not in raw
    paths = [entry.key for entry in lake.storage.entries("")]
    assert not [key for key in paths if "agent-of-the-audit" in key or "team" in key]


def test_a_share_in_an_encrypted_lake_is_sealed(tmp_path: Path) -> None:
    lake = sealed_lake(tmp_path)
    fill(lake)
    grant(lake)
    done = share(lake)
    assert names(done) == {"plain", "of u", "tool", "soon"}
    raw = b"".join(lake.storage.read(entry.key) or b"" for entry in lake.storage.entries("landing"))
    assert b"decimal comma" not in raw
    assert {one.text for one in done.shared} == set(copies(lake))
