"""Measurements of the capacity report, and what scenarios are worked out from."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from flows import report_capacity_read as read
from flows.job import Job
from lake import tables
from transforms.planning import rates
from transforms.planning.basis import Basis, Figure, policy_figures
from transforms.planning.curves import curves
from transforms.planning.growth import ALL, Window, daily, window_of
from transforms.planning.growth import rates as growth_rates
from transforms.planning.index_sizes import beside_vectors
from transforms.planning.needs import NIGHT_ROWS
from transforms.planning.scenarios import MINUTES_A_DAY, Scenario
from transforms.planning.sizes import LIVE, LOG, SUPERSEDED, by_column, shared_out
from transforms.retention import instant
from transforms.schemas import INSTANT, RECALLS, RUNS, VECTORS

AS_IT_IS = "as it is"
LEAST_ROWS = 1_000
"""Rows of the recall log from which its bytes a row are believed."""


@dataclass(frozen=True)
class Measured:
    """Everything that was measured.

    Attributes:
        sizes: Of the tables.
        columns: ``sizes.COLUMNS_SCHEMA``.
        shared: ``sizes.SHARED_SCHEMA``.
        served: The live generation.
        history: ``growth.HISTORY_SCHEMA``.
        window: The days that growth is told from.
        growth: ``growth.RATES_SCHEMA``.
        hours: ``rates.CALLS_SCHEMA``.
        recalled: Rates of it.
        work: ``rates.WORK_SCHEMA``.
        standing: Rows that stand of each derived table.
        tiers: Tier that most rows of a table have.
        agents: Agents at work in the window.
        texts: Episodes and distinct texts, of all and of half of the persons.
    """

    sizes: read.Sizes
    columns: pl.DataFrame
    shared: pl.DataFrame
    served: read.Served
    history: pl.DataFrame
    window: Window
    growth: pl.DataFrame
    hours: pl.DataFrame
    recalled: rates.Recalled
    work: pl.DataFrame
    standing: dict[str, int]
    tiers: dict[str, str]
    agents: int
    texts: tuple[tuple[int, int], tuple[int, int]]

    @property
    def episodes(self) -> int:
        """Episodes held, cold ones among them."""
        held = self.history.filter(pl.col("gone_day").is_null())
        return int(held["rows"].sum())

    @property
    def ever(self) -> int:
        """Episodes ever taken in, but for erased ones."""
        return int(self.history["rows"].sum())

    def bytes_of(self, part: str) -> int:
        """Bytes of a part of what lies below the root."""
        return int(self.sizes.parts.filter(pl.col("part") == part)["bytes"].sum())

    def overdue(self, job: Job) -> int:
        """Episodes held whose time is over."""
        age = (pl.lit(job.as_of.date()) - pl.col("day")).dt.total_days()
        due = self.history.filter(pl.col("gone_day").is_null() & (age >= pl.col("lifetime_days")))
        return int(due["rows"].sum())

    def per_day(self) -> float:
        """Episodes a day of the window."""
        whole = self.growth.filter(pl.col("tenant_id") == ALL)["rows_per_day"]
        return float(whole[0]) if whole.len() else 0.0

    def tables(self) -> dict[str, pl.DataFrame]:
        """What was measured, as tables of the report."""
        kinds = self.shared.group_by("table", "kind").agg(pl.col("rows", "chars", "bytes").sum())
        named = kinds.with_columns(
            kind=pl.when(pl.col("kind") == "").then("table").otherwise("kind"),
            bytes_per_row=pl.col("bytes") / pl.col("rows"),
        )
        own = self.shared.group_by("tenant_id").agg(pl.col("bytes").sum())
        tenants = pl.concat([own, own.select(tenant_id=pl.lit(ALL), bytes=pl.col("bytes").sum()).head(1)])
        counts = {f"served: {kind}": count for kind, count in self.served.kinds.items()}
        counts |= {"served: all": sum(self.served.kinds.values())}
        counts |= {f"standing: {name}": count for name, count in self.standing.items()}
        hours = self.hours.drop("seconds").rename({"hour": "hour_at"})
        days = daily(self.history, self.window)
        return {
            "parts": self.sizes.parts,
            "columns": self.columns.sort(["bytes", "table", "column"], descending=[True, False, False]),
            "kinds": named.sort(["bytes", "table", "kind"], descending=[True, False, False]),
            "tenants": self.growth.join(tenants, on="tenant_id", how="left"),
            "index": self.served.parts,
            "held_scopes": self.served.held,
            "days": days.select("rows", "is_counted", day_at=pl.col("day").cast(INSTANT)),
            "work": self.work,
            "ratios": rates.ratios(counts, self.ever),
            "recalls": hours,
        }

    def figures(self) -> dict[str, Any]:
        """Single values of the report."""
        whole = int(self.sizes.parts["bytes"].sum())
        served = self.served.manifest.rows if self.served.manifest else 0
        return {
            "episodes": self.episodes,
            "episodes_ever": self.ever,
            "episodes_per_day": self.per_day(),
            "agents": self.agents,
            "bytes": whole,
            "table_bytes": self.bytes_of(LIVE),
            "superseded_bytes": self.bytes_of(SUPERSEDED),
            "log_bytes": self.bytes_of(LOG),
            "index_rows": served,
            "index_bytes": int(self.served.parts["bytes"].sum()),
            "bytes_per_episode": self.bytes_of(LIVE) / self.episodes if self.episodes else None,
            "index_bytes_per_row": int(self.served.parts["bytes"].sum()) / served if served else None,
            "recall": asdict(self.recalled),
        }

    def notes(self, job: Job, unreached: list[int]) -> list[str]:
        """What is missing, unsteady or to be known."""
        told, plan = [], job.policy.plan
        if self.window.fault:
            told.append(f"No forecast is made: {self.window.fault}.")
        elif unreached:
            days = ", ".join(map(str, unreached))
            known = f"Too little history for {days} days: {len(self.window.days)} are known"
            told.append(f"{known}, and a forecast reaches {plan.reach_ratio:g} times as far at most.")
        if self.window.left_out:
            days = ", ".join(map(str, self.window.left_out[:3]))
            many = f"more than {plan.spike_ratio:g} times the rows of a middle day"
            told.append(f"Growth is told without days that look like a load, with {many}: {days}.")
        idle = (job.as_of.date() - self.window.last).days - 1
        if self.ever and idle > plan.late_days:
            told.append(f"Nothing has landed in the last {idle} days; growth is told from the days before.")
        late = self.overdue(job)
        if late:
            told.append(
                f"{late:,} rows are past their time and go with the next night; the forecast is without."
            )
        trend = self.growth.filter(pl.col("tenant_id") == ALL)["trend_ratio"].to_list()
        if trend and trend[0] is not None and not 1 / plan.trend_ratio <= trend[0] <= plan.trend_ratio:
            told.append(
                f"Growth is not steady: the later half of the window has {trend[0]:.2f} times the rows of the"
                " earlier one. The forecast repeats the whole window."
            )
        if 0 < self.episodes < plan.sure_rows:
            few = f"{self.episodes:,} episodes"
            told.append(f"The lake is small: what a row takes in far larger ones is hardly told by {few}.")
        if not self.recalled.calls:
            told.append("No recall is on record in the window: rates of recall are those of the scenarios.")
        if self.served.manifest is None:
            told.append("Nothing is published: sizes of the index are assumed.")
        return told


def measured_of(job: Job) -> Measured:
    """Measure a lake; see ``Measured``."""
    plan, found = job.policy.plan, read.sizes(job)
    past = read.history(job)
    window = window_of(past, job.as_of.date(), read.landed_until(job), plan)
    hours, days = read.calls(job)
    columns = by_column(found.files, found.sampled)
    runs = tables.scan(job.lake, RUNS).filter(pl.col("as_of_at") <= instant(job.as_of)).collect()
    return Measured(
        sizes=found,
        columns=columns,
        shared=shared_out(columns, read.groups(job)),
        served=read.served(job),
        history=past,
        window=window,
        growth=growth_rates(past, window, plan),
        hours=hours,
        recalled=rates.recalled(hours, days, job.policy.recall_log.sample_ratio),
        work=rates.work(runs),
        standing=read.standing_counts(job),
        tiers=read.tiers(job),
        agents=read.agents(job, window),
        texts=read.distinct_texts(job),
    )


def load_of(found: Measured) -> Scenario | None:
    """The load of the lake as a scenario; None where its growth is not known."""
    per_day = found.per_day()
    if found.window.fault or not found.agents or per_day <= 0:
        return None
    minutes = found.agents * MINUTES_A_DAY
    return Scenario(
        name=AS_IT_IS,
        agents=found.agents,
        writes_per_minute=per_day / minutes,
        records_per_write=1.0,
        recalls_per_minute=found.recalled.per_day / minutes,
        retention_days=found.episodes / per_day,
    )


def basis_of(job: Job, found: Measured) -> Basis:
    """Measurements and, where there are none, the policy's assumptions."""
    figures = policy_figures(job.policy)
    figures["measured_cores"] = Figure(
        os.cpu_count() or 1, "cores", "assumed", "of this machine: runs are taken to be of one like it"
    )
    figures["text_growth"] = Figure(
        rates.text_growth(*found.texts), "power", "measured", "distinct texts, and so vectors, by episodes"
    )
    figures |= _vectors(found) | _index(found) | _use(job, found)
    told = found.work.select("step", "rows", "runs", "rows_per_second")
    for step, rows, runs, per_second in told.iter_rows():
        if step in NIGHT_ROWS and per_second and rows >= runs * job.policy.plan.sure_rows:
            note = f"{runs} runs of {rows // runs:,} rows in the mean"
            figures[f"{step}_rows_per_second"] = Figure(per_second, "rows/s", "measured", note)
    return Basis(job.policy, found.columns, found.sizes.files, curves(found.sizes.probes), figures)


