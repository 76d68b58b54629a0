"""The steps there are. A new version of the lake is a new line here, and a module that does it."""

from __future__ import annotations

from lake.lake import VERSION, Lake
from lake.migrations import columns
from lake.migrations.step import Step

STEPS: tuple[Step, ...] = (
    Step(
        1,
        2,
        "Brings every table to the columns of this version: adds nullable columns, changes no row.",
        columns.plan,
        columns.apply,
    ),
)
_MEND = Step(
    VERSION,
    VERSION,
    "Adds nullable columns that tables of this version lack, as after a test of a newer slowwave.",
    columns.plan,
    columns.apply,
)


def steps_from(lake: Lake, version: int) -> list[Step]:
    """Steps that lead from a version to this one; of a lake of this version, what mends its tables."""
    wanted = sorted((step for step in STEPS if step.from_version >= version), key=lambda s: s.from_version)
    if wanted:
        return wanted
    return [_MEND] if columns.plan(lake) else []
