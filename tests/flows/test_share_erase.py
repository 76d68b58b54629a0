"""What was shared goes with its source: end to end, with the certificate, by a slow search of every byte."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows.erase import record
from flows.job import Job
from lake import landing
from lake.recall import Recall
from lake.rights import tombstones
from lake.sharing import grants, teams
from lake.sharing.grants import Grant
from lake.sharing.share import Shared
from tests.flows.erasing import before, copied, erase, holding, lake_of, said
from tests.flows.lakes import CountingEmbedder, content, job_on
from transforms.schemas import EPISODES
from transforms.sharing.rules import Terms
from transforms.subjects import Subject

NIGHT = datetime.now(UTC)
"""Shares happen now, so the rows are of yesterday."""
YESTERDAY = {"event_at": (NIGHT - timedelta(days=1)).isoformat()}
DESK = {**YESTERDAY, "user_id": None, "agent_id": "desk-agent", "session_id": None}
BARRELS = "The cider barrels are stacked behind the third bay of the depot."
SCALES = "The scales of the depot are calibrated on the first Tuesday of a month."
ANA = "The cider press at the depot is serviced by the miller from Graz."


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    rows = [
        said(1, BARRELS, **DESK, role="assistant"),
        said(2, SCALES, **DESK, role="assistant"),
        said(3, ANA, agent_id="desk-agent", **YESTERDAY),
        said(
            4, "I live in Cork and keep seven bees in the attic.", user_id="ben", session_id="b1", **YESTERDAY
        ),
    ]
    job = lake_of(job_on(folder / "lake", as_of=NIGHT), folder, rows)
    grants.make(job.lake, Grant("acme", "desk-agent", "van-agent", Terms(), NIGHT))
    grants.make(job.lake, Grant("acme", "other", "van-agent", Terms(), NIGHT))
    teams.add(job.lake, "acme", "depot", agent="desk-agent", at=NIGHT)
    teams.add(job.lake, "acme", "depot", user="ana", at=NIGHT)
    teams.add(job.lake, "acme", "depot", user="ben", at=NIGHT)
    return folder / "lake"


@pytest.fixture
def job(template: Path, tmp_path: Path) -> Job:
    return job_on(copied(template, tmp_path / "lake"), as_of=NIGHT)


def share(job: Job) -> Shared:
    done = Recall(job.lake, embedder=CountingEmbedder()).share(
        "depot cider barrels scales", tenant="acme", from_agent="desk-agent", to_agent="van-agent"
    )
    assert {one.text for one in done.shared} == {
        f"[Shared from desk-agent] {t}" for t in (BARRELS, SCALES, ANA)
    }
    return done


def night(job: Job, folder: Path) -> None:
    """The copies into the tables and the index."""
    lake_of(job_on(Path(job.lake.storage.uri), as_of=datetime.now(UTC)), folder, [])


def van(job: Job) -> set[str]:
    found = Recall(job.lake, embedder=CountingEmbedder()).search(
        "depot", tenant="acme", agent="van-agent", k=10
    )
    return {memory.text.removeprefix("[Shared from desk-agent] ") for memory in found}


@pytest.mark.parametrize("is_published", [False, True])
def test_an_agents_copies_go_with_it(job: Job, tmp_path: Path, is_published: bool) -> None:
    share(job)
    if is_published:
        night(job, tmp_path)
    assert van(job) == {BARRELS, SCALES, ANA}
    record(job, Subject("acme", agent="desk-agent"), "gdpr_art_17", "subject")
    assert van(job) == set(), "hidden at once, before anything was erased"
    certificate = erase(job, agent="desk-agent")
    assert certificate.data["outcome"] == "complete"
    assert certificate.data["verification"]["passed"]
    assert before(certificate)["grants"] == 1
    assert before(certificate)["teams"] == 1
    assert van(job) == set()
    assert holding(tmp_path / "lake", [BARRELS, SCALES, ANA, "desk-agent"]) == {}
    assert [one.giver for one in grants.load_all(job.lake)] == ["other"]


@pytest.mark.parametrize("is_published", [False, True])
def test_one_memorys_copy_goes_with_it(job: Job, tmp_path: Path, is_published: bool) -> None:
    done = share(job)
    if is_published:
        night(job, tmp_path)
    source = next(one for one in done.shared if BARRELS in one.text)
    record(job, Subject("acme", memory=source.source_id), "gdpr_art_17", "subject")
    assert van(job) == {SCALES, ANA}, "hidden at once, before anything was erased"
    certificate = erase(job, memory=source.source_id)
    assert certificate.data["outcome"] == "complete"
    assert van(job) == {SCALES, ANA}
    assert holding(tmp_path / "lake", [BARRELS, source.id, source.source_id]) == {}


def test_a_persons_copies_and_memberships_go_with_the_person(job: Job, tmp_path: Path) -> None:
    share(job)
    night(job, tmp_path)
    record(job, Subject("acme", user="ana"), "gdpr_art_17", "subject")
    assert van(job) == {BARRELS, SCALES}, "hidden at once, before anything was erased"
    certificate = erase(job, user="ana")
    assert certificate.data["outcome"] == "complete"
    assert before(certificate)["teams"] == 1
    assert holding(tmp_path / "lake", [ANA]) == {}
    assert [(one.kind, one.id) for one in teams.load_all(job.lake)] == [
        ("agent", "desk-agent"),
        ("user", "ben"),
    ]
    assert teams.teams_of(job.lake, "acme", user="ana") == []


def test_what_a_person_wrote_for_a_team_goes_with_the_person(job: Job, tmp_path: Path) -> None:
    text = "The key of the weighbridge hangs behind the calendar of the depot."
    done = landing.append(job.lake, [{"content": text}], scope="team:depot", tenant_id="acme", user_id="ana")
    assert len(done.landed) == 1
    night(job, tmp_path)
    reader = Recall(job.lake, embedder=CountingEmbedder())
    ben = {"tenant": "acme", "user": "ben", "also": ["team:depot"]}
    assert text in {memory.text for memory in reader.search("weighbridge key", **ben)}
    assert erase(job, user="ana").data["outcome"] == "complete"
    assert text not in {memory.text for memory in reader.search("weighbridge key", **ben)}
    assert holding(tmp_path / "lake", [text]) == {}


def test_a_tenants_grants_and_teams_go_with_it(job: Job) -> None:
    share(job)
    certificate = erase(job)
    assert (before(certificate)["grants"], before(certificate)["teams"]) == (2, 3)
    assert grants.load_all(job.lake) == []
    assert teams.load_all(job.lake) == []


def test_a_copy_is_not_made_of_what_is_erased_meanwhile(job: Job) -> None:
    """The tombstone stands between search and landing: under the lock it is looked at once more."""
    reader = Recall(job.lake, embedder=CountingEmbedder())
    found = reader._found

    def late(*arguments: object) -> list[dict[str, object]]:
        rows = found(*arguments)  # type: ignore[arg-type]
        tombstones.place(job.lake, Subject("acme", agent="desk-agent"), None, "0" * 32)
        return rows

    reader._found = late  # type: ignore[method-assign,assignment]
    done = reader.share("depot cider", tenant="acme", from_agent="desk-agent", to_agent="van-agent")
    assert done.shared == []
    assert {one.reason for one in done.withheld} == {"erased_subject"}
    assert van(job) == set()


def test_nothing_is_derived_of_a_copy(job: Job, tmp_path: Path) -> None:
    share(job)
    night(job, tmp_path)
    copies = content(job, EPISODES).filter(source="share")
    assert copies.height == 3
    derived = [p for p in (tmp_path / "lake" / "tables").rglob("*.parquet") if "episodes" not in str(p)]
    held = holding(tmp_path / "lake", copies["episode_id"].to_list())
    assert not [key for key in held if key.startswith("tables/") and "/episodes/" not in f"/{key}"], derived
