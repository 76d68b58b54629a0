"""The fresh tail: what it reads, what it keeps, and what it leaves to others."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lake import landing
from lake.fresh import FreshTail
from lake.lake import Lake
from lake.scope import Scope
from lake.storage import LocalStorage
from lake.tables import version
from tests.lake.recalled import NOW, ingest, job, land, make_lake, reader
from transforms.policy import Policy
from transforms.policy_recall import RecallPolicy
from transforms.schemas import EPISODES

ME = Scope("t", "u")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def texts(frame: pl.DataFrame | None) -> list[str]:
    return [] if frame is None else frame["content"].to_list()


def test_nothing_fresh_is_none_and_lists_no_table(lake: Lake) -> None:
    assert FreshTail(lake, Policy()).episodes(ME, -1) is None


def test_landed_then_ingested_rows_are_met_once(lake: Lake) -> None:
    tail = FreshTail(lake, Policy())
    land(lake, {"content": "one"})
    assert texts(tail.episodes(ME, -1)) == ["one"]
    ingest(job(lake))
    land(lake, {"content": "two", "event_at": NOW.isoformat()}, {"content": "one"})
    assert texts(tail.episodes(ME, -1)) == ["two", "one"]
    now = version(lake, EPISODES)
    assert sorted(texts(tail.episodes(ME, now))) == ["one", "two"], "both are landed"
    ingest(job(lake))
    assert texts(tail.episodes(ME, now)) == ["two"]
    assert tail.episodes(ME, version(lake, EPISODES)) is None


def test_the_same_frame_comes_back_while_nothing_of_the_scope_changes(lake: Lake) -> None:
    tail = FreshTail(lake, Policy())
    land(lake, {"content": "one"})
    first = tail.episodes(ME, -1)
    assert tail.episodes(ME, -1) is first
    land(lake, {"content": "of another person", "user_id": "v"})
    assert tail.episodes(ME, -1) is first
    land(lake, {"content": "two"})
    assert sorted(texts(tail.episodes(ME, -1))) == ["one", "two"]


def test_only_the_newest_rows_are_read(lake: Lake) -> None:
    few = Policy(recall=RecallPolicy(fresh_rows=3))
    rows = [{"content": f"n{i}", "event_at": (NOW - timedelta(hours=i)).isoformat()} for i in (4, 0, 3, 1, 2)]
    land(lake, *rows)
    assert texts(FreshTail(lake, few).episodes(ME, -1)) == ["n0", "n1", "n2"]
    ingest(job(lake))
    assert texts(FreshTail(lake, few).episodes(ME, -1)) == ["n0", "n1", "n2"]


def segment(lake: Lake) -> Path:
    assert isinstance(lake.storage, LocalStorage)
    [entry] = lake.storage.entries(landing.PREFIX)
    return lake.storage.path(entry.key)


def test_a_line_being_written_is_not_read_until_it_is_whole(lake: Lake) -> None:
    tail = FreshTail(lake, Policy())
    land(lake, {"content": "one"})
    assert texts(tail.episodes(ME, -1)) == ["one"]
    path = segment(lake)
    whole = path.read_bytes()
    land(lake, {"content": "two"})
    line = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + line[:40])
    assert texts(tail.episodes(ME, -1)) == ["one"]
    path.write_bytes(whole + line)
    assert sorted(texts(tail.episodes(ME, -1))) == ["one", "two"]


def test_a_torn_line_hides_no_other(lake: Lake) -> None:
    land(lake, {"content": "one"})
    path = segment(lake)
    path.write_bytes(b'{"episodes": {"episode\n' + path.read_bytes())
    assert texts(FreshTail(lake, Policy()).episodes(ME, -1)) == ["one"]


def test_a_long_tail_in_many_portions_stays_whole(lake: Lake) -> None:
    tail = FreshTail(lake, Policy())
    for n in range(40):
        land(lake, {"content": f"n{n}"})
        tail.episodes(ME, -1)
    assert len(texts(tail.episodes(ME, -1))) == 40


def test_a_fresh_text_is_embedded_once_a_process(lake: Lake) -> None:
    recall = reader(lake)
    asked: list[list[str]] = []
    embed = recall._model().embed
    recall._model().embed = lambda given: (asked.append(list(given)), embed(given))[1]  # type: ignore[method-assign]
    land(lake, {"content": "violin"})
    for _ in range(3):
        recall.search("violin", tenant="t", user="u", as_of=NOW)
    land(lake, {"content": "garden"})
    recall.search("violin", tenant="t", user="u", as_of=NOW)
    embedded = [text for batch in asked for text in batch if text.startswith("[")]
    assert len(embedded) == len(set(embedded)) == 2


def test_injected_context_is_never_recalled(lake: Lake) -> None:
    land(lake, {"content": "<memories> violin </memories>", "is_injected": True}, {"content": "garden"})
    found = reader(lake).search("violin garden", tenant="t", user="u", as_of=NOW)
    assert [memory.text for memory in found] == ["garden"]


@pytest.mark.parametrize("moment", ["listed", "read"])
def test_a_segment_that_ingest_takes_while_it_is_looked_at_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    lake = make_lake(tmp_path)
    landed = set(land(lake, *({"content": f"violin {i}"} for i in range(3))))
    tail = FreshTail(lake, Policy())
    name = {"listed": "entries", "read": "read"}[moment]
    real, taken = getattr(type(lake.storage), name), []

    def overtaken(storage: Any, key: str) -> Any:
        if "landing/" in key and not taken:
            taken.append(key)
            found = real(storage, key) if moment == "listed" else None
            ingest(job(lake))  # renamed, committed, removed
            return real(storage, key) if found is None else found
        return real(storage, key)

    monkeypatch.setattr(type(lake.storage), name, overtaken)
    rows = tail.episodes(Scope("t", "u"), -1)
    assert taken
    assert rows is not None
    assert set(rows["episode_id"]) == landed


def test_a_segment_that_was_only_sealed_while_it_was_looked_at_is_read_under_its_new_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake(tmp_path)
    landed = set(land(lake, {"content": "violin"}))
    tail, real, sealed = FreshTail(lake, Policy()), type(lake.storage).entries, list[str]()

    def overtaken(storage: Any, prefix: str) -> Any:
        found = real(storage, prefix)
        if "landing/" in prefix and not sealed:
            sealed.append(prefix)
            landing.seal(lake)
        return found

    monkeypatch.setattr(type(lake.storage), "entries", overtaken)
    rows = tail.episodes(Scope("t", "u"), -1)
    assert rows is not None
    assert set(rows["episode_id"]) == landed
