"""What waits in segments: how much, and since when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lake import landing, recall_segments
from lake.lake import init_lake
from lake.waiting import Waiting, waiting
from tests.flows.lakes import AS_OF, row

NAMES = ("ingested_at", "quarantined_at")


def test_nothing_waits_in_a_new_lake(tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / "lake"), 2)
    assert waiting(lake, landing.PREFIX, NAMES) == Waiting(0, 0, None)


def test_the_oldest_row_counts_wherever_it_lies(tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / "lake"), 4)
    for n, tenant in enumerate("abcdefgh"):
        at = AS_OF - timedelta(hours=n)
        landing.append(lake, [row(n, tenant_id=tenant, event_at="2026-06-01T10:00:00Z")], now=at)
    found = waiting(lake, landing.PREFIX, NAMES)
    sizes = [entry.size_bytes for entry in lake.storage.entries(landing.PREFIX)]
    assert (found.segments, found.size_bytes) == (len([s for s in sizes if s]), sum(sizes))
    firsts: dict[int, int] = {}
    for n, tenant in enumerate("abcdefgh"):
        firsts.setdefault(lake.bucket(tenant), n)
    assert found.oldest_at == AS_OF - timedelta(hours=max(firsts.values()))  # each segment's first line


@pytest.mark.parametrize("line", [b"", b"{\n", b"[]\n", b'{"a": 1}\n', b'{"episodes": {"ingested_at": 7}}\n'])
def test_a_line_that_is_none_dates_nothing(tmp_path: Path, line: bytes) -> None:
    lake = init_lake(str(tmp_path / "lake"), 2)
    lake.storage.write("landing/000/sealed-1.jsonl", line)
    assert waiting(lake, landing.PREFIX, NAMES) == Waiting(int(bool(line)), len(line), None)


def test_an_instant_without_a_zone_is_utc(tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / "lake"), 2)
    lake.storage.write(
        "recall_log/000/sealed-1.jsonl", b'{"recalls": {"recalled_at": "2026-06-01T10:00:00"}}\n'
    )
    found = waiting(lake, recall_segments.PREFIX, ["recalled_at"])
    assert found.oldest_at == datetime(2026, 6, 1, 10, tzinfo=UTC)
