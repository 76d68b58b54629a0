"""What each job reads follows what is new since it ran: also after a missed week, and after a restore."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.decay import run_decay
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job, StepResult
from flows.publish import run_publish
from flows.retain import run_retain
from lake import tables
from lake.lake import Lake
from lake.sources import open_sources
from tests.flows.lakes import files_below, job_on, row, write
from transforms.schemas import EPISODES, Table
from transforms.validate import Defaults

AS_OF = datetime(2026, 6, 10, 23, tzinfo=UTC)
BUCKETS = 8
BASE_ROWS = 12
"""Of each tenant; each tenant has a bucket of its own."""
STEPS = (("embed", run_embed), ("consolidate", run_consolidate), ("decay", run_decay), ("retain", run_retain))
_BUCKET = re.compile(r"tenant_bucket=(\d+)/")


@dataclass
class Read:
    """Data files that a block read, by table."""

    files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def buckets(self, table: Table) -> set[int]:
        """Tenant buckets of the files of a table."""
        return {int(match[1]) for name in self.files[table.name] if (match := _BUCKET.search(name))}


@contextmanager
def watching() -> Iterator[Read]:
    """Note every data file that is opened to be read; everything is read all the same."""
    read, real = Read(), tables.scan_files

    def noted(lake: Lake, table: Table, names: Sequence[str]) -> pl.LazyFrame:
        read.files[table.name] |= set(names)
        return real(lake, table, names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "scan_files", noted)
        yield read


def tenants(lake: Lake) -> dict[int, str]:
    """A tenant of each bucket."""
    found: dict[int, str] = {}
    for number in range(200):
        found.setdefault(lake.bucket(f"tenant-{number}"), f"tenant-{number}")
    assert len(found) == BUCKETS
    return dict(sorted(found.items()))


def told(tenant: str, first: int, count: int) -> list[dict[str, Any]]:
    """Rows of a tenant, two to three weeks old: nothing of them ripens or expires meanwhile.

    They lie in another month than what ripens: for that, times of a month's episodes are looked through.
    """
    rows = (row(number, tenant_id=tenant, id=f"{tenant}-{number}") for number in range(first, first + count))
    return [{**one, "event_at": f"2026-05-{20 + n % 10:02d}T10:00:00Z"} for n, one in enumerate(rows)]


def landed(job: Job, rows: Sequence[dict[str, Any]]) -> None:
    path = write(Path(job.lake.uri).parent / "rows.jsonl", rows)
    run_ingest(job, ((source, Defaults()) for source in open_sources(str(path), "auto")))


def later(root: Path, as_of: datetime) -> Job:
    return replace(job_on(root, buckets=BUCKETS), as_of=as_of)


def rest_of_the_night(job: Job) -> dict[str, tuple[StepResult, Read]]:
    """The steps after ingest, each with what it read."""
    found = {}
    for name, run in (*STEPS, ("publish", run_publish)):
        with watching() as read:
            found[name] = (run(job), read)
    return found


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake after two nights, of which the second found nothing to do."""
    root = tmp_path_factory.mktemp("settled") / "lake"
    job = later(root, AS_OF)
    landed(job, [one for tenant in tenants(job.lake).values() for one in told(tenant, 0, BASE_ROWS)])
    rest_of_the_night(job)
    assert {result.state for result, _ in rest_of_the_night(job).values()} == {"unchanged"}
    return root


@pytest.fixture
def root(settled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(settled, tmp_path / "lake"))


