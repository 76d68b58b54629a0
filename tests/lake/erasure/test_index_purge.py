"""Rows out of the index: what stays is found as before, what went is nowhere, and a kill costs nothing."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lance.file import LanceFileReader

from lake.erasure import index_purge
from lake.erasure.index_purge import IndexPurged, purge_index
from lake.index import Generation, load_manifest, read_pointer, scope_hash
from lake.index_build import generations
from lake.index_record import POINTER, Manifest, Pointer, write_pointer
from lake.lake import Lake
from lake.online.asked import Asked
from lake.online.searcher import Searcher
from lake.readback.read_back import Needles, ReadBack, read_back
from lake.scope import Filters, Scope, predicate
from lake.storage import LocalStorage
from tests.lake.made import ROOT, environment
from tests.lake.recalled import DIMENSIONS, NOW, WordEmbedder, make_lake
from tests.lake.test_index_checks import built, memories
from transforms.embedding import vector_space
from transforms.errors import CheckError, LakeError, SlowwaveError
from transforms.policy import Policy, PublishPolicy
from transforms.schemas import MEMORIES
from transforms.search_terms import hashed_terms

POLICY = PublishPolicy(check_queries=5)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def said(frame: pl.DataFrame, word: str) -> pl.DataFrame:
    """The rows, each saying a word that no other rows say."""
    texts = pl.lit(f"{word} said ") + pl.col("memory_id")
    return frame.with_columns(search_text=texts, text=texts)


def frames() -> list[pl.DataFrame]:
    """40 rows of ana, 25 of ben, 5 without a user; another tenant's ana."""
    return [
        said(memories(40, user="ana"), "zebracanary"),
        said(memories(25, user="ben", seed=2), "violin"),
        said(memories(5, user=None, seed=3), "nobody"),
        said(memories(30, tenant="other", user="ana", seed=4), "another"),
    ]


def live(lake: Lake, parts: Iterable[pl.DataFrame], large: Iterable[str] = ()) -> Manifest:
    """A live generation of the rows."""
    manifest = built(lake, parts, large).manifest
    lake.storage.write(f"index/{manifest.generation}/manifest.json", manifest.dumps())
    write_pointer(lake, Pointer(manifest.generation, (manifest.generation,)))
    return manifest


def served(lake: Lake, tenant: str, user: str | None, word: str) -> tuple[set[str], set[str]]:
    """Ids that the live generation finds in a scope, by vector and by a word."""
    pointer = read_pointer(lake)
    assert pointer is not None
    generation = Generation(lake, load_manifest(lake, pointer.generation))
    scope = Scope(tenant, user) if user else Scope(tenant, is_tenant_wide=True)
    where, query = predicate(scope, Filters(NOW)), np.ones(DIMENSIONS, np.float32) / DIMENSIONS**0.5
    by_vector = generation.vectors(scope, query, 1000, where, ("memory_id",))["memory_id"].to_pylist()
    by_words = generation.texts(scope, word, 1000, where, ("memory_id",))["memory_id"].to_pylist()
    return set(by_vector), set(by_words)


def searched(lake: Lake, gone: pl.DataFrame, user: str | None = None) -> ReadBack:
    """What is still there of rows; another tenant may have a user of the same name."""

    def stays(table: str, rows: pl.DataFrame) -> pl.Series:
        assert table == "memories"
        return ~rows["memory_id"].is_in(gone["memory_id"].implode())

    texts = (*gone["text"].to_list(), "zebracanary")
    return read_back(lake, Needles(frozenset(gone["memory_id"]), (user,) if user else (), texts), stays)


LARGE = {
    "one table": [],
    "an own table that loses all": [scope_hash("t", "ana")],
    "an own table that stays": [scope_hash("t", "ben")],
    "own tables": [scope_hash("t", "ana"), scope_hash("t", "ben"), scope_hash("other", "ana")],
}


