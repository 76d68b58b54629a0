"""Killed runs of each kind of source go on behind their last commit: packed, tables, exports, a store."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from flows.ingest import run_ingest
from flows.ingest_progress import RECEIVED, received
from flows.job import Job
from flows.notes import Note, Notes
from lake.sources import open_sources
from tests.flows.dying import living
from tests.flows.kept_progress import Kept
from tests.flows.lakes import job_on, row, what_is_held
from transforms.policy import IngestPolicy, Policy
from transforms.validate import Defaults

COUNT = 60
SMALL = Policy(ingest=IngestPolicy(batch_rows=5, batch_bytes=8_000, commit_rows=10))


@contextmanager
def dying_behind_a_part() -> Iterator[None]:
    """The run inside dies once a part of a file was noted."""
    real = Notes.write
    with living() as life, pytest.MonkeyPatch.context() as patch:

        def write(notes: Notes, key: str, note: Note) -> None:
            real(notes, key, note)
            if note.point is not None:
                life.die()

        patch.setattr(Notes, "write", write)
        yield


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


CASES = [
    *((kind, "file") for kind in KINDS),
    *((kind, place) for place in ("standard input", "store") for kind in ("lines.gz", "csv")),
]


@pytest.mark.parametrize(("kind", "place"), CASES)
def test_every_source_is_gone_on_with(tmp_path: Path, kind: str, place: str) -> None:
    data = made(kind)
    (tmp_path / kind).write_bytes(data)
    source = {"file": str(tmp_path / kind), "store": f"file://{tmp_path}/{kind}"}.get(place, "-")
    calm, job = (job_on(tmp_path / name, policy=SMALL) for name in ("calm", "lake"))
    assert taken(calm, source, data)["landed"] == COUNT
    with dying_behind_a_part():
        taken(job, source, data)
    before = what_is_held(job).height
    assert 0 < before < COUNT
    progress = Kept()
    tally = taken(replace(job, progress=progress), source, data)
    assert (tally["landed"], tally["duplicates"], tally["quarantined"]) == (COUNT - before, before, 0)
    assert what_is_held(job).equals(what_is_held(calm))
    meters = [one for one in progress.meters if one.unit == "bytes"]
    assert all(one.done == one.total for one in meters)
    if kind in ("list", "csv"):  # the others are packed, or have their list of columns at the end
        assert [0 < (one.total or 0) < len(data) for one in meters] == [True]
    assert taken(job, source, data)["unchanged_files"] == 1


def test_standard_input_is_counted_as_it_comes() -> None:
    progress = Kept()
    with received(progress, io.BytesIO(b"x" * 3_000)) as stream:  # type: ignore[arg-type]
        while stream.read(1_000):
            pass
    assert [(m.name, m.done, m.unit) for m in progress.meters] == [(RECEIVED, 3_000, "bytes")]