def _vectors(found: Measured) -> dict[str, Figure]:
    if found.served.manifest is not None:
        return {
            "dimensions": Figure(found.served.manifest.dimensions, "dimensions", "measured", "live index")
        }
    wide = found.columns.filter((pl.col("table") == VECTORS.name) & (pl.col("column") == "vector"))
    known = float(wide["bytes_per_row"][0]) / 4 if wide.height else 256.0
    return {"dimensions": Figure(round(known), "dimensions", "assumed", "nothing is published")}


def _index(found: Measured) -> dict[str, Figure]:
    manifest, held = found.served.manifest, found.served.held
    share = manifest.rows / found.episodes if manifest and found.episodes else 0.3
    figures = {
        "indexed_ratio": Figure(
            share, "ratio", "measured" if manifest else "assumed", "memories served / episodes held"
        )
    }
    beside = beside_vectors(found.served.parts)
    if beside is not None:
        figures["index_row_bytes"] = Figure(
            beside, "bytes a row", "measured", "live index, beside the vector"
        )
    if held.height:
        row = held.select((pl.col("held_bytes") / pl.col("rows")).median()).item()
        note = f"{held.height} scopes read"
        figures["held_row_bytes"] = Figure(float(row), "bytes a row", "measured", note)
        figures["scope_reads"] = Figure(float(held["reads"].median() or 0), "reads", "measured", note)  # type: ignore[arg-type]
    return figures


def _use(job: Job, found: Measured) -> dict[str, Figure]:
    figures, recalled = {}, found.recalled
    if recalled.timed >= job.policy.plan.timed_calls and recalled.p50_seconds:
        note = f"middle latency of {recalled.timed} recalls, which holds a core no longer"
        figures["search_cpu_seconds"] = Figure(recalled.p50_seconds, "seconds", "measured", note)
    if recalled.peak_ratio and recalled.calls >= job.policy.plan.timed_calls:
        figures["peak_ratio"] = Figure(recalled.peak_ratio, "ratio", "measured", "busiest hour over the mean")
    if recalled.rows_per_call:
        figures["recall_rows"] = Figure(recalled.rows_per_call, "rows a call", "measured", "recall log")
    log = found.columns.filter(pl.col("table") == RECALLS.name)
    if log.height and int(log["rows"][0]) >= LEAST_ROWS:
        size = float(log["bytes"].sum()) / int(log["rows"][0])
        figures["recall_row_bytes"] = Figure(size, "bytes a row", "measured", "table recalls")
    return figures
