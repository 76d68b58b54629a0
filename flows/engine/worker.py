"""A worker's side: from an errand to its job, its unit and its answer. Nothing here raises."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from functools import lru_cache

from flows.cli import version
from flows.config import Config
from flows.engine.attempt import OF_THE_RUN, attempt, unexpected
from flows.engine.errands import Answer, Errand, loads
from flows.engine.recipe import Recipe, config_for, secrets_of, with_secrets
from flows.engine.units import failure_of
from flows.job import LOCK, Job, hashed, taken_spending
from flows.keys import keys_of
from flows.setup import model_of, previous_of
from lake import locks
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.embedders.protocol import Embedder
from lake.lake import Lake, open_lake
from lake.rights.subjects import salt
from transforms.errors import ConfigError, LakeError, SlowwaveError
from transforms.model_requests import Spending
from transforms.policy import Policy

UNIT_WAIT_SECONDS = 600.0
"""How long a unit waits for its own lock: another worker that lost touch with its scheduler may still be at
the same unit, which began minutes ago at most."""


def perform(message: str, secrets: Mapping[str, str] | None = None, threads: int | None = None) -> str:
    """Do an errand.

    Args:
        message: It, as JSON.
        secrets: Keys of services that a process of the same machine handed over, by place.
        threads: Of this worker, for models that would take every core.

    Returns:
        Its answer, as JSON.
    """
    try:
        with redirect_stdout(sys.stderr):
            return _performed(loads(message), secrets or {}, threads).dumps()
    except SlowwaveError as error:
        return Answer(failure=failure_of(error), ends_run=isinstance(error, OF_THE_RUN)).dumps()
    except Exception as error:  # noqa: BLE001 - a worker's words would go to logs of a cluster
        return Answer(failure=unexpected(error)).dumps()


def _performed(errand: Errand, secrets: Mapping[str, str], threads: int | None) -> Answer:
    if errand.version != version():
        raise ConfigError(
            f"a worker has slowwave {version()}, this run is of {errand.version}",
            "Install one version everywhere: here, at the scheduler and at each worker.",
        )
    job = job_from(errand.recipe, errand.policy, secrets, threads)
    with _fenced(job.lake, errand.token), locks.hold(job.lake, errand.lock, UNIT_WAIT_SECONDS):
        failure, result, ends_run = None, None, False
        try:
            done = attempt(job, errand.unit)
            failure, result = done.failure, done.result
        except OF_THE_RUN as error:
            failure, ends_run = failure_of(error), True
        spending = _told(job.lake, taken_spending(job))
    return Answer(result, failure, ends_run, spending)


def job_from(
    recipe: Recipe, policy: str, secrets: Mapping[str, str] | None = None, threads: int | None = None
) -> Job:
    """The job of a recipe, in the process that does its units.

    Args:
        recipe: Of ``recipe_of``.
        policy: As JSON.
        secrets: Keys handed over, by place; the environment has the others.
        threads: For models that would take every core.

    Raises:
        ConfigError: A key is missing here, or the lake is not the one that is meant.
        LakeError: As ``open_lake``.
    """
    config = config_for(recipe, secrets or {}, os.environ)
    lake = _opened(recipe, config)
    as_of = datetime.fromisoformat(recipe.as_of)
    before = previous_of(config)
    return Job(
        lake,
        Policy.model_validate_json(policy),
        as_of,
        lambda: _embedder(config, threads),
        make_model=model_of(config, lake, as_of),
        make_previous=None if before is None else lambda: _previous(config, threads),
    )


def _opened(recipe: Recipe, config: Config) -> Lake:
    try:
        lake = open_lake(recipe.lake, keys_of(config))
    except LakeError as error:
        raise ConfigError(
            f"a worker cannot open the lake: {error.message}", error.remedy or _SHARED
        ) from error
    if lake.lake_id != recipe.lake_id:
        raise ConfigError("a worker found another lake at the address of this one", _SHARED)
    return lake


_SHARED = "Mount the lake at the same path on every worker, or keep it at s3://."


def _embedder(config: Config, threads: int | None) -> Embedder:
    return _loaded(_bare(config.embedder, threads), secrets_of(config).get("embedder"))


def _previous(config: Config, threads: int | None) -> Embedder:
    before = config.embedder.previous or config.embedder
    return _loaded(_bare(before, threads), secrets_of(config).get("embedder.previous"))


def _bare(section: EmbedderConfig, threads: int | None) -> str:
    """A model's section as JSON, for models that would take every core with fewer threads."""
    own = {"threads": threads} if threads and not section.threads else {}
    return section.model_copy(update={**own, "previous": None}).model_dump_json(exclude={"api_key"})


@lru_cache(maxsize=2)
def _loaded(section: str, key: str | None) -> Embedder:
    """A model, loaded once a process: the one in force and the one before it."""
    config = Config(embedder=EmbedderConfig.model_validate_json(section))
    return make_embedder(with_secrets(config, {"embedder": key} if key else {}).embedder)


@contextmanager
def _fenced(lake: Lake, token: int | None) -> Iterator[None]:
    """Write for the run that sent the unit, and only as long as it holds the lake.

    Raises:
        BusyError: It does not any more.
    """
    if token is None:
        yield
        return
    locks.require(lake, LOCK, token)
    with locks.under(lake, LOCK, token):
        yield


def _told(lake: Lake, spending: list[Spending]) -> tuple[Spending, ...]:
    if not spending:
        return ()
    key = salt(lake)
    return tuple(hashed(one, key) for one in spending)
