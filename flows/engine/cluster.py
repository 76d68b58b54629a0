"""Workers of a Dask cluster: one that runs already, or one on this machine for the time of the run.

Units go to the scheduler one by one, only as many at once as the workers have threads, so that a death points
at the units that ran, and nothing that has ended is worked out again.
"""

from __future__ import annotations

import logging
import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from flows.engine.config import EngineConfig, require_installed
from flows.engine.crew import given_out
from flows.engine.dask_here import started
from flows.engine.processes import threads_of
from flows.engine.recipe import Recipe, require_in_environment
from transforms.errors import ConfigError, EndpointError

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

_POLL_SECONDS = 5.0
"""How often to look whether there are workers at all while none brings an end."""
_CLOSE_SECONDS = 30.0
"""For workers of ours to end; they are killed, so this is for a machine that is very busy."""
_FOREIGN_RETRIES = 1
"""How often a unit is tried alone after a scheduler of its own has tried it as often as it is set to."""
_LOGGERS = ("distributed", "distributed.client")
"""What they say of deaths and lost connections, we say in a line."""
_CANNOT_RUN = (ImportError, AttributeError, TypeError, ValueError, RuntimeError, OSError, EOFError)
"""What comes back where a scheduler or worker does not know our code, or knows another one."""
_SAME = ("python", "distributed")
"""What has to be of one version for what is sent to be understood."""


def require_sendable(recipe: Recipe, secrets: Mapping[str, str]) -> None:
    """Refuse a job whose keys the workers of a cluster cannot have.

    Raises:
        ConfigError: A key stands in the configuration file only.
    """
    require_in_environment(recipe, secrets, os.environ)


