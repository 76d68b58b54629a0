"""Consolidation on two worker processes comes to the tables of one process."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from flows import consolidate_plan
from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.job import exclusive
from lake import tables
from tests.flows.engine.crews import engine_job
from tests.flows.lakes import ingest, write
from tests.flows.sleepers import history, said
from transforms.schemas import DERIVED, VECTORS

pytestmark = pytest.mark.server


def test_two_workers_derive_what_one_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = engine_job(tmp_path, "local")
    rows = history()
    for place, person in enumerate(("eva", "kim", "lee", "mia", "noa", "pat")):
        who = {"user_id": person, "session_id": f"s-{person}"}
        rows += [said(100 + 10 * place, "I live in Graz.", "06-02", **who)]
        rows += [
            said(101 + 10 * place + n, f"The harbour office asks for crane {n}.", "06-02", **who)
            for n in range(4)
        ]
    ingest(job, write(tmp_path / "rows.jsonl", rows))
    run_embed(replace(job, recipe=None))
    shutil.copytree(tmp_path / "lake", tmp_path / "alone" / "lake")
    alone = engine_job(tmp_path / "alone", "local", workers=1)
    monkeypatch.setattr(consolidate_plan, "UNIT_ROWS", 10)
    with exclusive(job):
        assert run_consolidate(job).detail == run_consolidate(alone).detail
    for table in (*DERIVED, VECTORS):
        order = [*table.key, *(["revision"] if "revision" in table.names else [])]
        found, expected = (tables.scan(one.lake, table).collect().sort(order) for one in (job, alone))
        assert found.equals(expected), table.name
    vectors = tables.scan(job.lake, VECTORS).select(VECTORS.key).collect()
    assert vectors.is_unique().all()
    assert vectors.filter(pl.col("tenant_id") == "acme").height > 10
    with exclusive(job):
        assert run_consolidate(job).state == "unchanged"
