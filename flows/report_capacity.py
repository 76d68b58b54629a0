"""The capacity report: what memory takes, how it grows, and what other loads would need."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from flows.job import Job
from flows.report_capacity_basis import Measured, basis_of, load_of, measured_of
from flows.report_files import head_of, plain_rows, require_folder, write_files
from flows.setup import Output, job_of
from transforms.errors import UsageError
from transforms.planning.basis import assumptions
from transforms.planning.compare import COMPARED_SCHEMA, compared
from transforms.planning.forecast import FORECAST_SCHEMA, Past, forecast, horizons
from transforms.planning.graph import graph_needs, stated
from transforms.planning.growth import REST, Window, fewer_tenants
from transforms.planning.lifetimes import classes, table_lifetimes
from transforms.planning.needs import needs
from transforms.planning.scenarios import PLANNING, Scenario, built_in, parsed
from transforms.planning.sheet import STEPS_SCHEMA
from transforms.planning.sizes import INDEX_KEPT, INDEX_LIVE
from transforms.schemas import COLD, EPISODES

NAME = "capacity"


@dataclass(frozen=True)
class Report:
    """The report before it is written.

    Attributes:
        figures: Single values, as JSON has them.
        tables: Every table by name; each becomes a CSV and a Parquet file.
        notes: What is missing, unsteady or to be known, in sentences.
    """

    figures: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The whole report as JSON: every number that the page shows stands here."""
        told = {name: plain_rows(rows) for name, rows in self.tables.items()}
        return {**self.figures, "notes": list(self.notes), "tables": told}


def capacity_output(options: argparse.Namespace) -> Output:
    """``slowwave report capacity``: write the report and say its figures."""
    from flows.report_capacity_page import capacity_text

    out = Path(options.out)
    job = job_of(options)
    if options.days is not None:
        plan = job.policy.plan.model_copy(update={"window_days": float(options.days)})
        job = replace(job, policy=job.policy.model_copy(update={"plan": plan}))
    wanted = None if options.scenarios is None else scenarios_of(Path(options.scenarios))
    report = run_report_capacity(job, out, wanted)
    data = {"out": str(out), **report.as_dict()}
    return Output(data, f"{capacity_text(report)}\npage: {out / 'capacity.html'}")


def scenarios_of(file: Path) -> tuple[Scenario, ...]:
    """Scenarios of a TOML file.

    Raises:
        UsageError: It cannot be read, is not TOML, or holds what no scenario is.
    """
    try:
        return parsed(tomllib.loads(file.read_text("utf-8")), file.name)
    except OSError as error:
        raise UsageError(
            f"cannot read {file}: {error.strerror}", "Name a TOML file with --scenarios."
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not TOML: {error}", "Mend the line it names.") from error


def run_report_capacity(job: Job, out: Path, scenarios: Sequence[Scenario] | None = None) -> Report:
    """Write ``capacity.html``, ``capacity.json`` and each table as CSV and Parquet into a folder.

    Args:
        job: On which lake, at which instant.
        out: Folder; made where it is not there.
        scenarios: Loads to plan for; None: the built-in ones.

    Raises:
        UsageError: The folder lies inside the lake, or is a file.
        StorageError: It cannot be written.
    """
    from flows.report_capacity_page import capacity_html

    require_folder(job.lake, out)
    report = capacity(job, scenarios)
    write_files(out, NAME, capacity_html(report), report.as_dict(), report.tables)
    return report


def capacity(job: Job, scenarios: Sequence[Scenario] | None = None) -> Report:
    """Everything the report says: sizes of the lake as it is, growth until the job's as-of."""
    found = measured_of(job)
    grown, unreached = _forecast(job, found)
    steps, notes = _planned(job, found, scenarios)
    tables = {
        **found.tables(),
        "forecast": grown,
        "assumptions": assumptions(basis_of(job, found)),
        "scenarios": compared(steps) if steps.height else pl.DataFrame(schema=COMPARED_SCHEMA),
        "steps": steps,
    }
    figures = {
        **head_of(job, NAME),
        "window": {
            "first": found.window.first.isoformat(),
            "last": found.window.last.isoformat(),
            "days": len(found.window.days),
            "left_out": [day.isoformat() for day in found.window.left_out],
            "fault": found.window.fault,
        },
        "horizons": [0, *([] if found.window.fault else horizons(job.policy.plan, found.window)[0])],
        "unreached_days": unreached,
        **found.figures(),
        "interval_level": job.policy.plan.level,
    }
    return Report(figures, tables, (*found.notes(job, unreached), *notes))


def _forecast(job: Job, found: Measured) -> tuple[pl.DataFrame, list[int]]:
    plan = job.policy.plan
    if found.window.fault:
        return pl.DataFrame(schema=FORECAST_SCHEMA), horizons(plan, _no_days(found.window))[1]
    few = fewer_tenants(found.history, plan.tenants)
    names = few["tenant_id"].unique().to_list()
    known = pl.when(pl.col("tenant_id").is_in(names)).then("tenant_id").otherwise(pl.lit(REST))
    by_tenant = found.shared.group_by(known, "table").agg(pl.col("bytes").sum()).sort("tenant_id", "table")
    rows = (
        found.shared.filter(pl.col("table").is_in([EPISODES.name, COLD.name]))
        .group_by(known)
        .agg(pl.col("rows").sum())
    )
    whole = float(rows["rows"].sum() or 0)
    index = found.bytes_of(INDEX_LIVE) + found.bytes_of(INDEX_KEPT)
    shares = {name: index * count / whole for name, count in rows.iter_rows()} if whole else {}
    lived = table_lifetimes(job.policy, found.tiers)
    past = Past(few, found.window, job.as_of.date(), classes(by_tenant, lived, shares))
    return forecast(past, plan), horizons(plan, found.window)[1]


def _no_days(window: Window) -> Window:
    return Window(window.last, window.last, (window.last,))


def _planned(
    job: Job, found: Measured, scenarios: Sequence[Scenario] | None
) -> tuple[pl.DataFrame, list[str]]:
    """The working of every scenario, and what is to be known of it."""
    none = pl.DataFrame(schema=STEPS_SCHEMA)
    if not found.episodes:
        return none, ["No scenario is worked out: the lake has no episodes to measure."]
    basis, load = basis_of(job, found), load_of(found)
    wanted = built_in(load, job.policy.plan.graph_dimensions) if scenarios is None else scenarios
    told = [none]
    for scenario in wanted:
        told += [needs(scenario, basis), graph_needs(scenario, basis)]
        if scenario.name == PLANNING and scenarios is None:
            told.append(stated(scenario, basis))
    notes = (
        []
        if load or scenarios is not None
        else ["The load of this lake is not known, so no scenario is built on it."]
    )
    steps = ("ingest", "embed", "consolidate", "publish")
    unsure = [step for step in steps if basis.figures[f"{step}_rows_per_second"].origin != "measured"]
    if unsure:
        least = f"{job.policy.plan.sure_rows:,} rows"
        notes.append(
            f"Nights are told by benchmarks for {', '.join(unsure)}: no run of {least} is on record."
        )
    return pl.concat(told), notes
