"""A disk that fills during ingest and during publish: one line, exit code 9, and a whole rerun."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.__main__ import main
from lake import tables
from lake.index import read_pointer
from lake.lake import init_lake, open_lake
from tests.lake.made import command
from transforms.errors import StorageError
from transforms.schemas import EPISODES

ROWS = 1500
AS_OF = ("--as-of", "2026-03-02T00:00:00Z")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Rows whose text packs badly."""
    path = tmp_path / "rows.jsonl"
    with path.open("w") as file:
        for i in range(ROWS):
            row: dict[str, Any] = {
                "id": f"r{i}",
                "content": f"note {i} " + " ".join(os.urandom(3).hex() for _ in range(60)),
                "tenant_id": f"t{i % 3}",
                "user_id": f"u{i % 5}",
                "event_at": f"2026-03-01T{i // 60 % 24:02}:{i % 60:02}:00Z",
            }
            file.write(json.dumps(row) + "\n")
    return path


@dataclass
class Told:
    """What a call gave back."""

    code: int
    out: str
    err: str


Slowwave = Callable[..., Told]


@pytest.fixture
def slowwave(capfd: pytest.CaptureFixture[str]) -> Slowwave:
    """The command line in this process, with all that reaches its file descriptors."""

    def run(lake: str, *arguments: object) -> Told:
        capfd.readouterr()
        code = main(["--lake", lake, *AS_OF, *map(str, arguments)])
        return Told(code, *capfd.readouterr())

    return run


def refused(told: Told) -> None:
    """The one line that a full disk costs, beside those of progress."""
    lines = [line for line in told.err.splitlines() if not line.startswith("time=")]
    assert len(lines) == 1
    assert "the disk is full. Free space" in lines[0]
    assert (told.code, told.out) == (StorageError.exit_code, "")


def good(told: Told) -> dict[str, Any]:
    assert told.code == 0, told.err
    found: dict[str, Any] = json.loads(told.out)
    return found


def test_a_disk_that_fills_during_ingest(
    small_disk: Callable[[int], Path], source: Path, slowwave: Slowwave
) -> None:
    lake = init_lake(f"{small_disk(400)}/lake", 4).uri
    refused(slowwave(lake, "ingest", source))
    assert tables.scan(open_lake(lake), EPISODES).collect().height in (0, ROWS)
    done = command(lake, *AS_OF, "--json", "ingest", source)
    assert (done.returncode, done.stderr) == (StorageError.exit_code, "")
    assert json.loads(done.stdout)["error"]["code"] == "storage"
    small_disk(20_000)
    told = good(slowwave(lake, "--json", "ingest", source))
    assert (told["landed"] + told["duplicates"], told["quarantined"]) == (ROWS, 0)
    assert tables.scan(open_lake(lake), EPISODES).collect()["episode_id"].n_unique() == ROWS
    assert tables.scan(open_lake(lake), EPISODES).collect().height == ROWS


def test_a_disk_that_fills_during_publish(
    small_disk: Callable[[int], Path], source: Path, slowwave: Slowwave, tmp_path: Path
) -> None:
    whole = init_lake(f"{tmp_path}/whole", 4).uri
    good(slowwave(whole, "--json", "ingest", source))
    good(slowwave(whole, "--json", "embed"))
    used = sum(p.stat().st_blocks * 512 + 4096 for p in Path(whole).rglob("*")) // 1024
    lake = f"{small_disk(used + 600)}/lake"
    shutil.copytree(whole, lake)
    refused(slowwave(lake, "publish"))
    assert read_pointer(open_lake(lake)) is None
    small_disk(used + 20_000)
    assert good(slowwave(lake, "--json", "publish"))["rows_out"] == ROWS
    live = read_pointer(open_lake(lake))
    assert live is not None

    small_disk(used + sum(p.stat().st_blocks for p in (Path(lake) / "index").rglob("*")) // 2 + 700)
    refused(slowwave(lake, "publish", "--force"))
    assert read_pointer(open_lake(lake)) == live
    found = good(slowwave(lake, "--json", "recall", "note 7", "--tenant", "t1", "--user", "u2"))
    assert found["results"]
    small_disk(used + 40_000)
    assert good(slowwave(lake, "--json", "publish", "--force"))["rows_out"] == ROWS
