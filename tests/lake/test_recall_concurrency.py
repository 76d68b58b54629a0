"""Recall while generations are switched and removed under it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from flows.publish import run_publish, run_rollback
from lake.index import read_pointer
from lake.index_build import generations, remove_generation
from tests.lake.recalled import NOW, job, land, make_lake, policy, publish, reader
from transforms.errors import LakeError
from transforms.policy import Policy, PublishPolicy

SCOPE = {"tenant": "t", "user": "u", "as_of": NOW}


def test_eight_threads_search_while_generations_are_switched_and_removed(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    keep_one = Policy(publish=PublishPolicy(keep_generations=1))
    landed = [set(land(lake, *({"content": f"violin n{i} m{i} k{i}"} for i in range(20))))]
    publish(job(lake, keep_one))
    shared, stop = reader(lake, policy(candidates=200, duplicate_cosine=1.0)), threading.Event()
    switched: list[str | None] = []

    def search() -> int:
        rounds = 0
        while rounds == 0 or not stop.wait(0.05):  # or eight readers would starve the publisher
            before = set.union(*landed)
            names = [memory.id for memory in shared.search("violin", k=200, **SCOPE)]
            assert len(names) == len(set(names))
            assert before <= set(names), "a row that had landed was missed"
            rounds += 1
        return rounds

    with ThreadPoolExecutor(8) as pool:
        searching = [pool.submit(search) for _ in range(8)]
        try:
            for n in range(3):
                landed.append(set(land(lake, {"content": f"violin again{n} p{n} q{n}"})))
                switched.append(publish(job(lake, keep_one)))
        finally:
            stop.set()
        assert all(done.result(timeout=60) > 0 for done in searching)
    assert len(set(switched)) == 3
    assert generations(lake) == [switched[-1]]


def test_a_rollback_is_seen_by_an_open_reader_at_once(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    land(lake, {"content": "violin one"})
    first = publish(job(lake))
    land(lake, {"content": "violin two"})
    second = publish(job(lake))
    recall = reader(lake)
    is_fresh = {memory.text: memory.is_fresh for memory in recall.search("violin", **SCOPE)}
    assert is_fresh == {"violin one": False, "violin two": False}
    assert run_rollback(job(lake)).generation == first != second
    # The older index holds one row; the other is fresh again, so nothing is lost.
    is_fresh = {memory.text: memory.is_fresh for memory in recall.search("violin", **SCOPE)}
    assert is_fresh == {"violin one": False, "violin two": True}
    run_publish(job(lake), force=True)
    assert all(not memory.is_fresh for memory in recall.search("violin", **SCOPE))


def test_a_damaged_generation_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    land(lake, {"content": "violin one"})
    publish(job(lake))
    pointer = read_pointer(lake)
    assert pointer
    opened = reader(lake)
    opened.search("violin", **SCOPE)
    remove_generation(lake, pointer.generation)
    with pytest.raises(LakeError) as error:
        reader(lake).search("violin", **SCOPE)
    assert "publish --force" in error.value.remedy


def test_one_reader_serves_many_scopes_at_once(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    land(lake, *({"content": f"violin of {n} {w}", "user_id": f"u{n}"} for n in range(8) for w in ("a", "b")))
    publish(job(lake))
    land(lake, *({"content": f"violin of {n} fresh", "user_id": f"u{n}"} for n in range(8)))
    recall = reader(lake, policy(duplicate_cosine=1.0))

    def texts(n: int) -> set[str]:
        return {
            m.text
            for m in recall.search("violin", tenant="t", user=f"u{n % 8}", as_of=NOW + timedelta(hours=1))
        }

    with ThreadPoolExecutor(8) as pool:
        for n, found in enumerate(pool.map(texts, range(64))):
            assert found == {f"violin of {n % 8} {w}" for w in ("a", "b", "fresh")}
