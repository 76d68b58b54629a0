"""Status and doctor say what is there, and what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from flows.nightly import run_nightly
from flows.status import status_of
from lake import landing, tables
from lake.rights import standing
from lake.sources import open_sources
from tests.flows.lakes import AS_OF, Command, content, files_below, ingest, job_on, row, write
from transforms.errors import CheckError, LakeError
from transforms.policy import Policy
from transforms.schemas import EPISODES
from transforms.standing import Standing
from transforms.subjects import Subject
from transforms.validate import Defaults

AT = ("--as-of", AS_OF.isoformat())


@pytest.fixture
def lake(tmp_path: Path, command: Command) -> Path:
    root = tmp_path / "lake"
    words = ("--lake", root, "--json", *AT)
    command(*words, "init", "--buckets", "2")
    lines = [
        *[row(n, user_id=f"user-{n % 2}") for n in range(4)],
        row(10, tenant_id="other"),
        row(11, event_at="2026-06-01"),
        "{",
    ]
    command(*words, "nightly", write(tmp_path / "a.jsonl", lines))
    return root


def test_status_counts_as_expired_what_retention_takes_for_expired(tmp_path: Path) -> None:
    """By kind and by a person's own period, too; a pin keeps a row from both but its person's period."""
    job = job_on(tmp_path / "lake")
    rows = [
        row(1),
        row(2, kind="action", tool_name="t"),
        row(3, user_id="ben"),
        row(4, kind="action", tool_name="t"),
    ]
    ingest(job, write(tmp_path / "rows.jsonl", rows))
    pinned = content(job).filter(pl.col("event_at").dt.day() == 5)["episode_id"].item()
    for one in (
        Standing(Subject("acme", user="ben"), period_seconds=27 * 86_400),
        Standing(Subject("acme", user="ana"), pinned=(pinned,)),
    ):
        standing.save(job.lake, one)
    whole = Policy().model_dump()
    whole["retention"]["by_kind_seconds"] = {"action": 86_400}
    job = replace(job, policy=Policy.model_validate(whole))
    assert status_of(job).data["expired"] == 1  # the action that is not pinned
    assert status_of(replace(job, as_of=AS_OF + timedelta(days=1))).data["expired"] == 2


def test_status_counts_what_is_held(lake: Path, tmp_path: Path, command: Command) -> None:
    expired = write(tmp_path / "b.jsonl", [row(9, expires_at="2026-06-15T00:00:00Z")])
    command("--lake", lake, *AT, "ingest", expired)
    landing.append(job_on(lake).lake, [row(50)], now=AS_OF)
    data = command("--lake", lake, "--json", *AT, "status").json
    counts = {t["tenant_id"]: (t["episodes"], t["users"], t["expired"]) for t in data["tenants"]}
    assert counts == {"acme": (5, 3, 1), "other": (1, 1, 0)}
    assert {q["reason"]: q["rows"] for q in data["quarantine"]} == {"naive_time": 1, "truncated_json": 1}
    assert [v["vectors"] for v in data["vectors"]] == [5]
    assert {run["step"] for run in data["last_runs"]} == {"ingest", "embed", "consolidate", "publish"}
    assert data["landed_segments"] == 1
    assert data["expired"] == 1
    assert (data["index"]["rows"], data["index"]["commits_behind"]) == (5, 1)
    sizes = {t["table"]: t for t in data["tables"]}
    assert sizes["episodes"]["bytes"] > 0
    assert sizes["episodes"]["files"] == len(tables.data_files(job_on(lake).lake, EPISODES))


def test_status_reads_well_and_writes_nothing(lake: Path, tmp_path: Path, command: Command) -> None:
    expired = write(tmp_path / "b.jsonl", [row(9, expires_at="2026-06-15T00:00:00Z")])
    command("--lake", lake, *AT, "ingest", expired)
    before = files_below(lake)
    said = command("--lake", lake, *AT, "status")
    for word in ("acme", "other", "truncated_json", "episodes", "live: gen-000001", "1 row is past"):
        assert word in said.out
    assert said.err == ""
    assert files_below(lake) == before


def test_commits_behind_count_what_is_derived(lake: Path, tmp_path: Path, command: Command) -> None:
    words = ("--lake", lake, *AT)

    def behind() -> int:
        count: int = command(*words, "--json", "status").json["index"]["commits_behind"]
        return count

    said = row(20, "I live in Graz.", session_id="s20", event_at="2026-06-29T10:00:00Z")
    command(*words, "ingest", write(tmp_path / "b.jsonl", [said]))
    assert behind() == 1
    assert "1 commit behind" in command(*words, "status").out
    command(*words, "consolidate")
    assert behind() >= 2  # the fact, and what else was derived
    assert f"{behind()} commits behind" in command(*words, "status").out
    command(*words, "publish")
    assert behind() == 0


def test_a_table_that_is_not_made_yet_has_no_version(lake: Path, command: Command) -> None:
    lines = command("--lake", lake, *AT, "status").out.splitlines()
    [results] = [line for line in lines if "model_results" in line]
    [episodes] = [line for line in lines if line.split()[:1] == ["episodes"]]
    assert "not made yet" in results
    assert "-1" not in results
    assert "not made yet" not in episodes


def test_doctor_names_the_language_model_and_asks_it_nothing(
    lake: Path, tmp_path: Path, command: Command
) -> None:
    assert "none: consolidation is by rule" in command("--lake", lake, "doctor").out
    file = tmp_path / "slowwave.toml"
    file.write_text('[model]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n')
    said = command("--lake", lake, "--config", file, "doctor", "--json").json
    [found] = [f for f in said["findings"] if f["name"] == "language model"]
    assert found["passed"]
    assert found["detail"] == "m at 127.0.0.1:9/v1, live, no prices set; not asked"


def test_status_of_a_fresh_lake(tmp_path: Path, command: Command) -> None:
    command("--lake", tmp_path / "lake", "init")
    said = command("--lake", tmp_path / "lake", "status")
    assert said.code == 0
    assert "nothing published yet" in said.out
    data = command("--lake", tmp_path / "lake", "status", "--json").json
    assert (data["index"], data["tenants"], data["landed_segments"]) == (None, [], 0)


def test_doctor_finds_a_sound_lake_sound(lake: Path, command: Command) -> None:
    before = files_below(lake)
    data = command("--lake", lake, "doctor", "--json").json
    assert data["passed"]
    assert {f["name"] for f in data["findings"]} >= {
        "packages",
        "tokens",
        "embedder",
        "language model",
        "write",
        "episodes",
        "index",
    }
    assert files_below(lake) == before


def test_doctor_without_a_lake_says_so_and_checks_the_rest(command: Command) -> None:
    said = command("--lake", "nowhere", "doctor", "--json")
    findings = {f["name"]: f["passed"] for f in said.json["findings"]}
    assert said.code == CheckError.exit_code
    assert (findings["packages"], findings["tokens"], findings["lake"]) == (True, True, False)
    assert "FAILED" in command("--lake", "nowhere", "doctor").out


def test_doctor_finds_files_that_are_gone_cut_or_grown(lake: Path, command: Command) -> None:
    def told() -> tuple[int, bool, str]:
        said = command("--lake", lake, "doctor", "--json")
        [files] = [finding for finding in said.json["findings"] if finding["name"] == "files"]
        return said.code, files["passed"], files["detail"]

    gone, cut, grown = (
        next((lake / "tables" / table).rglob("*.parquet")) for table in ("runs", "vectors", "quarantine")
    )
    assert told()[:2] == (0, True)
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:100])
    grown.write_bytes(grown.read_bytes() + b"x")
    code, passed, detail = told()
    assert (code, passed) == (CheckError.exit_code, False)
    assert f"{gone.name} is missing" in detail
    assert f"{cut.name} is damaged: 100 bytes, " in detail
    assert f"{grown.name} is damaged: {grown.stat().st_size} bytes, " in detail


def test_doctor_finds_a_row_twice_and_an_index_that_is_gone(lake: Path, command: Command) -> None:
    job = job_on(lake)
    tables.append(job.lake, EPISODES, content(job).head(1))
    (lake / "index" / "gen-000001" / "manifest.json").unlink()
    said = command("--lake", lake, "doctor", "--json")
    findings = {f["name"]: f["passed"] for f in said.json["findings"]}
    assert said.code == CheckError.exit_code
    assert (findings["episodes"], findings["index"], findings["vectors"]) == (False, False, True)


def test_an_index_removed_by_hand_is_built_anew(lake: Path, command: Command) -> None:
    (lake / "index" / "gen-000001" / "manifest.json").unlink()
    said = command("--lake", lake, "--json", *AT, "recall", "harbour", "--tenant", "acme", "--user", "user-1")
    assert (said.code, said.error["code"]) == (LakeError.exit_code, "lake")
    assert "gen-000001" in said.error["message"]
    steps = command("--lake", lake, "--json", *AT, "nightly").json["steps"]
    assert [step["state"] for step in steps] == [*["unchanged"] * 5, "done"]
    assert command("--lake", lake, "doctor", "--json").json["passed"]


def test_many_tenants_are_cut_short_for_people_only(tmp_path: Path, command: Command) -> None:
    job = job_on(tmp_path / "lake")
    file = write(tmp_path / "a.jsonl", [row(n, tenant_id=f"tenant-{n:02d}") for n in range(30)])
    run_nightly(job, ((s, Defaults()) for s in open_sources(str(file))))
    words = ("--lake", tmp_path / "lake", *AT, "status")
    assert "and 10 more tenants" in command(*words).out
    assert len(command(*words, "--json").json["tenants"]) == 30
    assert content(job).select(pl.col("tenant_id").n_unique()).item() == 30
