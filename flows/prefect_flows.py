"""Prefect as a thin shell: the plain jobs as flows, for schedules, retries and a page to look at.

With ``flows.prefect_steps`` and ``flows.prefect_progress`` the only module that imports Prefect; the command
line runs the same jobs without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.config import SourceConfig
from flows.job import StepResult
from flows.prefect_steps import Manifest, OnBusy, Run, options_of, run_compliance, run_health, run_plan

Sources = list[str | SourceConfig]


@flow(name="slowwave-nightly", persist_result=True, result_serializer="json")
def nightly(
    lake: str | None = None,
    config: str | None = None,
    sources: Sources | None = None,
    format: str = "auto",
    tenant: str | None = None,
    user: str | None = None,
    agent: str | None = None,
    timezone: str | None = None,
    event_at: str | None = None,
    only_tenant: bool = False,
    as_of: str | None = None,
    publish: bool = True,
    force: bool = False,
    on_busy: OnBusy | None = None,
) -> Manifest | State[Any]:
    """Complete open erasures, then ingest, embed, consolidate, decay, retain, publish, and look at health.

    Args:
        lake: Address of the lake; else SLOWWAVE_LAKE of the worker, else that of the configuration.
        config: Configuration file; else slowwave.toml in the working directory, where it exists.
        sources: Addresses, or objects with the keys of a [[sources]] entry; none: those of the configuration.
        format: Input format of the sources that are plain addresses.
        tenant: Tenant of rows that name none.
        user: User of rows that name none.
        agent: Agent of rows that name none.
        timezone: Zone of times that name none, such as Europe/Berlin.
        event_at: When rows happened that bear no time, ISO 8601.
        only_tenant: Refuse rows that name another tenant than that of the call, or of their source.
        as_of: Instant to reason at, ISO 8601 with a zone; none: now.
        publish: Whether to publish at the end.
        force: Publish even where nothing changed.
        on_busy: What to do while another run holds the lake; none: run.on_busy of the configuration.
    """

    def plan(run: Run) -> Iterator[StepResult]:
        yield from run.erasures()
        yield run.ingest()
        yield run.embed()
        yield run.consolidate()
        yield run.decay()
        yield run.retain(is_night=True)
        yield from run.sharing()
        if publish:
            yield run.publish(force)

    scope = {"tenant": tenant, "user": user, "agent": agent, "timezone": timezone, "event_at": event_at}
    told = {**scope, "only_tenant": only_tenant}
    options = options_of(lake, config, as_of, sources=sources, format=format, **told)
    return run_plan("nightly", options, on_busy, plan)


@flow(name="slowwave-ingest", persist_result=True, result_serializer="json")
def ingest(
    lake: str | None = None,
    config: str | None = None,
    sources: Sources | None = None,
    format: str = "auto",
    tenant: str | None = None,
    user: str | None = None,
    agent: str | None = None,
    timezone: str | None = None,
    event_at: str | None = None,
    only_tenant: bool = False,
    as_of: str | None = None,
    on_busy: OnBusy | None = None,
) -> Manifest | State[Any]:
    """Land traces as episodes. Parameters as for nightly."""
    scope = {"tenant": tenant, "user": user, "agent": agent, "timezone": timezone, "event_at": event_at}
    told = {**scope, "only_tenant": only_tenant}
    options = options_of(lake, config, as_of, sources=sources, format=format, **told)
    return run_plan("ingest", options, on_busy, lambda run: iter([run.ingest()]))


@flow(name="slowwave-publish", persist_result=True, result_serializer="json")
def publish(
    lake: str | None = None,
    config: str | None = None,
    as_of: str | None = None,
    force: bool = False,
    on_busy: OnBusy | None = None,
) -> Manifest | State[Any]:
    """Embed and consolidate what was ingested, then build, check and switch to a new index.

    Parameters as for nightly.
    """

    def plan(run: Run) -> Iterator[StepResult]:
        yield run.embed()
        yield run.consolidate()
        yield run.publish(force)

    return run_plan("publish", options_of(lake, config, as_of), on_busy, plan)


@flow(name="slowwave-consolidate", persist_result=True, result_serializer="json")
def consolidate(
    lake: str | None = None,
    config: str | None = None,
    as_of: str | None = None,
    complete: bool = False,
    on_busy: OnBusy | None = None,
) -> Manifest | State[Any]:
    """Embed what was ingested and derive topics, summaries, facts, conversations and skills.

    Args:
        lake: As for nightly, like config, as_of and on_busy.
        config: Configuration file.
        as_of: Instant to reason at.
        complete: Derive everything anew, not only what is new.
        on_busy: What to do while another run holds the lake.
    """

    def plan(run: Run) -> Iterator[StepResult]:
        yield run.embed()
        yield run.consolidate(complete)

    return run_plan("consolidate", options_of(lake, config, as_of), on_busy, plan)


@flow(name="slowwave-retain", persist_result=True, result_serializer="json")
def retain(
    lake: str | None = None,
    config: str | None = None,
    as_of: str | None = None,
    on_busy: OnBusy | None = None,
) -> Manifest | State[Any]:
    """Take out what is due, and switch to an index without it. Parameters as for nightly."""

    def plan(run: Run) -> Iterator[StepResult]:
        yield run.decay()
        yield run.retain()
        yield run.publish(False)

    return run_plan("retain", options_of(lake, config, as_of), on_busy, plan)


@flow(name="slowwave-erase", persist_result=True, result_serializer="json")
def erase(
    lake: str | None = None,
    config: str | None = None,
    as_of: str | None = None,
    on_busy: OnBusy | None = None,
) -> Manifest | State[Any]:
    """Complete the erasures that are open. Parameters as for nightly.

    Whom a request is about is told to the lake (``slowwave erase``), never to Prefect: a parameter would
    stay in Prefect's database.
    """
    return run_plan("erase", options_of(lake, config, as_of), on_busy, lambda run: run.erasures())


@flow(name="slowwave-compliance", persist_result=True, result_serializer="json")
def compliance(
    lake: str | None = None,
    config: str | None = None,
    as_of: str | None = None,
    out: str | None = None,
) -> Manifest | State[Any]:
    """Report what is kept; failed where something is not.

    Args:
        lake: As for nightly, like config and as_of.
        config: Configuration file.
        as_of: Instant to reason at.
        out: Folder for the page, JSON, CSV and Parquet; none: the artifact only.
    """
    return run_compliance(options_of(lake, config, as_of), out or None)


@flow(name="slowwave-health", persist_result=True, result_serializer="json")
def health(
    lake: str | None = None,
    config: str | None = None,
    as_of: str | None = None,
    out: str | None = None,
) -> Manifest | State[Any]:
    """Report what is amiss with the memory, by an artifact and an event; failed where a check fails.

    Args:
        lake: As for nightly, like config and as_of.
        config: Configuration file.
        as_of: Instant to reason at.
        out: Folder for the page, JSON, CSV and Parquet; none: artifact and event only.
    """
    return run_health(options_of(lake, config, as_of), out or None)