@pytest.mark.parametrize("large", LARGE.values(), ids=LARGE)
def test_what_went_is_nowhere_and_what_stays_is_found(lake: Lake, large: list[str]) -> None:
    parts = frames()
    manifest = live(lake, parts, large)
    done = purge_index(lake, parts[0]["memory_id"].to_list(), policy=POLICY)
    assert (done.rows_before, done.rows_removed, done.rows_after) == (100, 40, 60)
    assert (done.generation, done.generations_removed) == ("gen-000002", 1)
    assert generations(lake) == ["gen-000002"]
    assert read_pointer(lake) == Pointer("gen-000002", ("gen-000002",))
    is_own = scope_hash("t", "ana") in large
    assert (done.tables_rewritten, done.tables_removed) == ((0, 1) if is_own else (1, 0))
    assert done.tables_linked == len(manifest.tables) - 1
    assert served(lake, "t", "ana", "zebracanary") == (set(), set())
    for part in parts[1:]:
        tenant, user = part.select("tenant_id", "user_id").row(0)
        word = part["text"][0].split()[0]
        both = served(lake, tenant, user, word)
        assert all(found >= set(part["memory_id"]) for found in both), word
    result = searched(lake, parts[0], "ana")
    assert result.passed, result.leaks
    assert result.mention_count == 30  # those of the other tenant's ana
    now = load_manifest(lake, "gen-000002")
    assert now.rows == sum(entry.rows for entry in now.tables) == 60
    assert now.inputs == manifest.inputs
    assert scope_hash("t", "ana").encode() not in b"".join(
        path.read_bytes() for path in Path(lake.storage.uri).rglob("manifest.json")
    )


def test_before_the_purge_all_of_it_is_there(lake: Lake) -> None:
    """So that the test above can fail."""
    parts = frames()
    live(lake, parts)
    found = {leak.where for leak in searched(lake, parts[0]).leaks}
    assert {"memory_id", "search_text", "payload"} <= found
    assert served(lake, "t", "ana", "zebracanary")[1] == set(parts[0]["memory_id"])


def test_a_row_that_is_marked_as_deleted_only_is_still_found(lake: Lake) -> None:
    """Deleting alone leaves rows in their files: that is why these are written anew."""
    parts = frames()
    live(lake, parts)
    import lance

    table = lance.dataset(f"{lake.index_uri('gen-000001')}/main.lance")
    table.delete("tenant_id = 't' AND user_id = 'ana'")
    assert {"memory_id", "search_text", "payload"} <= {leak.where for leak in searched(lake, parts[0]).leaks}


@pytest.mark.parametrize("large", LARGE.values(), ids=LARGE)
def test_rows_are_put_in_the_place_of_others(lake: Lake, large: list[str]) -> None:
    parts = frames()
    live(lake, parts, large)
    fresh = pl.concat(
        [said(memories(2, user="ben", seed=9), "renewed"), said(memories(3, user="new"), "renewed")]
    )
    fresh = fresh.with_columns(
        memory_id=pl.lit("fresh-") + pl.col("memory_id"), expires_at=pl.lit(NOW + timedelta(days=3))
    )
    gone = [*parts[0]["memory_id"], *parts[1]["memory_id"][:4]]
    done = purge_index(lake, gone, policy=POLICY, add=fresh, inputs={"episodes": 7, "vectors": 3})
    assert (done.rows_removed, done.rows_added, done.rows_after) == (44, 5, 61)
    kept = {*parts[1]["memory_id"][4:], *fresh["memory_id"][:2]}
    assert served(lake, "t", "ben", "violin")[0] == kept
    assert served(lake, "t", "ben", "renewed")[1] == set(fresh["memory_id"][:2])
    assert served(lake, "t", "new", "renewed") == (set(fresh["memory_id"][2:]),) * 2
    now = load_manifest(lake, "gen-000002")
    assert now.inputs == {"episodes": 7, "vectors": 3}
    assert now.next_expiry_at == (NOW + timedelta(days=3)).isoformat()


def test_a_row_is_replaced_under_its_own_id(lake: Lake) -> None:
    parts = frames()
    live(lake, parts)
    ids = parts[1]["memory_id"][:3]
    done = purge_index(lake, ids.to_list(), policy=POLICY, add=said(parts[1][:3], "corrected"))
    assert (done.rows_removed, done.rows_added, done.rows_after) == (3, 3, 100)
    assert served(lake, "t", "ben", "corrected")[1] == set(ids)


def test_everything_may_go(lake: Lake) -> None:
    parts = frames()
    live(lake, parts, LARGE["own tables"])
    done = purge_index(lake, pl.concat(parts)["memory_id"].to_list(), policy=POLICY)
    assert (done.rows_after, done.tables_removed) == (0, 3)
    assert served(lake, "t", "ben", "violin") == (set(), set())
    assert searched(lake, pl.concat(parts)).passed


