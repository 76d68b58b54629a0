"""64 threads and further processes read while the index is switched and rows land, expire and are erased.

The full version is ``python -m benchmarks.concurrency``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.concurrency import Load, run_load
from benchmarks.concurrency_readers import Board, HashedEmbedder, faults_of, is_whole, text_of
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.publish import run_publish
from lake import landing
from lake.lake import Lake, init_lake
from lake.recall import Recall
from tests.lake.online.recalls import job_now


def test_no_answer_is_torn_stale_or_short_while_everything_changes(tmp_path: Path) -> None:
    told = run_load(tmp_path, Load(processes=2, threads=64, seconds=3.0, rows=60, pause_seconds=1.0))
    assert told["faults"] == {}
    assert all(one["searches"] > 64 or number for number, one in enumerate(told["readers"]))
    assert sum(one["rows"] for one in told["readers"]) > 1_000
    assert told["done"]["publish done"] >= 2
    assert told["done"]["erase user"] == 1
    assert told["done"]["landed"] > 60


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = init_lake(str(tmp_path / "lake"), 2)
    rows = [{"tenant_id": "acme", "user_id": "u1", "content": text_of("u1", n)} for n in range(4)]
    landing.append(made, rows)
    return made


def ids(lake: Lake) -> list[str]:
    return sorted(memory.id for memory in reader(lake).search("violin", tenant="acme", user="u1"))


def reader(lake: Lake) -> Recall:
    return Recall(lake, embedder=HashedEmbedder())


class Wrong:
    """A reader whose answers are spoiled."""

    def __init__(self, inner: Recall, spoil: Any) -> None:
        self._inner, self._spoil = inner, spoil

    def search(self, *arguments: Any, **named: Any) -> Any:
        return self._spoil(self._inner.search(*arguments, **named))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda found: found, []),
        (lambda found: [*found, found[0]], ["a row twice"]),
        (lambda found: found[1:], ["a row missed (1 of 4)"]),
        (lambda found: [_torn(found[0]), *found[1:]], ["a row that is torn or somebody else's"]),
    ],
)
def test_the_readers_see_what_is_wrong(lake: Lake, tmp_path: Path, spoil: Any, told: list[str]) -> None:
    board = Board(tmp_path / "board")
    board.say("there", [(row, "u1") for row in ids(lake)])
    wrong, _, _ = faults_of(board, Wrong(reader(lake), spoil), "u1")  # type: ignore[arg-type]
    assert wrong == told


def test_the_readers_see_a_row_that_was_gone_before(lake: Lake, tmp_path: Path) -> None:
    board = Board(tmp_path / "board")
    first, *_ = ids(lake)
    board.say("gone", [(first, "u1")])
    assert faults_of(board, reader(lake), "u1")[0] == ["a row that was gone before"]
    assert is_whole(text_of("u1", 7), "u1")
    assert not is_whole(text_of("u1", 7), "u2")
    assert not is_whole(text_of("u1", 7)[:-1], "u1")


def _torn(memory: Any) -> Any:
    from dataclasses import replace

    return replace(memory, text=memory.text[:-3])


def test_a_reader_that_began_before_the_switch_answers_from_one_generation(lake: Lake) -> None:
    """The rows of one answer are of one generation, whichever that is, and of the tail since."""
    run = job_now(lake)
    run_ingest(run, [])
    asking = reader(lake)
    hashed = type(run)(run.lake, run.policy, run.as_of, HashedEmbedder)
    run_embed(hashed)
    run_publish(hashed)
    before = {memory.id for memory in asking.search("violin", tenant="acme", user="u1")}
    run_publish(hashed, force=True)
    assert {memory.id for memory in asking.search("violin", tenant="acme", user="u1")} == before
