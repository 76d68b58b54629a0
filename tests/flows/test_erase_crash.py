"""Erasures that are killed at every step, and erasures beside writers: the same state and the same proof."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows import erase as erase_flow
from flows.erase import resume_open
from flows.erase_certificate import Certificate, parse
from flows.job import Job, exclusive
from lake import tables
from lake.index_build import generations
from lake.rights import audit, requests, tombstones
from lake.rights.subjects import salt
from tests.flows.dying import EFFECTS, living
from tests.flows.erasing import GROUP_SENTENCES, copied, erase, group_chat, holding, lake_of, said
from tests.flows.lakes import REPOSITORY, environment, job_on
from transforms.policy import Policy
from transforms.schemas import REQUESTS, RUNS, STORED
from transforms.subjects import Subject

ANA = Subject("acme", user="ana")
WORKERS = Path(__file__).with_name("erase_workers.py")
SENTENCES = ["yellow house by the old mill", *GROUP_SENTENCES]


def rows() -> list[dict[str, Any]]:
    return [
        said(1, "I live in Graz, in the yellow house by the old mill."),
        said(11, "I live in Cork and keep seven bees in the attic.", user_id="ben", session_id="b1"),
        *group_chat(),
    ]


def worker(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WORKERS), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONWARNINGS="ignore"),
        cwd=REPOSITORY,
    )


def finished(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return out.splitlines()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crash")
    job = lake_of(job_on(folder / "lake", buckets=1), folder, rows())
    salt(job.lake)  # copies share it, so that their certificates name one hash
    return folder / "lake"


def state(job: Job) -> dict[str, Any]:
    """Everything of a lake that an erasure leaves behind, without ids of requests and instants."""
    found: dict[str, Any] = {}
    for table in STORED:
        if table not in (REQUESTS, RUNS):
            held = tables.scan(job.lake, table).collect().drop("revision", strict=False)
            found[table.name] = sorted(map(repr, held.rows()))
    found["requests"] = requests.standing_requests(job.lake)["state"].to_list()
    found["open"] = len(requests.open_requests(job.lake))
    stone = tombstones.load(job.lake).of(ANA)
    found["tombstone"] = stone is not None and not stone.is_open
    events = [entry.kind for entry in audit.entries(job.lake)]
    found["audit"] = [kind for kind in events if kind != "erase_failed"]
    found["generations"] = len(generations(job.lake))
    return found


PROOF = ("outcome", "subject_kind", "subject_hash", "owners", "keys_destroyed", "kept", "covers_backups")


def proof(certificate: Certificate) -> dict[str, Any]:
    """What a certificate proves, without instants and layout of files."""
    data = certificate.data
    told = {name: data[name] for name in PROOF}
    told["stores"] = {s["store"]: (s["before"], s["after"]) for s in data["stores"]}
    told["verified"] = [
        data["verification"][n] for n in ("passed", "leaks", "mentions", "needles", "rows_left")
    ]
    return told


def kept_certificate(job: Job) -> Certificate:
    """The only certificate of a lake."""
    (key,) = [e.key for e in job.lake.storage.entries("certificates") if e.key.endswith(".json")]
    return parse(job.lake.storage.read(key) or b"")


def erased(job: Job, point: tuple[str, int] | None = None) -> list[str]:
    """Erase ana, or go on with it where it is open; returns the steps of what changed something.

    Args:
        job: The run.
        point: Step, and effects of it before the death; a step with fewer ends in it. None: it lives.
    """
    steps: list[str] = []
    on = ["record"]
    timed = erase_flow._timed
    with living() as life, pytest.MonkeyPatch.context() as patch:

        def is_due(*_: object) -> bool:
            if point is not None and on[0] == point[0] and steps.count(on[0]) >= point[1]:
                life.die()
            steps.append(on[0])
            return True

        def followed(work: Any, name: str, act: Any) -> None:
            on[0] = name
            timed(work, name, act)
            if point is not None and name == point[0]:
                life.die()
            on[0] = "issue"

        patch.setattr(erase_flow, "_timed", followed)
        for owner, name in EFFECTS:
            patch.setattr(owner, name, life.watched(getattr(owner, name), is_due))
        if requests.open_requests(job.lake):
            with exclusive(job):
                assert [one.error for one in resume_open(job) if one.error] == []
        else:
            erase(job, user="ana")
    return steps


def middles(steps: list[str]) -> dict[str, int]:
    """Effects before the middle one of each step."""
    return {name: steps.count(name) // 2 for name in dict.fromkeys(steps)}


@pytest.fixture(scope="module")
def alive(template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, list[str]]:
    """A lake on which nothing died, and the steps of what changed something."""
    job = job_on(copied(template, tmp_path_factory.mktemp("alive") / "lake"), buckets=1)
    return job, erased(job)


def test_died_in_every_step_and_gone_on_with(
    template: Path, tmp_path: Path, alive: tuple[Job, list[str]]
) -> None:
    """One erasure that dies in the middle of one step after the other, each time it is gone on with."""
    whole, steps = alive
    assert {"record", "collect", "rows", "rebuild", "vectors", "index", "history", "issue"} <= set(steps)
    job = job_on(copied(template, tmp_path / "lake"), buckets=1)
    for name, before in middles(steps).items():
        assert len(erased(job, (name, before))) < len(steps), name
        assert requests.open_requests(job.lake), name
    erased(job)
    assert proof(kept_certificate(job)) == proof(kept_certificate(whole))
    assert state(job) == state(whole)
    assert holding(tmp_path / "lake", SENTENCES) == {}


KILLED = ("rows", "index")


def test_killed_and_run_again(template: Path, tmp_path: Path, alive: tuple[Job, list[str]]) -> None:
    """Real kills of a process: while rows go, and while the index is made anew."""
    whole, steps = alive
    points = [steps.index(name) + middles(steps)[name] for name in KILLED]
    for point in points:
        copied(template, tmp_path / str(point))
    assert finished(worker("killed", tmp_path, *points)) == []
    for point in points:
        job = job_on(tmp_path / str(point), buckets=1)
        with exclusive(job):
            done = resume_open(job)
        assert [one.error for one in done] == [None], steps[point]
        assert proof(kept_certificate(job)) == proof(kept_certificate(whole)), steps[point]
        assert state(job) == state(whole), steps[point]
        assert holding(tmp_path / str(point), SENTENCES) == {}


@pytest.fixture
def stop(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "lake.stop"
    yield path
    path.touch()


def test_landing_of_the_same_user_from_other_processes(template: Path, tmp_path: Path, stop: Path) -> None:
    job = job_on(copied(template, tmp_path / "lake"), buckets=1)
    writers = [worker("land", job.lake.uri, user, 0) for user in ("ana", "ben")]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
    certificate = erase(job, user="ana")
    stop.touch()
    numbers = [int(finished(writer)[-1]) for writer in writers]
    assert certificate.outcome == "complete"
    assert min(numbers) >= 3
    assert holding(tmp_path / "lake", ["ana lands walnut"]) == {}
    assert holding(tmp_path / "lake", ["ben lands walnut"])


def test_an_erasure_while_another_process_publishes(template: Path, tmp_path: Path, stop: Path) -> None:
    lake = copied(template, tmp_path / "lake")
    policy = Policy().model_copy(
        update={"run": Policy().run.model_copy(update={"on_busy": "wait", "busy_wait_seconds": 120})}
    )
    job = job_on(lake, policy=policy, buckets=1)
    publisher = worker("publish", job.lake.uri)
    assert publisher.stdout is not None
    assert publisher.stdout.readline() == "begun\n"
    certificate = erase(job, user="ana")
    stop.touch()
    finished(publisher)
    assert certificate.outcome == "complete"
    assert holding(lake, SENTENCES) == {}
