"""Between a run and its workers: a unit with all that it needs, and its end; JSON, without content."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from flows.engine.recipe import Recipe
from flows.engine.units import Done, Failure, Unit
from transforms.model_requests import Spending

if TYPE_CHECKING:
    from flows.job import Job


@dataclass(frozen=True)
class Errand:
    """A unit on its way to a worker.

    Attributes:
        recipe: Of the job.
        policy: As JSON: a run may have set others than the configuration does.
        unit: What to do.
        lock: Held while it is done, so that a worker that was given up and its successor take turns.
        token: Of the lake's lock that the run holds; None: it holds none.
        version: Of this program.
    """

    recipe: Recipe
    policy: str
    unit: Unit
    lock: str
    token: int | None
    version: str

    def dumps(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))


def loads(text: str) -> Errand:
    """The errand of ``Errand.dumps``."""
    told = json.loads(text)
    recipe, unit = told.pop("recipe"), told.pop("unit")
    return Errand(
        Recipe(**{**recipe, "keyed": tuple(recipe["keyed"])}),
        unit=Unit(**{**unit, "buckets": tuple(unit["buckets"])}),
        **told,
    )


def errands_of(job: Job, recipe: Recipe, units: Sequence[Unit], version: str) -> list[str]:
    """Errands of units, as JSON."""
    recipe = replace(recipe, as_of=job.as_of.isoformat())
    policy = job.policy.model_dump_json()
    seen: Counter[str] = Counter()
    made = []
    for unit in units:
        # By first bucket and place in it: as few names as there are units at once, and no id.
        name = f"unit-{unit.task}-{unit.buckets[0] if unit.buckets else 'all'}"
        made.append(Errand(recipe, policy, unit, f"{name}-{seen[name]}", job.crew.token, version).dumps())
        seen[name] += 1
    return made


@dataclass(frozen=True)
class Answer:
    """The end of an errand.

    Attributes:
        result: What the unit gave back.
        failure: Why it failed.
        ends_run: Whether the failure is one that every other unit would meet, too.
        spending: At models; of tenants by their hash.
    """

    result: dict[str, Any] | None = None
    failure: Failure | None = None
    ends_run: bool = False
    spending: tuple[Spending, ...] = ()

    def dumps(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    def done(self, unit: Unit) -> Done:
        """As the end of its unit."""
        return Done(unit, self.result, self.failure)


def answered(text: str) -> Answer:
    """The answer of ``Answer.dumps``."""
    told = json.loads(text)
    failure = told["failure"]
    return Answer(
        told["result"],
        None if failure is None else Failure(**failure),
        told["ends_run"],
        tuple(Spending(**one) for one in told["spending"]),
    )
