"""The capacity report: true to the files, honest about what is not known, right about a larger lake."""

from __future__ import annotations

import html
import json
import random
import re
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from flows import report_capacity_read as read
from flows.embed import run_embed
from flows.job import Job
from flows.publish import run_publish
from flows.report_capacity import capacity, run_report_capacity, scenarios_of
from flows.report_capacity_basis import measured_of
from lake import measured, tables
from lake.lake import init_lake
from lake.recall import Recall
from tests.flows.lakes import AS_OF, Command, CountingEmbedder, ingest, job_on, row, write
from tests.lake.crypto.sealed import sealed_job
from tests.lake.made import frame
from transforms.errors import LakeError, UsageError
from transforms.planning.curves import curves
from transforms.planning.growth import ALL
from transforms.planning.index_sizes import VECTOR
from transforms.planning.larger import larger
from transforms.planning.scenarios import PLANNING
from transforms.planning.sizes import LIVE, SUPERSEDED, by_column
from transforms.policy import Policy
from transforms.schemas import EPISODES, FORGOTTEN, RUNS, VECTORS

HOSTILE = "=<b>um\"brella</b>' & /x"
PERSON = "person-nobody-may-read"
WORDS = [f"word{i}" for i in range(300)]


def traces(
    path: Path, count: int, *, days: int = 60, people: int = 4, tenants: tuple[str, ...] = ("acme",)
) -> Path:
    """Episodes of the days before the as-of, evenly, with as many words as chance has it."""
    draw = random.Random(count)
    rows = []
    for i in range(count):
        at = AS_OF - timedelta(days=days) + timedelta(days=days) * (i / count)
        content = " ".join(draw.choices(WORDS, k=draw.randrange(8, 40)))
        who = draw.randrange(people)
        rows.append(row(
            i, content, tenant_id=tenants[who % len(tenants)], user_id=f"{PERSON}-{who}",
            event_at=at.isoformat(), retention_tier="long_term",
        ))  # fmt: skip
    return write(path, rows)


