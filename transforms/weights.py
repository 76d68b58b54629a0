"""Weights of the five factors of a score: three published presets, or numbers of one's own.

A preset of three or two factors gives the others the weight 0, so every score is the same sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from transforms.errors import UsageError
from transforms.policy_entries import Section, Share

OWN = "own"
"""Name of weights that are no preset."""


class Weights(Section):
    """One weight a factor, 0 to 1, in all 1; a factor left out weighs nothing."""

    relevance: Share = 0.0
    recency: Share = 0.0
    importance: Share = 0.0
    frequency: Share = 0.0
    type: Share = 0.0

    @model_validator(mode="after")
    def _sum_to_one(self) -> Weights:
        total = sum(self.values())
        if abs(total - 1.0) > 1e-6:
            told = {"total": f"{total:.4g}"}
            raise PydanticCustomError("no_sum", "the weights sum to {total}, not 1", told)
        return self

    def values(self) -> tuple[float, float, float, float, float]:
        """In the order of ``scoring.FACTORS``."""
        return self.relevance, self.recency, self.importance, self.frequency, self.type


PRESETS: dict[str, Weights] = {
    "five": Weights(relevance=0.35, recency=0.20, importance=0.20, frequency=0.10, type=0.15),
    "three": Weights(relevance=0.6, recency=0.2, importance=0.2),
    "two": Weights(relevance=0.7, recency=0.3),
}


def _chosen(value: object) -> object:
    """A preset's name, or ``Weights`` of a table of numbers; a wrong one in one plain sentence."""
    if isinstance(value, str):
        if value not in PRESETS:
            told = {"name": value, "known": ", ".join(PRESETS)}
            raise PydanticCustomError("unknown_name", "unknown name {name}, known are {known}", told)
        return value
    if not isinstance(value, Mapping):
        return value
    try:
        return Weights.model_validate(dict(value))
    except ValidationError as error:
        faults = [_told(fault) for fault in error.errors(include_input=False, include_url=False)]
        raise PydanticCustomError("weights", "{faults}", {"faults": "; ".join(faults)}) from error


def _told(fault: Any) -> str:
    name = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"no factor is called {name}, known are {', '.join(Weights.model_fields)}"
    return f"{name}: {fault['msg']}" if name else str(fault["msg"])


Choice = Annotated[str | Weights, BeforeValidator(_chosen)]
"""A preset's name, or one's own numbers."""


def weights_of(choice: str | Weights | Mapping[str, float]) -> Weights:
    """The numbers of a choice.

    Raises:
        UsageError: It names no preset, or its numbers are none that sum to 1.
    """
    if isinstance(choice, Weights):
        return choice
    if isinstance(choice, str) and choice in PRESETS:
        return PRESETS[choice]
    remedy = f"Name one of {', '.join(PRESETS)}, or give numbers of the factors that sum to 1."
    if not isinstance(choice, Mapping):
        raise UsageError(f"there are no weights {ascii(choice)[:40]}", remedy)
    try:
        return Weights.model_validate(dict(choice))
    except ValidationError as error:
        raise UsageError(f"the weights are wrong: {_told(error.errors()[0])}", remedy) from error


def told_of(weights: Weights) -> str:
    """How weights are named in the log of recalls: the preset, else its numbers."""
    for name, preset in PRESETS.items():
        if preset == weights:
            return name
    return f"{OWN}:" + "/".join(repr(value) for value in weights.values())


def told_weights(told: str) -> Weights:
    """The weights that ``told_of`` named.

    Raises:
        UsageError: It is no such name.
    """
    if told in PRESETS:
        return PRESETS[told]
    try:
        names = ("relevance", "recency", "importance", "frequency", "type")
        numbers = [float(part) for part in told.removeprefix(f"{OWN}:").split("/")]
        return Weights(**dict(zip(names, numbers, strict=True)))
    except ValueError as error:
        raise UsageError("a logged call names no weights", "The log was changed by hand.") from error
