"""Small conforming frames, and worker processes, for the lake's tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from lake.lake import Lake
from transforms import ids
from transforms.schemas import EPISODES, Table

ROOT = Path(__file__).resolve().parents[2]
WORKERS = Path(__file__).with_name("workers.py")
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def frame(table: Table, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of a table; what a row leaves out is null, or the plainest value of its type."""
    return pl.DataFrame(
        [{c.name: row.get(c.name, _plain(c)) for c in table.columns} for row in rows], schema=table.polars
    )


def _plain(column: Any) -> Any:
    if column.is_nullable:
        return None
    if column.allowed:
        return column.allowed[0]
    if column.dtype == pl.String:
        return "2026-03" if column.name == "month" else ""
    if isinstance(column.dtype, pl.Datetime):
        return NOON
    if column.dtype == pl.Boolean:
        return False
    return [] if column.dtype.is_nested() else 0


def episodes(lake: Lake, tenant: str, names: Sequence[str], month: str = "2026-03") -> pl.DataFrame:
    """One episode a name; the content says the name."""
    return frame(
        EPISODES,
        [
            {
                "episode_id": ids.row_id(tenant, name),
                "tenant_id": tenant,
                "tenant_bucket": lake.bucket(tenant),
                "user_id": f"user-of-{tenant}",
                "month": month,
                "content": name,
                "content_hash": ids.row_id(tenant, name, "text"),
                "content_chars": len(name),
                "retention_tier": "permanent",
            }
            for name in names
        ],
    )


def environment(**extra: str) -> dict[str, str]:
    """Environment of a worker: this one, with the project on its path."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **extra}


def worker(*arguments: object, **extra: str) -> subprocess.Popen[str]:
    """Start ``workers.py`` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(WORKERS), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**extra),
    )


def finished(process: subprocess.Popen[str]) -> list[str]:
    """Lines that a worker printed; fails with its stderr where it failed."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.splitlines()


def command(lake: object, *arguments: object, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run the command line on a lake."""
    return subprocess.run(
        [sys.executable, "-m", "flows", "--lake", str(lake), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(**extra),
        cwd=ROOT,
    )
