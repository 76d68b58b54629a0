"""Units on real workers: deaths and faults hit the unit they are in, and nothing else."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import polars as pl
import pytest

from flows.embed import run_embed
from flows.engine.run import run_units
from flows.engine.units import Done
from flows.job import Job, exclusive
from lake import tables
from tests.flows.engine.crews import (
    KINDS,
    begun,
    engine_job,
    scheduler,
    unit,
    worker_path,
    workers_below,
)
from tests.flows.lakes import content, ingest, row, start, write
from transforms.errors import EndpointError
from transforms.schemas import COSTS, RUNS, VECTORS

pytestmark = pytest.mark.server
TWO_MODELS = "[embedder.previous]\ndimensions = 64\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_and_a_death_hit_one_unit_each(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_path(monkeypatch)
    job = engine_job(tmp_path, kind)
    kinds = {"a": "good", "b": "poison", "c": "row", "d": "unlucky", "e": "lake", "f": "good", "g": "good"}
    with exclusive(job):
        ends = {
            done.unit.name: done
            for done in run_units(job, [unit(tmp_path, *one) for one in kinds.items()], "t")
        }
        again = list(run_units(job, [unit(tmp_path, "h", "good"), unit(tmp_path, "i", "good")], "t"))
        assert workers_below(os.getpid())
    assert not workers_below(os.getpid())
    results = {name: done.result for name, done in ends.items() if done.result}
    assert sorted(results) == ["a", "d", "f", "g"]
    assert {done.result["name"] for done in again if done.result} == {"h", "i"}
    assert {r["threads"] for r in results.values()} == {max(1, (os.cpu_count() or 1) // 2)}
    assert os.getpid() not in {r["pid"] for r in results.values()}
    assert {(r["as_of"], r["batch_rows"]) for r in results.values()} == {("2026-06-30T23:00:00+00:00", 100)}
    codes = {name: done.failure.code for name, done in ends.items() if done.failure}
    assert codes == {"b": "killed", "c": "internal", "e": "lake"}
    assert "locker" not in str(ends["c"].failure)
    assert "unexpected ColumnNotFoundError" in str(ends["c"].failure)
    counts = {name: begun(tmp_path).count(name) for name in kinds}
    # The deadly ones once more; what ended is not done again, whatever happened beside it. At a Dask worker
    # an end that was not fetched yet may die with it: its unit is done again, and ends as before.
    again_done = {name for name, count in counts.items() if count > 1}
    assert {"b", "d"} <= again_done
    assert len(again_done) <= (2 if kind == "local" else 4)
    assert (counts["b"], counts["d"]) == (2, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_that_all_would_meet_ends_the_run(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_path(monkeypatch)
    job = engine_job(tmp_path, kind)
    with exclusive(job), pytest.raises(EndpointError, match="no answer"):
        list(run_units(job, [unit(tmp_path, f"u{n}", "endpoint") for n in range(20)], "t"))
    assert not workers_below(os.getpid())
    assert len(begun(tmp_path)) < 20


def texts(tmp_path: Path, count: int) -> Path:
    rows = [row(n, tenant_id=f"t{n % 5}", content=f"text {n % (count - 7)} of many") for n in range(count)]
    return write(tmp_path / "rows.jsonl", rows)


def kill_one_in_the_middle(job: Job, pid: int, killed: list[int]) -> threading.Thread:
    """Kill a worker once the first vectors are there."""

    def act() -> None:
        while tables.version(job.lake, VECTORS) < 1:
            time.sleep(0.005)
        killed.append(workers_below(pid)[0])
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def vectors(job: Job) -> pl.DataFrame:
    return content(job, VECTORS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_worker_changes_nothing_of_what_comes_out(kind: str, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    plain = engine_job(tmp_path / "plain", "local", workers=1, text=TWO_MODELS)
    job = engine_job(tmp_path, kind, text=TWO_MODELS)
    source = texts(tmp_path, 800)
    for one in (plain, job):
        ingest(one, source)
    expected = run_embed(plain)
    killed: list[int] = []
    with exclusive(job):
        killer = kill_one_in_the_middle(job, os.getpid(), killed)
        result = run_embed(job)
    killer.join()
    assert killed
    assert (result.state, result.rejected) == (expected.state, expected.rejected)
    assert vectors(job).equals(vectors(plain))
    assert vectors(job)["dimensions"].value_counts().sort("dimensions").rows() == [(64, 800), (256, 800)]
    assert content(job, RUNS).filter(pl.col("step") == "embed")["state"].to_list() == ["done"]
    assert run_embed(job).state == "unchanged"


def test_costs_of_workers_come_back_under_the_same_names(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    plain, job = engine_job(tmp_path / "plain", "local", workers=1), engine_job(tmp_path, "local")
    source = texts(tmp_path, 200)
    (job.lake.root or tmp_path).joinpath("state").mkdir(exist_ok=True)
    for one in (plain, job):
        ingest(one, source)
        run_embed(one)
    names = ["model_key", "task", "mode", "requests", "input_tokens", "money"]
    held, wanted = (content(one, COSTS).select(names).sort(names) for one in (job, plain))
    assert held.equals(wanted)
    assert held["input_tokens"].sum() > 0
    assert content(job, COSTS)["tenant_hash"].n_unique() == 5
    from lake.rights.subjects import salt, tenant_hash

    assert tenant_hash(salt(job.lake), "t1") in content(job, COSTS)["tenant_hash"]


def started(tmp_path: Path, *words: str) -> tuple[Job, list[str]]:
    """A lake with texts, its job in this process, and the words of a call that embeds them."""
    job = engine_job(tmp_path, "local", workers=1)
    ingest(job, texts(tmp_path, 2_000))
    call = ["--lake", str(tmp_path / "lake"), "--config", str(tmp_path / "slowwave.toml"), "--as-of"]
    return job, [*call, "2026-06-30T23:00:00Z", "embed", *words]


def until(condition: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_killed_lead_leaves_no_worker_and_the_next_run_goes_on(tmp_path: Path) -> None:
    job, words = started(tmp_path, "--engine", "local", "--workers", "2")
    lead = start(*words, cwd=tmp_path)
    until(lambda: tables.version(job.lake, VECTORS) >= 1)
    os.kill(lead.pid, signal.SIGSTOP)  # else a quick machine is done before the second has begun
    second = start(*words, cwd=tmp_path)
    assert second.wait() == 8  # one run at a time on a lake
    workers = workers_below(lead.pid)
    lead.kill()
    lead.communicate()
    second.communicate()
    until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in workers))
    before = vectors(job).height
    assert len(workers) == 2
    assert run_embed(job).rows_out == 2_000 - before
    assert vectors(job)["text_hash"].n_unique() == vectors(job).height == 2_000


def test_a_killed_lead_of_a_cluster_is_followed_by_another(tmp_path: Path) -> None:
    """Its orphan works on at the cluster, and what it does is refused or right."""
    with scheduler() as cluster:
        job, words = started(tmp_path, "--scheduler", cluster.scheduler_address)
        lead = start(*words, cwd=tmp_path)
        until(lambda: tables.version(job.lake, VECTORS) >= 1)
        lead.kill()
        lead.communicate()
        next_one = start(*words, cwd=tmp_path)
        assert next_one.wait() == 0
        next_one.communicate()
        assert vectors(job)["text_hash"].n_unique() == vectors(job).height == 2_000


def test_units_go_to_the_scheduler_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_path(monkeypatch)
    with scheduler() as cluster:
        job = engine_job(tmp_path, "dask", scheduler=cluster.scheduler_address, wait_seconds=20)
        ends = list(run_units(job, [unit(tmp_path, "a", "good"), unit(tmp_path, "b", "row")], "t"))
        assert sorted(map(_code, ends)) == ["done", "internal"]
        cluster.scale(0)
        short = engine_job(tmp_path, "dask", scheduler=cluster.scheduler_address, wait_seconds=0.5)
        until(lambda: not cluster.scheduler_info["workers"])
        with pytest.raises(EndpointError, match="no workers"):
            list(run_units(short, [unit(tmp_path, "c", "good")], "t"))
    with pytest.raises(EndpointError, match="no Dask scheduler"):
        list(run_units(short, [unit(tmp_path, "c", "good")], "t"))


def _code(done: Done) -> str:
    return done.failure.code if done.failure else "done"
