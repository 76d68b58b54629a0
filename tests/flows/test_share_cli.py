"""Sharing from the command line, and patterns of several tenants from end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.doctor import shared_told
from flows.global_patterns import is_needed, run_global_patterns
from flows.job import Job
from flows.publish import run_publish
from lake import landing, revisions
from lake.recall import Recall
from lake.rights import audit
from lake.sharing import grants, teams
from lake.sharing.grants import ANYBODY, GLOBAL, Grant
from tests.flows.erasing import erase, holding
from tests.flows.lakes import Command, CountingEmbedder, Said, ingest, job_on, row, write
from tests.flows.sleepers import night
from transforms.errors import LakeError
from transforms.schemas import PROCEDURES
from transforms.scopes import PATTERNS_OWNER
from transforms.sharing.rules import Terms

NOW = datetime.now(UTC)
CANARIES = ("zanzibar-canary", "quokka")
"""Words that a tenant says and that must be in no pattern."""


@pytest.fixture
def slowwave(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Said]:
    command = Command(capsys)
    job = job_on(tmp_path / "lake")
    rows = [{"content": "invoices need the decimal comma", "role": "assistant"}]
    landing.append(job.lake, rows, tenant_id="acme", agent_id="billing")
    return lambda *arguments: command("--lake", tmp_path / "lake", *arguments)


BETWEEN = ("--tenant", "acme", "--from", "billing", "--to", "support")


def test_grant_share_revoke(slowwave: Callable[..., Said]) -> None:
    said = slowwave("share", "invoices", *BETWEEN)
    assert "has granted support nothing" in " ".join(said.out.split())
    dry = slowwave("grant", *BETWEEN)
    assert "nothing was changed, add --yes" in dry.out
    assert slowwave("--json", "grants", "--tenant", "acme").json == {"grants": []}
    made = slowwave("--json", "grant", *BETWEEN, "--yes", "--until", "2999-01-01T00:00:00Z").json
    assert (made["dry_run"], made["grant"]["to"]) == (False, "support")
    done = slowwave("--json", "share", "invoices", *BETWEEN).json
    assert sorted(done) == ["shared", "withheld"]
    assert [one["text"] for one in done["shared"]] == [
        "[Shared from billing] invoices need the decimal comma"
    ]
    assert "shared 1 with support, withheld 0" in slowwave("share", "invoices", *BETWEEN, "-k", 3).out
    listed = slowwave("--json", "grants", "--tenant", "acme").json["grants"]
    assert [(one["from"], one["to"], one["is_in_force"]) for one in listed] == [("billing", "support", True)]
    assert slowwave("revoke", *BETWEEN).code == 0
    assert slowwave("--json", "share", "invoices", *BETWEEN).json["withheld"][0]["reason"] == "no_grant"
    assert slowwave("--json", "revoke", *BETWEEN).error["message"] == "there is no such grant"


def test_explain_says_where_a_copy_comes_from(slowwave: Callable[..., Said]) -> None:
    slowwave("grant", *BETWEEN, "--yes")
    (copy,) = slowwave("--json", "share", "invoices", *BETWEEN).json["shared"]
    assert slowwave("ingest").code == 0
    said = slowwave("explain", copy["id"], "--tenant", "acme", "--agent", "support").out
    assert f"shared by agent billing: a copy of conversation {copy['source_id'][:8]} of" in said


def test_teams(slowwave: Callable[..., Said]) -> None:
    team = ("--tenant", "acme", "--team", "ops")
    assert slowwave("team", "add", *team, "--agent", "billing").out == "billing is a member of team:ops\n"
    assert slowwave("team", "add", *team, "--agent", "billing").out.endswith("already\n")
    assert slowwave("team", "add", *team, "--user", "ana").code == 0
    held = slowwave("--json", "team", "list", *team).json["members"]
    assert [{k: v for k, v in one.items() if k != "since"} for one in held] == [
        {"team": "ops", "agent": "billing"},
        {"team": "ops", "user": "ana"},
    ]
    assert "ana" not in slowwave("team", "list", *team, "--agent", "billing").out
    assert slowwave("team", "remove", *team, "--user", "ana").code == 0
    assert len(slowwave("--json", "team", "list", *team).json["members"]) == 1
    scope = ("--tenant", "acme", "--agent", "billing", "--also", "team:ops", "--also", "tenant")
    assert slowwave("--json", "recall", "invoices", *scope).json["results"]
    assert "no member" in slowwave("--json", "recall", "x", *scope, "--also", "team:other").error["message"]


WRONG = [
    ("grant", "--tenant", "acme", "--to", "support", "--yes"),
    ("grant", *BETWEEN[:2], "--from", "billing", "--to", "global", "--yes"),
    ("grant", *BETWEEN, "--kinds", "pattern", "--yes"),
    ("grant", *BETWEEN, "--trust", "2", "--yes"),
    ("grant", *BETWEEN, "--until", "2001-01-01T00:00:00Z", "--yes"),
    ("grant", *BETWEEN, "--until", "tomorrow"),
    ("grant", "--tenant", "acme", "--from", "team:x", "--to", "support"),
    ("share", "invoices", "--tenant", "acme", "--to", "support"),
    ("share", " ", *BETWEEN),
    ("team", "add", "--tenant", "acme", "--agent", "a"),
    ("team", "add", "--tenant", "acme", "--team", "ops"),
    ("team", "add", "--tenant", "acme", "--team", "No Team", "--agent", "a"),
    ("recall", "x", "--tenant", "acme", "--agent", "team:ops"),
    ("recall", "x", "--tenant", "system", "--agent", "a"),
]


@pytest.mark.parametrize("call", WRONG)
def test_wrong_calls_say_so(slowwave: Callable[..., Said], call: tuple[str, ...]) -> None:
    said = slowwave("--json", *call)
    assert said.code == 2
    assert said.error["code"] == "usage"


def test_doctor_looks_at_grants(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    grants.make(job.lake, Grant("acme", "a", "b", Terms(), NOW))
    teams.add(job.lake, "acme", "ops", agent="a", at=NOW)
    assert shared_told(job.lake, NOW) == "1 grants in force, 0 run out, 1 members of teams"
    job.lake.storage.write(f"{grants.PREFIX}/x.json", b"{}")
    with pytest.raises(LakeError, match="damaged"):
        shared_told(job.lake, NOW)


def work(tenant: str, number: int, tool: str = "import_invoices", **fields: Any) -> list[dict[str, Any]]:
    """One session in which an agent did a task with two tools, saying what nobody else should read."""
    common = {"tenant_id": tenant, "user_id": None, "agent_id": f"agent-{tenant}", "session_id": f"s{number}"}
    told = f"{CANARIES[0]} {tenant} {CANARIES[1]} file {number}"
    action = {"role": "tool", "kind": "action", "outcome": "success", **common, **fields}
    return [
        row(
            number * 10,
            told,
            id=f"{tenant}-{number}-1",
            **{**action, "tool_name": "open_file", "outcome": None},
        ),
        row(number * 10 + 1, told, id=f"{tenant}-{number}-2", **action, tool_name=tool),
    ]


def tenants_at_work(folder: Path, tenants: str = "pqr") -> Job:
    job = job_on(folder / "lake")
    rows = [one for tenant in tenants for number in range(4) for one in work(tenant, number)]
    rows += [one for number in range(4) for one in work("p", 10 + number, tool=f"secret_{CANARIES[1]}_tool")]
    night(job, folder, "work", rows)
    return job


def contribute(job: Job, *tenants: str) -> None:
    at = job.as_of - timedelta(days=1)
    for tenant in tenants:
        grants.make(job.lake, Grant(tenant, ANYBODY, GLOBAL, Terms(), at))


def patterns(job: Job) -> list[str]:
    stood = revisions.standing(job.lake, PROCEDURES).filter(pl.col("owner") == PATTERNS_OWNER)
    return sorted(stood["policy"])


IMPORT = (
    "For import_invoices: open_file → import_invoices works about 10 of 10 times in several organisations"
)


def test_a_pattern_of_three_tenants_is_everybodys_and_nothing_of_them_is_in_it(tmp_path: Path) -> None:
    job = tenants_at_work(tmp_path)
    contribute(job, "p", "q")
    assert run_global_patterns(job).detail["patterns"] == 0
    contribute(job, "r")
    dry = run_global_patterns(job, is_dry=True)
    assert (dry.detail["added"], dry.detail["shown"]) == (1, [IMPORT])
    assert patterns(job) == []
    assert run_global_patterns(job).detail["added"] == 1
    assert patterns(job) == [IMPORT]
    again = run_global_patterns(job)
    assert (again.state, again.rows_out) == ("unchanged", 0)
    stood = revisions.standing(job.lake, PROCEDURES).filter(pl.col("owner") == PATTERNS_OWNER)
    told = json.dumps(stood.to_dicts(), default=str)
    words = [*CANARIES, '"p"', '"q"', '"r"', "agent-p", "agent-q"]
    assert [word for word in words if word in told] == []
    assert stood["source_refs"].to_list() == [[]]
    run_consolidate(job, complete=True)
    assert patterns(job) == [IMPORT], "no tenant's consolidation takes it back"
    run_publish(job)
    reader = Recall(job.lake, embedder=CountingEmbedder())
    found = reader.search("import_invoices", tenant="stranger", agent="new", also=["system"], as_of=job.as_of)
    assert [(memory.kind, memory.text) for memory in found] == [("procedure", IMPORT)]
    assert reader.search("import_invoices", tenant="stranger", agent="new", as_of=job.as_of) == []
    chain = reader.explain(found[0].id, tenant="stranger", agent="new", also=["system"])
    assert (chain.text, chain.sources) == (IMPORT, [])


def test_a_pattern_that_loses_its_support_is_retired(tmp_path: Path) -> None:
    job = tenants_at_work(tmp_path, "pqrs")
    contribute(job, "p", "q", "r")
    run_global_patterns(job)
    assert grants.revoke(job.lake, "r", ANYBODY, GLOBAL, job.as_of)
    assert is_needed(job)
    assert run_global_patterns(job).detail["retired"] == 1
    assert patterns(job) == []
    contribute(job, "s")
    run_global_patterns(job)
    assert patterns(job) == [IMPORT]
    erase(job, tenant="s")
    assert patterns(job) == [], "an erasure takes the tenant from behind it at once"
    assert holding(tmp_path / "lake", ["agent-s"]) == {}


def test_who_grants_nothing_contributes_nothing(tmp_path: Path) -> None:
    job = tenants_at_work(tmp_path)
    assert not is_needed(job)
    assert run_global_patterns(job).rows_in == 0
    grants.make(job.lake, Grant("p", "agent-p", "tenant", Terms(), NOW))
    assert grants.contributing(job.lake, NOW) == []


def test_a_night_works_them_out_and_takes_what_ran_out(tmp_path: Path) -> None:
    from flows.nightly import run_nightly

    job = tenants_at_work(tmp_path)
    contribute(job, "p", "q", "r")
    until = job.as_of - timedelta(hours=1)
    before = job.as_of - timedelta(days=1)
    grants.make(job.lake, Grant("p", "a", "b", Terms(), before, until))
    steps = {step.name: step for step in run_nightly(job, []).steps}
    assert steps["share-patterns"].detail["added"] == 1
    assert steps["share-patterns"].detail["grants_ended"] == 1
    assert "shown" not in steps["share-patterns"].detail
    assert [one.receiver for one in grants.load_all(job.lake)] == [GLOBAL] * 3
    assert audit.verify(job.lake).broken is None


def test_share_patterns_from_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    job = tenants_at_work(tmp_path)
    command = Command(capsys)
    for tenant in "pqr":
        said = command("--lake", tmp_path / "lake", "grant", "--tenant", tenant, "--to", "global", "--yes")
        assert said.code == 0
    later = ("--lake", tmp_path / "lake")
    assert "nothing was changed" in command(*later, "share-patterns").out
    assert command(*later, "--json", "share-patterns", "--yes").json["added"] == 1
    assert patterns(job) == [IMPORT]


def test_an_export_names_teams_and_grants(tmp_path: Path) -> None:
    from flows.export_rows import HeldRows
    from transforms.subjects import Subject

    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(1), row(2, user_id=None, agent_id="a")]))
    teams.add(job.lake, "acme", "ops", user="ana", at=NOW)
    grants.make(job.lake, Grant("acme", "a", "b", Terms(), NOW))

    def rows(name: str, **who: str) -> list[dict[str, Any]]:
        (part,) = [part for part in HeldRows(job.lake, Subject("acme", **who)).parts() if part.name == name]
        frame = pl.concat(part.frames())
        assert frame.columns == [column.name for column in part.columns]
        return frame.to_dicts()

    assert [one["team"] for one in rows("teams", user="ana")] == ["ops"]
    assert rows("grants", user="ana") == []
    assert [(one["giver"], one["receiver"]) for one in rows("grants", agent="b")] == [("a", "b")]
    assert rows("teams", agent="b") == []
