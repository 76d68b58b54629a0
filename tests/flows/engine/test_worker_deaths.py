"""Workers that die as they start, or while they write the index: the run ends as one in this process does."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flows import publish_counts
from flows.__main__ import main
from flows.embed import run_embed
from flows.engine.processes import THREAD_VARIABLES, thread_variables
from flows.engine.run import run_units
from flows.job import Job, exclusive
from flows.publish import run_publish
from lake.index import Generation
from lake.recall import Recall
from tests.flows.engine.crews import KINDS, engine_job, unit, worker_path, workers_below
from tests.flows.lakes import AS_OF, ingest, row, write
from tests.flows.test_publish_update import live, rows_of

POLICY = "[publish]\nlarge_scope_rows = 60\n"


def killing(
    until: Callable[[], bool], sent: signal.Signals = signal.SIGKILL
) -> tuple[threading.Thread, list[int]]:
    """Sends a signal to a worker of this process once a condition holds."""
    killed: list[int] = []
    pid = os.getpid()

    def act() -> None:
        while not (until() and workers_below(pid)):
            time.sleep(0.002)
        killed.append(workers_below(pid)[0])
        os.kill(killed[0], sent)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread, killed


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_is_killed_as_it_starts_is_followed_by_another(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_path(monkeypatch)
    job = engine_job(tmp_path, kind)
    with exclusive(job):
        killer, killed = killing(lambda: True)
        ends = list(run_units(job, [unit(tmp_path, name, "good") for name in "abcd"], "t"))
    killer.join()
    assert killed
    assert sorted(done.result["name"] for done in ends if done.result) == ["a", "b", "c", "d"]


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_is_no_business_of_a_worker_that_starts(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    worker_path(monkeypatch)
    job = engine_job(tmp_path, kind)
    with exclusive(job):
        sender, told = killing(lambda: True, signal.SIGINT)
        ends = list(run_units(job, [unit(tmp_path, name, "good") for name in "ab"], "t"))
    sender.join()
    assert told
    assert [done.failure for done in ends] == [None, None]
    assert "Traceback" not in capfd.readouterr().err


def texts(folder: Path) -> Path:
    """Of nine tenants; one person has a table of her own."""
    rows = [row(n, tenant_id=f"t{n % 9}", user_id=f"u{n % 2}", session_id=f"s{n % 5}") for n in range(900)]
    return write(folder / "rows.jsonl", [*rows, *(row(1_000 + n, user_id="ada") for n in range(80))])


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_killed_in_publish_changes_no_row_and_no_answer(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_at = tmp_path / "plain"
    plain_at.mkdir()
    plain = engine_job(plain_at, "local", workers=1, text=POLICY)
    job = engine_job(tmp_path, kind, text=POLICY)
    for one in (plain, job):
        ingest(one, texts(tmp_path))
        run_embed(replace(one, recipe=None))
    monkeypatch.setattr(publish_counts, "GROUP_ROWS", 1)
    run_publish(plain)
    index = tmp_path / "lake" / "index"
    with exclusive(job):
        killer, killed = killing(lambda: any(index.glob("gen-*/*.lance/data/*")))
        run_publish(job)
    killer.join()
    assert killed
    assert not workers_below(os.getpid())
    mine, wanted = live(job), live(plain)
    assert len(mine.tables) == len(wanted.tables) > 1
    assert rows_of(job, mine).equals(rows_of(plain, wanted))
    assert files_named(job) == len(list((index / mine.generation / "main.lance" / "data").iterdir()))
    for tenant, user in (("t3", "u1"), ("acme", "ada"), ("t4", "u0")):
        assert answers(job, tenant, user) == answers(plain, tenant, user) != []


def files_named(job: Job) -> int:
    """Data files that the main table of the live generation knows of."""
    fragments = Generation(job.lake, live(job)).dataset("main").get_fragments()
    return sum(len(fragment.data_files()) for fragment in fragments)


def answers(job: Job, tenant: str, user: str) -> list[tuple[str, float]]:
    """What a question finds, and how well."""
    reader = Recall(job.lake, embedder=job.embedder)
    found = reader.search("note 7 on the harbour office", tenant=tenant, user=user, as_of=AS_OF)
    return [(hit.id, hit.score) for hit in found]


def test_blas_has_one_thread_unless_the_environment_says_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert thread_variables(8) == {**dict.fromkeys(THREAD_VARIABLES, "8"), "OPENBLAS_NUM_THREADS": "1"}
    main(["--version"])
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    main(["--version"])
    assert thread_variables(8)["OPENBLAS_NUM_THREADS"] == os.environ["OPENBLAS_NUM_THREADS"] == "3"
    assert capsys.readouterr().out
