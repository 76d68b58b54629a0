"""The whole night: once, again, killed, twice at once, from the configuration."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from flows.job import exclusive
from flows.nightly import run_nightly
from lake import landing, revisions
from lake.index import load_manifest, read_pointer
from lake.index_build import generations
from lake.sources import open_sources
from tests.flows.lakes import (
    AS_OF,
    REPOSITORY,
    Command,
    content,
    files_below,
    ingest,
    job_on,
    row,
    start,
    what_is_held,
    write,
)
from transforms.errors import BusyError
from transforms.policy import Policy, RunPolicy
from transforms.schemas import CONVERSATIONS, FACTS, QUARANTINE, RUNS, SUMMARIES, VECTORS
from transforms.validate import Defaults

AT = ("--as-of", AS_OF.isoformat())


STEPS = ["ingest", "embed", "consolidate", "decay", "retain", "publish"]


def test_a_night_on_an_unchanged_lake_writes_no_file(tmp_path: Path, command: Command) -> None:
    write(tmp_path / "a.jsonl", [row(n) for n in range(5)] + ["{"])
    words = ("--lake", tmp_path / "lake", "--json", *AT)
    command(*words, "init")
    first = command(*words, "nightly", tmp_path / "a.jsonl").json
    before = files_below(tmp_path / "lake")
    second = command(*words, "nightly", tmp_path / "a.jsonl").json
    assert files_below(tmp_path / "lake") == before
    assert [step["name"] for step in first["steps"]] == STEPS
    states = ["done"] * 3 + ["unchanged"] * 2 + ["done"]  # nothing is due yet
    assert [step["state"] for step in first["steps"]] == states
    assert [step["state"] for step in second["steps"]] == ["unchanged"] * 6
    assert second["generation"] == first["generation"] == "gen-000001"
    assert "nothing new" in command("--lake", tmp_path / "lake", *AT, "nightly", tmp_path / "a.jsonl").out


def test_a_night_without_publishing_keeps_what_is_live(tmp_path: Path, command: Command) -> None:
    words = ("--lake", tmp_path / "lake", "--json", *AT)
    command(*words, "init")
    write(tmp_path / "a.jsonl", [row(1)])
    nothing = command(*words, "nightly", tmp_path / "a.jsonl", "--no-publish").json
    assert [step["name"] for step in nothing["steps"]] == STEPS[:-1]
    assert nothing["generation"] is None
    command(*words, "nightly")
    write(tmp_path / "b.jsonl", [row(2)])
    later = command(*words, "nightly", tmp_path / "b.jsonl", "--no-publish").json
    assert later["generation"] == "gen-000001"
    assert "embedded" in command("--lake", tmp_path / "lake", *AT, "nightly", "--no-publish").out


def test_sources_come_from_the_configuration(tmp_path: Path, command: Command) -> None:
    write(tmp_path / "a.jsonl", [row(1, tenant_id=None, event_at="2026-06-01T12:00:00")])
    write(tmp_path / "b.jsonl", [row(2)])
    Path("slowwave.toml").write_text(
        f'[[sources]]\npath = "{tmp_path}/a.jsonl"\ntenant = "nord"\ntimezone = "Europe/Berlin"\n'
        f'[[sources]]\npath = "{tmp_path}/b.jsonl"\nformat = "slowwave-jsonl"\n'
    )
    words = ("--lake", tmp_path / "lake", "--json", *AT)
    command(*words, "init", "--buckets", "2")
    steps = command(*words, "nightly").json["steps"]
    assert (steps[0]["files"], steps[0]["landed"]) == (2, 2)
    held = content(job_on(tmp_path / "lake")).sort("tenant_id")
    assert held["tenant_id"].to_list() == ["acme", "nord"]
    assert held["event_at"][1].isoformat() == "2026-06-01T10:00:00+00:00"
    # A source named on the call stands instead of them.
    assert command(*words, "nightly", tmp_path / "b.jsonl").json["steps"][0]["files"] == 1


def test_a_night_of_no_sources_says_so(tmp_path: Path, command: Command) -> None:
    words = ("--lake", tmp_path / "lake", *AT)
    command(*words, "init", "--buckets", "2")
    said = command(*words, "--json", "nightly")
    assert (said.code, said.json["steps"][0]["rows_in"]) == (0, 0)
    assert said.err.startswith("slowwave: no sources configured: ")
    landing.append(job_on(tmp_path / "lake").lake, [row(1)], now=AS_OF)
    assert command(*words, "nightly").err == ""
    assert command(*words, "nightly", write(tmp_path / "a.jsonl", [])).err == ""
    Path("slowwave.toml").write_text(f'[[sources]]\npath = "{tmp_path}/a.jsonl"\n')
    assert command(*words, "nightly").err == ""


def figures(text: str) -> dict[str, str]:
    """Rows of a printed table of two columns."""
    parts = [line.rsplit(maxsplit=1) for line in text.splitlines()]
    return {words[0].strip(): words[1].replace(",", "") for words in parts if len(words) == 2}


def test_the_printed_tables_add_up(tmp_path: Path, command: Command) -> None:
    """Rows in are landed, already held, quarantined or left out; landed ones published, expired, injected.

    Published are, besides, what was derived of them, which the table counts apart.
    """
    words = ("--lake", tmp_path / "lake", *AT)
    command(*words, "init", "--buckets", "2")
    export = REPOSITORY / "samples" / "data" / "chatgpt_export.zip"
    twins = [row(n, "the same text", id=f"twin-{n}", event_at=row(1)["event_at"]) for n in range(3)]
    lines = [
        *twins,
        row(5, expires_at="2026-06-15T00:00:00Z"),
        row(6, is_injected=True),
        row(7),
        row(7),
        "{",
    ]
    file = write(tmp_path / "a.jsonl", lines)
    scope = ("--tenant", "acme", "--user", "ana")
    left = figures(command(*words, "ingest", export, *scope).out)
    said = command(*words, "nightly", file, *scope).out
    night = figures(said)
    again = figures(command(*words, "ingest", file, export, *scope).out)
    for shown in (left, night, again):
        parts = ("landed", "already held", "quarantined", "left out")
        assert int(shown["rows in"]) == sum(int(shown[name]) for name in parts)
    assert (night["landed"], night["already held"], night["quarantined"]) == ("6", "1", "1")
    assert (left["left out"], left["abandoned_branch"]) == (again["left out"], left["left out"])
    held = int(left["landed"]) + int(night["landed"])
    derived = sum(int(night.get(name, 0)) for name in ("facts served", "summaries served", "skills served"))
    assert (night["episodes expired"], night["expired"]) == ("1", "0")
    assert held + derived == 1 + sum(int(night[name]) for name in ("published", "expired", "injected"))
    assert "identical texts share a vector" in said


def test_landed_rows_are_consolidated_by_the_night(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    landing.append(job.lake, [row(1), row(2)], now=AS_OF)
    night = run_nightly(job, [])
    assert [step.name for step in night.steps] == STEPS
    assert [step.rows_out for step in night.steps[:2]] == [2, 2]
    assert night.steps[-1].rows_out >= 2


def test_the_ledger_has_one_row_for_each_step_that_did_something(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    file = write(tmp_path / "a.jsonl", [row(n) for n in range(3)])
    for _ in range(2):
        run_nightly(job, ((s, Defaults()) for s in open_sources(str(file))))
    ledger = content(job, RUNS).sort("started_at")
    assert ledger.select("step", "state", "rows_in").rows()[:3] == [
        ("ingest", "done", 3),
        ("embed", "done", 3),
        ("consolidate", "done", 3),
    ]
    assert ledger["generation"].to_list() == [None, None, None, "gen-000001"]
    assert ledger["run_id"].n_unique() == 4


def test_a_second_night_at_once_declines(tmp_path: Path, command: Command) -> None:
    job = job_on(tmp_path / "lake")
    with exclusive(job):
        for verb in ("nightly", "ingest", "embed", "publish"):
            said = command("--lake", tmp_path / "lake", "--json", verb)
            assert (said.code, said.error["code"]) == (BusyError.exit_code, "busy")
    assert content(job, RUNS).is_empty()
    assert command("--lake", tmp_path / "lake", "nightly").code == 0


def test_a_second_night_at_once_waits_when_told_to(tmp_path: Path, command: Command) -> None:
    job = job_on(tmp_path / "lake")
    Path("slowwave.toml").write_text('[run]\non_busy = "wait"\nbusy_wait_seconds = 60\n')
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with exclusive(job):
            entered.set()
            leave.wait(30)

    holder = threading.Thread(target=first)
    holder.start()
    assert entered.wait(30)
    threading.Timer(0.5, leave.set).start()
    assert command("--lake", tmp_path / "lake", "nightly").code == 0
    holder.join()


def test_a_wait_ends(tmp_path: Path) -> None:
    impatient = Policy(run=RunPolicy(on_busy="wait", busy_wait_seconds=0.2))
    job = job_on(tmp_path / "lake", policy=impatient)
    with exclusive(job), pytest.raises(BusyError, match="waited"):
        run_nightly(job, [])


def test_two_processes_at_once_write_nothing_twice(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    write(tmp_path / "a.jsonl", [row(n) for n in range(30)])
    (tmp_path / "slowwave.toml").write_text('[run]\non_busy = "wait"\n')
    words = ("--lake", tmp_path / "lake", "--json", *AT, "nightly", tmp_path / "a.jsonl")
    both = [start(*words, cwd=tmp_path) for _ in range(2)]
    said = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert sorted(night["steps"][0]["landed"] for night in said) == [0, 30]
    assert content(job).height == 30
    assert content(job, VECTORS)["text_hash"].n_unique() == content(job, VECTORS).height
    assert generations(job.lake) == ["gen-000001"]


def _comparable(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop("embedded_at", "quarantined_at", strict=False)


def test_killed_again_and_again_the_night_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    rows = [row(n, f"note {n} write to ana{n}@example.com") for n in range(300)] + ["{", row(1, "other text")]
    file = write(tmp_path / "a.jsonl", rows)
    (tmp_path / "slowwave.toml").write_text(
        "[ingest]\nbatch_rows = 40\ncommit_rows = 40\n[embed]\nbatch_rows = 50\n"
    )
    calm, rough = (job_on(tmp_path / name) for name in ("calm", "rough"))
    landing.append(rough.lake, [row(900)], now=AS_OF)
    landing.append(calm.lake, [row(900)], now=AS_OF)

    def words(name: str) -> tuple[object, ...]:
        return ("--lake", tmp_path / name, "--json", *AT, "nightly", file)

    _, err = (undisturbed := start(*words("calm"), cwd=tmp_path)).communicate(timeout=120)
    assert undisturbed.returncode == 0, err
    dice = random.Random(11)
    last = 0
    for kill in range(7):
        process = start(*words("rough"), cwd=tmp_path)
        if kill:  # once something new is written, and a moment later
            _wait_for_growth(tmp_path / "rough", last, process)
        time.sleep(dice.uniform(0, 0.3))
        process.kill()
        process.communicate()
        last = len(files_below(tmp_path / "rough"))
    _, err = (final := start(*words("rough"), cwd=tmp_path)).communicate(timeout=120)
    assert final.returncode == 0, err

    for table in (VECTORS, QUARANTINE):
        assert _comparable(content(rough, table)).equals(_comparable(content(calm, table)))
    assert what_is_held(rough).equals(what_is_held(calm))
    pointers = [read_pointer(job.lake) for job in (rough, calm)]
    manifests = [
        load_manifest(job.lake, p.generation) for job, p in zip((rough, calm), pointers, strict=True) if p
    ]
    assert manifests[0].rows == manifests[1].rows >= 301
    for table in (FACTS, CONVERSATIONS, SUMMARIES):
        assert revisions.standing(rough.lake, table).equals(revisions.standing(calm.lake, table)), table.name
    assert set(generations(rough.lake)) == set(pointers[0].history if pointers[0] else ())
    assert run_nightly(_local(rough), _sources(file)).is_unchanged


def _local(job: object) -> object:
    from lake.embedders.config import EmbedderConfig, make_embedder

    policy = Policy.model_validate(
        {"ingest": {"batch_rows": 40, "commit_rows": 40}, "embed": {"batch_rows": 50}}
    )
    return replace(job, make_embedder=lambda: make_embedder(EmbedderConfig()), policy=policy)  # type: ignore[type-var]


def _sources(file: Path) -> object:
    return ((source, Defaults()) for source in open_sources(str(file)))


def _wait_for_growth(root: Path, seen: int, process: object) -> None:
    for _ in range(2_000):
        if len(files_below(root)) > seen or process.poll() is not None:  # type: ignore[attr-defined]
            return
        time.sleep(0.005)


def test_ingest_alone_then_night_publishes_it(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(1)]))
    night = run_nightly(job, [])
    states = ["unchanged", "done", "done", "unchanged", "unchanged", "done"]
    assert [step.state for step in night.steps] == states
