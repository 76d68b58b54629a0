"""The verb that brings an older lake to this version, and what is made of records of older shapes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.__main__ import main
from flows.erase import run_erase
from flows.erase_verify import look_again
from flows.upkeep_night import keep
from lake import locks, revisions, tables
from lake.lake import RECORD, VERSION, open_lake, opened_at_any_version
from lake.migrations import backup
from tests.flows.lakes import AS_OF, Command, files_below, job_on, row, write
from tests.lake.migrations.old_lakes import old_tables, rows_of
from transforms.errors import BusyError, CheckError, LakeError
from transforms.schemas import EPISODES, FACTS, RECALLS, SUMMARIES, TOPIC_MEMBERS, TOPICS
from transforms.subjects import Subject

AT = ("--as-of", AS_OF.isoformat())


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake as the version before left it: after a night, with a recall log of that version."""
    folder = tmp_path_factory.mktemp("older")
    said = ("I live in Lisbon.", "I really like mango.", "The harbour crane is broken again.")
    rows = [row(n, said[n % 3], user_id=f"user-{n % 2}") for n in range(9)]
    lake = str(folder / "lake")
    assert main(["--lake", lake, "init", "--buckets", "2"]) == 0
    assert main(["--lake", lake, "nightly", str(write(folder / "a.jsonl", rows)), *AT]) == 0
    opened = open_lake(lake)
    (recalls,) = (table for table in old_tables("D") if table.name == "recalls")
    tables.append(opened, recalls, rows_of(opened, recalls))
    record = json.loads(opened.storage.read(RECORD) or b"")
    opened.storage.write(RECORD, json.dumps({**record, "version": 1}).encode())
    return folder / "lake"


@pytest.fixture
def lake(older: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(older, tmp_path / "lake"))


def test_every_verb_refuses_an_older_lake_in_one_line_with_the_remedy(lake: Path, command: Command) -> None:
    before = files_below(lake)
    for verb in (["status"], ["nightly"], ["recall", "Lisbon", "--tenant", "acme"], ["init"]):
        said = command("--lake", lake, *verb)
        assert said.code == LakeError.exit_code
        assert said.err.count("\n") == 1
        assert f"slowwave --lake {lake} migrate" in said.err
    assert files_below(lake) == before
    told = command("--lake", lake, "--json", "doctor").json["findings"]
    assert next(f["detail"] for f in told if f["name"] == "lake").endswith("migrate")


def test_migrate_tells_what_it_does_and_the_lake_works_on(lake: Path, command: Command) -> None:
    before = files_below(lake)
    words = ("--lake", lake, "--json")
    dry = command(*words, "migrate", "--dry-run").json
    assert files_below(lake) == before
    (step,) = dry["steps"]
    assert step["changes"][0] == "recalls: columns added budget_tokens, seconds"
    assert (dry["from_version"], dry["to_version"], dry["dry_run"], dry["backup"]) == (1, VERSION, True, None)
    done = command(*words, "migrate").json
    assert done["steps"] == dry["steps"]
    assert (lake / done["backup"] / RECORD).read_bytes() != (lake / RECORD).read_bytes()
    status = command(*words, *AT, "status").json
    assert (status["version"], status["drift"]) == (VERSION, [])
    found = command(*words, "recall", "Lisbon", "--tenant", "acme", "--user", "user-0", *AT)
    assert "Lisbon" in found.json["results"][0]["text"]
    night = command(*words, "nightly", write(lake.parent / "b.jsonl", [row(40)]), *AT)
    assert night.code == 0
    assert tables.scan(open_lake(str(lake)), RECALLS).collect()["seconds"].null_count() == 3
    assert "nothing is to be migrated" in command("--lake", lake, "migrate").out


def test_a_run_that_holds_the_lake_is_not_disturbed(lake: Path, command: Command) -> None:
    before = (lake / RECORD).read_bytes()
    held, _ = opened_at_any_version(str(lake))
    with locks.hold(held, "nightly", 0):
        said = command("--lake", lake, "migrate")
    assert said.code == BusyError.exit_code
    assert (lake / RECORD).read_bytes() == before


def test_a_table_that_differs_is_told_by_status_and_doctor(lake: Path, command: Command) -> None:
    record = json.loads((lake / RECORD).read_text())
    (lake / RECORD).write_text(json.dumps({**record, "version": VERSION}))
    words = ("--lake", lake, "--json", *AT)
    assert command(*words, "status").json["drift"] == ["recalls lacks budget_tokens, seconds"]
    assert "recalls lacks" in command("--lake", lake, *AT, "status").out
    said = command(*words, "doctor")
    (finding,) = (f for f in said.json["findings"] if f["name"] == "tables")
    assert (said.code, finding["passed"]) == (CheckError.exit_code, False)
    assert "slowwave migrate" in finding["detail"]
    command(*words, "migrate")
    (finding,) = (f for f in command(*words, "doctor").json["findings"] if f["name"] == "tables")
    assert finding["passed"]