class Cluster:
    """See ``flows.engine.crew.Workers``.

    Args:
        engine: The scheduler's address; none: scheduler and workers are started here, on loopback only,
            under certificates that live in memory.

    Raises:
        ConfigError: Dask is not installed here, or is of another version there.
        EndpointError: The scheduler is not to be reached, or has no workers.
    """

    def __init__(self, engine: EngineConfig) -> None:
        require_installed(engine)
        self._wait = engine.wait_seconds
        self._threads = engine.threads if engine.scheduler else threads_of(engine)
        self._retries = _FOREIGN_RETRIES if engine.scheduler else engine.retries
        self._own: LocalCluster | None = None
        self._client: Client | None = None
        self._levels = {name: logging.getLogger(name).level for name in _LOGGERS}
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._own = None if engine.scheduler else started(engine)
            self._client = _connected(self._own or engine.scheduler, self._wait)
            _require_same(self._client)
        except BaseException:
            self.close()
            raise

    def run(self, errands: list[str]) -> Iterator[tuple[int, str | None]]:
        """See ``Workers.run``. A unit that a worker died of is tried again when nothing else runs."""
        return given_out(errands, self._all, self._retries)

    def _all(self, errands: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        waiting = deque(enumerate(errands))
        busy: dict[Future, int] = {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self._threads_there():
                    place, errand = waiting.popleft()
                    busy[self._submit(errand)] = place
                ended = [(busy.pop(future), _answer(future)) for future in self._next(list(busy))]
                if waiting:  # before the ends are told: telling may take a while
                    place, errand = waiting.popleft()
                    busy[self._submit(errand)] = place
                yield from ended
        finally:
            for future in busy:
                with suppress(Exception):  # the scheduler may be what is lost
                    future.cancel(reason="the run was broken off")

    def _submit(self, errand: str) -> Future:
        client = self._there()
        future: Future = client.submit(
            _perform, errand, self._threads, key=f"slowwave-{uuid4().hex}", pure=False, retries=0
        )
        return future

    def _there(self) -> Client:
        if self._client is None or self._client.status != "running":
            raise _gone()
        return self._client

    def _threads_there(self) -> int:
        threads: dict[str, int] = self._there().nthreads()
        return max(1, sum(threads.values()))

    def _next(self, futures: list[Future]) -> list[Future]:
        """Those that ended, once there are any.

        Raises:
            EndpointError: The scheduler is gone, or there have been no workers for too long.
        """
        from distributed import CancelledError, wait

        empty_since: float | None = None
        while True:
            try:
                with suppress(TimeoutError), self._there().as_current():
                    return list(wait(futures, timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED").done)
            except CancelledError as error:
                raise _gone() from error
            if self._there().nthreads():
                empty_since = None
                continue
            empty_since = empty_since or time.monotonic()
            if time.monotonic() - empty_since > self._wait:
                raise _no_workers(self._wait)

    def close(self) -> None:
        """See ``Workers.close``.

        A unit that a worker elsewhere is in the middle of goes on there; it cannot commit once this run has
        given up the lake.
        """
        for nanny in () if self._own is None else self._own.workers.values():
            nanny.auto_restart = False
            with suppress(ProcessLookupError, TypeError):  # it is gone, or has not started
                os.kill(nanny.pid, signal.SIGKILL)
        for one in (self._client, self._own):
            if one is not None:
                with suppress(Exception):  # it may be gone already, and nothing depends on it any more
                    one.close(timeout=_CLOSE_SECONDS)
        self._client = self._own = None
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)


def _connected(where: LocalCluster | str | None, wait_seconds: float) -> Client:
    from distributed import Client

    shown = where if isinstance(where, str) else "this machine"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions: ``_require_same`` says more
            client = Client(where, timeout=wait_seconds, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise EndpointError(
            f"no Dask scheduler at {shown}: {type(error).__name__}",
            "Check engine.scheduler (tcp://host:8786 or tls://host:8786) and, for tls, Dask's own settings.",
        ) from error
    try:
        client.wait_for_workers(1, timeout=wait_seconds)
    except TimeoutError as error:
        client.close()
        raise _no_workers(wait_seconds) from error
    return client


def _require_same(client: Client) -> None:
    """Refuse a scheduler or workers of another Python or Dask.

    Raises:
        ConfigError: Names what differs.
    """
    held = client.get_versions(check=False)
    ours = _versions(held["client"])
    for place, told in (
        ("the scheduler", held["scheduler"]),
        *(("a worker", w) for w in held["workers"].values()),
    ):
        theirs = _versions(told)
        for name in _SAME:
            if theirs[name] != ours[name]:
                raise ConfigError(
                    f"{place} has {name} {theirs[name]}, here it is {ours[name]}",
                    "Install the same versions here, at the scheduler and at each worker.",
                )


def _versions(told: Mapping[str, Any]) -> dict[str, str]:
    packages = told["packages"]
    held = {name: str(packages.get(name)) for name in _SAME}
    return {**held, "python": ".".join(held["python"].split(".")[:2])}


def _answer(future: Future) -> str | None:
    """What a unit's worker answered; None where it died.

    Raises:
        EndpointError: The scheduler is gone.
        ConfigError: Scheduler or workers cannot run slowwave.
    """
    from distributed import CancelledError, KilledWorker

    try:
        answer: str = future.result()
    except KilledWorker:
        return None
    except CancelledError as error:
        raise _gone() from error
    except _CANNOT_RUN as error:
        raise ConfigError(
            f"the cluster cannot run slowwave: {type(error).__name__}",
            "Install the same slowwave, with its extras, at the scheduler and at each worker.",
        ) from error
    finally:
        future.release()
    return answer


def _no_workers(wait_seconds: float) -> EndpointError:
    return EndpointError(
        f"the Dask scheduler had no workers for {wait_seconds:.0f} s", "Start workers, then run again."
    )


def _gone() -> EndpointError:
    return EndpointError(
        "the Dask scheduler was lost in the middle of the run",
        "Start it, then run again: what was done is kept.",
    )


def _perform(errand: str, threads: int | None) -> str:
    from flows.engine.worker import perform  # heavy: only where it runs

    return perform(errand, None, threads)
