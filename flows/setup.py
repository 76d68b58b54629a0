"""From options, configuration and environment to a job: the only place that reads clock and environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ValidationError

from flows.config import Config, SourceConfig, load_config
from flows.engine.config import EngineConfig, require_installed
from flows.engine.crew import Crew
from flows.engine.recipe import recipe_of, secrets_of
from flows.job import Job, Progress
from flows.keys import keys_of
from lake import history
from lake.embedders.config import make_embedder
from lake.embedders.protocol import Embedder
from lake.lake import Lake, open_lake
from lake.models.config import make_model
from transforms.errors import UsageError
from transforms.model_requests import Model
from transforms.policy import Policy
from transforms.validate import Defaults

EARLIEST_YEAR, LATEST_YEAR = 1970, 9000
"""Of an as-of; a lifetime counted on from it stays inside what an instant can hold."""
_SCOPE = ("tenant", "user", "agent", "session", "timezone", "event_at", "only_tenant")


@dataclass(frozen=True)
class Output:
    """What a verb prints: ``data`` with ``--json``, else ``text``."""

    data: dict[str, Any]
    text: str
    exit_code: int = 0


def config_of(options: argparse.Namespace) -> Config:
    """The configuration of a call."""
    return load_config(options.config)


def lake_uri(options: argparse.Namespace, config: Config) -> str:
    """Address of the lake: flag, then environment, then configuration.

    Raises:
        UsageError: None of them names one.
    """
    uri = options.lake or os.environ.get("SLOWWAVE_LAKE") or config.lake
    if not uri:
        raise UsageError(
            "no lake named", "Pass --lake, set SLOWWAVE_LAKE, or put lake = ... in slowwave.toml."
        )
    return str(uri)


def lake_of(options: argparse.Namespace, config: Config) -> Lake:
    """The lake of a call, with the keys that the configuration names.

    Raises:
        LakeError: There is none, or it is plain although keys are named.
        UsageError: None is named.
    """
    return open_lake(lake_uri(options, config), keys_of(config))


def as_of(options: argparse.Namespace) -> datetime | None:
    """The instant of ``--as-of``, None where it is not given.

    Raises:
        UsageError: It is not ISO 8601 with a zone.
    """
    if options.as_of is None:
        return None
    try:
        instant = datetime.fromisoformat(options.as_of)
    except ValueError as error:
        raise UsageError(f"--as-of {options.as_of} is not ISO 8601", "Write 2026-06-30T23:00:00Z.") from error
    if instant.tzinfo is None:
        raise UsageError(f"--as-of {options.as_of} has no zone", "Add one: 2026-06-30T23:00:00Z.")
    if not EARLIEST_YEAR <= instant.year <= LATEST_YEAR:
        raise UsageError(
            f"--as-of {options.as_of} is out of range", f"Stay in {EARLIEST_YEAR} to {LATEST_YEAR}."
        )
    return instant.astimezone(UTC)


def job_of(options: argparse.Namespace, config: Config | None = None, lake: Lake | None = None) -> Job:
    """The job of a call, on its lake, at its instant."""
    config = config or config_of(options)
    lake = lake or lake_of(options, config)
    instant = as_of(options) or datetime.now(UTC)
    is_dry = getattr(options, "dry_run", False)
    engine = engine_of(options, config)
    return Job(
        lake,
        config.policy,
        instant,
        lambda: make_embedder(config.embedder),
        progress(options, config.policy),
        make_model=model_of(config, lake, instant, is_dry=is_dry),
        make_previous=previous_of(config),
        engine=engine,
        recipe=recipe_of(config, lake, instant),
        crew=Crew(secrets_of(config)),
    )


def engine_of(options: argparse.Namespace, config: Config) -> EngineConfig:
    """Where work units run: flags, then configuration; a scheduler that is named on the call is Dask's.

    Raises:
        UsageError: A scheduler is named for the engine ``local``, or far too many workers.
        ConfigError: The verb runs units on Dask, and it is not installed.
    """
    kind, workers = getattr(options, "engine", None), getattr(options, "workers", None)
    scheduler = getattr(options, "scheduler", None)
    if scheduler and kind == "local":
        raise UsageError("--scheduler is of --engine dask", "Leave one of them out.")
    given = {"kind": kind or ("dask" if scheduler else None), "workers": workers, "scheduler": scheduler}
    told = {name: value for name, value in given.items() if value is not None}
    try:
        engine = EngineConfig.model_validate({**config.engine.model_dump(), **told})
    except ValidationError as error:
        raise UsageError(
            f"--workers {workers} is out of range", "See docs/configuration.md, [engine]."
        ) from error
    if hasattr(options, "scheduler") and not getattr(options, "dry_run", False):
        require_installed(engine)
    return engine


def past_job(options: argparse.Namespace, config: Config | None = None) -> Job:
    """The job of a call that only reads: with ``--as-of``, on the lake as far as it stood at that instant.

    Raises:
        HistoryError: Retention has deleted since what stood then, no version holds it any more, and the call
            is not content with what is left (``--partial``).
    """
    job = job_of(options, config)
    if options.as_of is None:
        return job
    then = history.reached(job.lake, job.as_of, history.RETAINED, is_partial=options.partial)
    return job if then is None else replace(job, lake=then)


def previous_of(config: Config) -> Callable[[], Embedder] | None:
    """What makes the embedder that is being replaced, None where there is none."""
    before = config.embedder.previous
    return None if before is None else lambda: make_embedder(before)


def model_of(
    config: Config, lake: Lake, instant: datetime, *, is_dry: bool = False
) -> Callable[[], Model] | None:
    """What makes the configured language model, None where there is none; a dry run's sends nothing."""
    chosen = config.model
    if chosen is None:
        return None
    if is_dry:
        from lake.models.dry import DryModel

        return lambda: DryModel(chosen, lake, instant)
    return lambda: make_model(chosen, lake, instant)


