"""Experience in a lake that slept a night, and before it slept."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.publish import run_publish
from lake.lake import Lake
from lake.rights import tombstones
from tests.flows.lakes import Command
from tests.lake.recalled import NOW, job, land, make_lake, reader
from transforms.errors import UsageError
from transforms.subjects import Subject

ME: dict[str, Any] = {"tenant": "t", "user": "u"}


def session(
    name: str, asked: str, tool: str, outcome: str, reason: str | None = None
) -> list[dict[str, Any]]:
    began = NOW - timedelta(days=2)
    told = [
        {"role": "user", "content": asked},
        {
            "role": "tool",
            "tool_name": tool,
            "content": f"{tool} ran",
            "outcome": outcome,
            "failure_reason": reason,
        },
    ]
    return [
        {
            **row,
            "id": f"{name}{i}",
            "session_id": name,
            "event_at": (began + timedelta(minutes=i)).isoformat(),
        }
        for i, row in enumerate(told)
    ]


def landed(folder: Path) -> Lake:
    lake = make_lake(folder)
    land(lake, *session("a", "Convert the harbour survey to csv.", "convert_table", "success"))
    land(lake, *session("b", "Upload the harbour photos.", "upload", "failure", "folder is not writable"))
    land(lake, *session("c", "Fetch the harbour tides.", "fetch", "failure", "connection timed out"))
    return lake


def night(lake: Lake) -> None:
    run = job(lake)
    run_ingest(run, [])
    run_embed(run)
    run_consolidate(run)
    run_publish(run, force=True)


@pytest.mark.parametrize("has_slept", [False, True])
def test_a_task_is_told_what_worked_what_failed_and_nothing_of_what_passes(
    tmp_path: Path, has_slept: bool
) -> None:
    lake = landed(tmp_path)
    if has_slept:
        night(lake)
    recall = reader(lake)
    [worked] = recall.experience("convert_table the harbour survey", as_of=NOW, k=1, **ME)
    assert worked.kind == "hint"
    assert "convert_table" in worked.text
    [failed] = recall.experience("upload the harbour photos", as_of=NOW, k=1, **ME)
    assert failed.kind == "different_approach"
    assert "not writable" in failed.text
    every = recall.experience("harbour tides fetch", as_of=NOW, k=9, **ME)
    assert all("fetch" not in hint.text for hint in every)
    assert all(0 <= hint.score <= 1 for hint in every)


def test_nobody_elses_experience_and_none_of_a_forgotten_person(tmp_path: Path) -> None:
    lake = landed(tmp_path)
    night(lake)
    recall = reader(lake)
    asked = "upload the harbour photos"
    assert recall.experience(asked, tenant="t", user="other", as_of=NOW) == []
    assert recall.experience(asked, tenant="t2", user="u", as_of=NOW) == []
    with pytest.raises(UsageError):
        recall.experience(asked, k=0, as_of=NOW, **ME)
    tombstones.place(lake, Subject("t", user="u"), None, "ab" * 16)
    assert recall.experience(asked, as_of=NOW, **ME) == []


def test_the_verb_prints_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = landed(tmp_path)
    command = Command(capsys)
    place = ("--lake", lake.uri, "--as-of", NOW.isoformat())
    said = command("--json", *place, "hints", "upload the harbour photos", "--tenant", "t", "--user", "u")
    assert said.code == 0, said.err
    found = json.loads(said.out)["hints"]
    assert {"kind", "text", "why", "id", "source_refs", "score", "event_at"} == set(found[0])
    plain = command(*place, "hints", "upload the harbour photos", "--tenant", "t", "--user", "u")
    assert "different approach" in plain.out
