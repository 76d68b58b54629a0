"""Requests and what they do, through the command line and the jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.consolidate import run_consolidate
from flows.erase import record
from flows.job import Job
from flows.rights import ask, resume_open
from flows.rights_correct import details_of
from lake import landing, tables
from lake.rights import audit, requests, standing, tombstones
from tests.flows.lakes import Command, content, ingest, job_on, row
from tests.flows.sleepers import claims, facts, night, said
from transforms.errors import UsageError
from transforms.schemas import FACTS
from transforms.subjects import Subject

ANA = Subject("acme", user="ana")
FLAGS = ("--tenant", "acme", "--user", "ana")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def verb(run: Command, job: Job, *arguments: object) -> dict[str, Any]:
    """Call a verb that must work; the request it made."""
    said = run("--lake", job.lake.uri, "--json", *arguments)
    assert said.code == 0, said.out
    found: dict[str, Any] = said.json["request"]
    return found


def refusal(run: Command, job: Job, *arguments: object) -> str:
    said = run("--lake", job.lake.uri, "--json", *arguments)
    assert said.code == 2, said.out
    assert requests.standing_requests(job.lake).filter(state="open").is_empty()
    return said.error["message"]


def logged(job: Job) -> list[tuple[Any, ...]]:
    names = ("kind", "state", "subject_kind", "basis", "requested_by", "revision")
    return requests.standing_requests(job.lake).select(names).rows()


def events(job: Job) -> list[str]:
    assert audit.verify(job.lake).broken is None
    return [entry.kind for entry in audit.entries(job.lake)]


def test_an_opt_out_is_a_recorded_request(job: Job, run: Command) -> None:
    told = verb(run, job, "opt-out", *FLAGS)
    assert (told["kind"], told["state"], told["requested_by"]) == ("opt_out", "done", "subject")
    due = datetime.fromisoformat(told["due_at"]) - datetime.fromisoformat(told["requested_at"])
    assert due == timedelta(days=job.policy.rights.other_due_days)
    assert logged(job) == [("opt_out", "done", "user", "gdpr-art-21", "subject", 2)]
    (entry,) = audit.entries(job.lake)
    assert (entry.kind, entry.request_id, entry.subject_hash) == (
        "opt_out_done",
        told["request_id"],
        told["subject_hash"],
    )
    assert (told["evidence"]["audit_seq"], told["evidence"]["audit_hash"]) == (1, entry.hash)
    assert landing.append(job.lake, [row(1)]).refused[0].reason == "opted_out"
    assert standing.load(job.lake, ANA).is_opted_out
    verb(run, job, "opt-in", *FLAGS)
    assert landing.append(job.lake, [row(1)]).refused == []
    assert standing.load_all(job.lake) == []
    assert events(job) == ["opt_out_done", "opt_in_done"]


def test_nothing_personal_is_recorded(job: Job, run: Command) -> None:
    verb(run, job, "forbid-topic", "Zebrafish", "--tenant", "acme", "--user", "anastasia")
    for folder in ("audit", "tables/requests", "tombstones"):
        for path in (Path(job.lake.uri) / folder).rglob("*"):
            raw = path.read_bytes() if path.is_file() else b""
            assert b"anastasia" not in raw
            assert b"zebrafish" not in raw.lower()
    assert list((Path(job.lake.uri) / "state" / "requests").iterdir()) == []


def test_a_topic_is_forbidden_and_allowed(job: Job, run: Command) -> None:
    verb(run, job, "forbid-topic", "My  Divorce", *FLAGS)
    verb(run, job, "forbid-topic", "loan", *FLAGS)
    assert standing.load(job.lake, ANA).forbidden_topics == ("loan", "my divorce")
    assert refusal(run, job, "forbid-topic", "LOAN", *FLAGS) == "this topic is forbidden already"
    assert len(logged(job)) == 2
    assert refusal(run, job, "allow-topic", "divorce", *FLAGS) == "this topic is not forbidden"
    verb(run, job, "allow-topic", "MY DIVORCE", *FLAGS)
    assert standing.load(job.lake, ANA).forbidden_topics == ("loan",)


def test_a_hold_stands_until_it_is_released(job: Job, run: Command) -> None:
    verb(run, job, "hold", *FLAGS, "--basis", "court_order", "--requested-by", "authority")
    assert standing.load(job.lake, ANA).is_held
    assert logged(job) == [("hold", "done", "user", "court-order", "authority", 2)]
    verb(run, job, "hold", "--tenant", "acme", "--tenant-wide", "--basis", "other:audit")
    assert refusal(run, job, "release", "--tenant", "acme", "--session", "s1", "--basis", "ccpa") == (
        "this session is not held"
    )
    opened = record(job, ANA, "gdpr-art-17", "subject")
    told = run("--lake", job.lake.uri, "release", *FLAGS, "--basis", "court-order").out
    assert f"erasure {opened.request_id} is open: the next night" in told
    assert [one.subject for one in standing.load_all(job.lake)] == [Subject("acme")]


def test_a_hold_on_nobody_known_says_so(job: Job, run: Command, tmp_path: Path) -> None:
    hold = ("--lake", job.lake.uri, "--json", "hold", "--basis", "ccpa", "--tenant", "acme")
    unknown = run(*hold, "--user", "ana").json
    assert unknown["warning"] == "nothing of this user is in the lake yet; the hold stands for what comes"
    assert unknown["request"]["state"] == "done"
    night(job, tmp_path, "a", [said(1, "Good morning.", "03-05")])
    assert run(*hold, "--user", "ana").json["warning"] is None
    assert run(*hold, "--user", "ben").json["warning"]
    assert run(*hold, "--tenant-wide").json["warning"] is None


def test_requests_of_one_person_name_what_stands(job: Job, run: Command) -> None:
    hold = ("--basis", "ccpa")
    for words in (("hold", *FLAGS, *hold), ("release", *FLAGS, *hold), ("hold", *FLAGS, *hold)):
        verb(run, job, *words)
    verb(run, job, "forbid-topic", "loan", *FLAGS)
    verb(run, job, "period", 60, "--tenant", "acme", "--user", "ben")
    verb(run, job, "opt-out", "--tenant", "other", "--user", "ana")
    asked = ("--lake", job.lake.uri, "--json", "requests")
    found = run(*asked, *FLAGS).json
    states = sorted((one["kind"], one["in_force"]) for one in found["requests"])
    assert states == [("forbid_topic", "yes"), ("hold", "no"), ("hold", "yes"), ("release", "no")]
    assert found["standing"]["forbidden_topics"] == ["loan"]
    assert found["standing"]["is_held"] is True
    kinds = [one["kind"] for one in run(*asked, "--tenant", "acme").json["requests"]]
    assert (len(kinds), "opt_out" in kinds) == (5, False)
    text = run("--lake", job.lake.uri, "requests", *FLAGS).out
    assert "forbidden topics: loan" in text
    verb(run, job, "allow-topic", "loan", *FLAGS)
    after = {one["kind"]: one["in_force"] for one in run(*asked, *FLAGS).json["requests"]}
    assert after["forbid_topic"] == "no"


def test_a_period_is_at_least_a_month(job: Job, run: Command) -> None:
    verb(run, job, "period", 30, *FLAGS)
    assert standing.load(job.lake, ANA).period_seconds == 30 * 86_400
    for odd in ("29", "-30", "1e3", "ninety", "30.5", "٣٠", ""):
        assert "is no period of 30 days or more" in refusal(run, job, "period", odd, *FLAGS)
    verb(run, job, "period", "policy", *FLAGS)
    assert standing.load_all(job.lake) == []


def test_memories_are_pinned_by_the_first_characters_of_their_id(
    job: Job, run: Command, tmp_path: Path
) -> None:
    night(job, tmp_path, "a", [said(1, "I live in Graz.", "03-05"), said(2, "note", "03-05", user_id="ben")])
    episode = content(job).filter(user_id="ana")["episode_id"][0]
    fact = tables.scan(job.lake, FACTS).collect()["fact_id"][0]
    (landed,) = landing.append(job.lake, [row(9)]).landed
    verb(run, job, "pin", episode[:8], "--tenant", "acme")
    verb(run, job, "pin", fact, *FLAGS)
    verb(run, job, "pin", landed, "--tenant", "acme")
    assert set(standing.load(job.lake, ANA).pinned) == {episode, fact, landed}
    verb(run, job, "unpin", fact[:10], "--tenant", "acme")
    assert set(standing.load(job.lake, ANA).pinned) == {episode, landed}
    assert "is not pinned" in refusal(run, job, "unpin", fact, "--tenant", "acme")
    assert "has no memory" in refusal(run, job, "pin", episode, "--tenant", "acme", "--user", "ben")
    assert "has no memory" in refusal(run, job, "pin", episode, "--tenant", "umbrella")
    assert "too short" in refusal(run, job, "pin", "ab", "--tenant", "acme")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("opt-out",), "needs a tenant"),
        (("opt-out", "--tenant", "acme"), "about one user"),
        (("opt-out", *FLAGS, "--session", "s"), "about one user"),
        (("opt-out", *FLAGS, "--basis", "because Ana said so"), "legal basis is none"),
        (("opt-in", *FLAGS), "has not opted out"),
        (("hold", *FLAGS), "--basis"),
        (("hold", "--tenant", "acme", "--basis", "ccpa"), "whole tenant must be asked for"),
        (("hold", *FLAGS, "--tenant-wide", "--basis", "ccpa"), "whole tenant must be asked for"),
        (("forbid-topic", "!?", *FLAGS), "a topic has"),
        (("forbid-topic", "x", "--tenant", "acme"), "one user or agent"),
        (("correct", "0123456789", "--to", "x", "--tenant", "acme"), "has no memory"),
    ],
)
def test_what_is_off_is_told_and_not_recorded(
    job: Job, run: Command, arguments: tuple[str, ...], told: str
) -> None:
    assert told in refusal(run, job, *arguments)
    assert logged(job) == []
    assert audit.entries(job.lake) == []


def correct_fact(job: Job, run: Command, *more: str) -> dict[str, Any]:
    fact = next(one for one in tables.scan(job.lake, FACTS).collect().to_dicts() if one["aspect"] == "seat")
    told = ("--to", "I prefer the window seat.", "--object", "window seat")
    said = run("--lake", job.lake.uri, "--json", "correct", fact["fact_id"], *told, *FLAGS, *more)
    assert said.code == 0, said.out
    return said.json


def test_a_fact_is_corrected_by_the_next_consolidation(job: Job, run: Command, tmp_path: Path) -> None:
    night(job, tmp_path, "a", [said(1, "I prefer an aisle seat on flights.", "03-05")])
    assert facts(job) == [("prefers", "aisle seat", "positive", None)]
    with pytest.raises(AssertionError, match="the legal basis is none of the list"):
        correct_fact(job, run, "--basis", "because")
    plan = correct_fact(job, run)["plan"]
    assert (plan["before"], plan["after"]) == ("The user prefers aisle seat", "The user prefers window seat")
    assert logged(job) == []
    told = correct_fact(job, run, "--yes")["request"]
    assert (told["state"], events(job)) == ("open", ["correct_requested"])
    assert resume_open(job) == []
    night(job, tmp_path, "b", [said(2, "Good morning.", "03-06")])
    expected = [
        ("prefers", "aisle seat", "positive", "retracted"),
        ("prefers", "window seat", "positive", None),
    ]
    assert sorted(facts(job)) == expected
    assert [one.request_id for one in resume_open(job)] == [told["request_id"]]
    assert events(job) == ["correct_requested", "correct_done"]
    assert resume_open(job) == []
    claimed = claims(job).filter(source="user_said", confidence=1.0)
    assert claimed["operation"].sort().to_list() == ["assert", "retract"]
    run_consolidate(job, complete=True)
    assert sorted(facts(job)) == expected


def test_a_fact_is_corrected_as_of_the_call(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "a", [said(1, "I prefer an aisle seat on flights.", "03-05")])
    (fact,) = tables.scan(job.lake, FACTS).collect().to_dicts()
    cases = (
        (fact["last_confirmed_at"] + timedelta(days=1), True),
        (fact["last_confirmed_at"] - timedelta(days=1), False),
        (datetime.now(UTC) + timedelta(days=1), False),
    )
    for at, is_then in cases:
        asked = replace(job, as_of=at)
        row = details_of(asked, "acme", fact["fact_id"], "The window.", "window seat")["row"]
        assert row.get("event_at") == (at.isoformat() if is_then else None)


def test_a_corrected_fact_is_corrected_once_however_often_it_is_resumed(
    job: Job, run: Command, tmp_path: Path
) -> None:
    night(job, tmp_path, "a", [said(1, "I prefer an aisle seat on flights.", "03-05")])
    correct_fact(job, run, "--yes")
    assert resume_open(job) == resume_open(job) == []
    night(job, tmp_path, "b", [])
    night(job, tmp_path, "c", [said(2, "Good morning.", "03-06")])
    assert content(job).filter(source="correction").height == 1


def test_an_episode_is_said_anew_and_the_wrong_one_erased(job: Job, tmp_path: Path) -> None:
    told = [said(1, "I live in Graz.", "03-05"), said(2, "I live in Cork.", "03-05", user_id="ben")]
    night(job, tmp_path, "a", told)
    (wrong,) = content(job).filter(user_id="ana").to_dicts()
    details = details_of(job, "acme", wrong["episode_id"], "I live in Linz. Mail me at ann@example.com", None)
    subject = Subject("acme", memory=wrong["episode_id"])
    done = ask(job, "correct", subject, basis="gdpr-art-16", requested_by="subject", details=details)
    assert done.state == "done"
    assert wrong["episode_id"] not in content(job)["episode_id"]
    assert ingest(job, tmp_path / "a.jsonl")["landed"] == 1  # the right one; the wrong one stays away
    (right,) = content(job).filter(user_id="ana").to_dicts()
    same = ("tenant_id", "user_id", "session_id", "role", "kind", "event_at", "month")
    assert [right[name] for name in same] == [wrong[name] for name in same]
    assert right["content"] == "I live in Linz. Mail me at [REDACTED:email]"
    assert right["source"] == "correction"
    assert json.loads(right["metadata"]) == {"correction": {"request_id": done.request_id}}
    night(job, tmp_path, "b", [])
    assert sorted(name for _, name, _, _ in facts(job)) == ["cork", "linz"]
    kinds = requests.standing_requests(job.lake).select("kind", "state").rows()
    assert sorted(kinds) == [("correct", "done"), ("erase", "done")]
    assert audit.verify(job.lake).broken is None
    assert "Graz" not in str(content(job)["content"].to_list())


def test_what_is_derived_is_corrected_through_what_it_rests_on(job: Job, tmp_path: Path) -> None:
    night(job, tmp_path, "a", [said(1, "I live in Graz.", "03-05")])
    (fact,) = tables.scan(job.lake, FACTS).collect()["fact_id"]
    (episode,) = content(job)["episode_id"]
    for memory, text, value, told in (
        (fact, "x", None, "needs its new object"),
        (fact, "x", "Graz", "holds that object already"),
        (fact, "x", "  ", "the object has to have"),
        (fact, "", "Linz", "cannot be stored: no_content"),
        (episode, "x", "Linz", "an episode has no object"),
        (episode, "", None, "cannot be stored: no_content"),
    ):
        with pytest.raises(UsageError, match=told):
            details_of(job, "acme", memory, text, value)
    ask(job, "opt_out", ANA, basis="consent", requested_by="subject")
    with pytest.raises(UsageError, match="opted_out"):
        details_of(job, "acme", episode, "x", None)


def test_a_correction_of_who_was_erased_meanwhile_is_closed(job: Job, run: Command, tmp_path: Path) -> None:
    night(job, tmp_path, "a", [said(1, "I prefer an aisle seat on flights.", "03-05")])
    correct_fact(job, run, "--yes")
    tombstones.place(job.lake, ANA, None, "ab" * 16)
    (done,) = resume_open(job)
    assert (done.state, done.evidence["refused"]) == ("done", "erased_subject")
