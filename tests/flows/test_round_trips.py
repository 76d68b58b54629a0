"""What is exported comes back as the rows it was, into an empty lake and into the same one."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.export import run_export
from flows.export_lines import run_export_lines
from flows.export_rows import HeldRows
from flows.job import Job
from lake import landing, revisions, tables
from lake.rights import audit
from lake.sources import open_sources
from tests.flows.lakes import Command, content, ingest, job_on, row, write
from tests.flows.test_versions import TEA, TOLD, export, facts, on, place, served
from tests.lake.crypto.sealed import sealed_job
from transforms import ids
from transforms.readers.registry import detect
from transforms.schemas import EPISODES, FACTS, QUARANTINE
from transforms.subjects import Subject

MAIL = "ana.lopez@example.com"
RICH = [
    TEA,
    row(4, f"Write to {MAIL}, my diagnosis is private.", tags=["a", "b c"], importance=0.35),
    row(5, "", role="tool", tool_name="search", tool_arguments={"q": MAIL}, outcome="failure",
        failure_reason="timeout", steps=3, turn_index=7, parent_id="row-4", speaker="Ana"),
    row(6, "note", metadata={"a": {"b": [1, None]}, "mail": MAIL}, expires_at="2027-01-01T00:00:00Z",
        retention_tier="long_term", feedback="good"),
    row(7, "recalled text", is_injected=True, agent_id="planner"),
    row(8, "没有身份证", id=None, session_id=None, event_at="2026-06-07T10:00:00.123456+09:00"),
]  # fmt: skip


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A lake with all that a row can have, and with an edited message."""
    job = job_on(tmp_path / "lake")
    for day, text in enumerate(TOLD[:2]):
        export(on(job, day), tmp_path, [*RICH, place(text), row(9, "of ben", user_id="ben")])
    return on(job, 2)


def rows(job: Job, user: str | None = None) -> pl.DataFrame:
    held = content(job).drop("ingested_at", "tenant_bucket")
    return held if user is None else held.filter(pl.col("user_id") == user)


def zipped(job: Job, out: Path) -> Path:
    run_export(job, Subject("acme", user="ana"), out)
    return out


def lines(job: Job, out: Path) -> Path:
    run_export_lines(job, Subject("acme"), out)
    return out


def table(job: Job, out: Path) -> Path:
    assert job.lake.root is not None
    return job.lake.root / "tables" / "episodes"


@pytest.mark.parametrize(("written", "user"), [(zipped, "ana"), (lines, None), (table, None)])
def test_an_export_comes_back_whole(job: Job, tmp_path: Path, written: Any, user: str | None) -> None:
    source = written(job, tmp_path / "out")
    other = on(job_on(tmp_path / "other", buckets=5), 3)
    tally = ingest(other, source)
    assert (tally["landed"], tally["quarantined"], tally["left_out"]) == (tally["rows_in"], 0, {})
    assert rows(other).equals(rows(job, user))
    assert content(other)["ingested_at"].unique().to_list() == [other.as_of]
    again = ingest(on(job, 4), source)
    assert (again["landed"], again["duplicates"]) == (0, again["rows_in"])
    assert rows(on(job, 4)).equals(rows(job))


def test_what_an_export_holds_beside_its_rows_is_passed_over_in_silence(job: Job, tmp_path: Path) -> None:
    skipped = list[str]()

    def skip(name: str, why: str) -> None:
        skipped.append(name)

    source = zipped(job, tmp_path / "out.zip")
    assert len(list(open_sources(str(source), on_skip=skip))) == 1
    assert skipped == []
    with ZipFile(source) as packed:
        packed.extractall(tmp_path / "open")
    (tmp_path / "open" / "notes.json").write_text("{}")
    assert len(list(open_sources(str(tmp_path / "open"), on_skip=skip))) == 1
    assert skipped == ["notes.json"]


def test_of_what_an_export_holds_only_episodes_are_rows(job: Job) -> None:
    told = dict[str, str]()
    for part in HeldRows(job.lake, Subject("acme", user="ana")).parts():
        one = pl.DataFrame({column.name: ["x"] for column in part.columns}).write_ndjson()
        for data in (one, f"[\n{one}]\n"):
            reader = detect(data.encode(), f"{part.name}.json")
            if reader is not None:
                told[part.name] = reader.name
    assert told == dict.fromkeys(("episodes", "cold", "landed"), "slowwave-export")


def test_what_comes_back_is_served_and_believed_as_before(job: Job, tmp_path: Path) -> None:
    run_embed(job)
    run_consolidate(job)
    source = lines(job, tmp_path / "out.jsonl")
    other = on(job_on(tmp_path / "other"), 3)
    ingest(other, source)
    run_embed(other)
    run_consolidate(other)
    assert served(other) == served(job)
    assert facts(other) == facts(job)
    named = [revisions.standing(one.lake, FACTS)["fact_id"].sort().to_list() for one in (job, other)]
    assert named[0] == named[1]


def test_the_files_before_go_on_where_their_export_came_back(job: Job, tmp_path: Path) -> None:
    other = on(job_on(tmp_path / "other"), 3)
    ingest(other, lines(job, tmp_path / "out.jsonl"))
    assert export(other, tmp_path, [*RICH, place(TOLD[0])])["landed"] == 0
    assert export(on(other, 1), tmp_path, [*RICH, place(TOLD[2])])["versions"] == 1
    assert TOLD[2] in served(other)
    assert not {TOLD[0], TOLD[1]} & set(served(other))


