"""Erasures of people with odd names and open requests: no false alarm, and nothing left of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flows import rights
from flows.erase import resume_open, run_erase
from flows.erase_labels import stray_terms
from flows.erase_verify import look_again
from flows.erase_work import Work, work_of
from flows.job import Job
from flows.retain import run_retain
from flows.rights_correct import details_of
from lake import revisions, tables
from lake.rights import requests, standing
from lake.rights.requests import Request
from tests.flows.erasing import copied, erase, holding, lake_of, said
from tests.flows.lakes import content, ingest, job_on, write
from tests.lake.crypto.sealed import sealed_job
from transforms.erasure import searchable
from transforms.errors import UsageError
from transforms.schemas import EPISODES, TOPICS
from transforms.standing import Standing
from transforms.subjects import Subject

ODD = ["1", "the", "2026-03", "json"]
NOW = datetime(2026, 3, 20, tzinfo=UTC)


def rows() -> list[dict[str, Any]]:
    club = {"user_id": None, "agent_id": "club", "session_id": "group"}
    lines = [
        ("ben", "We have to paint the airship of the boathouse harbour."),
        ("ben", "You have to paint the airship of the boathouse harbour."),
        ("roof", "We have to paint the roof of the boathouse harbour."),
        ("pilot", "We have to paint the cellar of the boathouse harbour."),
        ("pilot", "You have to paint the cellar of the boathouse harbour."),
        ("cleo", "We have to paint the garden of the boathouse harbour."),
    ]
    return [
        *(said(i, f"I keep {i} geese behind the house.", user_id=name) for i, name in enumerate(ODD, 1)),
        said(10, "Please send the parcel to the yellow house.", session_id="s2"),
        said(11, "We met the one who is called json at noon.", user_id="ben"),
        *(said(20 + i, text, speaker=who, **club) for i, (who, text) in enumerate(lines)),
    ]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    lake_of(job_on(folder / "lake", buckets=1), folder, rows())
    return folder / "lake"


@pytest.fixture
def job(template: Path, tmp_path: Path) -> Job:
    return replace(job_on(copied(template, tmp_path / "lake"), buckets=1), as_of=NOW)


def test_names_of_which_every_file_is_full_raise_no_alarm(job: Job) -> None:
    # "the" comes after a certificate, whose page says it; "1" is a number of every log.
    assert [erase(job, user=name).outcome for name in ODD] == ["complete"] * len(ODD)
    assert holding(Path(job.lake.uri), ["geese behind"]) == {}
    assert any("called json" in text for text in content(job)["content"])


@pytest.mark.parametrize(
    ("name", "is_searched"),
    [
        ("12345678", False),
        ("123456789", True),
        ("2026-11-30", False),
        ("+49 170 1234567", True),
        ("u1", True),
        ("٣", False),
        ("😀", True),
        (" ", False),
        ("Word", False),
    ],
)
def test_a_name_that_could_be_a_count_is_looked_for_in_rows_only(name: str, *, is_searched: bool) -> None:
    assert bool(searchable([name], {"word"})) == is_searched


def test_a_topic_forgets_the_words_of_whoever_left_it(job: Job) -> None:
    def labels() -> set[str]:
        topics = revisions.standing(job.lake, TOPICS)
        return set(topics["label"].explode().drop_nulls())

    assert "airship" in labels()
    assert erase(job, user="ben").outcome == "complete"
    assert "airship" not in labels()
    assert holding(Path(job.lake.uri), ["airship"]) == {}


def test_a_label_that_was_left_fails_the_proof(job: Job) -> None:
    now = datetime.now(UTC)
    work: Work = work_of(job, Request("", "erase", Subject("acme", user="ben"), "", "subject", now, now))
    work.add("owner_stays", ["agent:club"])
    work.add("text", ["We have to paint the airship of the boathouse harbour."])
    assert stray_terms(work) == 0
    spoken = tables.scan(job.lake, EPISODES).collect()
    for name in tables.data_files(job.lake, EPISODES):
        held = tables.scan(job.lake, EPISODES, files=[name]).collect()
        tables.rewrite(job.lake, EPISODES, [name], held.filter(held["speaker"].ne_missing("ben")))
    assert tables.scan(job.lake, EPISODES).collect().height == spoken.height - 2
    assert stray_terms(work) == 1


def test_open_requests_of_the_erased_are_closed_and_others_stay(job: Job) -> None:
    def open_one(kind: str, subject: Subject, **row: str) -> str:
        details = {"row": {"content": "zq-swept-text", "tenant_id": "acme", **row}}
        request = requests.open_request(job.lake, kind, subject, "gdpr-art-16", "subject", NOW, NOW, details)
        return request.request_id

    roof, ben = Subject("acme", user="roof"), Subject("acme", user="ben")
    gone = [
        open_one("correct", roof, user_id="roof"),
        open_one("export", roof),
        open_one("correct", Subject("acme"), agent_id="club", speaker=" Roof"),
    ]
    stays = [open_one("correct", ben, user_id="ben"), open_one("hold", roof)]
    stays.append(open_one("correct", Subject("umbrella", user="roof"), tenant_id="umbrella", user_id="roof"))
    certificate = erase(job, user="roof")
    assert {one.request_id for one in requests.open_requests(job.lake)} == set(stays)
    log = dict(requests.standing_requests(job.lake).select("request_id", "state").iter_rows())
    assert {log[name] for name in gone} == {"done"}
    assert {s["store"]: s["before"] for s in certificate.data["stores"]}["requests"] == len(gone)


def test_the_basis_is_one_of_the_list(job: Job) -> None:
    with pytest.raises(UsageError, match="none of the list"):
        run_erase(job, Subject("acme", user="roof"), basis="she lives in Graz", requested_by="subject")
    assert requests.open_requests(job.lake) == []
    assert job.lake.storage.entries("tombstones") == []


def test_a_correction_of_what_is_held_waits_for_its_release(job: Job) -> None:
    ana = Subject("acme", user="ana")
    wrong = tables.scan(job.lake, EPISODES).collect()
    (memory,) = wrong.filter(wrong["content"].str.contains("yellow house"))["episode_id"]
    standing.save(job.lake, Standing(ana, is_held=True))
    told = details_of(job, "acme", memory, "Please send the parcel to the green house.", None)
    done = rights.ask(job, "correct", ana, basis="gdpr-art-16", requested_by="subject", details=told)
    assert done.state == "done"
    (waiting,) = requests.open_requests(job.lake)
    assert (waiting.kind, waiting.state) == ("erase", "held")
    standing.save(job.lake, Standing(ana))
    (resumed,) = resume_open(job)
    assert resumed.certificate is not None
    assert resumed.certificate.outcome == "complete"
    assert holding(Path(job.lake.uri), ["parcel to the yellow"]) == {}
    assert look_again(job, Subject("acme", memory=memory))["passed"]


def test_a_night_takes_out_what_a_restored_backup_brought_back(tmp_path: Path) -> None:
    job = replace(sealed_job(tmp_path / "lake"), as_of=NOW)
    ingest(job, write(tmp_path / "rows.jsonl", [said(1, "I keep geese."), said(2, "I ski.", user_id="ben")]))
    assert job.lake.keys is not None
    assert job.lake.keys.destroy(Subject("acme", user="ana")) == 1  # the tables are older than that
    run_retain(job)
    stored = tables.scan(job.lake, EPISODES, as_stored=True).collect()
    assert stored["user_id"].to_list() == ["ben"]
