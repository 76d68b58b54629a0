"""Retain that dies before any of its writes and is run again: the same rows, ledger and audit event.

One death is a real kill of a process; the others are told apart from it by nothing on disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from flows.job import Job
from flows.retain import run_retain
from flows.retain_journal import JOURNAL, left
from lake import history as history_of
from lake import tables
from lake.rights import audit
from lake.rights.subjects import salt
from lake.storage import LocalStorage
from tests.flows.dying import living
from tests.flows.lakes import AS_OF, REPOSITORY, content, environment, job_on
from tests.flows.sleepers import history, night
from transforms.errors import HistoryError
from transforms.schemas import EPISODES, RUNS, STORED

WHEN = AS_OF + timedelta(days=300)
"""Episodes, and the older of the facts, conversations and summaries, are due."""
STRIDE = int(os.environ.get("SLOWWAVE_CRASH_STRIDE", "9"))
"""Every ninth write, so that all kinds of writes come up; 1 tries each."""


def state_of(job: Job) -> dict[str, list[Any]]:
    """All that a run of retain leaves, but for its random id."""
    held: dict[str, list[Any]] = {}
    for table in STORED:
        if table is not RUNS:
            rows = content(job, table)
            held[table.name] = sorted(map(str, rows.drop("run_id", strict=False).rows()))
    events = [(e.kind, e.at, dict(e.counts)) for e in audit.entries(job.lake)]
    return {**held, "audit": events, "journal": [job.lake.storage.read(JOURNAL), *left(job)]}


def test_killed_before_any_write_and_run_again_it_ends_in_the_same_state(tmp_path: Path) -> None:
    made = job_on(tmp_path / "made", buckets=1)
    night(made, tmp_path, "all", history())
    salt(made.lake)  # each copy names tenants by the same hash
    clean = shutil.copytree(tmp_path / "made", tmp_path / "clean")
    alone = job_on(clean, as_of=WHEN, buckets=1)
    run_retain(alone)
    expected = state_of(alone)
    assert expected["episodes"] == []
    assert len(expected["audit"]) == 1
    assert expected["journal"] == [None]
    with living(effects=EFFECTS, is_counted=is_counted) as life:
        run_retain(job_on(shutil.copytree(tmp_path / "made", tmp_path / "counted"), as_of=WHEN, buckets=1))
    writes = life.count
    assert writes > 30

    reached: list[bool] = []

    def ends_well(lake: Path, number: int) -> None:
        job = job_on(lake, as_of=WHEN, buckets=1)
        run_retain(job)
        assert state_of(job) == expected, f"killed before write {number} of {writes}"
        reached.append(is_past_whole(job))

    for number in range(1, writes + 1, STRIDE):
        lake = shutil.copytree(tmp_path / "made", tmp_path / f"died-{number}")
        with living(number - 1, EFFECTS, is_counted):
            run_retain(job_on(lake, as_of=WHEN, buckets=1))
        ends_well(lake, number)
    middle = writes // 2
    lake = shutil.copytree(tmp_path / "made", tmp_path / "killed")
    command = [sys.executable, "-m", "tests.flows.retain_worker", WHEN.isoformat()]
    done = subprocess.run(
        command,
        input=f"{lake} {middle}\n",
        cwd=REPOSITORY,
        env=environment(),
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.strip() == "killed", done.stderr
    ends_well(lake, middle)
    # Only a death after the last write of the tables leaves no record of the versions: then it is refused.
    assert reached.count(False) <= 1
    assert reached[-1]


def is_past_whole(job: Job) -> bool:
    """Whether the episodes of before can be read from their version; a wrong answer fails."""
    try:
        then = history_of.reaching(job.lake, AS_OF, history_of.MEMORIES)
    except HistoryError:
        return False
    assert then is not None
    assert tables.scan(then, EPISODES).collect().height == len(history())
    return True


EFFECTS = (
    (tables, "append"),
    (tables, "rewrite"),
    *((LocalStorage, name) for name in ("write", "create", "delete")),
)


def is_counted(*arguments: Any) -> bool:
    """What is written inside a commit is not: a commit that is not in the log has not been."""
    return not (len(arguments) > 1 and isinstance(arguments[1], str) and arguments[1].startswith("tables/"))
