"""Upkeep: few files whatever landed, nothing read again after a merge, no byte more by unchanged nights."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows import retain_state
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job, StepResult
from flows.nightly import Night, run_nightly
from flows.upkeep_night import STATE, keep
from lake import hints, lineage, tables, upkeep
from lake.lake import Lake
from lake.sources import open_sources
from tests.flows.lakes import (
    AS_OF,
    Command,
    CountingEmbedder,
    content,
    files_below,
    ingest,
    job_on,
    row,
    start,
    what_is_held,
    write,
)
from transforms.errors import CheckError
from transforms.merging import DataFile, merges
from transforms.policy import IngestPolicy, Policy, PublishPolicy
from transforms.policy_upkeep import UpkeepPolicy
from transforms.schemas import EPISODES, FACTS, RUNS, STORED, VECTORS, Table
from transforms.validate import Defaults

AT_ONCE = Policy(ingest=IngestPolicy(vacuum_after_hours=0))
MONTHS = 3


def months(number: int) -> dict[str, object]:
    return row(
        number,
        event_at=f"2026-{4 + number % MONTHS:02d}-1{number % 10}T09:00:00Z",
        tenant_id=f"t{number % 5}",
    )


def night(job: Job, *paths: Path) -> Night:
    return run_nightly(job, [(s, Defaults()) for p in paths for s in open_sources(str(p))])


def many_appends(job: Job, folder: Path, count: int, each: int = 6) -> None:
    for n in range(count):
        ingest(job, write(folder / f"{n}.jsonl", [months(n * each + i) for i in range(each)]))


def partitions(lake: Lake, table: Table) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in tables.data_files(lake, table):
        folder = name.rpartition("/")[0]
        found[folder] = found.get(folder, 0) + 1
    return found


def listing(root: Path) -> dict[str, tuple[int, int]]:
    """Size and time of each file; of a lock's, which each night takes anew, the size only."""
    return {n: (size, 0 if n.startswith("locks/") else at) for n, (size, at) in files_below(root).items()}