def test_an_encrypted_lake_comes_back_from_its_export_and_not_from_its_files(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    export(job, tmp_path, RICH)
    other = job_on(tmp_path / "other")
    assert ingest(other, table(job, tmp_path))["reasons"] == {"sealed_text": len(RICH)}
    assert ingest(other, lines(job, tmp_path / "out.jsonl"))["landed"] == len(RICH)
    assert rows(other).equals(rows(job))


def test_nobody_takes_over_the_row_of_another_scope_by_naming_its_id(job: Job, tmp_path: Path) -> None:
    held = [json.loads(line) for line in lines(job, tmp_path / "out.jsonl").read_text().splitlines()]
    before = rows(job)
    for number, stranger in enumerate(({"tenant_id": "other"}, {"user_id": "ben"}, {"session_id": "s9"})):
        forged = [{**one, **stranger, "content": "taken over"} for one in held if one["user_id"] == "ana"]
        file = write(tmp_path / f"forged-{number}.jsonl", forged)
        assert ingest(job, file)["reasons"] == {"foreign_id": len(forged)}
    assert rows(job).equals(before)
    # An id that was taken before its own row came is no reason to take that row for a version of it.
    early = {**held[0], "episode_id": ids.row_id("acme", "cy", "", "s1", "nrow-77")}
    assert ingest(job, write(tmp_path / "early.jsonl", [early]))["landed"] == 1
    true = row(77, "of cy", user_id="cy")
    assert ingest(job, write(tmp_path / "true.jsonl", [true]))["reasons"] == {"foreign_id": 1}
    assert content(job).filter(pl.col("content") == "of cy").is_empty()
    twins = [{**held[0], "episode_id": "a" * 32, "user_id": user} for user in ("ana", "ben")]
    assert ingest(job, write(tmp_path / "twins.jsonl", twins))["reasons"] == {"foreign_id": 1}


def test_a_row_that_names_its_id_gets_no_better_than_the_rules_give(job: Job, tmp_path: Path) -> None:
    held = [json.loads(line) for line in lines(job, tmp_path / "out.jsonl").read_text().splitlines()]
    one = next(row for row in held if "diagnosis" in row["content"])
    forged = {**one, "episode_id": "b" * 32, "content": f"mail {MAIL}", "sensitivity": "normal", "trust": 1.0,
              "role": "tool", "redactions": []}  # fmt: skip
    assert ingest(job, write(tmp_path / "f.jsonl", [forged]))["landed"] == 1
    landed = content(job).filter(pl.col("episode_id") == "b" * 32).row(0, named=True)
    assert (landed["content"], landed["redactions"]) == ("mail [REDACTED:email]", ["email"])
    assert landed["sensitivity"] != "normal"
    assert landed["trust"] < 0.5


BAD: list[tuple[dict[str, Any], str]] = [
    ({"episode_id": "../../x"}, "bad_export"),
    ({"episode_id": None}, "bad_export"),
    ({"source": "share"}, "bad_export"),
    ({"source": "A b"}, "bad_export"),
    ({"sensitivity": "none"}, "bad_export"),
    ({"redactions": [1]}, "bad_export"),
    ({"redactions": "email"}, "bad_export"),
    ({"source_line": "x"}, "bad_export"),
    ({"source_file": 3}, "bad_export"),
    ({"metadata": {"a": 1}}, "bad_field_type"),
    ({"event_at": None}, "missing_time"),
    ({"content": ["x"]}, "bad_field_type"),
    ({"agent_id": "tenant:all"}, "reserved_id"),
]


def test_a_row_that_no_lake_wrote_is_refused_alone(job: Job, tmp_path: Path) -> None:
    held = [json.loads(line) for line in lines(job, tmp_path / "out.jsonl").read_text().splitlines()]
    wrong = [{**held[0], **change} for change, _ in BAD]
    tally = ingest(job, write(tmp_path / "bad.jsonl", [held[0], *wrong, "{"]))
    wanted = pl.Series([*(reason for _, reason in BAD), "truncated_json"]).value_counts()
    assert tally["reasons"] == dict(wanted.sort("").iter_rows())
    assert tally["duplicates"] == 1
    assert content(job, QUARANTINE)["source_line"].sort().to_list() == list(range(2, len(BAD) + 3))


def test_of_a_table_only_what_stands_is_read(job: Job, tmp_path: Path) -> None:
    folder = table(job, tmp_path)
    names = {source.file_name for source in open_sources(str(folder))}
    assert names == set(tables.data_files(job.lake, EPISODES))
    assert len(list(folder.rglob("*.parquet"))) > len(names)


def test_rows_that_no_ingest_has_taken_are_in_the_zip(job: Job, tmp_path: Path) -> None:
    landing.append(job.lake, [row(11, "waiting")], policy=job.policy, now=job.as_of)
    other = on(job_on(tmp_path / "other"), 3)
    tally = ingest(other, zipped(job, tmp_path / "out.zip"))
    assert tally["quarantined"] == 0
    ingest(job)
    assert rows(other).equals(rows(job, "ana"))


def test_the_verb_writes_lines_once_and_tells_the_audit(job: Job, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "acme.jsonl"
    words = ("--lake", job.lake.uri, "export", "--tenant", "acme", "--form", "jsonl", "--out", out)
    told = command("--json", *words).json
    assert told["counts"] == {"cold": 0, "episodes": content(job).height}
    assert told["sha256"] == sha256(out.read_bytes()).hexdigest()
    assert audit.entries(job.lake)[-1].kind == "episodes_exported"
    assert command("--json", *words).error["code"] == "usage"
    assert f"{content(job).height:,} episodes in {out}" in command(*words, "--force").out
    assert out.stat().st_mode & 0o777 == 0o600
    mine = command("--json", *words[:-1], tmp_path / "ben.jsonl", "--user", "ben").json
    assert mine["counts"]["episodes"] == 1
    assert not list(tmp_path.glob(".*.partial"))
