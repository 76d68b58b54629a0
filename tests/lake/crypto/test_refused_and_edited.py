"""An encrypted lake: refused rows land sealed once they have what they lacked, edits replace sealed text."""

from __future__ import annotations

from pathlib import Path

from flows.quarantine import Chosen, held, retry
from lake import tables
from tests.flows.lakes import content, ingest, row, write
from tests.lake.crypto.sealed import files_with, sealed_job
from transforms.schemas import EPISODES
from transforms.validate import Defaults

WORD = "marzipan"


def test_refused_rows_land_sealed(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(1), row(2, WORD, event_at="2026-06-01T10:00:00")]))
    assert held(job, Chosen()).height == 1
    done = retry(job, Chosen(), Defaults(timezone="UTC"))
    assert (done.tried, done.landed, done.held, done.refused) == (1, 1, 0, {})
    assert held(job, Chosen()).is_empty()
    assert WORD in content(job)["content"].to_list()
    assert files_with(tmp_path / "lake", WORD) == set()


def test_an_edit_replaces_a_sealed_text(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(1, f"the {WORD} is sold out")]))
    tally = ingest(job, write(tmp_path / "b.jsonl", [row(1, f"the {WORD} is back")]))
    assert (tally["versions"], content(job).height) == (1, 2)
    rows = tables.scan(job.lake, EPISODES).select("content", "is_injected").collect()
    assert dict(rows.iter_rows()) == {f"the {WORD} is sold out": True, f"the {WORD} is back": False}
    assert files_with(tmp_path / "lake", WORD) == set()
