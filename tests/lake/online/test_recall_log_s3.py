"""The recall log on a real object store."""

from __future__ import annotations

from typing import Any

import pytest

from lake import recall_segments
from lake.lake import init_lake
from lake.rights import tombstones
from tests.lake.online.recalls import ME, fold, lines, logging, notes, publish_now, recalls, say
from transforms.subjects import Subject

pytestmark = pytest.mark.server


def test_calls_are_logged_folded_and_taken_back(
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = init_lake(f"{bucket}/logged", 2)
    say(lake, *notes(4))
    publish_now(lake)
    reader = logging(lake)
    answer = reader.search("violin", **ME, k=2)
    reader.used([answer[0].id], tenant="t", call_id=answer.call_id)
    reader.flush()
    assert [next(iter(line)) for line in lines(lake)] == ["recalls", "used"]
    assert fold(lake) == {"recalls": 4, "used": 1}
    assert recalls(lake).filter("is_used")["memory_id"].to_list() == [answer[0].id]
    assert lake.storage.entries(recall_segments.PREFIX) == []

    # A subject erased between the look-up and the put: what was put is taken back.
    reader.search("violin", **ME, k=2)
    real = type(lake.storage).write

    def erased_meanwhile(storage: Any, key: str, data: bytes) -> None:
        real(storage, key, data)
        if key.startswith(recall_segments.PREFIX):
            tombstones.place(lake, Subject("t", "u"), None, "ab" * 16)

    monkeypatch.setattr(type(lake.storage), "write", erased_meanwhile)
    reader.flush()
    assert lake.storage.entries(recall_segments.PREFIX) == []
    assert reader.log_stats().refused == 1
