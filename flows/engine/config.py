"""Where the work units of a job run: here, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from transforms.errors import ConfigError

Kind = Literal["local", "dask"]


class EngineConfig(BaseModel):
    """Section ``[engine]``: it says where and how many at once, never what comes out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind = "local"
    """``local``: this process, or processes of this machine; ``dask``: the workers of a Dask cluster. Where
    only a ``scheduler`` is given it is ``dask``."""
    workers: int = Field(default=1, ge=1, le=1024)
    """Units at once; 1 with ``local`` runs them in this process. With ``dask`` and a scheduler it is the
    cluster that says."""
    threads: int | None = Field(default=None, ge=1, le=1024)
    """Threads of Polars and the tokenizer in a worker process; none: the cores of the machine shared out."""
    scheduler: str | None = None
    """Address of the Dask scheduler, such as ``tls://scheduler.internal:8786``; none: the scheduler and
    ``workers`` worker processes are started on this machine for the run."""
    retries: int = Field(default=2, ge=0, le=100)
    """How often a unit is tried again after its worker died."""
    wait_seconds: float = Field(default=60.0, gt=0, le=86_400)
    """dask: how long to wait for the scheduler and for a worker, at the start and where all have gone."""
    least_rows: int = Field(default=5_000, ge=0, le=10**12)
    """local: fewer rows than this are quicker done in this process than a worker is started."""

    @model_validator(mode="before")
    @classmethod
    def _of_a_scheduler(cls, given: Any) -> Any:
        """A scheduler is Dask's: one that is named is never left aside in silence."""
        is_told = isinstance(given, dict) and given.get("scheduler") and "kind" not in given
        return {**given, "kind": "dask"} if is_told else given


def require_installed(engine: EngineConfig) -> None:
    """Refuse an engine that this installation lacks, before anything is run.

    Raises:
        ConfigError: Dask is asked for, and is not installed.
    """
    if engine.kind == "dask" and find_spec("distributed") is None:
        raise ConfigError(
            'engine.kind = "dask" needs Dask, which is not installed',
            "Install it: pip install '/path/to/slowwave[cluster]', with the path of the checkout.",
        )
