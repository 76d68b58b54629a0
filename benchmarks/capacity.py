"""The capacity model held against what is: a lake predicted from a smaller one of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks import data, sleep_data
from benchmarks.night import job_in, timed
from flows import report_capacity_read as read
from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.publish import run_publish
from lake.sources import open_sources
from transforms.planning.curves import curves
from transforms.planning.larger import INDEX, larger
from transforms.planning.rates import text_growth
from transforms.planning.sizes import by_column
from transforms.validate import Defaults

Emit = Callable[[dict[str, Any]], None]
SMALL_RATIO = 0.01
"""A table that is less of the lake than this is told, and not held to the bound."""


def build_traces(folder: Path, rows: int, emit: Emit) -> None:
    """Episodes of many tenants over a year: ingest, embed, publish."""
    data.write_jsonl(folder / "traces.jsonl", rows)
    _build(job_in(folder), folder / "traces.jsonl", emit, is_consolidated=False)


def build_sessions(folder: Path, rows: int, emit: Emit) -> None:
    """Sessions with topics, facts and tool runs over half a year: consolidated, too."""
    sleep_data.write_base(folder / "traces.jsonl", rows)
    job = replace(job_in(folder), as_of=sleep_data.START + timedelta(days=sleep_data.DAYS))
    _build(job, folder / "traces.jsonl", emit, is_consolidated=True)


def _build(job: Job, file: Path, emit: Emit, *, is_consolidated: bool) -> None:
    def night() -> None:
        run_ingest(job, ((source, Defaults()) for source in open_sources(str(file))))
        run_embed(job)
        if is_consolidated:
            run_consolidate(job)
        run_publish(job)

    _, wall, _ = timed(night)
    file.unlink()
    emit({"seconds": round(wall, 1)})


def compare(folder: Path, rows: int, emit: Emit) -> None:
    """Predict the lake of ``rows`` from the smallest beside it, and hold it against what lies there."""
    kind = folder.name.rpartition("-")[0]
    beside = {int(p.name.rpartition("-")[2]): p for p in folder.parent.glob(f"{kind}-*")}
    small = min(beside)
    wall, predicted, linear, measured_rows = _predicted(beside[small], rows / small)
    actual = _actual(folder)
    whole = predicted.join(actual, on="what", suffix="_actual").join(linear, on="what", suffix="_linear")
    told = whole.with_columns(error=pl.col("bytes") / pl.col("bytes_actual") - 1)
    sums = whole.select(pl.col("bytes", "bytes_actual", "bytes_linear").sum()).row(0)
    large = told.filter(pl.col("bytes_actual") >= SMALL_RATIO * sums[1])
    emit(
        {
            "name": f"capacity.compare.{kind}",
            "from_rows": measured_rows,
            "measure_seconds": round(wall, 1),
            "predicted_bytes": round(sums[0]),
            "actual_bytes": round(sums[1]),
            "error": round(sums[0] / sums[1] - 1, 4),
            "error_of_proportion": round(sums[2] / sums[1] - 1, 4),
            "largest_error_of_a_table": round(float(large["error"].abs().max() or 0), 4),  # type: ignore[arg-type]
            "errors_by_table": {name: round(e, 4) for name, e in told.select("what", "error").iter_rows()},
            "shares_by_table": {
                n: round(b / sums[1], 4) for n, b in told.select("what", "bytes_actual").iter_rows()
            },
        }
    )


def _predicted(folder: Path, factor: float) -> tuple[float, pl.DataFrame, pl.DataFrame, int]:
    """Seconds to measure, the prediction, the same in proportion to the rows, and the rows measured."""
    job = job_in(folder)
    (found, served), wall, _ = timed(lambda: (read.sizes(job), read.served(job)))
    columns = by_column(found.files, found.sampled)
    growth = text_growth(*read.distinct_texts(job))
    made = larger(columns, found.files, curves(found.probes), served.parts, factor, growth)
    held = columns.group_by(what="table").agg(bytes=pl.col("bytes").sum() * factor)
    index = pl.DataFrame({"what": [INDEX], "bytes": [float(served.parts["bytes"].sum()) * factor]})
    rows = int(found.files.filter(pl.col("table") == "episodes")["rows"].sum())
    return wall, made, pl.concat([held, index]), rows


def _actual(folder: Path) -> pl.DataFrame:
    job = job_in(folder)
    found = read.sizes(job)
    tables = found.files.group_by(what="table").agg(bytes=pl.col("bytes").sum().cast(pl.Float64))
    index = pl.DataFrame({"what": [INDEX], "bytes": [float(read.served(job).parts["bytes"].sum())]})
    return pl.concat([tables, index])


STEPS = {"traces": build_traces, "sessions": build_sessions, "compare": compare}
KINDS = ("traces", "sessions")
"""Kinds of lakes; each is built at every size, and the largest compared."""
