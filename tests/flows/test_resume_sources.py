"""Killed runs of each kind of source go on behind their last commit: packed, tables, standard input, a store."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from flows.ingest import run_ingest
from flows.ingest_progress import RECEIVED, received
from flows.job import Job
from flows.progress_meter import Meter, counted
from lake.sources import open_sources
from tests.flows.dying import living
from tests.flows.lakes import job_on, row, what_is_held
from transforms.policy import IngestPolicy, Policy
from transforms.validate import Defaults

COUNT = 60
SMALL = Policy(ingest=IngestPolicy(batch_rows=5, batch_bytes=8_000, commit_rows=10))


class Dying:
    """Progress of which the tasks are kept, and that dies once a part of a file was noted."""

    def __init__(self, notes: Path | None = None, die: Callable[[], None] = lambda: None) -> None:
        self.meters: list[Meter] = []
        self._notes, self._die = notes, die

    def task(
        self, name: str, total: int | None, unit: str = "rows"
    ) -> AbstractContextManager[Callable[[int], None]]:
        return self._task(name, total, unit)

    @contextmanager
    def _task(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        with counted(name, total, unit, self._told) as advance:

            def step(count: int) -> None:
                advance(count)
                if self._notes is not None and any(self._notes.rglob("*.json")):
                    self._die()

            yield step

    def _told(self, event: str, meter: Meter) -> None:
        if event == "start":
            self.meters.append(meter)


def rows() -> list[dict[str, Any]]:
    return [row(n, f"note {n} " + "word " * 60) for n in range(COUNT)]


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return bytes(out.getvalue())


def chats() -> list[dict[str, Any]]:
    """Of two accounts, so that each row has to name its own wherever reading goes on."""
    return [
        {"uuid": f"c{n}", "account": {"uuid": "p" if n < 3 else "q"}, "created_at": "2026-06-01T10:00:00Z",
         "chat_messages": [{"uuid": f"m{n}", "sender": "human", "text": f"hello {n} " + "word " * 60}]}
        for n in range(COUNT)
    ]  # fmt: skip


def made(kind: str) -> bytes:
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in rows())
    frame, out = pl.DataFrame(rows()), io.BytesIO()
    if kind.startswith("parquet"):
        frame.write_parquet(out, row_group_size=7)
    elif kind.startswith("csv"):
        frame.write_csv(out)
    plain = {"list": json.dumps(rows()).encode(), "export": json.dumps(chats()).encode()}
    data = out.getvalue() or plain.get(kind.partition(".")[0], lines)
    packed = {"gz": gzip.compress, "zst": zstd}.get(kind.rpartition(".")[2])
    return packed(data) if packed else data


def taken(job: Job, source: str, data: bytes) -> dict[str, Any]:
    opened = open_sources(source, policy=job.policy.ingest, stdin=io.BytesIO(data))
    return run_ingest(job, ((one, Defaults(tenant_id="acme")) for one in opened))[1].as_dict()


KINDS = ("lines.gz", "lines.zst", "list", "list.gz", "csv", "csv.gz", "parquet", "parquet.gz", "export",
         "export.gz")  # fmt: skip


@pytest.mark.parametrize("place", ["file", "standard input", "store"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_source_is_gone_on_with(tmp_path: Path, kind: str, place: str) -> None:
    if place != "file" and kind not in ("lines.gz", "list", "csv"):
        pytest.skip("how it is opened does not depend on what is in it")
    data = made(kind)
    (tmp_path / kind).write_bytes(data)
    source = {"file": str(tmp_path / kind), "store": f"file://{tmp_path}/{kind}"}.get(place, "-")
    calm, job = (job_on(tmp_path / name, policy=SMALL) for name in ("calm", "lake"))
    assert taken(calm, source, data)["landed"] == COUNT
    with living() as life:
        notes = tmp_path / "lake" / "state" / "ingesting"
        taken(replace(job, progress=Dying(notes, life.die)), source, data)
    before = what_is_held(job).height
    assert 0 < before < COUNT
    progress = Dying()
    tally = taken(replace(job, progress=progress), source, data)
    assert (tally["landed"], tally["duplicates"], tally["quarantined"]) == (COUNT - before, before, 0)
    assert what_is_held(job).equals(what_is_held(calm))
    [meter] = [one for one in progress.meters if one.unit == "bytes"]
    assert meter.done == meter.total
    if kind in ("lines.gz", "list", "csv"):
        assert (meter.total or 0) < len(data)
    assert taken(job, source, data)["unchanged_files"] == 1


def test_standard_input_is_counted_as_it_comes() -> None:
    progress = Dying()
    with received(progress, io.BytesIO(b"x" * 3_000)) as stream:  # type: ignore[arg-type]
        while stream.read(1_000):
            pass
    assert [(m.name, m.done, m.unit) for m in progress.meters] == [(RECEIVED, 3_000, "bytes")]
