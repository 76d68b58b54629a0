"""Numbers of upkeep: how many small files a table may have, and how long its log is kept."""

from __future__ import annotations

from pydantic import Field

from transforms.policy_entries import Section


class UpkeepPolicy(Section):
    """Files of tables, merged and removed at the end of a night; only partitions that need it are touched."""

    partition_files: int = Field(4, ge=1, le=100_000)
    """Small files that a partition of a table may have; with more, the smallest are merged."""
    small_file_bytes: int = Field(8_000_000, ge=1, le=1_000_000_000_000)
    """A smaller data file is a small one. A larger one is never written again for its size."""
    merge_bytes: int = Field(32_000_000, ge=1, le=1_000_000_000_000)
    """Bytes of files that are merged at once, and into one: more means fewer files, and seven times as much
    memory or more."""
    merge_factor: float = Field(2.0, ge=1, le=1_000)
    """A file joins a merge that is due while it is no larger than so many times the smaller ones together."""
    step_files: int = Field(64, ge=2, le=1_000_000)
    """Small files of a partition from which on a step merges them at once, before the night ends."""
    checkpoint_commits: int = Field(20, ge=1, le=1_000_000)
    """Commits after which a table's log gets a checkpoint; opening a table reads what came after it."""
    log_after_hours: int = Field(720, ge=0, le=876_000)
    """Entries of a table's log older than this, and than `ingest.vacuum_after_hours`, go, up to the last
    checkpoint before them. A job that has not run for longer than this begins anew."""
