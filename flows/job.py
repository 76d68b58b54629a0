"""What every job is given, and what it gives back."""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import polars as pl

from flows.engine.config import EngineConfig
from flows.engine.crew import Crew
from flows.engine.recipe import Recipe
from flows.progress_meter import COURSE, counted
from flows.stopping import is_stop
from lake import locks, tables
from lake.faults import wrapped
from lake.lake import Lake
from lake.rights.subjects import salt, tenant_hash
from transforms import ids
from transforms.costs import cost_rows
from transforms.embedding import vector_space
from transforms.errors import BusyError, ConfigError, SlowwaveError
from transforms.model_requests import Itemised, Model, Spending
from transforms.policy import Policy
from transforms.schemas import COSTS, RUNS

if TYPE_CHECKING:
    from flows.retain_judged import Judged
    from lake.embedders.protocol import Embedder

State = Literal["done", "unchanged", "failed"]
LOCK = "nightly"
INTERRUPTED = "interrupted"
"""The error of a step that a signal stopped."""
SCRATCH = "scratch"
"""Where a dry night copies the lake to, below the lake, so that whoever looks for what it holds finds it."""


class Progress(Protocol):
    """Where a long job says how far it is."""

    def task(
        self, name: str, total: int | None, unit: str = "rows"
    ) -> AbstractContextManager[Callable[[int], None]]:
        """A task for the block; call what it yields with the count of finished items.

        Args:
            name: Of the task: no id, no name of a file, no content; it goes into logs.
            total: How many there are to be, where that is known; None: it is not.
            unit: What is counted, in the plural.
        """


class Silent:
    """Progress that shows nothing; where it stands is known all the same, for a run that is stopped."""

    def task(
        self, name: str, total: int | None, unit: str = "rows"
    ) -> AbstractContextManager[Callable[[int], None]]:
        """See ``Progress.task``."""
        return counted(name, total, unit)


@dataclass(frozen=True)
class Job:
    """A lake, a policy, an instant and the model: all that a run depends on.

    Args:
        lake: Where to work.
        policy: Every number.
        as_of: The instant the run reasons at.
        make_embedder: Builds the embedder when a step first needs it.
        progress: Where to show how far it is.
        is_dry: Whether the run only says what it would do.
        has_diff: Whether consolidation lists each fact that it changes; a dry run does.
        make_model: Builds the language model that consolidates; None: rules do.
        make_previous: Builds the embedder that is being replaced, whose vectors and index are kept up
            beside; None: there is none.
        spending: What was embedded since the last step was recorded.
        judged: Buckets that decay has judged in this run, by number, for retain to go on from: see
            ``flows.retain_judged``.
        engine: Where its work units run.
        recipe: The job as plain data, for the workers of an engine; None: it runs in this process only.
        crew: Its workers, while there are any.
    """

    lake: Lake
    policy: Policy
    as_of: datetime
    make_embedder: Callable[[], Embedder]
    progress: Progress = field(default_factory=Silent)
    is_dry: bool = False
    has_diff: bool = False
    make_model: Callable[[], Model] | None = None
    make_previous: Callable[[], Embedder] | None = None
    spending: list[Spending] = field(default_factory=list, compare=False)
    judged: dict[int, Judged] = field(default_factory=dict, compare=False)
    engine: EngineConfig = field(default_factory=EngineConfig)
    recipe: Recipe | None = None
    crew: Crew = field(default_factory=Crew, compare=False, repr=False)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model, loaded once."""
        return self.make_embedder()

    @cached_property
    def model(self) -> Model | None:
        """The language model, made once; None where consolidation is by rule."""
        return self.make_model() if self.make_model else None

    @cached_property
    def sides(self) -> tuple[Job, ...]:
        """This job, and the same with the embedder that is being replaced.

        Raises:
            ConfigError: Both are one model.
        """
        if self.make_previous is None:
            return (self,)
        before = replace(self, make_embedder=self.make_previous, make_previous=None)
        if before.space == self.space:
            raise ConfigError(
                f"embedder and embedder.previous are one model, {self.space}",
                "Take section [embedder.previous] out, or name the model that is being replaced.",
            )
        return self, before

    @cached_property
    def space(self) -> str:
        """The vector space of this job's embedder."""
        return vector_space(self.embedder.model_key)


