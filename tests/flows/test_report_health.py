"""The health report: a healthy lake is told so, each trouble is found by its check, and nobody is named."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.job import Job
from flows.nightly import run_nightly
from flows.report_health import CHECKS, Report, health, run_report_health
from flows.report_health_page import health_html, health_markdown
from lake import landing
from tests.flows.ailing import TROUBLES, ago, copied, healthy, other_model
from tests.flows.lakes import AS_OF, Command, ingest, job_on, row, write
from tests.flows.test_report_compliance import numbers_of, parsed
from tests.lake.crypto.sealed import sealed_job
from transforms.errors import UsageError
from transforms.health.checks import shown_as
from transforms.health.remedies import MEASURES, TITLES
from transforms.policy import Policy
from transforms.policy_health import HealthPolicy

PEOPLE = ("u0", "u5", "s11", "home3", "harbour", "Graz", "twice0")


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A healthy lake; not to be written."""
    return healthy(tmp_path_factory.mktemp("well"))


@pytest.fixture(scope="module")
def report(well: Job) -> Report:
    return health(well)


def found(told: Report) -> dict[str, dict[str, Any]]:
    """Measures of a report by name."""
    return {row["measure"]: row for row in told.tables["measures"].iter_rows(named=True)}


def test_a_healthy_lake_is_told_so(report: Report) -> None:
    assert [check.name for check in report.checks] == list(TITLES) == list(CHECKS)
    assert {check.name: check.reason for check in report.checks if check.reason} == {}
    assert report.counts == {"state": "ok", "failing": [], "warnings": [], "unknown": []}
    assert not report.is_failing
    told = found(report)
    assert set(told) == set(MEASURES)
    unknown = {name for name, row in told.items() if row["state"] == "unknown"}
    assert unknown == {  # too young, or too few of them
        "net_growth_ratio", "bytes_per_row_ratio", "stale_served_ratio", "writer_rise_ratio", "cosine_fall",
    }  # fmt: skip
    assert told["lake_rows"]["value"] == 138
    assert told["served_age_days"]["value"] == pytest.approx(28.7, abs=0.1)


@pytest.mark.parametrize("measure", TROUBLES)
def test_each_trouble_is_found_by_its_own_check(well: Job, tmp_path: Path, measure: str) -> None:
    check, state, plant, numbers = TROUBLES[measure]
    policy = Policy(health=HealthPolicy(**numbers))  # type: ignore[arg-type]
    job = copied(well, tmp_path, policy)
    plant(job)
    job = other_model(job) if measure == "foreign_index" else job
    told = health(job)
    row = found(told)[measure]
    assert (row["check"], row["state"]) == (check, state), row
    (mine,) = [one for one in told.checks if one.name == check]
    assert mine.state == "fail" if state == "fail" else mine.state in ("warn", "fail")
    assert (check in told.counts["failing"]) == (mine.state == "fail")
    assert told.is_failing == bool(told.counts["failing"])


def test_a_night_that_does_not_come_is_missed_where_something_waits(well: Job, tmp_path: Path) -> None:
    job = replace(copied(well, tmp_path), as_of=AS_OF + timedelta(hours=60))
    assert found(health(job))["night_hours"]["value"] == 0.0
    landing.append(job.lake, [row(902)], now=AS_OF + timedelta(hours=59))
    told = found(health(job))
    assert (told["night_hours"]["value"], told["night_hours"]["state"]) == (60.0, "fail")
    assert told["landed_hours"]["state"] == "ok"


def test_an_encrypted_lake_is_looked_at_and_without_its_keys_as_far_as_can_be(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(n) for n in range(3)] + [row(9, "I live in Graz.")]))
    run_nightly(job, [])
    told = health(job)
    assert told.counts["failing"] == []
    assert {check.reason for check in told.checks} == {""}
    shut = health(replace(job, lake=replace(job.lake, keys=None)))
    assert {check.name for check in shut.checks if check.reason} <= {"contradiction"}
    assert "tables" in shut.tables


def test_a_check_that_breaks_off_leaves_the_others(
    well: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = copied(well, tmp_path)
    index = Path(job.lake.uri) / "index" / "gen-000002" / "manifest.json"
    index.write_text("{", "utf-8")
    told = health(job)
    broken = {check.name: check.reason for check in told.checks if check.reason}
    assert set(broken) == {"stale", "poisoning", "drift", "crowding", "backlog"}
    assert all("manifest of generation gen-000002 is damaged" in reason for reason in broken.values())
    assert told.counts["failing"] == ["index"]
    assert set(told.counts["warnings"]) >= set(broken)

    def odd(_: object) -> list[Any]:
        raise ValueError("my locker code is 4711")

    monkeypatch.setitem(CHECKS, "audit", odd)  # type: ignore[arg-type]
    (mine,) = [check for check in health(job).checks if check.name == "audit"]
    assert (mine.state, mine.reason) == ("warn", "unexpected ValueError")


@pytest.mark.parametrize("table", ["claims", "episodes", "runs", "metrics"])
def test_a_table_that_cannot_be_read_is_no_healthy_lake_and_has_a_page(
    well: Job, tmp_path: Path, table: str
) -> None:
    job = copied(well, tmp_path)
    for file in (Path(job.lake.uri) / "tables" / table).rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:20])
    told = run_report_health(job, tmp_path / "out")
    assert told.counts["state"] == "warn"
    page = (tmp_path / "out" / "health.html").read_text("utf-8")
    assert f"table {table}: data file" in page
    assert "Nothing is known" not in page


