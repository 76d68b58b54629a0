"""The cost report: tokens and money by month, step, tenant, model and task, and what the next run costs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from flows import report_read, setup
from flows.job import Job
from flows.report_cost_next import next_run
from flows.report_files import head_of, plain_rows, require_folder, write_files
from flows.setup import Output
from lake import queries, tables
from lake.models.config import ModelConfig
from lake.rights.subjects import salt, tenant_hash
from transforms import cost_report
from transforms.costs import EMBEDDING
from transforms.retention import instant
from transforms.schemas import COSTS, MODEL_RESULTS

NAME = "cost"
_TICK = timedelta(microseconds=1)
GROUPS = {
    "by_month": ("month", "model_key", "task", "mode"),
    "by_step": ("step", "model_key", "task", "mode"),
    "by_model": ("model_key", "mode"),
    "by_task": ("task", "mode"),
    "by_tenant": ("tenant_hash",),
    "by_tenant_and_month": ("month", "tenant_hash", "model_key", "task", "mode"),
    "by_run": ("as_of_at", "run_id", "step", "state", "model_key"),
}
"""Tables of sums, and what each is by."""


@dataclass(frozen=True)
class CostReport:
    """The report before it is written.

    Attributes:
        figures: Single values, as JSON has them.
        tables: Every table by name; each becomes a CSV and a Parquet file.
        days: Money of each whole day.
    """

    figures: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    days: pl.DataFrame

    def as_dict(self) -> dict[str, Any]:
        """The whole report as JSON: every number that the page shows stands here."""
        return {**self.figures, "tables": {name: plain_rows(rows) for name, rows in self.tables.items()}}


def cost_output(options: argparse.Namespace) -> Output:
    """The verb ``report cost``: writes the files, prints the sums.

    Raises:
        UsageError: The folder lies inside the lake, or is a file.
        StorageError: It cannot be written.
    """
    from flows.report_cost_page import cost_html, cost_text

    config, out = setup.config_of(options), Path(options.out)
    job = setup.job_of(options, config)
    require_folder(job.lake, out)
    days = options.days or job.policy.plan.window_days
    report = cost(job, config.model, days=days, tenant=getattr(options, "tenant", None))
    write_files(out, NAME, cost_html(report), report.as_dict(), report.tables)
    data = {"out": str(out), **report.as_dict()}
    return Output(data, f"{cost_text(report)}\npage: {out / 'cost.html'}")


def cost(job: Job, model: ModelConfig | None, *, days: float, tenant: str | None = None) -> CostReport:
    """Everything the report says, from the ledger up to the job's as-of.

    Args:
        job: On which lake, at which instant.
        model: The configured language model; without one there is no estimate and no budget.
        days: How far back.
        tenant: Of this one only.
    """
    after = job.as_of - timedelta(days=days)
    first = min(after, job.as_of.replace(day=1, hour=0, minute=0, second=0, microsecond=0))
    every = _lines(job, first, tenant)  # from the start of the month, whatever the window
    lines = cost_report.with_saved(every.filter(pl.col("as_of_at") > after))
    ratio = (model or ModelConfig(model="any")).batch_price_ratio
    whole = (after + timedelta(days=1) - _TICK).replace(hour=0, minute=0, second=0, microsecond=0)
    begun = max(whole, *lines["as_of_at"].head(1)) if lines.height else job.as_of
    daily = cost_report.by_day(every, begun, job.as_of)
    plan = job.policy.plan
    month = cost_report.projection(every, daily, job.as_of, min_days=plan.min_days, level=plan.level)
    names = {code: name for name, code in report_read.tenants(job).items()}
    found = {name: cost_report.grouped(lines, by) for name, by in GROUPS.items()}
    found |= {
        "live_against_batch": cost_report.live_against_batch(lines, ratio),
        "by_day": daily.with_columns(pl.col("day").cast(pl.String)),
    }
    figures = {
        **head_of(job, NAME),
        "after": after.isoformat(),
        "days": days,
        "is_one_tenant": tenant is not None,
        "runs": lines["run_id"].n_unique(),
        "total": cost_report.totals(lines),
        "asked": cost_report.totals(lines.filter(pl.col("task") != EMBEDDING)),
        "batch_price_ratio": ratio,
        "live_against_batch": _summed(found["live_against_batch"]),
        "month": asdict(month),
        "budgets": {} if model is None else budgets(every, lines, model, job.as_of),
        "next_run": None if model is None or tenant else next_run(job, model, lines),
        "model_key": None if model is None else model.key,
        "unaccounted": unaccounted(job),
    }
    return CostReport(figures, {name: _named(rows, names) for name, rows in found.items()}, daily)


def _lines(job: Job, after: datetime, tenant: str | None) -> pl.DataFrame:
    """Lines of the ledger, of one tenant or of all."""
    lines = queries.query(job.lake, "cost_lines", {"after": after, "until": job.as_of})
    rows = lines.select(pl.col(n).cast(dtype) for n, dtype in cost_report.LINES_SCHEMA.items())
    if tenant is None:
        return rows
    return rows.filter(pl.col("tenant_hash") == tenant_hash(salt(job.lake), tenant))


def _named(rows: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Rows with the tenant's name beside its hash; empty where the lake holds nothing of it any more."""
    if "tenant_hash" not in rows.columns:
        return rows
    name = (
        pl.col("tenant_hash").replace_strict(names, default="", return_dtype=pl.String)
        if names
        else pl.lit("")
    )
    return rows.with_columns(tenant=name)


