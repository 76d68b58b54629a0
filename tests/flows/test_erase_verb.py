"""The verb, nights that complete what is open, holds, leaks, a full disk: what a person sees of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.erase_plan import plan_text
from flows.job import LOCK, Job
from flows.nightly import run_nightly
from flows.present_night import night_table
from lake import landing, locks, tables
from lake.recall import Recall
from lake.rights import audit, requests, standing, tombstones
from tests.flows.erasing import CANARY, GROUP_SENTENCES, copied, erase, holding, lake_of, people, said
from tests.flows.lakes import AS_OF, Command, Said, files_below, ingest, job_on, row, write
from transforms.errors import BusyError, CheckError
from transforms.schemas import EPISODES
from transforms.standing import Standing
from transforms.subjects import Subject

ANA = Subject("acme", user="ana")
SENTENCES = ["yellow house by the old mill", CANARY, *GROUP_SENTENCES]
NAMED = ("--tenant", "acme", "--user", "ana")
BASIS = ("--basis", "gdpr_art_17", "--yes")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verb")
    lake_of(job_on(folder / "lake"), folder, people())
    return folder / "lake"


@pytest.fixture
def job(template: Path, tmp_path: Path) -> Job:
    return job_on(copied(template, tmp_path / "lake"))


@pytest.fixture
def slowwave(command: Command, job: Job, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """The command on the job's lake, with the job's own embedder."""
    monkeypatch.setattr("flows.setup.make_embedder", lambda _: job.embedder)

    def run(*arguments: object) -> Said:
        return command("--json", "--lake", job.lake.uri, "--as-of", AS_OF.isoformat(), *arguments)

    return run


def test_without_yes_it_only_says_what_would_go(slowwave: Callable[..., Said], job: Job) -> None:
    landing.append(job.lake, [{"content": "a plum", "tenant_id": "acme", "user_id": "ana"}], now=AS_OF)
    was = files_below(Path(job.lake.uri))
    plan = slowwave("erase", *NAMED).json["plan"]
    assert plan["stores"]["episodes"] == 6
    assert plan["stores"]["landing"] == 1
    assert plan["stores"]["index"] > 0
    assert "all derived rows of 1 owner would go, those of 1 owner would be" in plan_text(plan)
    assert plan["owners"] == {"gone": 1, "derived_anew": 1}
    assert files_below(Path(job.lake.uri)) == was


def test_calls_that_name_too_little_or_too_much(slowwave: Callable[..., Said]) -> None:
    for arguments in (
        ("erase", *NAMED, "--yes"),
        ("erase", *NAMED, "--basis", "because"),
        ("erase", "--user", "ana", *BASIS),
        ("erase", "--tenant", "acme", *BASIS),
        ("erase", *NAMED, "--tenant-wide", *BASIS),
        ("erase", "--tenant", "acme", "--agent", "club", "--alias", "x", *BASIS),
    ):
        assert slowwave(*arguments).code == 2


def test_a_memory_may_be_named_by_the_beginning_of_its_id(slowwave: Callable[..., Said], job: Job) -> None:
    rows = tables.scan(job.lake, EPISODES).filter(tenant_id="acme", user_id="ana").collect()
    memory = rows["episode_id"][0]
    plan = slowwave("erase", "--tenant", "acme", "--memory", memory[:12]).json["plan"]
    assert plan["stores"]["episodes"] == 1
    # What names nothing must not end as a complete erasure of nothing.
    assert slowwave("erase", "--tenant", "acme", "--memory", "0" * 12, *BASIS).code == 2
    assert requests.open_requests(job.lake) == []


def test_the_certificate_and_its_check(slowwave: Callable[..., Said], job: Job, tmp_path: Path) -> None:
    certificate = slowwave("erase", *NAMED, *BASIS).json["certificate"]
    assert certificate["outcome"] == "complete"
    path = Path(job.lake.uri) / "certificates" / f"{certificate['request_id']}.json"
    assert slowwave("erase", "--verify", path).json["hash"] == "valid"
    assert slowwave("erase", "--verify", path, *NAMED).json["absence"]["passed"]
    assert slowwave("erase", "--verify", path, "--tenant", "acme", "--user", "ben").code == 2
    in_lake = f"certificates/{path.name}"  # as an erasure tells it
    assert slowwave("erase", "--verify", in_lake, *NAMED).json["absence"]["passed"]
    assert slowwave("erase", "--verify", f"certificates/../{in_lake}").code == 3
    assert slowwave("erase", "--verify", f"certificates/{'0' * 32}.json").code == 3
    tombstones.lift(job.lake, ANA)  # what comes from now on is new
    assert ingest(job, write(tmp_path / "new.jsonl", [row(1, "the ferry at nine")]))["landed"] == 1
    later = slowwave("erase", "--verify", in_lake, *NAMED)
    assert later.code == CheckError.exit_code
    assert "erase it again" in later.error["remedy"]
    assert requests.open_requests(job.lake) == []
    changed = json.loads(path.read_text())
    changed["outcome"] = "held"
    path.write_text(json.dumps(changed))
    assert slowwave("erase", "--verify", path).code == CheckError.exit_code
    path.write_text("{}")
    assert slowwave("erase", "--verify", path).code == 3


def test_a_busy_lake_has_it_recorded_and_the_next_night_completes_it(
    slowwave: Callable[..., Said], job: Job
) -> None:
    with locks.hold(job.lake, LOCK, 0):
        told = slowwave("erase", *NAMED, *BASIS)
    assert told.code == BusyError.exit_code
    assert "recorded" in told.error["message"]
    (request,) = requests.open_requests(job.lake)
    search = Recall(job.lake, policy=job.policy, embedder=job.embedder)
    assert search.search("yellow house", tenant="acme", user="ana", k=5, as_of=AS_OF) == []
    landed = landing.append(job.lake, [{"content": "x", "tenant_id": "acme", "user_id": "ana"}], now=AS_OF)
    assert landed.landed == []
    night = run_nightly(job, [])
    assert night.as_dict()["erasures"] == {"complete": [request.request_id], "held": [], "failed": []}
    assert holding(Path(job.lake.uri), SENTENCES) == {}
    assert f"erasure completed: certificates/{request.request_id}.json" in night_table(night)
    assert "erasures" not in run_nightly(job, []).as_dict()


def test_a_leak_is_told_by_its_place_and_never_called_a_success(
    slowwave: Callable[..., Said], job: Job
) -> None:
    stray = Path(job.lake.uri) / "backup" / "notes.txt"
    stray.parent.mkdir()
    stray.write_text(f"copied by hand: {people()[0]['content']} she said")
    told = slowwave("erase", *NAMED, *BASIS)
    assert told.code == CheckError.exit_code
    assert "backup/notes.txt" in told.error["message"]
    assert SENTENCES[0] not in told.out + told.err
    (request,) = requests.open_requests(job.lake)
    assert request.state == "failed"
    assert [e.kind for e in audit.entries(job.lake)][-1] == "erase_failed"
    with pytest.raises(CheckError, match=r"open erasures failed.*backup/notes\.txt"):
        run_nightly(job, [])
    stray.unlink()
    (done,) = slowwave("erase", "--resume").json["certificates"]
    assert (done["outcome"], done["request_id"]) == ("complete", request.request_id)
    assert {s["store"]: s["before"] for s in done["stores"]}["episodes"] == 6
    assert requests.open_requests(job.lake) == []
    assert slowwave("erase", "--resume").json["certificates"] == []


def test_what_is_held_stays_until_it_is_released(job: Job) -> None:
    standing.save(job.lake, Standing(Subject("acme", user="ana", session="s2"), is_held=True))
    certificate = erase(job, user="ana")
    assert certificate.outcome == "held"
    kept = {k["what"]: k["count"] for k in certificate.data["kept"]}
    held = next(k["stores"] for k in certificate.data["kept"] if k["what"] == "rows_held")
    assert held["episodes"] == 1
    assert kept["rows_held"] == sum(held.values()) > 1  # what rests on it, too
    assert "rows stay under legal hold" in certificate.text
    root = Path(job.lake.uri)
    assert holding(root, ["painted under the third step", *GROUP_SENTENCES]) == {}
    assert holding(root, ["send the parcel"])
    assert requests.open_requests(job.lake)[0].state == "held"
    assert len(run_nightly(job, []).as_dict()["erasures"]["held"]) == 1
    standing.save(job.lake, Standing(Subject("acme", user="ana", session="s2")))
    assert len(run_nightly(job, []).as_dict()["erasures"]["complete"]) == 1
    assert holding(root, [*SENTENCES, "send the parcel"]) == {}
    raw = job.lake.storage.read(f"certificates/{certificate.request_id}.json") or b""
    last = json.loads(raw)
    assert last["outcome"] == "complete"
    assert {s["store"]: s["before"] for s in last["stores"]}["episodes"] == 6


def test_where_all_is_held_nothing_is_counted_as_others(slowwave: Callable[..., Said], job: Job) -> None:
    for subject in (ANA, Subject("acme", agent="club")):
        standing.save(job.lake, Standing(subject, is_held=True))
    certificate = erase(job, user="ana")
    (held,) = (k for k in certificate.data["kept"] if k["what"] == "rows_held")
    assert held["stores"]["episodes"] == 6
    assert "no row could be removed" in certificate.text
    assert "nothing of this subject" not in certificate.text
    assert certificate.data["verification"]["mentions_held"] > 0
    assert certificate.data["verification"]["mentions"] == 8  # of umbrella's ana
    page = (job.lake.storage.read(f"certificates/{certificate.request_id}.html") or b"").decode()
    assert "nothing of the subject was in them" not in page
    assert "still open; due" in page


def test_canaries_in_fields_that_nobody_indexes(tmp_path: Path) -> None:
    planted = ["zq-canary-in-metadata", "zq-canary-in-arguments", "zq-canary-of-a-file"]
    rows: list[dict[str, Any]] = [
        said(1, "A row with a secret place.", metadata={"deep": [{"er": planted[0]}]}),
        said(
            2,
            "A tool was called.",
            role="tool",
            kind="action",
            tool_name="find",
            tool_arguments={"q": planted[1]},
        ),
        said(3, "A row of ben.", user_id="ben"),
    ]
    folder = tmp_path / "files"
    folder.mkdir()
    job = job_on(tmp_path / "lake")
    lake_of(job, folder, rows)
    path = next(folder.glob("*.jsonl"))
    renamed = path.rename(folder / f"{planted[2]}.jsonl")
    lake_of(job, folder, [said(4, "A row of a named file.")])
    from tests.flows.lakes import ingest

    renamed.write_text(json.dumps(said(5, "Another row of a named file.")) + "\n")
    ingest(job, renamed)
    assert len({hit for hits in holding(tmp_path / "lake", planted).values() for hit in hits}) == 3
    certificate = erase(job, user="ana", canaries=planted)
    assert certificate.data["verification"]["passed"]
    assert holding(tmp_path / "lake", planted) == {}
    assert tables.scan(job.lake, EPISODES).collect()["content"].to_list() == ["A row of ben."]


@pytest.mark.parametrize("key", ["state/retaining.json", "state/retaining/1.json"])
def test_a_killed_retention_leaves_no_name_behind(job: Job, key: str) -> None:
    rebuilt = [["acme", "user:ana", "s2"], ["acme", "user:ben", "b1"]]
    journal: dict[str, Any] = {
        "run_id": "r",
        "removed": {},
        "audit_seq": None,
        "rebuilt": rebuilt,
        "pending": None,
    }
    job.lake.storage.write(key, json.dumps(journal).encode())
    assert erase(job, user="ana").outcome == "complete"
    left = json.loads(job.lake.storage.read(key) or b"")
    assert left["rebuilt"] == rebuilt[1:]


def test_a_planted_text_of_somebody_elses_row_fails_the_proof(job: Job) -> None:
    with pytest.raises(CheckError, match="leaks"):
        erase(job, user="ana", canaries=["keep seven bees in the attic"])
    assert requests.open_requests(job.lake)[0].state == "failed"


def test_a_disk_that_fills_leaves_the_request_open(small_disk: Callable[[int], Path], template: Path) -> None:
    lake = small_disk(50_000) / "lake"
    shutil.copytree(template, lake)
    used = shutil.disk_usage(lake).used // 1024
    small_disk(used + 60)
    job = job_on(lake)
    with pytest.raises(Exception, match="the disk is full"):
        erase(job, user="ana")
    small_disk(used + 20_000)
    if not requests.open_requests(job.lake):  # it was full before the request could be recorded
        assert erase(job, user="ana").outcome == "complete"
    night = run_nightly(replace(job, as_of=AS_OF + timedelta(seconds=1)), [])
    assert night.erasures is None or len(night.as_dict()["erasures"]["complete"]) == 1
    assert holding(lake, SENTENCES) == {}
