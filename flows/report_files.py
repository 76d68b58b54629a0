"""The files of a report: one page, one JSON document, and each table as CSV and Parquet."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from flows.job import Job
from lake.faults import wrapped
from lake.lake import Lake
from lake.storage import LocalStorage
from transforms.errors import UsageError

_RUNS = r"^[=+\-@\t\r]"
"""What a spreadsheet takes for a formula."""


def require_folder(lake: Lake, out: Path) -> None:
    """Refuse a folder that a report may not be written to.

    Raises:
        UsageError: It is a file, or lies inside the lake, where no report belongs.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out.name} is no folder", "Name a folder to write the report to.")
    if isinstance(lake.storage, LocalStorage) and out.resolve().is_relative_to(lake.storage.root.resolve()):
        raise UsageError("the report would lie inside the lake", "Name a folder outside of it.")


def write_files(
    out: Path, name: str, page: str, record: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> None:
    """Write ``<name>.html`` and ``<name>.json``, ``csv/<table>.csv`` and ``parquet/<table>.parquet``.

    Each is put in place whole; what an earlier report left there under other names stays.

    Raises:
        StorageError: The disk is full, or the folder cannot be written.
    """
    with wrapped(f"writing {out.name}"):
        out.mkdir(parents=True, exist_ok=True)
        storage = LocalStorage(out)
    for table, rows in tables.items():
        storage.write(f"csv/{table}.csv", _harmless(rows).write_csv().encode("utf-8", "replace"))
        parquet = io.BytesIO()
        rows.write_parquet(parquet)
        storage.write(f"parquet/{table}.parquet", parquet.getvalue())
    told = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    storage.write(f"{name}.json", told.encode("utf-8", "replace"))
    storage.write(f"{name}.html", page.encode("utf-8", "replace"))


def head_of(job: Job, name: str) -> dict[str, Any]:
    """What every report begins with: its name, the lake, the instant, when it was written, the policy."""
    return {
        "report": name,
        "lake_id": job.lake.lake_id,
        "as_of": job.as_of.isoformat(),
        "written_at": datetime.now(UTC).isoformat(),
        "policy_hash": job.policy.hash(),
    }


def plain_rows(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them: instants in ISO 8601, a number that is none as null."""
    return [{n: _plain(v) for n, v in row.items()} for row in rows.iter_rows(named=True)]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _harmless(rows: pl.DataFrame) -> pl.DataFrame:
    """Text that a spreadsheet would run, behind an apostrophe; instants in ISO 8601."""
    texts = [name for name, dtype in rows.schema.items() if dtype == pl.String]
    instants = [name for name, dtype in rows.schema.items() if isinstance(dtype, pl.Datetime)]
    return rows.with_columns(
        *(
            pl.when(pl.col(n).str.contains(_RUNS)).then(pl.lit("'") + pl.col(n)).otherwise(n).alias(n)
            for n in texts
        ),
        *(pl.col(n).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ") for n in instants),
    )