def progress(options: argparse.Namespace, policy: Policy | None = None) -> Progress:
    """Bars on a terminal, lines elsewhere, nothing beside JSON; or what ``--progress`` says.

    Raises:
        UsageError: SLOWWAVE_PROGRESS is none of the kinds.
    """
    from flows.progress import progress_of

    every = (policy or Policy()).run.progress_seconds
    kind = getattr(options, "progress", None) or os.environ.get("SLOWWAVE_PROGRESS") or "auto"
    return progress_of(kind, every, is_json=options.json)


def defaults_of(options: argparse.Namespace) -> Defaults:
    """Scope of rows that name none, from the flags.

    Raises:
        UsageError: The zone is not known, the time is none, or rows of other tenants than none are refused.
    """
    return _defaults(scope_of(options))


def scope_of(options: argparse.Namespace) -> dict[str, Any]:
    """The flags that say of what scope rows are."""
    return {name: getattr(options, name, None) for name in _SCOPE}


def _defaults(told: Mapping[str, Any]) -> Defaults:
    zone = known_zone(told["timezone"])
    return Defaults(
        told["tenant"],
        told["user"],
        told["agent"],
        told["session"],
        zone,
        known_time(told["event_at"], zone),
        only_tenant=bool(told["only_tenant"]),
    )


def known_time(text: str | None, zone: str | None) -> str | None:
    """The time of rows that bear none, checked.

    Raises:
        UsageError: It is not ISO 8601, or names no zone and none was stated.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--event-at {text} is not ISO 8601", "Write 2026-03-01T09:00:00Z.") from error
    if moment.tzinfo is None and zone is None:
        raise UsageError(f"--event-at {text} has no zone", "Add one, or pass --timezone.")
    return text


def known_zone(name: str | None) -> str | None:
    """The zone's name, checked.

    Raises:
        UsageError: There is no such zone.
    """
    if name is not None:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise UsageError(
                f"no time zone {name}", "Use an IANA name such as Europe/Berlin or UTC."
            ) from error
    return name


def configured_sources(
    sources: Iterable[SourceConfig], given: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, str, Defaults]]:
    """Address, format and defaults of each ``[[sources]]`` entry.

    Args:
        sources: The entries.
        given: What the call says of those that do not (``scope_of``).

    Raises:
        UsageError: As ``defaults_of``.
    """
    for entry in sources:
        told = {name: getattr(entry, name) for name in _SCOPE}
        for name, value in (given or {}).items():
            if told[name] is None or told[name] is False:
                told[name] = value
        yield entry.path, entry.format, _defaults(told)
