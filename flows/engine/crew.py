"""The workers that a run employs: started when the first units need them, dismissed when the run ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from flows.engine.config import EngineConfig


class Workers(Protocol):
    """Processes that do errands (``flows.engine.errands``), here or elsewhere."""

    def run(self, errands: list[str]) -> Iterator[tuple[int, str | None]]:
        """Do errands in no certain order.

        Args:
            errands: Each as JSON.

        Yields:
            The place of an errand, and its answer as JSON; None: its worker died of it, each time.
        """

    def close(self) -> None:
        """End them; what they are in the middle of is broken off."""


def given_out(
    errands: Sequence[str], do: Callable[[Sequence[str]], Iterator[tuple[int, str | None]]], retries: int
) -> Iterator[tuple[int, str | None]]:
    """``Workers.run`` by what does errands once: those that a worker died of come again, alone, at the end.

    Args:
        errands: Each as JSON.
        do: Gives place and answer of each; None: its worker died.
        retries: How often an errand is tried again.
    """
    lost: list[int] = []
    for place, answer in do(errands):
        if answer is None:
            lost.append(place)
        else:
            yield place, answer
    for place in lost:
        yield place, _alone(errands[place], do, retries)


def _alone(
    errand: str, do: Callable[[Sequence[str]], Iterator[tuple[int, str | None]]], retries: int
) -> str | None:
    for _ in range(retries):
        [(_, answer)] = do([errand])
        if answer is not None:
            return answer
    return None


class Crew:
    """Workers of one run, shared by all copies of its job.

    Args:
        secrets: Keys of services by place (``flows.engine.recipe``), for workers on this machine.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self.secrets = dict(secrets or {})
        self.token: int | None = None
        self._workers: Workers | None = None
        self._is_employed = False

    @contextmanager
    def employed(self, token: int) -> Iterator[None]:
        """Keep workers, once there are any, until the end of the block.

        Args:
            token: Of the lake's lock, which the run holds meanwhile.
        """
        self.token, self._is_employed = token, True
        try:
            yield
        finally:
            self.token, self._is_employed = None, False
            self.dismiss()

    @contextmanager
    def at_work(self, engine: EngineConfig) -> Iterator[Workers]:
        """The workers, started where there are none yet; a block that breaks off ends them."""
        if self._workers is None:
            self._workers = _started(engine, self.secrets)
        is_whole = False
        try:
            yield self._workers
            is_whole = True
        finally:
            if not (is_whole and self._is_employed):
                self.dismiss()

    def dismiss(self) -> None:
        """End the workers."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()


def _started(engine: EngineConfig, secrets: Mapping[str, str]) -> Workers:
    if engine.kind == "dask":
        from flows.engine.cluster import Cluster

        return Cluster(engine)
    from flows.engine.processes import Processes

    return Processes(engine, secrets)