def built(root: Path, count: int, *, buckets: int = 2, **how: Any) -> Job:
    """A lake with so many episodes, embedded and published."""
    job = job_on(root / f"lake-{count}", embedder=CountingEmbedder(), buckets=buckets)
    ingest(job, traces(root / f"{count}.jsonl", count, **how))
    run_embed(job)
    run_publish(job)
    return job


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Two tenants, one of them with a hostile name, over sixty days."""
    return built(tmp_path_factory.mktemp("capacity"), 600, tenants=("acme", HOSTILE))


def files_of(job: Job, table: str) -> list[Path]:
    return sorted((Path(job.lake.uri) / "tables" / table).rglob("*.parquet"))


def test_columns_sum_to_the_files_and_the_parts_to_the_lake(lake: Job) -> None:
    report = capacity(lake)
    columns = report.tables["columns"]
    for table in ("episodes", "vectors", "runs"):
        held = columns.filter(pl.col("table") == table)
        files = files_of(lake, table)
        assert held["bytes"].sum() == pytest.approx(sum(f.stat().st_size for f in files))
        assert held["rows"][0] == sum(pq.read_metadata(f).num_rows for f in files)
    every = sum(p.stat().st_size for p in Path(lake.lake.uri).rglob("*") if p.is_file())
    assert report.figures["bytes"] == every == report.tables["parts"]["bytes"].sum()
    assert report.figures["table_bytes"] == sum(f.stat().st_size for f in files_of(lake, ""))


def test_a_column_has_the_bytes_that_its_footers_say(lake: Job) -> None:
    expected = 0
    for file in files_of(lake, "episodes"):
        footer = pq.read_metadata(file)
        names = [footer.schema.column(i).path for i in range(footer.num_columns)]
        expected += footer.row_group(0).column(names.index("content")).total_compressed_size
    columns = capacity(lake).tables["columns"]
    found = columns.filter((pl.col("table") == "episodes") & (pl.col("column") == "content"))
    assert found["bytes"][0] == expected


def test_the_index_is_told_by_column_and_by_index(lake: Job) -> None:
    report = capacity(lake)
    index = report.tables["index"]
    vector = index.filter(pl.col("name") == VECTOR)
    assert vector["rows"][0] == report.figures["index_rows"] == 600
    assert vector["bytes_per_row"][0] >= 2 * 16
    assert "search_text (words)" in index["name"].to_list()
    assert index["bytes"].sum() == report.figures["index_bytes"]
    held = report.tables["held_scopes"]
    assert held.height == 3
    assert (held["reads"] > 0).all()
    assert (held["held_bytes"] > 0).all()


def test_growth_counts_the_days_of_the_traces_and_not_the_one_they_were_loaded_on(lake: Job) -> None:
    report = capacity(lake)
    assert report.figures["episodes_per_day"] == pytest.approx(10, rel=0.02)
    whole = report.tables["tenants"].filter(pl.col("tenant_id") == ALL).row(0, named=True)
    assert whole["late_ratio"] > 0.8
    tenants = report.tables["tenants"].filter(pl.col("tenant_id") != ALL)
    assert set(tenants["tenant_id"]) == {"acme", HOSTILE}
    assert tenants["bytes"].sum() == pytest.approx(whole["bytes"])
    ahead = report.tables["forecast"].filter(pl.col("tenant_id") == ALL)
    told = dict(ahead.select("after_days", "rows").iter_rows())
    assert told[0] == 600
    assert told[30] == pytest.approx(900, rel=0.02)
    assert told[90] == pytest.approx(1_500, rel=0.02)
    assert report.figures["unreached_days"] == [365]
    assert any("Too little history for 365 days" in note for note in report.notes)
    sizes = dict(ahead.select("after_days", "bytes").iter_rows())
    assert sizes[90] > sizes[30] > sizes[0] > 0.9 * report.figures["table_bytes"]


def test_removed_episodes_are_part_of_the_growth(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, traces(tmp_path / "t.jsonl", 300, days=30))
    gone = [
        {"episode_id": f"g{i}", "tenant_id": "acme", "tenant_bucket": job.lake.bucket("acme"),
         "reason": "stale", "retention_tier": "medium_term", "removed_at": AS_OF,
         "event_at": AS_OF - timedelta(days=i % 30, hours=1)}
        for i in range(150)
    ]  # fmt: skip
    tables.append(job.lake, FORGOTTEN, frame(FORGOTTEN, gone))
    found = measured_of(job)
    assert (found.episodes, found.ever) == (300, 450)
    assert found.per_day() == pytest.approx(15, rel=0.05)


def test_a_lake_of_ten_times_the_rows_is_predicted_from_a_small_one(tmp_path: Path) -> None:
    """The check that ``benchmarks capacity`` makes from 100,000 to 1,000,000, as far as a test can."""
    many = tuple(f"tenant-{i}" for i in range(25))
    small, large = (built(tmp_path, n, people=n // 10, buckets=8, tenants=many) for n in (250, 2_500))
    found, served = read.sizes(small), read.served(small)
    columns = by_column(found.files, found.sampled)
    told = larger(columns, found.files, curves(found.probes), served.parts, 10, 1.0)
    predicted = dict(told.iter_rows())
    actual = dict(read.sizes(large).files.group_by("table").agg(pl.col("bytes").sum()).iter_rows())
    actual["index"] = read.served(large).parts["bytes"].sum()
    for what in ("episodes", "vectors"):
        assert predicted[what] == pytest.approx(actual[what], rel=0.1)
    # Of 250 rows a fifth of an index is what its parts take whatever they hold.
    assert predicted["index"] == pytest.approx(actual["index"], rel=0.3)
    ledgers = set(predicted) - {"index", "episodes", "vectors"}
    assert {"runs"} <= ledgers
    assert all(predicted[name] == pytest.approx(actual[name], rel=0.1) for name in ledgers)
    # In proportion it would be far off: small files are mostly overhead.
    proportion = 10 * columns.filter(pl.col("table") == "episodes")["bytes"].sum()
    assert proportion > 2 * actual["episodes"]


def test_recalls_are_measured(tmp_path: Path) -> None:
    job = built(tmp_path, 60)
    reader = Recall(job.lake, embedder=job.embedder)
    for _ in range(3):
        reader.search("word1 word2", tenant="acme", user=f"{PERSON}-1")
    reader.close()
    later = Job(job.lake, job.policy, AS_OF + timedelta(days=4_000), job.make_embedder)
    plan = job.policy.plan.model_copy(update={"window_days": 36_500.0})
    wide = job.policy.model_copy(update={"plan": plan})
    report = capacity(Job(job.lake, wide, later.as_of, job.make_embedder))
    recalled = report.figures["recall"]
    assert recalled["calls"] == 3
    assert report.tables["recalls"]["calls"].sum() == 3
    assert recalled["timed"] == 3
    assert 0 < recalled["p50_seconds"] < 60


def test_every_table_is_in_the_json_and_in_files(lake: Job, tmp_path: Path) -> None:
    report = run_report_capacity(lake, tmp_path / "out")
    told = json.loads((tmp_path / "out" / "capacity.json").read_text("utf-8"))
    assert set(told["tables"]) == set(report.tables)
    for name, rows in report.tables.items():
        assert pl.read_parquet(tmp_path / "out" / "parquet" / f"{name}.parquet").equals(rows)
        assert len(told["tables"][name]) == rows.height
    assert told["tables"]["scenarios"][0]["scenario"] == "as it is"
    page = (tmp_path / "out" / "capacity.html").read_text("utf-8")
    assert not re.search(r"https?:|<script|<image|href=|url\(", page)
    for text in ("Bytes to come", "Assumptions", "resident graph in TiB", "search cpu seconds"):
        assert text in page, text
    assert page.count("<svg") >= 6
    everything = page + json.dumps(told)
    assert PERSON not in everything
    assert HOSTILE not in page
    assert html.escape(HOSTILE, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page
    assert "'=<b>um" in (tmp_path / "out" / "csv" / "tenants.csv").read_text("utf-8")


def test_it_says_the_same_twice(lake: Job) -> None:
    one, two = capacity(lake), capacity(lake)
    assert {**one.figures, "written_at": ""} == {**two.figures, "written_at": ""}
    for name, rows in one.tables.items():
        if name != "held_scopes":  # reads depend on what the store has at hand
            assert rows.equals(two.tables[name]) or name in ("assumptions", "steps", "scenarios")


def test_an_empty_lake_is_said_to_be_one(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    report = run_report_capacity(job, tmp_path / "out")
    assert report.tables["forecast"].is_empty()
    assert report.tables["scenarios"].is_empty()
    assert any("no episode had landed by then" in note for note in report.notes)
    assert any("Nothing is published" in note for note in report.notes)


def test_an_encrypted_lake_is_measured_without_its_keys(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    ingest(job, traces(tmp_path / "t.jsonl", 80))
    bare = Job(init_lake(str(tmp_path / "lake"), 2), Policy(), AS_OF, job.make_embedder)
    report = capacity(bare)
    assert report.figures["episodes"] == 80
    assert report.tables["columns"]["bytes"].sum() == report.figures["table_bytes"]


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, traces(tmp_path / "t.jsonl", 80))
    victim = files_of(job, "episodes")[0]
    victim.write_bytes(b"x" * victim.stat().st_size)
    with pytest.raises(LakeError, match=re.escape(victim.name)):
        capacity(job)


def test_superseded_files_are_told_apart(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, traces(tmp_path / "t.jsonl", 80))
    file = files_of(job, "episodes")[0]
    shutil.copy(file, file.with_name("part-old.zstd.parquet"))
    parts = capacity(job).tables["parts"]
    told = dict(parts.filter(pl.col("table") == "episodes").select("part", "bytes").iter_rows())
    assert told[SUPERSEDED] == file.stat().st_size
    assert told[LIVE] == sum(f.stat().st_size for f in files_of(job, "episodes")) - file.stat().st_size


def test_footers_are_sampled_evenly_and_scaled_to_the_exact_bytes(lake: Job) -> None:
    files = measured.live_files(lake.lake, EPISODES)
    names = files["file"].to_list()
    seen = measured.column_bytes(lake.lake, EPISODES, names, 2)
    assert seen["file"].n_unique() <= 2 < len(names)
    assert by_column(files, seen)["bytes"].sum() == pytest.approx(files["bytes"].sum())


def test_probes_are_fuller_than_the_files_they_come_of(lake: Job) -> None:
    files = measured.live_files(lake.lake, VECTORS)
    found = measured.probes(lake.lake, VECTORS, files["file"].to_list(), 1_000)
    assert found["rows"].max() == files["rows"].sum() > files["rows"].max()
    assert set(found["column"]) == set(VECTORS.names) - set(VECTORS.partition_by)
    assert measured.probes(lake.lake, RUNS, ["x"], 10).is_empty()


SCENARIOS = """
[[scenario]]
name = "next year"
agents = 500
writes_per_minute = 0.5
recalls_per_minute = 1
quantisation = "pq"
"""


def test_the_command_line(lake: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Command(capsys)
    (tmp_path / "plan.toml").write_text(SCENARIOS, "utf-8")
    at = ("--lake", lake.lake.uri, "--as-of", AS_OF.isoformat())
    report = ("report", "capacity", "--out", tmp_path / "out")
    said = command(*at, "--json", *report, "--scenarios", tmp_path / "plan.toml", "--days", 30)
    assert said.code == 0
    assert [s["scenario"] for s in said.json["tables"]["scenarios"]] == ["next year"]
    assert said.json["window"]["days"] == 30
    said = command(*at, *report)
    assert said.code == 0
    assert PLANNING in said.out
    (tmp_path / "plan.toml").write_text(SCENARIOS.replace("agents", "agent"), "utf-8")
    said = command(*at, "--json", *report, "--scenarios", tmp_path / "plan.toml")
    assert said.code == UsageError.exit_code
    assert "agents" in said.error["message"]


@pytest.mark.parametrize("text", ["[[scenario", "x = " + "9" * 5_000])
def test_a_file_of_scenarios_that_is_no_toml(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_text(text, "utf-8")
    with pytest.raises(UsageError, match="not TOML"):
        scenarios_of(tmp_path / "plan.toml")
    with pytest.raises(UsageError, match="cannot read"):
        scenarios_of(tmp_path / "none.toml")


def test_the_folder_may_not_lie_in_the_lake(lake: Job) -> None:
    with pytest.raises(UsageError, match="inside the lake"):
        run_report_capacity(lake, Path(lake.lake.uri) / "out")
