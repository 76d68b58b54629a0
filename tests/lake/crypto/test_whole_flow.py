"""An encrypted lake gives the answers of a plain one, and no text of it stands in any file but the index."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.erase import run_erase
from flows.job import Job
from flows.publish import run_publish
from lake import landing, tables
from lake.crypto.access import Keys
from lake.crypto.leftovers import leftovers
from lake.lake import open_lake
from lake.recall import Recall
from tests.flows.lakes import AS_OF, content, ingest, job_on, row, write
from tests.flows.sleepers import history, said
from tests.lake.crypto.sealed import MASTER, files_with, sealed_job
from transforms.schemas import DERIVED, EPISODES, FACTS, QUARANTINE, VECTORS
from transforms.subjects import Subject

CANARY = "zanzibarine"
CLOCKS = ("ingested_at", "recorded_at", "embedded_at", "quarantined_at")


def rows() -> list[Any]:
    marked = row(
        90,
        f"I like {CANARY} a lot.",
        speaker=f"Mx {CANARY}",
        tool_name=None,
        tags=[f"{CANARY}-tag", "b"],
        feedback=f"{CANARY} was fine",
        colour=f"{CANARY}",
        session_id="s-x",
    )
    tool = said(
        91,
        f"Error: {CANARY} is missing",
        "06-05",
        role="tool",
        kind="action",
        tool_name=f"{CANARY}_tool",
        tool_arguments={"a": CANARY},
        outcome="failure",
        failure_reason=f"no {CANARY}",
    )
    return [*history(), marked, tool, f"{{no json {CANARY}", row(92, "x", event_at=f"{CANARY} o'clock")]


def whole_night(job: Job, folder: Path) -> None:
    ingest(job, write(folder / f"{CANARY}.jsonl", rows()))
    run_embed(job)
    run_consolidate(job)
    run_publish(job)
    landing.append(job.lake, [row(93, f"And {CANARY} again, at last.", user_id="ana")], now=AS_OF)


def answers(job: Job) -> dict[str, Any]:
    reader = Recall(job.lake, embedder=job.embedder)
    found = reader.search(f"what about {CANARY} and peanuts", tenant="acme", user="ana", as_of=AS_OF, k=8)
    facts = reader.facts(tenant="acme", user="ana", as_of=AS_OF, history=True)
    return {
        "search": [(m.id, m.text, round(m.score, 5)) for m in found],
        "context": reader.context(CANARY, tenant="acme", user="ana", as_of=AS_OF).text,
        "facts": [f.as_dict() for f in facts],
        "replayed": [f.fact for f in reader.facts(tenant="acme", user="ana", as_of=AS_OF)],
        "chains": [reader.explain(f.id, tenant="acme", user="ana").as_dict() for f in facts],
    }


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, Job]:
    root = tmp_path_factory.mktemp("flows")
    plain, sealed = job_on(root / "plain"), sealed_job(root / "sealed")
    for job in (plain, sealed):
        whole_night(job, root)
    return plain, sealed


def test_every_table_holds_the_same_rows(both: tuple[Job, Job]) -> None:
    for table in (EPISODES, QUARANTINE, VECTORS, *DERIVED):
        plain, sealed = (
            content(job, table).drop(CLOCKS, strict=False).sort(table.key, maintain_order=True)
            for job in both
        )
        assert plain.equals(sealed), table.name


def test_answers_are_those_of_a_plain_lake(both: tuple[Job, Job]) -> None:
    plain, sealed = map(answers, both)
    assert plain == sealed
    assert CANARY in sealed["context"]
    assert any(CANARY in text for _, text, _ in sealed["search"])
    assert sealed["facts"]


def test_no_file_but_the_index_holds_the_text(both: tuple[Job, Job]) -> None:
    plain, sealed = (Path(job.lake.storage.uri) for job in both)
    assert {name.split("/")[0] for name in files_with(plain, CANARY)} == {"tables", "index", "landing"}
    assert {name.split("/")[0] for name in files_with(sealed, CANARY)} == {"index"}
    for words in ("peanuts", "Lisbon", "aisle", "import_invoices", "decimal"):
        assert {name.split("/")[0] for name in files_with(sealed, words)} <= {"index"}, words


def test_counts_need_no_text(both: tuple[Job, Job]) -> None:
    lake = both[1].lake
    stored = tables.scan(lake, EPISODES, as_stored=True).select("content", "tags").collect()
    assert stored["content"].str.starts_with("~sw1.").all()
    assert stored["tags"].list.len().max() == 1


def test_erased_she_opens_in_no_copy_and_others_do(both: tuple[Job, Job], tmp_path: Path) -> None:
    """The keyring is one: a copy of the lake from before the erasure, a backup, has lost her, too."""
    source = Path(both[1].lake.storage.uri)
    for name in ("lake", "backup"):
        shutil.copytree(source, tmp_path / name)
    shutil.copytree(f"{source}-keys", tmp_path / "keys")
    held = Keys(str(tmp_path / "keys"), MASTER)
    job = replace(both[1], lake=open_lake(str(tmp_path / "lake"), held))
    run_erase(job, Subject("acme", user="ana"), basis="gdpr_art_17", requested_by="subject")
    backup = open_lake(str(tmp_path / "backup"), held)
    readable = tables.scan(backup, EPISODES).select("tenant_id", "user_id", "content").collect()
    assert sorted(readable.drop("content").unique().rows()) == [("acme", "ben"), ("umbrella", "ana")]
    facts = tables.scan(backup, FACTS).select("tenant_id", "user_id", "fact").collect()
    assert "ana" not in facts.filter(tenant_id="acme")["user_id"]
    assert leftovers(backup)["episodes"] > 10