def test_what_came_after_the_as_of_is_not_told(well: Job) -> None:
    early = health(replace(well, as_of=ago(34)))
    told = found(early)
    assert told["lake_rows"]["value"] < 138
    assert told["served_age_days"]["value"] is None
    assert told["retired_in_index_rows"]["detail"] == "the live index is later than the as-of"
    assert early.tables["states"]["as_of_at"].unique().to_list() == [ago(35)]
    assert health(well).tables["states"]["as_of_at"].n_unique() == 2
    past = replace(well, lake=replace(well.lake, pins=(("episodes", 1),)))
    (mine,) = [check for check in health(past).checks if check.name == "backlog"]
    assert (mine.state, mine.reason) == ("unknown", "")


def test_bytes_of_a_row_are_set_against_no_night_of_just_now(well: Job) -> None:
    told = [found(health(replace(well, as_of=AS_OF + timedelta(days=days)))) for days in (1, 20)]
    values = [one["bytes_per_row_ratio"]["value"] for one in told]
    assert values[0] is None
    assert values[1] is not None


def test_the_window_is_as_long_as_is_asked(well: Job) -> None:
    assert found(health(well, 1))["served_age_days"]["detail"] == "of 69 served rows"
    assert found(health(well))["served_age_days"]["detail"] == "of 180 served rows"


def test_of_many_calls_a_sample_is_looked_at(well: Job) -> None:
    few = Policy(health=HealthPolicy(sample_calls=10, sample_answers=5, sample_rows=7))
    told = found(health(replace(well, policy=few)))
    assert told["bare_ratio"]["detail"].endswith(" of 14 rows looked at")


@pytest.fixture(scope="module")
def written(well: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a report on a lake with troubles, one of whose writers has a hostile name."""
    folder = tmp_path_factory.mktemp("ill")
    job = copied(well, folder, Policy(health=HealthPolicy(min_rows=20)))
    for measure in ("writer_rise_ratio", "quarantine_ratio", "failing_steps", "overdue_rows"):
        TROUBLES[measure][2](job)
    run_report_health(job, folder / "out")
    return folder / "out"


def test_the_page_is_one_file_that_fetches_nothing(written: Path) -> None:
    text = (written / "health.html").read_text("utf-8")
    page = parsed(text)
    assert page.addresses == []
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed"}
    assert not re.search(r"https?:|url\(|@import|@font-face", text)
    assert "prefers-color-scheme: dark" in text
    assert text.count("<svg") >= 3
    assert "A check fails" in text


def test_no_file_names_a_person(written: Path) -> None:
    for path in sorted(written.rglob("*")):
        if path.is_file():
            # Packed bytes spell two letters by chance.
            rows = pl.read_parquet(path).write_json() if path.suffix == ".parquet" else None
            text = path.read_text("utf-8") if rows is None else rows
            named = [
                word
                for word in (*PEOPLE, "loud", "user:u1")
                if re.search(rf"\b{word}\b", html.unescape(text))
            ]
            assert named == [], path.name


def test_every_number_of_the_page_is_in_the_json(written: Path) -> None:
    from flows.html_pages import count, duration, share, size

    page = parsed((written / "health.html").read_text("utf-8"))
    record = json.loads((written / "health.json").read_text("utf-8"))
    held = numbers_of(record)
    told = {form(number) for number in held for form in (count, share, duration, size)} | {"–"}
    told |= {shown_as(number, kind.unit) for number in held for kind in MEASURES.values()}
    states = [check["state"] for check in record["checks"]]
    told |= {str(states.count(state)) for state in ("ok", "warn", "fail", "unknown")}
    shown = [number for number in page.numbers if any(c.isdigit() for c in number)]
    assert len(shown) > 100
    assert [number for number in shown if number not in told] == []


def test_csv_parquet_and_json_say_the_same(written: Path) -> None:
    record = json.loads((written / "health.json").read_text("utf-8"))
    assert set(record["tables"]) == {
        "checks", "measures", "trend", "states", "tables", "overdue", "refused", "steps", "writers"
    }  # fmt: skip
    for name, rows in record["tables"].items():
        held = pl.read_parquet(written / "parquet" / f"{name}.parquet")
        assert held.height == len(rows)
        lines = (written / "csv" / f"{name}.csv").read_text("utf-8").splitlines()
        assert lines[0].split(",") == held.columns
    assert [row["state"] for row in record["tables"]["checks"]] == [c["state"] for c in record["checks"]]


def test_the_command(well: Job, tmp_path: Path, command: Command) -> None:
    job = copied(well, tmp_path / "ill")
    words = ("--lake", job.lake.uri, "--as-of", AS_OF.isoformat())
    Path("slowwave.toml").write_text('[embedder]\nprovider = "local"\n', "utf-8")
    before = command(*words, "--json", "report", "health", "--out", tmp_path / "out", "--days", "7")
    assert before.json["window_days"] == 7
    TROUBLES["broken_links"][2](job)
    after = command(*words, "report", "health", "--out", tmp_path / "out")
    assert after.code == 7
    assert after.out.startswith("health: fail; FAILING ")
    assert "audit: Compare audit/ with a backup" in after.out
    assert "docs/health.md#audit-chain-broken" in after.out
    inside = command(*words, "--json", "report", "health", "--out", Path(job.lake.uri) / "out")
    assert inside.code == UsageError.exit_code


def test_an_empty_lake_has_nothing_amiss(tmp_path: Path) -> None:
    told = health(job_on(tmp_path / "lake"))
    assert told.counts["state"] == "ok"
    assert told.counts["failing"] == told.counts["warnings"] == []
    assert {check.reason for check in told.checks} == {""}
    assert "No check fails or warns" in health_html(told)


def test_the_artifact_holds_counts_only(report: Report) -> None:
    text = health_markdown(report)
    assert text.startswith("**Health: ok.** As of 2026-06-30")
    assert text.count("\n| ") == len(TITLES) + 1
    assert not any(re.search(rf"\b{word}\b", text) for word in PEOPLE)
