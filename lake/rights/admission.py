"""What may be kept of rows right now: not of an erased or opted-out subject, not on a forbidden topic.

Of a row that is turned away nothing is kept, not even in quarantine: its reason and a count are all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from lake.lake import Lake
from lake.rights import standing, tombstones
from lake.rights.refusals import scope_of
from lake.rights.tombstones import Tombstones
from transforms.standing import Standing
from transforms.topics_forbidden import forbidden, is_forbidden

FORBIDDEN_TOPIC = "forbidden_topic"
DETAILS = {
    "erased_subject": "The subject was erased; nothing of the row was kept.",
    "opted_out": "The subject opted out; nothing of the row was kept.",
    FORBIDDEN_TOPIC: "The row mentions a topic its subject has forbidden; nothing of it was kept.",
}


@dataclass(frozen=True)
class Admission:
    """Tombstones, and the instructions that forbid topics, as they stood at one instant."""

    tombstones: Tombstones
    forbidding: tuple[Standing, ...]

    @property
    def is_open(self) -> bool:
        """Whether every row may be kept."""
        return not (self.tombstones or self.forbidding)

    def reasons(self, frame: pl.DataFrame) -> pl.Series:
        """Why each row of episodes or quarantine is turned away; null where it may be kept.

        Args:
            frame: ``schemas.EPISODES`` or ``schemas.QUARANTINE``. A quarantined row has no time of its
                own: it is refused where anything of its subject is.
        """
        marks = self.tombstones.marks(frame).alias("reason")
        if not self.forbidding:
            return marks
        is_forbidden = forbidden(frame, self.forbidding)
        reason = pl.when(is_forbidden).then(pl.lit(FORBIDDEN_TOPIC))
        return pl.select(pl.coalesce(marks, reason).alias("reason")).to_series()

    def reason(self, row: Mapping[str, Any]) -> str | None:
        """``reasons`` of one row as plain values, for the online path."""
        mark = self.tombstones.mark_of(scope_of(row), row.get("event_at"), row.get("episode_id"))
        if mark is None and self.forbidding and is_forbidden(row, self.forbidding):
            return FORBIDDEN_TOPIC
        return mark

    def may_change(self, reason: str) -> bool:
        """Whether a row turned away for the reason may be let in later, when its subject takes it back."""
        return reason != "erased_subject" or self.tombstones.has_open


def admission(lake: Lake) -> Admission:
    """What holds now.

    Raises:
        LakeError: A tombstone or an instruction is damaged: nothing is let in against it.
    """
    held = standing.load_all(lake)
    return Admission(tombstones.load(lake), tuple(one for one in held if one.forbidden_topics))
