"""Scopes too large to be held: what is refused crowds out nothing that is served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lake.online import held_views
from lake.rights import tombstones
from tests.lake.recalled import NOW, job, land, make_lake, policy, publish, reader
from transforms.subjects import Subject


def test_the_rows_of_who_opted_out_crowd_out_no_others(tmp_path: Path, monkeypatch: Any) -> None:
    lake = make_lake(tmp_path)
    land(lake, *({"content": f"violin {i}", "user_id": "gone"} for i in range(120)))
    land(lake, *({"content": f"violin lesson on day {i} in the hall", "user_id": "u"} for i in range(8)))
    publish(job(lake))
    monkeypatch.setattr(held_views, "MOST_ROWS", 20)
    recall = reader(lake, policy(candidates=10, duplicate_cosine=1.0))
    ask: dict[str, Any] = {"tenant": "t", "tenant_wide": True, "k": 8, "as_of": NOW}
    assert {memory.user_id for memory in recall.search("violin", **ask)} == {"gone"}
    tombstones.place(lake, Subject("t", user="gone"), None, "ab" * 16, mark="opted_out")
    found = recall.search("violin", **ask)
    assert [memory.user_id for memory in found] == ["u"] * 8
