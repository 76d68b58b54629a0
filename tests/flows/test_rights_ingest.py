"""Files and landed rows of those who must not be remembered, and what stands at the end of a request."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.job import Job
from flows.rights import ask
from lake import landing
from lake.rights import audit, requests, standing, tombstones
from tests.flows.lakes import AS_OF, Command, content, ingest, job_on, row, write
from transforms.schemas import EPISODES, QUARANTINE
from transforms.standing import Standing
from transforms.subjects import Subject

REQUEST = "ab" * 16
ANA = Subject("acme", user="ana")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def rows(**more: Any) -> list[dict[str, Any]]:
    bad = {**more, "content": "", "note": "zebra"}
    return [row(1, **more), row(2, **more), row(3, user_id="anabel"), row(4, **bad)]


def users(job: Job) -> set[str]:
    held = [*content(job, EPISODES)["user_id"], *content(job, QUARANTINE)["user_id"]]
    return set(held)


def test_rows_of_an_erased_user_are_left_out_and_counted(job: Job, tmp_path: Path) -> None:
    tombstones.place(job.lake, ANA, None, REQUEST)
    tally = ingest(job, write(tmp_path / "a.jsonl", rows()))
    assert tally["left_out"] == {"erased_subject": 3}
    assert (tally["landed"], tally["quarantined"]) == (1, 0)
    assert users(job) == {"anabel"}


def test_a_file_that_went_in_before_is_no_place_to_come_back_from(job: Job, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", rows())
    ingest(job, file)
    tombstones.place(job.lake, ANA, AS_OF, REQUEST)
    for note in (Path(job.lake.uri) / "state" / "ingested").rglob("*.json"):
        note.unlink()
    assert ingest(job, file)["left_out"] == {"erased_subject": 3}
    again = ingest(job, file)  # what is erased stays so: the file need not be read again
    assert (again["unchanged_files"], again["left_out"]) == (1, {"erased_subject": 3})


def test_what_the_erased_user_does_later_comes_in(job: Job, tmp_path: Path) -> None:
    tombstones.place(job.lake, ANA, datetime(2026, 6, 2, 10, tzinfo=UTC), REQUEST)
    told = [row(1), row(2), row(3)]  # on June 2nd, 3rd and 4th
    assert ingest(job, write(tmp_path / "a.jsonl", told))["left_out"] == {"erased_subject": 1}
    assert content(job).height == 2


def test_landed_rows_are_looked_at_again_when_they_are_ingested(job: Job) -> None:
    landing.append(job.lake, rows())
    tombstones.place(job.lake, ANA, None, REQUEST)
    tally = ingest(job)
    assert tally["left_out"] == {"erased_subject": 3}
    assert users(job) == {"anabel"}
    assert landing.seal(job.lake) == []


@pytest.mark.parametrize("kind", ["opted_out", "erased_subject", "forbidden_topic"])
def test_a_file_with_refused_rows_is_read_again_once_they_are_allowed(
    job: Job, tmp_path: Path, kind: str
) -> None:
    file = write(tmp_path / "a.jsonl", rows(content="note on my divorce"))
    if kind == "forbidden_topic":
        standing.save(job.lake, Standing(ANA, forbidden_topics=("divorce",)))
    else:
        mark = next(one for one in tombstones.MARKS if one == kind)
        tombstones.place(job.lake, ANA, None, REQUEST, mark=mark)
    for _ in range(2):
        tally = ingest(job, file)
        assert tally["left_out"] == {kind: 2 + (kind != "forbidden_topic")}
        assert tally["unchanged_files"] == 0
    standing.save(job.lake, Standing(ANA))
    for one in tombstones.MARKS:
        tombstones.lift(job.lake, ANA, mark=one)
    assert ingest(job, file)["landed"] == 2
    assert users(job) == {"ana", "anabel"}
    assert ingest(job, file)["unchanged_files"] == 1


def test_a_forbidden_topic_is_not_kept_in_quarantine_either(job: Job, tmp_path: Path) -> None:
    standing.save(job.lake, Standing(ANA, forbidden_topics=("zebra",)))
    tally = ingest(job, write(tmp_path / "a.jsonl", rows()))
    assert tally["left_out"] == {"forbidden_topic": 1}
    assert content(job, QUARANTINE).is_empty()


def opened(job: Job, **more: Any) -> requests.Request:
    now = datetime.now(UTC)
    asked = {"basis": "ccpa", "requested_by": "subject", "at": now, "due_at": now + timedelta(days=1), **more}
    return requests.open_request(job.lake, "export", ANA, **asked)


def test_requests_are_listed_with_the_open_ones_first(job: Job, run: Command) -> None:
    assert run("--lake", job.lake.uri, "requests").out == "no requests\n"
    ask(job, "hold", ANA, basis="court-order", requested_by="authority")
    waiting = opened(job)
    said = run("--lake", job.lake.uri, "--json", "requests")
    assert said.code == 0
    assert [(one["kind"], one["state"]) for one in said.json["requests"]] == [
        ("export", "open"),
        ("hold", "done"),
    ]
    assert (said.json["open"], said.json["overdue"]) == (1, 0)
    assert said.json["requests"][1]["evidence"]["is_held"] == 1
    assert waiting.request_id[:8] in run("--lake", job.lake.uri, "requests").out


def test_an_overdue_request_is_in_plain_sight(job: Job, run: Command) -> None:
    late = opened(job, due_at=datetime.now(UTC) - timedelta(seconds=1))
    before = ("--lake", job.lake.uri, "--as-of", "2020-01-01T00:00:00Z")
    assert run(*before, "requests").code == 0
    said = run("--lake", job.lake.uri, "requests")
    assert said.code == 7
    assert "OVERDUE" in said.out
    assert "1 open, 1 overdue" in said.out
    assert "requests open: 1, 1 OVERDUE" in run("--lake", job.lake.uri, "status").out
    status = run("--lake", job.lake.uri, "--json", "status").json["rights"]
    assert (status["open_requests"], status["overdue_requests"]) == (1, 1)
    doctor = run("--lake", job.lake.uri, "--json", "doctor")
    assert doctor.code == 7
    (found,) = [one for one in doctor.json["findings"] if one["name"] == "requests"]
    assert late.request_id[:8] in found["detail"]
    requests.update(job.lake, late, "done", {}, datetime.now(UTC))
    after = run("--lake", job.lake.uri, "requests")
    assert after.code == 0
    assert "done, late" in after.out


def test_status_counts_what_stands(job: Job, run: Command) -> None:
    ask(job, "hold", ANA, basis="court-order", requested_by="authority")
    ask(job, "opt_out", Subject("acme", user="ben"), basis="consent", requested_by="subject")
    told = run("--lake", job.lake.uri, "--json", "status").json["rights"]
    assert told == {
        "open_requests": 0,
        "overdue_requests": 0,
        "holds": 1,
        "opted_out": 1,
        "pins": 0,
        "tombstones": 1,
    }


def test_doctor_checks_the_audit_and_shows_its_head(job: Job, run: Command) -> None:
    ask(job, "hold", ANA, basis="court-order", requested_by="authority")
    head = audit.head(job.lake)
    assert head is not None

    def finding(*more: str) -> dict[str, Any]:
        said = run("--lake", job.lake.uri, "--json", "doctor", *more)
        (found,) = [dict(one) for one in said.json["findings"] if one["name"] == "audit"]
        return found

    assert finding()["detail"].endswith(f"keep the head elsewhere: 1:{head.hash}")
    assert finding("--anchor", f"1:{head.hash}")["passed"]
    assert not finding("--anchor", f"2:{head.hash}")["passed"]
    assert run("--lake", job.lake.uri, "--json", "doctor", "--anchor", "1").code == 2
    path = Path(job.lake.uri) / audit.key_of(1)
    told = json.loads(path.read_bytes())
    path.write_text(json.dumps({**told, "kind": "release_done"}))
    assert "event 1 cannot be read" in finding()["detail"]
