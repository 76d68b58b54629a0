"""Scenarios of load: what a planner may change, read from a file or taken as they come with the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from transforms.errors import UsageError
from transforms.policy_entries import Name, Section, Share

MOST_MEMORIES = 10**13
Quantisation = Literal["float32", "float16", "int8", "pq"]


class Scenario(Section):
    """One load. What is left out is taken from the lake, where it can be measured."""

    name: Name = Field(max_length=80)
    """What it is called in the report."""
    agents: int = Field(ge=1, le=10**9)
    """Agents at work."""
    writes_per_minute: float = Field(ge=0, le=10**6)
    """Of one agent, on average."""
    records_per_write: float = Field(3.0, gt=0, le=10**4)
    """Memories that one write leaves."""
    recalls_per_minute: float = Field(ge=0, le=10**6)
    """Of one agent, on average."""
    retention_days: float = Field(90.0, gt=0, le=36_500)
    """How long a memory is kept, on average."""
    memories: int | None = Field(None, ge=1, le=MOST_MEMORIES)
    """Memories held; none: as many as come within the retention."""
    indexed_ratio: Share | None = None
    """Share of the memories held that recall serves; none: as in the lake."""
    dimensions: int | None = Field(None, ge=1, le=100_000)
    """Of a vector; none: as in the lake."""
    quantisation: Quantisation = "float16"
    """How vectors are held in the index."""
    replicas: int = Field(0, ge=0, le=100)
    """Copies of the readers and their index beside the first."""
    peak_ratio: float | None = Field(None, ge=1, le=1_000)
    """Busiest hour over the mean; none: as in the lake, else as in the policy."""
    concurrency: int | None = Field(None, ge=1, le=10**7)
    """Searches at once that readers must take; none: as many as the load makes."""
    logged_ratio: Share | None = None
    """Share of recalls that are logged; none: as in the policy."""
    buckets: int | None = Field(None, ge=1, le=1_024)
    """Tenant buckets of the lake; none: 16 up to 50 million memories, else 64."""

    @model_validator(mode="after")
    def _is_countable(self) -> Self:
        if self.held > MOST_MEMORIES:
            raise ValueError(
                f"agents x writes_per_minute x records_per_write x retention_days come to {self.held:.3g}"
                f" memories, more than {MOST_MEMORIES:.0e}"
            )
        return self

    @property
    def records_per_day(self) -> float:
        """Memories that come a day."""
        return self.agents * self.writes_per_minute * self.records_per_write * MINUTES_A_DAY

    @property
    def held(self) -> float:
        """Memories held."""
        return float(self.memories or self.records_per_day * self.retention_days)


MINUTES_A_DAY = 1_440
PLANNING = "planning figures"
"""The figures that the service levels are about: 1 billion memories of 10,000 agents."""


def built_in(now: Scenario | None, dimensions: int) -> tuple[Scenario, ...]:
    """Scenarios of a planner who brings none.

    Args:
        now: The load of the lake; None where it is not known.
        dimensions: Of the vectors that the planning figures are about.

    Returns:
        The load as it is, ten times its agents, ten times with half the retention; and the planning figures,
        with a log of one recall in a hundred: as stated, with a product quantiser, with vectors as those of
        the lake, and kept 90 days in place of the 23 in which a billion memories have come.
    """
    own: tuple[Scenario, ...] = ()
    if now is not None:
        tenfold = now.model_copy(update={"name": "10 x agents", "agents": now.agents * 10})
        half = {"name": "10 x agents, half the retention", "retention_days": now.retention_days / 2}
        own = (now, tenfold, tenfold.model_copy(update=half))
    planning = Scenario(
        name=PLANNING,
        agents=10_000,
        writes_per_minute=1.0,
        records_per_write=3.0,
        recalls_per_minute=2.0,
        memories=1_000_000_000,
        indexed_ratio=0.3,
        dimensions=dimensions,
        replicas=1,
        peak_ratio=1.0,
        logged_ratio=0.01,
    )
    others: dict[str, dict[str, Any]] = {
        "pq": {"quantisation": "pq"},
        "vectors as here": {"dimensions": None},
        "vectors as here, kept 90 days": {"dimensions": None, "memories": None},
    }
    varied = (
        planning.model_copy(update={"name": f"{PLANNING}, {n}", **change}) for n, change in others.items()
    )
    return (*own, planning, *varied)


def parsed(document: Mapping[str, Any], where: str) -> tuple[Scenario, ...]:
    """Scenarios of a file: one ``[[scenario]]`` each.

    Args:
        document: The file as TOML has it.
        where: Its name, for errors.

    Raises:
        UsageError: There is none, a key is unknown or missing, a value is out of its range, or two have
            one name; every fault is told.
    """
    unknown = sorted(set(document) - {"scenario"})
    entries = document.get("scenario")
    if unknown or not isinstance(entries, list) or not entries:
        told = f"{where} has {', '.join(unknown)}" if unknown else f"{where} has no scenario"
        raise UsageError(told, "Give one [[scenario]] each; docs/capacity.md shows a file.")
    found: list[Scenario] = []
    faults: list[str] = []
    for number, entry in enumerate(entries, 1):
        try:
            found.append(Scenario.model_validate(entry))
        except ValidationError as error:
            faults += [f"scenario {number}: {fault}" for fault in _faults(error)]
    names = [scenario.name for scenario in found]
    faults += [f"{name} is there twice" for name in sorted({n for n in names if names.count(n) > 1})]
    if faults:
        raise UsageError(f"{where}: {'; '.join(faults)}", "docs/capacity.md lists the keys of a scenario.")
    return tuple(found)


def _faults(error: ValidationError) -> Sequence[str]:
    return [f"{'.'.join(map(str, e['loc'])) or 'entry'}: {e['msg']}" for e in error.errors()]
