"""What every Prefect flow is made of: a call's options, steps as tasks with retries, a summary artifact.

With ``flows.prefect_flows`` and ``flows.prefect_progress`` the only module that imports Prefect. What reaches
Prefect's database outlives an erasure in the lake, so states, logs, results and artifacts hold counts, names
of reasons and ids of generations, never content and never the id of a person.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from prefect import get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.states import Cancelled, Failed

from flows.config import Config, SourceConfig
from flows.consolidate import run_consolidate
from flows.decay import run_decay
from flows.embed import run_embed
from flows.engine.units import UnitsError
from flows.erase_night import Erasures, resume_step
from flows.global_patterns import NAME, is_needed, run_global_patterns
from flows.health_night import night_health
from flows.ingest import run_ingest
from flows.job import Job, StepResult, exclusive, step
from flows.markdown import manifest_markdown
from flows.nightly import Night, UnfinishedError, failed_step, kept_if_failed
from flows.prefect_progress import run_progress
from flows.publish import run_publish
from flows.retain import run_retain
from flows.rights import resume_open as resume_requests
from flows.setup import config_of, configured_sources, job_of, scope_of
from flows.upkeep_night import keep
from flows.without_content import without_content
from lake.index_record import readable_pointer
from lake.rights import requests
from lake.sources import Source, open_sources
from transforms.errors import BusyError, EndpointError, SlowwaveError, StorageError
from transforms.health.thresholds import verdict
from transforms.validate import Defaults

OnBusy = Literal["wait", "decline"]
Manifest = dict[str, Any]
Plan = Callable[["Run"], Iterator[StepResult]]
NIGHT = "nightly"
"""Name of the run that ends with a look at health."""
TRANSIENT = (StorageError, EndpointError)
"""Errors that the same call may not meet again; a failed check or a wrong setting stays what it is."""


def options_of(lake: str | None, config: str | None, as_of: str | None, **given: Any) -> argparse.Namespace:
    """The call as the command line would have it; an unset variable in ``prefect.yaml`` arrives as ""."""
    empty = dict.fromkeys(("tenant", "user", "agent", "session", "timezone", "event_at", "sources"))
    own = {"lake": lake or None, "config": config or None, "as_of": as_of or None, "json": True}
    return argparse.Namespace(**{**empty, **given, **own})


def run_plan(
    name: str, options: argparse.Namespace, on_busy: OnBusy | None, plan: Plan
) -> Manifest | State[Any]:
    """Run the plan's steps under the lake's lock.

    Returns:
        The manifest; or the state Failed, or Cancelled where another run held the lake, with what the
        command line would say. A state, because an exception would be stored with the run's results.
    """
    try:
        config = config_of(options)
        job = replace(_with_busy(job_of(options, config), on_busy), progress=run_progress(config.policy))
        run = Run(job, options, config)
        with exclusive(job):
            with kept_if_failed(job) if name == NIGHT else nullcontext():
                steps = list(plan(run))
            resume_requests(job)
            pointer = readable_pointer(job.lake)
            live = pointer.generation if pointer else None
            night = Night(steps, live, run.resumed[0] if run.resumed else None)
            if name == NIGHT:
                night = run.with_health(night)
        for erasures in run.resumed:
            erasures.require_done()
        run.require_units()
    except BusyError as error:
        return Cancelled(message=_told(error))
    except SlowwaveError as error:
        return Failed(message=_told(error))
    manifest = {
        "lake_id": job.lake.lake_id,
        "as_of": job.as_of.isoformat(),
        **night.as_dict(),
        "skipped_files": run.skipped.total(),
    }
    create_markdown_artifact(
        manifest_markdown(manifest), key=f"slowwave-{name}", description=f"Counts of the last {name} run"
    )
    if night.health is not None:
        tell_health(job, night.health)
    return manifest


def tell_health(job: Job, told: Mapping[str, Any]) -> None:
    """Emit ``slowwave.health.failing`` or ``.ok`` of ``thresholds.as_counts``, for automations to hear."""
    names = ("state", "failing", "warnings", "unknown")
    emit_event(
        event=f"slowwave.health.{'failing' if told['failing'] else 'ok'}",
        resource={"prefect.resource.id": f"slowwave.lake.{job.lake.lake_id}"},
        payload={**{name: told[name] for name in names}, "as_of": job.as_of.isoformat()},
    )


def run_health(options: argparse.Namespace, out: str | None) -> Manifest | State[Any]:
    """Make the health report, and tell it by an event.

    Returns:
        Its counts; or the state Failed, where it cannot be made or a check fails.
    """
    from flows.report_health import health, run_report_health
    from flows.report_health_page import health_markdown

    try:
        job = job_of(options)
        with without_content():
            report = run_report_health(job, Path(out)) if out else health(job)
    except SlowwaveError as error:
        return Failed(message=_told(error))
    create_markdown_artifact(
        health_markdown(report), key="slowwave-health", description="What is amiss with the memory"
    )
    tell_health(job, report.counts)
    if report.is_failing:
        return Failed(message=f"check: {verdict(report.counts)}")
    return {"lake_id": job.lake.lake_id, "as_of": job.as_of.isoformat(), **report.counts}


def run_compliance(options: argparse.Namespace, out: str | None) -> Manifest | State[Any]:
    """Make the compliance report.

    Returns:
        Its figures; or the state Failed, where it cannot be made or something is not kept.
    """
    from flows.report_compliance import compliance, run_report_compliance
    from flows.report_page import compliance_markdown

    try:
        job = job_of(options)
        report = run_report_compliance(job, Path(out)) if out else compliance(job)
    except SlowwaveError as error:
        return Failed(message=_told(error))
    create_markdown_artifact(
        compliance_markdown(report), key="slowwave-compliance", description="What is kept, and what is not"
    )
    faults = [finding for finding in report.findings if finding.is_fault]
    if faults:
        return Failed(message=f"check: {len(faults)} findings say that something is not kept")
    return {"lake_id": job.lake.lake_id, "as_of": job.as_of.isoformat(), "is_kept": True}


def _with_busy(job: Job, on_busy: OnBusy | None) -> Job:
    if on_busy is None:
        return job
    run = job.policy.run.model_copy(update={"on_busy": on_busy})
    return replace(job, policy=job.policy.model_copy(update={"run": run}))


def _told(error: SlowwaveError) -> str:
    return f"{error.code}: {error.message.rstrip('.')}. {error.remedy}".rstrip()


@dataclass(frozen=True)
class Run:
    """The steps of one flow run, each a task."""

    job: Job
    options: argparse.Namespace
    config: Config
    skipped: Counter[str] = field(default_factory=Counter)
    resumed: list[Erasures] = field(default_factory=list)
    failures: list[UnitsError] = field(default_factory=list)

    def erasures(self) -> Iterator[StepResult]:
        """Complete the erasures that are open; no step where none is."""
        if any(one.kind == "erase" for one in requests.open_requests(self.job.lake)):
            yield self._step("erase", self._erased)

    def _erased(self) -> StepResult:
        with step(self.job, "erase") as result:
            done = resume_step(self.job)
            if done is not None:
                self.resumed[:] = [done]
                result.rows_in = len(done.resumed)
                result.rejected = sum(one.error is not None for one in done.resumed)
                result.rows_out = result.rows_in - result.rejected
        return result

    def ingest(self) -> StepResult:
        """A retry reads the sources anew: what the first try consumed of them is gone."""
        return self._step("ingest", lambda: run_ingest(self.job, self._sources())[0])

    def embed(self) -> StepResult:
        """Give new texts their vectors."""
        return self._step("embed", lambda: run_embed(self.job))

    def consolidate(self, complete: bool = False) -> StepResult:
        """Derive what is new, or everything."""
        return self._step("consolidate", lambda: run_consolidate(self.job, complete=complete))

    def decay(self) -> StepResult:
        """Score what every memory is still worth."""
        return self._step("decay", lambda: run_decay(self.job))

    def retain(self, *, is_night: bool = False) -> StepResult:
        """Take out what is due; ``with_health`` removes what a night superseded."""
        return self._step("retain", lambda: run_retain(self.job, is_night=is_night))

    def sharing(self) -> Iterator[StepResult]:
        """Work out the patterns that tenants share; no step where nobody shares anything."""
        if is_needed(self.job):
            yield self._step(NAME, lambda: run_global_patterns(self.job))

    def publish(self, force: bool) -> StepResult:
        """Switch to a new index, where anything changed."""
        return self._step("publish", lambda: run_publish(self.job, force=force))

    def with_health(self, night: Night) -> Night:
        """The night with the health of the lake after it, and the upkeep of its files."""
        is_changed = not night.is_unchanged or night.erasures is not None
        with without_content():
            done = replace(night, health=night_health(self.job, is_changed=is_changed))
            keep(self.job)
            return done

    def _step(self, name: str, body: Callable[[], StepResult]) -> StepResult:
        run = self.job.policy.run
        named = _task.with_options(
            name=name, retries=run.step_retries, retry_delay_seconds=run.step_retry_seconds
        )
        began = datetime.now(UTC)
        try:
            return named(body)
        except UnitsError as error:  # the task has failed; what else the run has to do goes on
            self.failures.append(error)
            return failed_step(name, began, error)

    def require_units(self) -> None:
        """Fail the run where units failed.

        Raises:
            UnfinishedError: They did.
        """
        if self.failures:
            raise self.failures[0] if len(self.failures) == 1 else UnfinishedError(self.failures, Night([]))

    def _sources(self) -> Iterator[tuple[Source, Defaults]]:
        """The call's sources, else the configured ones."""
        self.skipped.clear()
        given, scope = self.options.sources, scope_of(self.options)
        entries = [self._entry(source) for source in given] if given else self.config.sources
        for path, form, defaults in configured_sources(entries, scope):
            for source in open_sources(path, form, policy=self.job.policy.ingest, on_skip=self._skip):
                yield source, defaults

    def _entry(self, source: str | SourceConfig) -> SourceConfig:
        return SourceConfig(path=source, format=self.options.format) if isinstance(source, str) else source

    def _skip(self, file_name: str, reason: str) -> None:
        del file_name  # may name a person
        self.skipped[reason] += 1


def _is_transient(task: object, run: object, state: State[Any]) -> bool:
    del task, run
    return isinstance(state.data, TRANSIENT)


@task(persist_result=False, cache_policy=NO_CACHE, retry_condition_fn=_is_transient)
def _task(body: Callable[[], StepResult]) -> StepResult:
    """One step, told in counts."""
    with without_content():
        result = body()
    get_run_logger().info("%s", _line(result.as_dict()))
    return result


def _line(step: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{key} {step[key]}" for key in ("rows_in", "rows_out", "rejected", "duplicates"))
    return f"{step['name']} {step['state']}: {counts}, seconds {step['seconds']}"
