"""What a purge of the index is told, and what it says it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl


@dataclass(frozen=True)
class IndexPurged:
    """What a purge did.

    Attributes:
        generation: The live generation now; None where there is no index.
        rows_before: Rows of the generation that was live.
        rows_removed: Rows that went.
        rows_added: Rows that came.
        rows_after: Rows of the live generation.
        tables_linked: Tables that held none of the rows.
        tables_rewritten: Tables that did.
        tables_removed: Tables of their own scope of which nothing is left.
        files_linked: Files that were linked or copied.
        bytes_rewritten: Bytes of new files.
        generations_removed: All others: kept ones, those rolled back from, and strays.
        files_removed: Their files; those that were linked into the new generation live on there.
        bytes_removed: Bytes of these files.
        seconds: Time it took.
        checks: What the checks of the new generation say.
    """

    generation: str | None = None
    rows_before: int = 0
    rows_removed: int = 0
    rows_added: int = 0
    rows_after: int = 0
    tables_linked: int = 0
    tables_rewritten: int = 0
    tables_removed: int = 0
    files_linked: int = 0
    bytes_rewritten: int = 0
    generations_removed: int = 0
    files_removed: int = 0
    bytes_removed: int = 0
    seconds: float = 0.0
    checks: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For certificates and ``--json``."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}


@dataclass(frozen=True)
class Replaced:
    """What a purged generation gets: rows with vectors of its space, and what it stands for from now on."""

    add: pl.DataFrame | None = None
    inputs: Mapping[str, Any] | None = None
