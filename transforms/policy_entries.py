"""The types of policy fields: closed sets of names, lifetimes that may be ``never``, and shares."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from transforms.redact_rules import CREDENTIAL_KINDS
from transforms.redact_rules import KINDS as REDACTED_KINDS
from transforms.schemas import KINDS

MEMORY_TIERS = ("working", "semantic", "episodic", "procedural")
MEMORY_KINDS = (*KINDS, "preference", "fact", "procedure", "lesson", "pattern")
"""Kinds that a half-life may be set for: those of episodes, and those distilled from them."""
NEVER = "never"
YEAR_SECONDS = 365 * 86_400
CENTURY_SECONDS = 100 * YEAR_SECONDS
"""Longest span a policy may name: any longer, and event time plus span could leave the calendar."""
CENTURY_DAYS = 36_500.0
MOMENT_DAYS = 0.001
"""Shortest half-life, about 86 seconds: age over half-life stays a finite number."""


class Section(BaseModel):
    """Closed, frozen, and strict: ``true`` or ``"5"`` is no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def one_of(known: Iterable[str]) -> AfterValidator:
    """A check that a name is among the known ones; its error carries them as ``known``."""
    names = sorted(known)

    def check(name: str) -> str:
        if name not in names:
            told = "unknown name {name}, known are {known}"
            raise PydanticCustomError("unknown_name", told, {"name": name, "known": ", ".join(names)})
        return name

    return AfterValidator(check)


def _never(value: object) -> object:
    if isinstance(value, str) and value != NEVER:
        raise PydanticCustomError("not_never", 'Input should be a number or "never"')
    return None if value == NEVER else value


def _instant(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise PydanticCustomError("no_zone", "Input should have a time zone, such as 2000-01-01T00:00:00Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("out_of_calendar", "Input should lie in the calendar of UTC") from None


Kind = Annotated[str, one_of(KINDS)]
MemoryKind = Annotated[str, one_of(MEMORY_KINDS)]
MemoryTier = Annotated[str, one_of(MEMORY_TIERS)]
KeptKind = Annotated[str, one_of(set(REDACTED_KINDS) - CREDENTIAL_KINDS)]
Name = Annotated[str, Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Instant = Annotated[datetime, AfterValidator(_instant), Field(strict=False)]
Lifetime = Annotated[int | None, BeforeValidator(_never)]
Days = Annotated[float | None, BeforeValidator(_never)]
HalfLife = Annotated[float | None, Field(ge=MOMENT_DAYS, le=CENTURY_DAYS), BeforeValidator(_never)]