def test_only_files_that_held_a_row_are_written_anew(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lake.index_fragments.ROWS_PER_FILE", 25)
    parts = frames()
    live(lake, parts)
    before = {p.name: p.stat().st_ino for p in Path(lake.storage.uri).rglob("main.lance/data/*")}
    assert len(before) == 4
    done = purge_index(lake, [parts[3]["memory_id"][29]], policy=POLICY)
    after = {p.name: p.stat().st_ino for p in Path(lake.storage.uri).rglob("main.lance/data/*")}
    assert len(set(before.items()) & set(after.items())) == 3 == done.files_linked
    assert served(lake, "other", "ana", "another")[1] == set(parts[3]["memory_id"][:29])
    assert served(lake, "t", "ana", "zebracanary")[1] == set(parts[0]["memory_id"])
    again = purge_index(lake, parts[1]["memory_id"].to_list(), policy=POLICY)
    assert again.rows_after == 74
    assert searched(lake, pl.concat([parts[1], parts[3][29:]])).passed


def test_ids_that_are_not_there_change_nothing_but_older_generations_go(lake: Lake) -> None:
    manifest = live(lake, frames())
    root = Path(lake.storage.uri) / "index"
    for name in ("gen-000002", "gen-000007"):
        shutil.copytree(root / "gen-000001", root / name)
    write_pointer(lake, Pointer("gen-000002", ("gen-000001", "gen-000002"), "gen-000001"))
    lake.storage.write("index/gen-000002/manifest.json", replace(manifest, generation="gen-000002").dumps())
    done = purge_index(lake, ["nothing"], policy=POLICY, inputs={"episodes": 9})
    assert (done.generation, done.rows_removed, done.generations_removed) == ("gen-000002", 0, 2)
    assert generations(lake) == ["gen-000002"]
    assert load_manifest(lake, "gen-000002").inputs == {"episodes": 9}
    assert read_pointer(lake) == Pointer("gen-000002", ("gen-000002",))


@pytest.mark.parametrize("pointer", [None, b"damaged"])
def test_without_a_live_generation_strays_go(lake: Lake, pointer: bytes | None) -> None:
    live(lake, frames())
    lake.storage.delete(POINTER)
    if pointer:
        lake.storage.write(POINTER, pointer)
    done = purge_index(lake, ["x"], policy=POLICY)
    assert (done.generation, done.generations_removed) == (None, 1)
    assert generations(lake) == []
    assert purge_index(lake, ["x"], policy=POLICY) == replace(IndexPurged(), seconds=pytest.approx(0, abs=9))


def test_a_live_generation_that_cannot_be_read_is_said(lake: Lake) -> None:
    live(lake, frames())
    lake.storage.delete("index/gen-000001/manifest.json")
    with pytest.raises(LakeError, match="gone"):
        purge_index(lake, ["x"], policy=POLICY)


def test_a_failed_check_leaves_the_old_generation_live(lake: Lake) -> None:
    parts = frames()
    live(lake, parts)
    with pytest.raises(CheckError, match="row_counts"):
        purge_index(lake, ["x"], policy=POLICY, add=parts[1][:1])  # is there already
    assert generations(lake) == ["gen-000001"]
    assert read_pointer(lake) == Pointer("gen-000001", ("gen-000001",))
    assert served(lake, "t", "ana", "zebracanary")[1] == set(parts[0]["memory_id"])


def test_the_live_generation_is_not_touched_until_the_pointer_moves(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = frames()
    live(lake, parts, LARGE["an own table that stays"])
    folder = Path(lake.index_uri("gen-000001"))

    def bytes_below() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    before, seen = bytes_below(), []
    monkeypatch.setattr(index_purge, "write_pointer", lambda *_: seen.append(bytes_below()))
    purge_index(lake, parts[0]["memory_id"].to_list(), policy=POLICY)
    assert seen == [before]


@pytest.mark.parametrize("large", [[], [scope_hash("t", "ana")]])
def test_hashed_words_and_records_of_a_purged_row_are_in_no_file(lake: Lake, large: list[str]) -> None:
    parts = frames()
    live(lake, parts, large)
    gone = {int(term) for term in hashed_terms(pl.Series(["zebracanary"]))[0].view(np.int32)}
    assert gone <= _held_terms(lake)[0]
    purge_index(lake, parts[0]["memory_id"].to_list(), policy=POLICY)
    terms, records = _held_terms(lake)
    assert not gone & terms
    assert records == 60  # one a row that is left, none besides


def _held_terms(lake: Lake) -> tuple[set[int], int]:
    """Hashed words in all files of the index, deleted rows and all, and how many records stand there."""
    terms, records = set(), 0
    for entry in lake.storage.entries("index"):
        if "/data/" in entry.key:
            reader = LanceFileReader(f"{lake.storage.uri}/{entry.key}", columns=["terms", "record"])
            held = reader.read_all().to_table()
            terms.update(held["terms"].combine_chunks().flatten().to_pylist())
            records += held.num_rows
    return terms, records


def test_readers_go_on_while_rows_are_purged(lake: Lake) -> None:
    parts = frames()
    manifest = live(lake, parts, LARGE["an own table that stays"])
    space = vector_space(WordEmbedder().model_key)
    lake.storage.write("index/gen-000001/manifest.json", replace(manifest, space=space).dumps())
    stop, faults, rounds = threading.Event(), [], []

    def read() -> None:
        searcher = Searcher(lake, Policy(), WordEmbedder)
        query = np.ones(DIMENSIONS, np.float32) / DIMENSIONS**0.5
        asked = Asked("violin", query, (Scope("t", "ben"),), Filters(NOW), Policy(), 50)
        while not stop.is_set():
            try:
                found = searcher.ranked(asked)
            except SlowwaveError as error:
                faults.append(error)
                return
            rounds.append(len(found.found.rows))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for part in (parts[0][:10], parts[0][10:], parts[3]):
        purge_index(lake, part["memory_id"].to_list(), policy=POLICY)
    stop.set()
    for thread in threads:
        thread.join()
    assert faults == []
    assert set(rounds) == {25}


STEPS = [
    ("index_purge.without", "before"),
    ("index_rows.index_main", "after"),
    ("index_purge.run_checks", "before"),
    ("index_purge.write_pointer", "before"),
    ("index_purge.write_pointer", "after"),
    ("index_purge.remove_generation", "after"),
]


class Dead(BaseException):
    """No error that anything handles."""


def die_at(patch: pytest.MonkeyPatch, at: str, when: str) -> None:
    """Make the first call of a function the end of what runs; nothing is written on the way out."""
    module, name = at.split(".")
    place = importlib.import_module(f"lake.erasure.{module}")
    real = getattr(place, name)

    def dies(*arguments: Any, **named: Any) -> Any:
        if when == "after":
            real(*arguments, **named)
        for effect in ("write", "create", "delete"):
            patch.setattr(LocalStorage, effect, dead)
        raise Dead

    def dead(*_: Any, **__: Any) -> Any:
        raise Dead

    patch.setattr(place, name, dies)


def is_finished_by_the_next(lake: Lake, parts: list[pl.DataFrame]) -> None:
    """A lake whose purge died is served as before, and purged by the next."""
    pointer = read_pointer(lake)
    assert pointer is not None
    load_manifest(lake, pointer.generation)
    assert served(lake, "t", "ben", "violin")[1] == set(parts[1]["memory_id"])
    purge_index(lake, parts[0]["memory_id"].to_list(), policy=POLICY)
    assert searched(lake, parts[0]).passed
    assert len(generations(lake)) == 1
    assert served(lake, "t", "ana", "zebracanary") == (set(), set())
    assert served(lake, "t", "ben", "violin")[1] == set(parts[1]["memory_id"])


@pytest.mark.parametrize(("at", "when"), STEPS)
def test_a_purge_that_dies_is_finished_by_the_next(lake: Lake, at: str, when: str) -> None:
    parts = frames()
    live(lake, parts, LARGE["an own table that stays"])
    with pytest.MonkeyPatch.context() as patch:
        die_at(patch, at, when)
        with pytest.raises(Dead):
            purge_index(lake, parts[0]["memory_id"].to_list(), policy=POLICY)
    is_finished_by_the_next(lake, parts)


def test_a_purge_whose_process_is_killed_is_finished_by_the_next(lake: Lake) -> None:
    parts = frames()
    live(lake, parts, LARGE["an own table that stays"])
    script = Path(__file__).with_name("purge_and_die.py")
    arguments = [str(script), lake.uri, "index_purge.write_pointer", "before", *parts[0]["memory_id"]]
    died = subprocess.run(
        [sys.executable, *arguments], env=environment(), capture_output=True, check=False, cwd=ROOT
    )
    assert died.returncode == -9, died.stderr.decode()
    is_finished_by_the_next(lake, parts)


def test_the_row_shape_is_checked(lake: Lake) -> None:
    live(lake, frames())
    with pytest.raises(LakeError, match="missing"):
        purge_index(lake, [], policy=POLICY, add=pl.DataFrame({"memory_id": ["x"]}))


def test_purged_shows_as_a_dict() -> None:
    shown: dict[str, Any] = IndexPurged("gen-000002", rows_before=5, seconds=1.23456).as_dict()
    assert (shown["generation"], shown["rows_before"], shown["seconds"]) == ("gen-000002", 5, 1.235)
    assert set(shown) >= {"files_linked", "bytes_rewritten", "bytes_removed", "checks"}
    assert MEMORIES.key == ("memory_id",)
