"""A Dask scheduler and workers on this machine, for the time of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flows.engine.config import EngineConfig
from flows.engine.processes import deaf_children, thread_variables, threads_of
from transforms.errors import EndpointError

if TYPE_CHECKING:
    from distributed import LocalCluster

_LOOPBACK = "127.0.0.1"
_STARTS = 2
"""A worker may be killed as it starts, as at any other time."""


def started(engine: EngineConfig) -> LocalCluster:
    """Scheduler and workers of this machine.

    Raises:
        EndpointError: They do not start.
    """
    for _ in range(_STARTS):
        try:
            return _local_cluster(engine)
        except (RuntimeError, OSError, TimeoutError) as error:  # one of them was killed meanwhile, perhaps
            fault = error
    raise EndpointError(
        f"the Dask workers of this machine do not start: {type(fault).__name__}",
        "Look at its memory and its limits for processes and ports, then run again; or use --engine local.",
    ) from fault


def _local_cluster(engine: EngineConfig) -> LocalCluster:
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    threads = thread_variables(threads_of(engine))
    told: dict[str, Any] = {
        # A death fails what ran there at once: it is tried again alone, by us.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.nanny.pre-spawn-environ": threads,
        "distributed.admin.low-level-log-length": 0,
    }
    with dask.config.set(told), deaf_children():
        return LocalCluster(
            n_workers=engine.workers,
            threads_per_worker=1,
            processes=True,
            host=_LOOPBACK,
            security=Security.temporary(),  # any user of this machine reaches loopback
            dashboard_address=f"{_LOOPBACK}:0",
            worker_dashboard_address=f"{_LOOPBACK}:0",
            memory_limit=0,
            preload=["flows.engine.preload"],
            silence_logs=40,
        )
