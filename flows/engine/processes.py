"""Workers as processes of this machine: each by itself, so that a death tells exactly which unit it hit."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker

from flows.engine.config import EngineConfig
from flows.engine.crew import given_out
from transforms.errors import ConfigError

THREAD_VARIABLES = (
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "LANCE_CPU_THREADS",
    "TOKIO_WORKER_THREADS",
)
"""Libraries read theirs as they are loaded: they have to be set before the process starts."""
BLAS_VARIABLE = "OPENBLAS_NUM_THREADS"
BLAS_THREADS = "1"
"""Our matrices are small: more threads of BLAS wait for each other, at more CPU time for the same work."""
_FALSE_STARTS = 2
"""Starts in a row that a process does not live through: once it may have been killed, as any may."""
_START_SECONDS = 30.0
"""For a process that is to be ended while it starts to say its number."""

_secrets: dict[str, str] = {}


def threads_of(engine: EngineConfig) -> int:
    """Threads of one worker: as configured, else the cores of this machine shared out."""
    return engine.threads or max(1, (os.cpu_count() or 1) // engine.workers)


def thread_variables(threads: int) -> dict[str, str]:
    """The environment of a worker with so many threads; those of BLAS as the caller's environment says."""
    shared = dict.fromkeys(THREAD_VARIABLES, str(threads))
    return {**shared, BLAS_VARIABLE: os.environ.get(BLAS_VARIABLE, BLAS_THREADS)}


class Processes:
    """See ``flows.engine.crew.Workers``: one worker a process, none shared.

    Args:
        engine: How many, with how many threads, and how often a unit is tried again.
        secrets: Keys of services by place; they go through a pipe.
    """

    def __init__(self, engine: EngineConfig, secrets: Mapping[str, str]) -> None:
        threads = threads_of(engine)
        self._retries = engine.retries
        self._slots = [_Slot(threads, secrets) for _ in range(engine.workers)]

    def run(self, errands: list[str]) -> Iterator[tuple[int, str | None]]:
        """See ``Workers.run``. A unit that a worker died of is tried again when nothing else runs."""
        return given_out(errands, self._all, self._retries)

    def _all(self, errands: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        waiting, idle = deque(enumerate(errands)), list(self._slots)
        busy: dict[Future[str], tuple[_Slot, int]] = {}
        while waiting or busy:
            while waiting and idle:
                slot, (place, errand) = idle.pop(), waiting.popleft()
                busy[slot.submit(errand)] = slot, place
            ended = []
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                slot, place = busy.pop(future)
                ended.append((place, slot.answer(future)))
                idle.append(slot)
            if waiting:  # before the ends are told: telling may take a while
                slot, (place, errand) = idle.pop(), waiting.popleft()
                busy[slot.submit(errand)] = slot, place
            yield from ended

    def close(self) -> None:
        """See ``Workers.close``."""
        for slot in self._slots:
            slot.close()


class _Slot:
    """A place for one process, which is started for its first errand, and again after its death."""

    def __init__(self, threads: int, secrets: Mapping[str, str]) -> None:
        self._threads, self._secrets = threads, dict(secrets)
        self._pool: ProcessPoolExecutor | None = None
        self._pid: Future[int] | None = None
        self._false_starts = 0

    def submit(self, errand: str) -> Future[str]:
        """Have an errand done."""
        if self._pool is not None:
            with suppress(BrokenProcessPool):  # it died since, of nothing that we asked for
                return self._pool.submit(_perform, errand, self._threads)
            self.close()
        pool = ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(self._secrets,)
        )
        with _environment(thread_variables(self._threads)), deaf_children():
            self._pid = pool.submit(os.getpid)
        self._pool = pool
        return pool.submit(_perform, errand, self._threads)

    def answer(self, future: Future[str]) -> str | None:
        """The answer to an errand; None where the process died.

        Raises:
            ConfigError: The process does not even start.
        """
        try:
            return future.result()
        except BrokenProcessPool as error:
            has_started = self._pid is not None and self._pid.exception() is None
            self._false_starts = 0 if has_started else self._false_starts + 1
            self.close()
            if self._false_starts >= _FALSE_STARTS:
                raise ConfigError(
                    "a worker process did not start",
                    'Run with --workers 1; a script that calls a flow needs if __name__ == "__main__".',
                ) from error
            return None

    def close(self) -> None:
        """End the process, whatever it does."""
        pool, pid, self._pool, self._pid = self._pool, self._pid, None, None
        if pool is None:
            return
        if pid is not None:
            with suppress(BrokenProcessPool, TimeoutError, ProcessLookupError):
                os.kill(pid.result(_START_SECONDS), signal.SIGKILL)
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started inside the block; here it is acted on at its end.

    They would set that up themselves, but a terminal sends it to all, and also while they still start.
    """
    resource_tracker.ensure_running()  # its start would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a process that is started inside the block."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(secrets: Mapping[str, str]) -> None:
    """Set up a worker process: Ctrl-C is its parent's business, and it does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # a call's stdout is one document, and none of a worker's
    _secrets.update(secrets)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _perform(errand: str, threads: int) -> str:
    from flows.engine.worker import perform  # heavy: only where the threads are set

    return perform(errand, _secrets, threads)