def test_an_erasure_is_proved_beside_the_backup_and_a_night_drops_it(lake: Path, command: Command) -> None:
    command("--lake", lake, "migrate")
    job = job_on(lake)
    assert job.lake.storage.entries(backup.PREFIX)
    run_erase(job, Subject("acme", "user-1"), basis="gdpr_art_17", requested_by="subject")
    assert look_again(job, Subject("acme", "user-1"))["passed"]
    hours = timedelta(hours=job.policy.ingest.vacuum_after_hours)
    keep(job, now=datetime.now(UTC) + hours - timedelta(hours=1))
    assert job.lake.storage.entries(backup.PREFIX)
    keep(job, now=datetime.now(UTC) + hours + timedelta(hours=1))
    assert job.lake.storage.entries(backup.PREFIX) == []


def older_embedded(record: dict[str, Any]) -> dict[str, Any]:
    """The first shape: one table's version, and marks by table."""
    mark = record["tables"]["episodes"]["mark"]
    return {
        "model_key": record["model_key"],
        "episodes_version": mark[0],
        "retry_files": [],
        "marks": {"episodes": mark, "vectors": record["vectors"]},
    }


def older_consolidated(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("method", "as_of", "marks") if name in record}


def older_retained(record: dict[str, Any]) -> dict[str, Any]:
    buckets = {number: {"files": "0" * 32, "next_at": None} for number in record["buckets"]}
    return {"method": record["method"], "as_of": record["as_of"], "buckets": buckets}


STATE: tuple[tuple[str, Callable[[dict[str, Any]], dict[str, Any]]], ...] = (
    ("state/embedded-*.json", older_embedded),
    ("state/consolidated.json", older_consolidated),
    ("state/retained.json", older_retained),
)


def derived(lake: Path) -> list[Any]:
    opened = open_lake(str(lake))
    return [revisions.standing(opened, t).to_dicts() for t in (FACTS, TOPICS, TOPIC_MEMBERS, SUMMARIES)]


@pytest.mark.parametrize(("pattern", "older_shape"), STATE, ids=["embedded", "consolidated", "retained"])
def test_hints_of_older_shapes_cost_a_second_look_and_change_nothing(
    lake: Path, command: Command, pattern: str, older_shape: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    command("--lake", lake, "migrate")
    before = derived(lake)
    paths = list(lake.glob(pattern))
    assert paths
    for path in paths:
        path.write_text(json.dumps(older_shape(json.loads(path.read_text()))))
    words = ("--lake", lake, "--json", *AT)
    again = write(lake.parent / "b.jsonl", [row(2, "The harbour crane is broken again.", user_id="user-0")])
    assert command(*words, "nightly", again).code == 0
    assert derived(lake) == before
    last = command(*words, "nightly", again).json
    assert {step["state"] for step in last["steps"]} == {"unchanged"}


def test_an_index_of_the_first_form_is_served_and_built_anew(lake: Path, command: Command) -> None:
    command("--lake", lake, "migrate")
    words = ("--lake", lake, "--json", *AT)
    asked = ("recall", "Lisbon", "--tenant", "acme", "--user", "user-0", "-k", "3")
    before = command(*words, *asked).json["results"]
    generation = json.loads((lake / "index/CURRENT").read_text())["generation"]
    path = lake / "index" / generation / "manifest.json"
    manifest = json.loads(path.read_text())
    old = ("as_of", "checks", "dimensions", "generation", "next_expiry_at", "rows", "space")
    entry = ("name", "rows", "tenant", "scope", "nprobes")
    first = {
        **{name: manifest[name] for name in old},
        "inputs": {name: manifest["inputs"][name] for name in ("episodes", "vectors", "space")},
        "tables": [{name: table[name] for name in entry} for table in manifest["tables"]],
    }
    path.write_text(json.dumps(first))
    assert [r["id"] for r in command(*words, *asked).json["results"]] == [r["id"] for r in before]
    done = command(*words, "publish").json
    assert (done["state"], done["generation"]) == ("done", "gen-000002")
    assert command(*words, *asked).json["results"] == before
    assert tables.scan(open_lake(str(lake)), EPISODES).collect().height == 9
