"""What the tests of the jobs share: a job on a fresh lake, rows, a counting embedder, the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from flows.__main__ import main
from flows.ingest import run_ingest
from flows.job import Job
from lake import tables
from lake.embedders.protocol import Embedded
from lake.lake import init_lake
from lake.sources import open_sources
from transforms.policy import Policy
from transforms.schemas import EPISODES, QUARANTINE, Table
from transforms.validate import Defaults

REPOSITORY = Path(__file__).resolve().parents[2]
AS_OF = datetime(2026, 6, 30, 23, tzinfo=UTC)
DIMENSIONS = 16


@dataclass
class CountingEmbedder:
    """Vectors from the words of a text; keeps every text it was given."""

    name: str = "counting"
    refuse: str = ""
    texts: list[str] = field(default_factory=list)

    @property
    def model_key(self) -> str:
        return f"{self.name}@1/{DIMENSIONS}/plain"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Embedded:
        self.texts.extend(texts)
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for i, text in enumerate(texts):
            for word in text.lower().split():
                seed = int.from_bytes(blake2b(word.encode(), digest_size=4).digest(), "big")
                vectors[i] += np.random.default_rng(seed).normal(size=DIMENSIONS)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        refused = {i: "content_filter" for i, text in enumerate(texts) if self.refuse and self.refuse in text}
        vectors[list(refused)] = 0
        return Embedded(vectors, refused, sum(len(text.split()) for text in texts))


def job_on(
    root: Path,
    *,
    policy: Policy | None = None,
    as_of: datetime = AS_OF,
    embedder: CountingEmbedder | None = None,
    buckets: int = 2,
) -> Job:
    """A job on the lake at ``root``, made where it is not there yet."""
    model = embedder or CountingEmbedder()
    return Job(init_lake(str(root), buckets), policy or Policy(), as_of, lambda: model)


def row(number: int, content: str | None = None, **fields: Any) -> dict[str, Any]:
    """A good row; fields override, None takes one away."""
    good = {
        "id": f"row-{number}",
        "tenant_id": "acme",
        "user_id": "ana",
        "session_id": "s1",
        "role": "user",
        "content": f"note {number} on the harbour office" if content is None else content,
        "event_at": f"2026-06-{1 + number % 28:02d}T10:{number // 28 % 60:02d}:00Z",
    }
    return {name: value for name, value in {**good, **fields}.items() if value is not None}


def write(path: Path, rows: Iterable[Mapping[str, Any] | str]) -> Path:
    """Rows as JSON lines; a string goes in as it is."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def ingest(job: Job, *paths: Path, defaults: Defaults | None = None, form: str = "auto") -> dict[str, Any]:
    """Ingest the files and return the tally."""
    sources = ((s, defaults or Defaults()) for p in paths for s in open_sources(str(p), form))
    _, tally = run_ingest(job, sources)
    assert tally.rows_in == (
        tally.landed + tally.duplicates + tally.quarantined + sum(tally.left_out.values())
    )
    return tally.as_dict()


def content(job: Job, table: Table = EPISODES) -> pl.DataFrame:
    """All rows of a table, in the order of its key."""
    return tables.scan(job.lake, table).collect().sort(table.key)


def what_is_held(job: Job) -> pl.DataFrame:
    """Episodes without what depends on when and from where they came."""
    return content(job).drop("ingested_at", "source_line", "source_file")


def reasons(job: Job) -> dict[str, int]:
    """Quarantined rows by reason."""
    counts = content(job, QUARANTINE)["reason"].value_counts()
    return dict(sorted(counts.iter_rows()))


def files_below(root: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder; of a lock the size alone, for each holder has a number."""
    stats = {p.relative_to(root).as_posix(): p.stat() for p in root.rglob("*") if p.is_file()}
    locks = {name for name in stats if name.startswith("locks/")}
    return {name: (s.st_size, 0 if name in locks else s.st_mtime_ns) for name, s in stats.items()}


@dataclass(frozen=True)
class Said:
    """What a call of the command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Stdout, which must be exactly one JSON document and nothing else."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def error(self) -> dict[str, str]:
        found: dict[str, str] = self.json["error"]
        assert sorted(found.keys() - {"units"}) == ["code", "message", "remedy"]
        assert found["message"]
        assert found["remedy"]
        return found


class Command:
    """The command line, in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Said:
        self._capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        return Said(code, captured.out, captured.err)


def environment(**extra: str) -> dict[str, str]:
    """For a subprocess: only what it needs, so that nothing of the caller's leaks in."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1", **extra}


def start(*arguments: object, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "flows", *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
