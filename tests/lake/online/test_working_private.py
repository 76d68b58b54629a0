"""State and summary of a session are as private as the most private row that they may tell of."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lake.lake import init_lake
from lake.online.working import Session
from lake.online.working_log import SessionName
from lake.online.working_sums import SumUp
from lake.recall import Recall
from tests.flows.lakes import CountingEmbedder
from transforms.policy import Policy
from transforms.working.rows import Row
from transforms.working.summary import Summary, summary_of

SECRET = "My HIV test was positive and my diagnosis is bipolar disorder"
NAME = {"tenant": "acme", "agent": "desk", "session": "s1", "user": "ana"}


@pytest.fixture
def held_back() -> Iterator[SumUp]:
    """Sums up only when the test is over: until then what left the window is told as it was said."""
    is_over = threading.Event()

    def wait(before: Summary, rows: Sequence[Row]) -> Summary:
        del rows
        is_over.wait(60)
        return before

    yield wait
    is_over.set()


def session(root: Path, policy: Policy, sum_up: SumUp | None = None) -> Session:
    return Session(init_lake(str(root), 2), SessionName(**NAME), policy, sum_up=sum_up)


def shown(root: Path, policy: Policy) -> str:
    reader = Recall(str(root), policy=policy, embedder=CountingEmbedder())
    return reader.context("diagnosis", **NAME).text


@pytest.mark.parametrize("is_settled", [False, True])
@pytest.mark.parametrize("is_result", [False, True])
def test_a_restricted_row_that_left_the_window_is_not_shown_through_its_summary(
    tmp_path: Path, held_back: SumUp, is_settled: bool, is_result: bool
) -> None:
    policy = Policy.model_validate({"recall": {"max_sensitivity": "personal"}})
    made = session(tmp_path / "lake", policy, None if is_settled else held_back)
    if is_result:
        _, link = made.call_tool("chart", {})
        made.add_tool_result(link, SECRET)
    else:
        made.add("user", SECRET)
    for number in range(40):
        made.add("user", f"plain note {number} on the harbour office")
    if is_settled:
        made.settle()
    notes = made.memories().filter(kind="summary")
    assert set(notes["sensitivity"]) == {"restricted"}
    if not is_settled:
        assert SECRET in made.as_text(), "else there is nothing to hide"
    assert SECRET not in shown(tmp_path / "lake", policy)
    assert "harbour office" in shown(tmp_path / "lake", policy)
    assert is_settled or SECRET in shown(tmp_path / "lake", Policy())


def test_whoever_makes_a_summary_it_is_as_private_as_its_rows(tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / "lake"), 2)
    made = Session(lake, SessionName(**NAME), Policy(), sum_up=lambda before, rows: replace(before, rows=1))
    made.add("user", SECRET)
    for number in range(40):
        made.add("user", f"plain note {number} on the harbour office")
    made.settle()
    assert made.window().summed.sensitivity == "restricted"


def test_a_summary_of_an_older_version_is_taken_for_the_most_private() -> None:
    told = Summary(rows=2).as_dict()
    assert summary_of(told).sensitivity == "normal"
    del told["sensitivity"]
    assert summary_of(told).sensitivity == "restricted"
