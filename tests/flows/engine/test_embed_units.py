"""Embedding in units: however the work is cut, each text is of one unit; one that fails fails alone."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows import embed_units
from flows.embed import run_embed
from flows.embed_units import bucket_of, embed_unit, plan
from flows.engine.config import EngineConfig
from flows.engine.tasks import TASKS
from flows.engine.units import UnitsError
from flows.job import Job
from flows.nightly import UnfinishedError, run_nightly
from lake import tables
from lake.index_record import read_pointer
from tests.flows.lakes import Command, content, ingest, job_on, row, write
from transforms.embedding import with_text_hash
from transforms.errors import LakeError
from transforms.ids import tenant_bucket
from transforms.schemas import EPISODES, RUNS, VECTORS

TENANTS = 6
MORNING = "2026-06-01T08:00:00Z"


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of six tenants in four buckets, some of them twice, in two landings."""
    folder = tmp_path_factory.mktemp("landed")
    for part in range(2):
        rows = [
            row(100 * part + n, f"text {n % 25}", tenant_id=f"t{n * n % TENANTS}", event_at=MORNING)
            for n in range(60)
        ]
        ingest(job_on(folder / "lake", buckets=4), write(folder / f"{part}.jsonl", rows))
    return folder / "lake"


def job_of(lake: Path, workers: int) -> Job:
    job = job_on(lake, buckets=4)
    return Job(**{**vars(job), "engine": EngineConfig(workers=workers)})


@given(workers=st.integers(1, 9), most=st.integers(1, 80))
@settings(max_examples=25)
def test_each_text_is_of_one_unit(landed: Path, workers: int, most: int) -> None:
    job = job_of(landed, workers)
    files = {"episodes": sorted(tables.data_files(job.lake, EPISODES))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embed_units, "UNIT_ROWS", most)
        units = plan(job, 0, files)
    found: list[str] = []
    for unit in units:
        names = unit.payload["files"]["episodes"]
        assert {bucket_of(name) for name in names} == set(unit.buckets)
        rows = tables.scan(job.lake, EPISODES, files=names).collect()
        hashed = with_text_hash(rows, job.policy.embed.max_text_chars)
        found += hashed.filter(embed_units._is_of(unit.payload))["text_hash"].unique().to_list()
        assert "t1" not in unit.name
    wanted = with_text_hash(content(job), job.policy.embed.max_text_chars)["text_hash"].unique()
    assert sorted(found) == sorted(wanted)
    assert abs(sum(unit.rows for unit in units) - content(job).height) <= len(units)


def test_a_unit_done_again_writes_what_is_missing(tmp_path: Path) -> None:
    job = job_of(tmp_path / "lake", 2)
    ingest(job, write(tmp_path / "a.jsonl", [row(n) for n in range(40)]))
    files = {"episodes": sorted(tables.data_files(job.lake, EPISODES))}
    (unit,) = plan(job, 0, files)
    first, again = embed_unit(job, unit.payload), embed_unit(job, unit.payload)
    assert (first["written"], again["written"]) == (40, 0)
    assert content(job, VECTORS).height == 40


COUNT, FEW = 400, 2


def failing(bucket: int) -> object:
    def unit(job: Job, payload: dict[str, object]) -> dict[str, object]:
        names = [name for files in payload["files"].values() for name in files]  # type: ignore[attr-defined]
        if any(bucket_of(name) == bucket for name in names):
            raise LakeError("a file is missing", "Restore it.")
        return embed_unit(job, payload)  # type: ignore[arg-type]

    return unit


@pytest.fixture
def one_bucket_fails(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("tests.flows.engine.planted_tasks.planted", failing(1))
    monkeypatch.setitem(TASKS, "embed", "tests.flows.engine.planted_tasks:planted")
    monkeypatch.setattr(embed_units, "UNIT_ROWS", 399)
    return 1


def rows_of(tmp_path: Path) -> Path:
    """Mostly of bucket 0; two rows of bucket 1, which fails."""
    names = [f"t{n}" for n in range(40)]
    most, few = (next(name for name in names if tenant_bucket(name, 4) == bucket) for bucket in (0, 1))
    rows = [row(n, tenant_id=few if n < FEW else most) for n in range(COUNT)]
    return write(tmp_path / "a.jsonl", rows)


def test_a_failed_unit_is_due_again_and_the_others_are_not(
    tmp_path: Path, one_bucket_fails: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(tmp_path / "lake", 1)
    ingest(job, rows_of(tmp_path))
    with pytest.raises(UnitsError, match="the others were done") as caught:
        run_embed(job)
    assert {told["code"] for told in caught.value.told()} == {"lake"}
    held = content(job, VECTORS)
    assert held.height == COUNT - FEW
    assert one_bucket_fails not in held["tenant_bucket"].to_list()
    monkeypatch.setitem(TASKS, "embed", "flows.embed_units:embed_unit")
    rest = run_embed(job)
    assert (rest.rows_in, rest.rows_out) == (FEW, FEW)
    assert run_embed(job).state == "unchanged"
    embeds = content(job, RUNS).filter(pl.col("step") == "embed").sort("started_at")
    assert embeds["state"].to_list() == ["failed", "done"]
    assert embeds["error"].to_list() == ["units", None]


def test_a_night_with_a_failed_unit_goes_on_and_says_so(
    tmp_path: Path, one_bucket_fails: int, command: Command
) -> None:
    lake = tmp_path / "lake"
    words = ("--lake", lake, "--json", "--as-of", "2026-06-30T23:00:00Z")
    assert command("--lake", lake, "init", "--buckets", "4").code == 0
    said = command(*words, "nightly", rows_of(tmp_path))
    assert said.code == UnitsError.exit_code
    error = said.json["error"]
    assert error["code"] == "units"
    assert "the rest of the night was run" in error["message"]
    assert {(told["step"], told["unit"].split(",")[0], told["code"]) for told in error["units"]} >= {
        ("embed", f"bucket {one_bucket_fails}", "lake")
    }
    job = job_of(lake, 1)
    states = dict(content(job, RUNS).select("step", "state").iter_rows())
    assert states["embed"] == "failed"
    assert {states["ingest"], states["publish"]} == {"done"}
    assert read_pointer(job.lake) is not None


def test_the_steps_of_such_a_night_are_known(tmp_path: Path, one_bucket_fails: int) -> None:
    del one_bucket_fails
    job = job_of(tmp_path / "lake", 1)
    ingest(job, rows_of(tmp_path))
    with pytest.raises(UnfinishedError) as caught:
        run_nightly(job, ())
    states = {step.name: step.state for step in caught.value.night.steps}
    assert states["embed"] == "failed"
    assert states["publish"] == "done"
    assert caught.value.night.steps[1].detail["failed_units"]


def test_a_night_is_told_too_where_a_damaged_file_fails_every_step(tmp_path: Path, command: Command) -> None:
    lake = tmp_path / "lake"
    words = ("--lake", lake, "--as-of", "2026-06-30T23:00:00Z")
    assert command("--lake", lake, "init", "--buckets", "4").code == 0
    assert command(*words, "ingest", rows_of(tmp_path)).code == 0
    for file in (lake / "tables" / "episodes").rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:200])
    said = command(*words, "nightly")
    assert said.code == LakeError.exit_code
    assert "is damaged: 200 bytes" in said.err
    failed = [line.split()[0] for line in said.err.splitlines() if line.split()[1:2] == ["failed"]]
    assert failed == ["embed", "consolidate", "decay", "retain", "publish"]
