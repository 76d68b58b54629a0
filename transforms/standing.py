"""What a subject has asked for that holds until it is taken back: pins, holds, opt-outs, periods, topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from transforms.subjects import Subject

MIN_PERIOD_SECONDS = 30 * 86_400
"""Shortest retention period a person can ask for."""


@dataclass(frozen=True)
class Standing:
    """All standing instructions of one subject.

    Args:
        subject: Whose; pins stand with the tenant's, user's or agent's own record.
        is_held: Legal hold: nothing of the subject is removed while it stands.
        is_opted_out: Nothing of the subject is remembered from ``opted_out_at`` on.
        opted_out_at: When it opted out.
        period_seconds: Own retention period; caps every tier.
        forbidden_topics: Words or phrases; what mentions one is never stored.
        pinned: Ids of memories kept whatever their decay.
    """

    subject: Subject
    is_held: bool = False
    is_opted_out: bool = False
    opted_out_at: datetime | None = None
    period_seconds: int | None = None
    forbidden_topics: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands any more."""
        return not (
            self.is_held or self.is_opted_out or self.period_seconds or self.forbidden_topics or self.pinned
        )


PERIODS_SCHEMA = pl.Schema({"tenant_id": pl.String, "user_id": pl.String, "period_seconds": pl.Int64})
PINS_SCHEMA = pl.Schema({"tenant_id": pl.String, "memory_id": pl.String})


def periods(standing: Iterable[Standing]) -> pl.DataFrame:
    """``PERIODS_SCHEMA``: the retention period of each person that asked for one."""
    rows = [
        (one.subject.tenant, one.subject.user, one.period_seconds)
        for one in standing
        if one.subject.kind == "user" and one.period_seconds
    ]
    return pl.DataFrame(rows, schema=PERIODS_SCHEMA, orient="row").sort("tenant_id", "user_id")


def pins(standing: Iterable[Standing]) -> pl.DataFrame:
    """``PINS_SCHEMA``: every pinned memory."""
    rows = [(one.subject.tenant, memory) for one in standing for memory in one.pinned]
    return pl.DataFrame(rows, schema=PINS_SCHEMA, orient="row").unique().sort("tenant_id", "memory_id")


def held(standing: Iterable[Standing]) -> list[Subject]:
    """Subjects under legal hold."""
    return [one.subject for one in standing if one.is_held]


def is_held(holds: Iterable[Subject], key: str | None = None) -> pl.Expr:
    """Whether a row with the scope columns is under a hold; never null.

    Args:
        holds: From ``held``.
        key: Column with the row's own id, for holds on one memory.
    """
    found = [pl.lit(False)]
    for subject in holds:
        if subject.memory is None:
            found.append(subject.owns())
        elif key is not None:
            found.append((pl.col("tenant_id") == subject.tenant) & (pl.col(key) == subject.memory))
    return pl.any_horizontal(found).fill_null(False)