@pytest.mark.parametrize("days", [0, 1, 7], ids=["same_day", "next_night", "missed_week"])
def test_a_night_reads_the_buckets_that_have_news(root: Path, days: int) -> None:
    job = later(root, AS_OF + timedelta(days=days))
    bucket, tenant = list(tenants(job.lake).items())[3]
    before = tables.data_files(job.lake, EPISODES)
    landed(job, told(tenant, BASE_ROWS, 5))
    fresh = tables.data_files(job.lake, EPISODES) - before
    night = rest_of_the_night(job)
    assert night["embed"][0].rows_in == 5
    assert night["embed"][1].files[EPISODES.name] <= fresh
    assert night["consolidate"][0].rows_in == 5
    for name in ("consolidate", "decay", "retain"):
        result, read = night[name]
        assert read.buckets(EPISODES) <= {bucket}, name
        assert result.rows_in <= 5 * (BASE_ROWS + 5), name
    assert night["publish"][0].state == "done"


def test_a_week_of_landings_is_read_once(root: Path) -> None:
    """Seven days on which rows came and no night ran, then one night."""
    job = later(root, AS_OF + timedelta(days=7))
    some = dict(list(tenants(job.lake).items())[:3])
    for day, (_, tenant) in enumerate(list(some.items()) * 2):
        landed(job, told(tenant, BASE_ROWS + 2 * day, 2))
    night = rest_of_the_night(job)
    assert night["embed"][0].rows_in == 12
    assert night["consolidate"][0].rows_in == 12
    for name in ("consolidate", "decay", "retain"):
        assert night[name][1].buckets(EPISODES) <= set(some), name
    again = rest_of_the_night(job)
    assert {result.state for result, _ in again.values()} == {"unchanged"}
    assert all(not read.files[EPISODES.name] for name, (_, read) in again.items() if name != "publish")


def test_after_a_restore_only_what_came_since_the_copy_is_read(root: Path, tmp_path: Path) -> None:
    """The copy is of an earlier version than the hints of nobody: each job goes on from the copy's own."""
    copy = Path(shutil.copytree(root, tmp_path / "copy"))
    job = later(root, AS_OF + timedelta(days=1))
    bucket, tenant = list(tenants(job.lake).items())[1]
    landed(job, told(tenant, BASE_ROWS, 5))
    first = {name: (result.state, result.rows_in) for name, (result, _) in rest_of_the_night(job).items()}
    shutil.rmtree(root)
    shutil.copytree(copy, root)
    again = later(root, AS_OF + timedelta(days=1))
    assert {result.state for result, _ in rest_of_the_night(again).values()} <= {"unchanged", "done"}
    landed(again, told(tenant, BASE_ROWS, 5))
    night = rest_of_the_night(again)
    assert {name: (result.state, result.rows_in) for name, (result, _) in night.items()} == first
    for name in ("consolidate", "decay", "retain"):
        assert night[name][1].buckets(EPISODES) <= {bucket}, name


def test_after_only_the_tables_were_put_back_hints_of_a_later_history_count_as_none(
    root: Path, tmp_path: Path
) -> None:
    """State speaks of commits that the tables no longer hold, so every row is looked at again."""
    copy = Path(shutil.copytree(root / "tables", tmp_path / "copy"))
    job = later(root, AS_OF)
    _, tenant = list(tenants(job.lake).items())[1]
    landed(job, told(tenant, BASE_ROWS, 5))
    rest_of_the_night(job)
    shutil.rmtree(root / "tables")
    shutil.copytree(copy, root / "tables")
    landed(job, told(tenant, BASE_ROWS + 20, 5))
    night = rest_of_the_night(job)
    assert night["embed"][0].rows_in >= 5
    texts = tables.scan(job.lake, EPISODES).collect().height
    assert texts == BUCKETS * BASE_ROWS + 5
    assert night["consolidate"][0].rows_in == texts
    assert night["publish"][0].rows_out >= texts


@pytest.mark.parametrize("days", [0, 1])
def test_a_night_without_news_reads_no_episode_and_writes_nothing(root: Path, days: int) -> None:
    job = later(root, AS_OF + timedelta(days=days))
    before = files_below(root / "tables")
    for name, run in STEPS:
        with watching() as read:
            result = run(job)
        assert result.state == "unchanged", name
        assert not read.files[EPISODES.name], name
    assert files_below(root / "tables") == before