def _summed(rows: pl.DataFrame) -> dict[str, float]:
    names = [name for name in rows.columns if name.endswith("_money")]
    return {name: float(rows[name].sum()) for name in names}


def budgets(
    month_lines: pl.DataFrame, lines: pl.DataFrame, model: ModelConfig, as_of: datetime
) -> dict[str, dict[str, Any]]:
    """Each configured budget: its limit, what was spent at most and last, and how near that is.

    Args:
        month_lines: ``cost_report.LINES_SCHEMA`` from the start of the as-of's month at the latest.
        lines: Those of the window.
        model: The budgets.
        as_of: Whose month counts.
    """
    mine = lines.filter(pl.col("model_key") == model.key)
    runs = mine.sort("as_of_at", "run_id").group_by("as_of_at", "run_id", maintain_order=True).agg(
        tokens=pl.col("input_tokens").sum() + pl.col("output_tokens").sum(), money=pl.col("money").sum()
    )  # fmt: skip
    month = month_lines.filter(pl.col("model_key") == model.key, pl.col("month") == as_of.strftime("%Y-%m"))
    spent = float(month["money"].sum())
    told = {
        "budget_tokens": (model.budget_tokens, runs["tokens"]),
        "budget_money": (model.budget_money, runs["money"]),
        "budget_money_month": (model.budget_money_month, pl.Series([spent])),
    }
    return {name: _budget(limit, values) for name, (limit, values) in told.items() if limit is not None}


def _budget(limit: float, values: pl.Series) -> dict[str, Any]:
    most, last = values.max() or 0, values[-1] if len(values) else 0
    return {"limit": limit, "most": most, "last": last, "most_ratio": float(most) / limit if limit else None}  # type: ignore[arg-type]


def unaccounted(job: Job) -> dict[str, int]:
    """Tokens of kept answers that no line of the ledger has, by model.

    They were spent before there was a ledger, or by a run that was killed before its end.
    """
    at = instant(job.as_of)
    tokens = (pl.col("input_tokens") + pl.col("output_tokens")).sum().alias("tokens")
    kept = tables.scan(job.lake, MODEL_RESULTS).filter(pl.col("answered_at") <= at)
    told = tables.scan(job.lake, COSTS).filter(pl.col("as_of_at") <= at)
    by = [rows.group_by("model_key").agg(tokens).collect() for rows in (kept, told)]
    both = by[0].join(by[1], on="model_key", how="left", suffix="_told")
    left = both.with_columns(left=pl.col("tokens") - pl.col("tokens_told").fill_null(0))
    return dict(left.filter(pl.col("left") > 0).sort("model_key").select("model_key", "left").rows())