@dataclass
class StepResult:
    """One step's outcome; counts are rows."""

    name: str
    started_at: datetime
    state: State = "done"
    rows_in: int = 0
    rows_out: int = 0
    rejected: int = 0
    duplicates: int = 0
    seconds: float = 0.0
    peak_bytes: int = 0
    tokens: int = 0
    generation: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        keys = (
            "name",
            "state",
            "rows_in",
            "rows_out",
            "rejected",
            "duplicates",
            "seconds",
            "peak_bytes",
            "tokens",
        )
        shown = {key: getattr(self, key) for key in keys}
        return {**shown, "seconds": round(self.seconds, 3), **self.detail}


def peak_bytes() -> int:
    """Peak resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@contextmanager
def step(job: Job, name: str) -> Iterator[StepResult]:
    """Time a step and note its peak memory; one that fails or is stopped goes into the runs ledger."""
    result, start = StepResult(name, datetime.now(UTC)), time.perf_counter()

    def stop() -> None:
        result.seconds = time.perf_counter() - start
        result.peak_bytes = peak_bytes()

    try:
        yield result
        stop()
        COURSE.steps.append(name)
    except BaseException as error:
        if isinstance(error, SlowwaveError) or (is_stop(error) and not job.is_dry):
            stop()
            result.state = "failed"
            with suppress(SlowwaveError):  # the fault may be that nothing can be written
                record(job, result, error=getattr(error, "code", INTERRUPTED))
        raise


@contextmanager
def exclusive(job: Job) -> Iterator[None]:
    """One run at a time on a lake; a second one waits or declines, as ``run.on_busy`` says."""
    run = job.policy.run
    wait = run.busy_wait_seconds if run.on_busy == "wait" else 0.0
    with locks.hold(job.lake, LOCK, wait) as number, job.crew.employed(number):
        _clear_scratch(job.lake)
        yield


def _clear_scratch(lake: Lake) -> None:
    """Remove what a dry night that was killed left; one that runs holds its lock."""
    folder = Path(lake.storage.uri) / SCRATCH
    if lake.is_local and folder.exists():
        with suppress(BusyError), locks.hold(lake, SCRATCH, 0), wrapped("removing a dry run's copy"):
            shutil.rmtree(folder)


def record(
    job: Job,
    result: StepResult,
    *,
    read: Mapping[str, int] | None = None,
    written: Mapping[str, int] | None = None,
    error: str | None = None,
) -> None:
    """Write a step and what it cost into the ledgers, unless it changed nothing and sent nothing."""
    spending = taken_spending(job)
    if result.state == "unchanged" and not any(one.requests or one.input_tokens for one in spending):
        return
    began = result.started_at.isoformat()
    run_id = ids.row_id(job.lake.lake_id, result.name, job.as_of.isoformat(), began)
    _record_costs(job, result, run_id, spending)
    row = {
        "run_id": run_id,
        "step": result.name,
        "state": result.state,
        "as_of_at": job.as_of,
        "started_at": result.started_at,
        "rows_in": result.rows_in,
        "rows_out": result.rows_out,
        "rejected": result.rejected,
        "duplicates": result.duplicates,
        "versions_read": json.dumps(dict(read or {}), sort_keys=True),
        "versions_written": json.dumps(dict(written or {}), sort_keys=True),
        "policy_hash": job.policy.hash(),
        "model_key": job.space if result.name in ("embed", "publish") else None,
        "tokens": result.tokens,
        "seconds": result.seconds,
        "peak_bytes": result.peak_bytes,
        "generation": result.generation,
        "error": error,
    }
    tables.append(job.lake, RUNS, pl.DataFrame([row], schema=RUNS.polars))


def taken_spending(job: Job) -> list[Spending]:
    """What was sent to models since the last step was recorded; each is given once."""
    found = list(job.spending)
    job.spending.clear()
    model = vars(job).get("model")  # not made here where nothing was asked of it
    return [*found, *(model.take_spending() if isinstance(model, Itemised) else [])]


def hashed(one: Spending, key: bytes) -> Spending:
    """The same spending without the tenant's id, by the lake's salt."""
    return replace(one, tenant_id=tenant_hash(key, one.tenant_id), is_hashed=True)


def _record_costs(job: Job, result: StepResult, run_id: str, spending: Sequence[Spending]) -> None:
    """Write the costs of a step, a row a tenant, model, task and mode; before its run, which names them."""
    if not spending:
        return
    key = salt(job.lake)
    named = [one if one.is_hashed else hashed(one, key) for one in spending]
    hashes = {one.tenant_id: one.tenant_id for one in named}
    rows = cost_rows(named, hashes, run_id=run_id, step=result.name, as_of=job.as_of, at=result.started_at)
    tables.append(job.lake, COSTS, rows)
