"""Upkeep that dies at any of its effects and is run again: the same rows, few files, nothing left over."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from flows.job import Job
from flows.nightly import run_nightly
from flows.upkeep_night import keep
from lake import table_log, tables, upkeep
from lake.storage import LocalStorage
from tests.flows.dying import living
from tests.flows.lakes import content, ingest, job_on, row, write
from transforms.policy import IngestPolicy, Policy
from transforms.policy_upkeep import UpkeepPolicy
from transforms.schemas import EPISODES, RUNS, STORED

POLICY = Policy(
    ingest=IngestPolicy(vacuum_after_hours=0), upkeep=UpkeepPolicy(checkpoint_commits=2, log_after_hours=0)
)
EFFECTS: tuple[tuple[Any, str], ...] = (
    (LocalStorage, "write"),
    (LocalStorage, "delete"),
    (tables, "_commit"),
    (tables, "write_commit"),  # its data files are written by then
    (tables, "sync_log"),  # it is committed by then
    (table_log, "_checkpoint"),
    (upkeep, "vacuum"),
)


def on(lake: Path) -> Job:
    return job_on(lake, policy=POLICY, buckets=2)


def unnamed(lake: Path) -> set[str]:
    """Data files that no table names."""
    job, found = on(lake), set[str]()
    for table in STORED:
        folder = lake / "tables" / table.name
        held = {path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")}
        found |= {name for name in held if not name.startswith("_delta_log")} - tables.data_files(
            job.lake, table
        )
    return found


def rows_of(job: Job) -> dict[str, list[str]]:
    return {t.name: sorted(map(str, content(job, t).rows())) for t in STORED if t is not RUNS}


def most_files(job: Job) -> int:
    folders = [name.rpartition("/")[0] for name in tables.data_files(job.lake, EPISODES)]
    return max(folders.count(folder) for folder in folders)


def test_killed_before_any_of_its_effects_and_run_again(tmp_path: Path) -> None:
    made = tmp_path / "made"
    for n in range(8):
        ingest(
            on(made), write(tmp_path / f"{n}.jsonl", [row(10 * n + i, tenant_id=f"t{i}") for i in range(4)])
        )
    run_nightly(job_on(made, buckets=2), [])
    for n in range(8, 14):
        ingest(
            on(made), write(tmp_path / f"{n}.jsonl", [row(10 * n + i, tenant_id=f"t{i}") for i in range(4)])
        )
    expected = rows_of(on(made))
    assert most_files(on(made)) > POLICY.upkeep.partition_files
    with living(effects=EFFECTS) as life:
        keep(on(shutil.copytree(made, tmp_path / "clean")))
    assert life.count > 15
    for number in range(life.count):
        lake = shutil.copytree(made, tmp_path / f"died-{number}")
        with living(number, EFFECTS):
            keep(on(lake))
        assert rows_of(on(lake)) == expected, f"killed before effect {number}"
        keep(on(lake))
        assert rows_of(on(lake)) == expected, number
        assert most_files(on(lake)) <= POLICY.upkeep.partition_files, number
        for path in lake.rglob("*.parquet"):
            os.utime(path, (time.time() - 90_000, time.time() - 90_000))
        for table in STORED:
            upkeep.vacuum(on(lake).lake, table, upkeep.SAFE_HOURS)
        assert unnamed(lake) == set(), number
        shutil.rmtree(lake)
