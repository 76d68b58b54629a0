"""The proxy: which memories an answer repeats, by words that are rare and not those of the question."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from tests.transforms.forgetting.plain import AS_OF, recall
from transforms.policy_tune import TunePolicy
from transforms.replay.echoes import echo_gains
from transforms.schemas import INSTANT, RECALLS

MINUTE = timedelta(minutes=1)
TEXTS = {
    "m1": "Mira books the window seat because aisle draughts bother her",
    "m2": "the refund desk closes early on Thursday for stocktaking",
    "m3": "the window of the refund desk is painted green",
}
SCHEMA = {
    **dict.fromkeys(
        ("episode_id", "tenant_id", "user_id", "agent_id", "session_id", "role", "content"), pl.String
    ),
    "event_at": INSTANT,
    "is_injected": pl.Boolean,
}


def log(query: str = "which seat?", **fields: Any) -> pl.DataFrame:
    rows = [
        recall(1, name, AS_OF, **{"is_returned": name != "m3", "query": query, "session_id": "s", **fields})
        for name in TEXTS
    ]
    told = [{**row, "rank": place} for place, row in enumerate(rows, start=1)]
    return pl.DataFrame(told, schema=RECALLS.polars, orient="row")


def texts(**refs: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        [(name, text, refs.get(name, [name])) for name, text in TEXTS.items()],
        schema={"memory_id": pl.String, "text": pl.String, "source_refs": pl.List(pl.String)},
        orient="row",
    )


def turn(
    minutes: float, role: str, content: str, *, session: str = "s", injected: bool = False
) -> tuple[Any, ...]:
    at = AS_OF + minutes * MINUTE
    return (f"e{minutes}", "acme", "ana", "a", session, role, content, at, injected)


def gains(*turns: tuple[Any, ...], query: str = "which seat?", **refs: list[str]) -> dict[str, float]:
    episodes = pl.DataFrame(list(turns), schema=SCHEMA, orient="row")
    found = echo_gains(log(query), texts(**refs), episodes, TunePolicy())
    return dict(found.select("memory_id", "gain").rows())


ECHO = "I booked a window for you, away from aisle draughts that bother you, Mira."


def test_a_memory_that_the_answer_repeats_is_of_use_and_no_other() -> None:
    assert gains(turn(1, "assistant", ECHO)) == {"m1": 1.0, "m2": 0.0, "m3": 0.0}


@pytest.mark.parametrize(
    "turns",
    [
        [turn(-1, "assistant", ECHO)],
        [turn(11, "assistant", ECHO)],
        [turn(1, "assistant", ECHO, session="other")],
        [turn(1, "assistant", ECHO, injected=True)],
        [turn(1, "user", ECHO)],
        [turn(1, "user", "and the desk?"), turn(2, "assistant", ECHO)],
    ],
    ids=["before", "late", "elsewhere", "injected", "by the user", "of the next turn"],
)
def test_what_is_no_answer_to_the_call_tells_nothing(turns: list[tuple[Any, ...]]) -> None:
    assert set(gains(*turns).values()) <= {0.0}


def test_words_of_the_question_do_not_count() -> None:
    asked = "does Mira books the window seat because aisle draughts bother her"
    assert gains(turn(1, "assistant", ECHO), query=asked).get("m1", 0.0) == 0.0


def test_an_answer_that_the_memory_was_made_from_tells_nothing_of_it() -> None:
    made = gains(turn(1, "assistant", ECHO), m1=["e1"])
    assert made["m1"] == 0.0


def test_two_answers_count_together() -> None:
    first, second = ECHO.split(",", 1)
    assert gains(turn(1, "assistant", first), turn(2, "assistant", second))["m1"] == 1.0


def test_nothing_to_judge_by_is_no_label() -> None:
    assert gains() == {}
    episodes = pl.DataFrame([turn(1, "assistant", ECHO)], schema=SCHEMA, orient="row")
    none = texts().clear()
    assert echo_gains(log(), none, episodes, TunePolicy()).is_empty()
    nobody = log(session_id=None, user_id=None)
    assert echo_gains(nobody, texts(), episodes, TunePolicy()).is_empty()
