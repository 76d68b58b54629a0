"""Episodes that carry their claims as data, and those whose words are to be read."""

from __future__ import annotations

import polars as pl

from transforms.claims.corrections import corrected, without_corrections
from transforms.claims.imported import remembered, without_memories
from transforms.policy import Policy


def to_be_read(episodes: pl.DataFrame) -> pl.DataFrame:
    """All but corrections of facts and memories of other stores."""
    return without_memories(without_corrections(episodes))


def told(episodes: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """``CANDIDATES`` of corrections and of memories of other stores."""
    return pl.concat([corrected(episodes), remembered(episodes, policy)])
