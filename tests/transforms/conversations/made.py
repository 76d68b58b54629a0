"""Sessions, written as they are read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl

from tests.transforms.summaries.made import NOON, episodes


def session(*rows: tuple[str, str] | dict[str, Any], name: str = "s", **columns: Any) -> pl.DataFrame:
    """Turns of one session, a minute apart: (role, content), or columns."""
    named = [{"role": r[0], "content": r[1]} if isinstance(r, tuple) else r for r in rows]
    turns = [
        {
            "event_at": NOON + timedelta(minutes=at),
            "ingested_at": NOON + timedelta(hours=1),
            "session_id": name,
            **columns,
            **row,
        }
        for at, row in enumerate(named)
    ]
    return episodes(*turns, prefix=f"{name}-").drop("topic_id", "vector")