def test_many_appends_come_to_one_file_a_partition(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", policy=AT_ONCE)
    many_appends(job, tmp_path, 20)
    held = what_is_held(job)
    assert max(partitions(job.lake, EPISODES).values()) > 15
    done = night(job)
    for table in STORED:
        assert all(
            count <= job.policy.upkeep.partition_files for count in partitions(job.lake, table).values()
        )
    assert set(partitions(job.lake, EPISODES).values()) == {1}
    assert what_is_held(job).equals(held)
    assert "reason" not in (done.health or {"reason": ""})
    below = {p.relative_to(tmp_path / "lake" / "tables" / "episodes").as_posix()
             for p in (tmp_path / "lake" / "tables" / "episodes").rglob("*.parquet")}  # fmt: skip
    assert {name for name in below if "_delta_log" not in name} == tables.data_files(job.lake, EPISODES)


def test_after_a_merge_the_next_night_reads_and_writes_nothing(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", policy=AT_ONCE, embedder=CountingEmbedder())
    many_appends(job, tmp_path, 8)
    first = night(job)
    before = listing(tmp_path / "lake")
    again = CountingEmbedder()
    second = night(job_on(tmp_path / "lake", policy=AT_ONCE, embedder=again))
    assert [step.state for step in second.steps] == ["unchanged"] * 6
    assert [step.rows_in for step in second.steps] == [0] * 6
    # What the checks of an index ask the model is not asked either.
    assert again.texts == []
    assert listing(tmp_path / "lake") == before
    assert second.generation == first.generation


def test_after_a_merge_a_night_looks_only_at_what_is_new(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", policy=AT_ONCE)
    many_appends(job, tmp_path, 8)
    night(job)
    before = lineage.mark(job.lake, EPISODES)
    assert upkeep.compact(job.lake, EPISODES) == 0
    new = write(tmp_path / "new.jsonl", [months(1_000), months(1_001)])
    done = {step.name: step for step in night(job, new).steps}
    assert (done["embed"].rows_in, done["consolidate"].rows_in) == (2, 2)
    assert lineage.mark(job.lake, EPISODES) != before


def test_merging_between_an_append_and_the_next_job_hides_nothing(tmp_path: Path) -> None:
    """New rows merged into one file with known ones are looked at, known files merged alone are not."""
    job = job_on(tmp_path / "lake")
    many_appends(job, tmp_path, 3)
    run_embed(job)
    ingest(job, write(tmp_path / "new.jsonl", [row(500, tenant_id="t1", event_at="2026-05-11T09:00:00Z")]))
    upkeep.compact(job.lake, EPISODES)
    rows = content(job).filter(tenant_bucket=job.lake.bucket("t1"), month="2026-05").height
    done = run_embed(job)
    assert (done.rows_in, done.rows_out) == (rows, 1)
    assert run_embed(job).state == "unchanged"


def test_retain_needs_no_look_at_buckets_that_were_only_merged(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    many_appends(job, tmp_path, 4)
    before = retain_state.files_by_bucket(job)
    assert upkeep.compact(job.lake, EPISODES) > 0
    assert retain_state.files_by_bucket(job) == before
    ingest(job, write(tmp_path / "new.jsonl", [months(700)]))
    after = retain_state.files_by_bucket(job)
    assert [b for b in before if before[b] != after[b]] == [job.lake.bucket("t0")]


def test_a_refused_text_is_asked_again_under_its_new_name(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    many_appends(job_on(root), tmp_path, 3)
    run_embed(job_on(root, embedder=CountingEmbedder(refuse="note 7 ")))
    upkeep.compact(job_on(root).lake, EPISODES)
    assert hints.carry_over(job_on(root).lake) in (0, 1)
    ingest(job_on(root), write(tmp_path / "new.jsonl", [months(800)]))
    assert run_embed(job_on(root, embedder=CountingEmbedder(refuse="note 7 "))).rejected == 1
    upkeep.compact(job_on(root).lake, EPISODES)
    assert run_embed(job_on(root)).rows_out == 1


def test_ten_nights_of_no_change_add_no_file_and_no_byte(tmp_path: Path, command: Command) -> None:
    """Each in a process of its own, but for the first two; superseded files may go meanwhile."""
    Path("slowwave.toml").write_text("[ingest]\nvacuum_after_hours = 0\n")
    words = ("--lake", tmp_path / "lake", "--json", "--config", Path("slowwave.toml").resolve())
    command(*words, "init")
    traces = write(tmp_path / "a.jsonl", [months(n) for n in range(30)] + ["{"])
    at = ("--as-of", AS_OF.isoformat(), "nightly", traces)
    command(*words, *at)
    command(*words, *at)
    before = listing(tmp_path / "lake")
    for _ in range(10):
        process = start(*words, *at, cwd=tmp_path)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert {step["state"] for step in json.loads(out)["steps"]} == {"unchanged"}
    assert listing(tmp_path / "lake") == before


def test_superseded_files_go_when_they_have_had_their_time_and_the_night_stays_unchanged(
    tmp_path: Path,
) -> None:
    job = job_on(tmp_path / "lake")
    many_appends(job, tmp_path, 8)
    done = night(job)
    folder = tmp_path / "lake" / "tables" / "episodes"
    held = {p for p in folder.rglob("*.parquet") if "_delta_log" not in p.parts}
    assert len(held) > len(tables.data_files(job.lake, EPISODES))
    keep(job, now=datetime.now(UTC) + timedelta(hours=23))
    assert {p for p in folder.rglob("*.parquet") if "_delta_log" not in p.parts} == held
    for path in (*held, *folder.rglob("*.json")):  # a day later by the clock of the files
        os.utime(path, (time.time() - 90_000, time.time() - 90_000))
    past = replace(job, policy=Policy(ingest=IngestPolicy(vacuum_after_hours=0)))
    keep(past)
    assert len({p for p in folder.rglob("*.parquet") if "_delta_log" not in p.parts}) == len(
        tables.data_files(job.lake, EPISODES)
    )
    after = night(job)
    assert after.is_unchanged
    assert after.generation == done.generation


def test_a_log_is_cut_off_and_nothing_is_read_again(tmp_path: Path) -> None:
    """Hints, marks and notes of sources lean on entries that are gone by then."""
    numbers = UpkeepPolicy(checkpoint_commits=3, log_after_hours=0)
    job = job_on(tmp_path / "lake", policy=Policy(upkeep=numbers, ingest=IngestPolicy(vacuum_after_hours=0)))
    first = write(tmp_path / "first.jsonl", [months(n) for n in range(4)])
    for n in range(6):
        night(job, first, write(tmp_path / f"{n}.jsonl", [months(100 + n)]))
    for table in (EPISODES, VECTORS, RUNS, FACTS):
        log = tmp_path / "lake" / "tables" / table.name / "_delta_log"
        assert len(list(log.glob("*.json"))) < 25, table.name
        assert len(list(log.glob("*.checkpoint.parquet"))) <= 2, table.name
    assert not (tmp_path / "lake/tables/episodes/_delta_log/00000000000000000000.json").exists()
    tally = run_ingest(job, [(s, Defaults()) for s in open_sources(str(first))])[1]
    assert tally.unchanged_files == 1, "the note of a file leans on the anchor"
    assert night(job, first).is_unchanged


def test_a_table_put_back_behind_its_anchor_trusts_no_note(tmp_path: Path) -> None:
    numbers = UpkeepPolicy(checkpoint_commits=2, log_after_hours=0)
    job = job_on(tmp_path / "lake", policy=Policy(upkeep=numbers, ingest=IngestPolicy(vacuum_after_hours=0)))
    note = lineage.mark(job.lake, EPISODES)
    many_appends(job, tmp_path, 4)
    note = lineage.mark(job.lake, EPISODES)
    many_appends(job, tmp_path, 6, each=7)
    keep(job)
    many_appends(job, tmp_path, 6, each=8)
    keep(job)
    assert lineage.holds(job.lake, EPISODES, note)
    assert not lineage.holds(job.lake, EPISODES, (note[0], ""))
    record = json.loads(job.lake.storage.read(lineage.ANCHORS) or b"")
    record["episodes"][2] = "0" * 32  # the commit it names is another one now
    job.lake.storage.write(lineage.ANCHORS, json.dumps(record).encode())
    assert not lineage.holds(job.lake, EPISODES, note)
    many_appends(job, tmp_path, 5, each=9)
    keep(job)
    assert not lineage.holds(job.lake, EPISODES, note), "from here on its history is another one"
    assert lineage.holds(job.lake, EPISODES, lineage.mark(job.lake, EPISODES))


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"episodes": [1]}', b'{"episodes": ["x", "y"]}'])
def test_a_damaged_record_of_upkeep_is_as_good_as_none(tmp_path: Path, raw: bytes) -> None:
    job = job_on(tmp_path / "lake")
    many_appends(job, tmp_path, 12)
    job.lake.storage.write(STATE, raw)
    job.lake.storage.write(lineage.ANCHORS, raw)
    keep(job)
    assert max(partitions(job.lake, EPISODES).values()) <= job.policy.upkeep.partition_files
    assert lineage.holds(job.lake, EPISODES, lineage.mark(job.lake, EPISODES))


def test_a_trial_night_keeps_nothing(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    many_appends(job, tmp_path, 6)
    before = files_below(tmp_path / "lake")
    keep(replace(job, is_dry=True))
    keep(replace(job, has_diff=True))
    assert files_below(tmp_path / "lake") == before


NUMBERS = UpkeepPolicy(partition_files=2, small_file_bytes=100, merge_bytes=250)


def files(**sizes: int) -> list[DataFile]:
    return [DataFile(name.replace("_", "/"), size) for name, size in sizes.items()]


@pytest.mark.parametrize(
    ("held", "merged"),
    [
        (files(p_a=5, p_b=5), []),
        (files(p_a=5, p_b=5, q_a=5, q_b=5), []),
        (files(p_a=5, p_b=5, p_c=5), ["p/a p/b p/c"]),
        (files(p_a=5, p_b=5, p_c=90), ["p/a p/b"]),
        (files(p_a=5, p_b=5, p_c=90, p_d=100, p_e=5_000), ["p/a p/b"]),
        (files(p_a=5, p_b=5, p_c=20, q_a=90, q_b=90, q_c=90), ["p/a p/b p/c", "q/a q/b"]),
        (files(p_a=100, p_b=100, p_c=100), []),
    ],
)  # fmt: skip
def test_only_what_is_too_many_is_merged(held: list[DataFile], merged: list[str]) -> None:
    assert [" ".join(f.name for f in group) for group in merges(held, NUMBERS, 2)] == merged


def test_a_row_is_written_again_few_times() -> None:
    """One small file a night for 400 nights: bounded files, and each byte written a handful of times."""
    numbers = UpkeepPolicy(small_file_bytes=10**9, merge_bytes=10**9)
    held: list[DataFile] = []
    written = 0
    for number in range(400):
        held.append(DataFile(f"p/{number}", 1_000))
        for group in merges(held, numbers, numbers.partition_files):
            total = sum(file.size_bytes for file in group)
            written += total
            held = [file for file in held if file not in group] + [DataFile(f"p/m{number}", total)]
        assert len(held) <= numbers.partition_files
    assert sum(file.size_bytes for file in held) == 400_000
    assert written / 400_000 < 12


# Retention and publish in one night

EACH_DAY = AT_ONCE.model_copy(update={"publish": PublishPolicy(rebuild_above_ratio=1)})


def expiring(folder: Path, days: int, each: int = 8) -> Path:
    """Rows that stay, and some that go on each of the next days."""
    rows = [row(n, expires_at=(AS_OF + timedelta(days=n % each, hours=-1)).isoformat())
            for n in range(each, each * days)]  # fmt: skip
    return write(folder / "rows.jsonl", [*rows, *(row(n) for n in range(each * days, each * (days + 4)))])


def on_disk(job: Job) -> set[str]:
    below = job.lake.storage.path("tables/episodes")
    return {file.relative_to(below).as_posix() for file in below.rglob("part-*.parquet")}


def test_publish_reads_what_retention_took_out_before_it_goes_from_the_disk(tmp_path: Path) -> None:
    job, built = job_on(tmp_path / "lake", policy=EACH_DAY), []
    night(job, expiring(tmp_path, 8))
    for day in range(1, 5):
        done = night(replace(job, as_of=AS_OF + timedelta(days=day)))
        retained, published = done.steps[-2], done.steps[-1]
        assert (retained.name, published.name, retained.rows_out > 0) == ("retain", "publish", True)
        built.append(published.detail["built"])
        assert on_disk(job) == set(tables.data_files(job.lake, EPISODES))
    assert built == ["updated"] * 4


def test_what_retention_took_out_goes_from_the_disk_also_where_publish_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(job: Job) -> StepResult:
        raise CheckError("the index failed a check", "Run again.")

    job = job_on(tmp_path / "lake", policy=EACH_DAY)
    night(job, expiring(tmp_path, 8))
    monkeypatch.setattr("flows.nightly.run_publish", fails)
    with pytest.raises(CheckError):
        night(replace(job, as_of=AS_OF + timedelta(days=2)))
    assert on_disk(job) == set(tables.data_files(job.lake, EPISODES))
