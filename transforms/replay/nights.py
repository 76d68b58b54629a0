"""Nights: the instants at which what is due goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
NEVER = 2**63 - 1
"""An instant that does not come, microseconds since 1970."""
DAY_US = 86_400_000_000


@dataclass(frozen=True)
class Nights:
    """One night every so often.

    Args:
        every_us: From one to the next, microseconds.
        offset_us: Since 1970, of any one of them: of daily nights, the time of day in UTC.
    """

    every_us: int = DAY_US
    offset_us: int = 0

    def from_on(self, instants: Whole) -> Whole:
        """The first night at or after each instant, int64; none after ``NEVER``."""
        latest = NEVER - 2 * self.every_us
        reached = np.minimum(instants, latest)
        nights = -((self.offset_us - reached) // self.every_us) * self.every_us + self.offset_us
        return np.where(instants >= latest, NEVER, nights)
