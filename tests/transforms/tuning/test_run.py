"""What a search says besides its result: what it was not told, and what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from tests.flows.planted import TRUTH, planted
from transforms.errors import UsageError
from transforms.forgetting.due import Wishes
from transforms.policy import Policy
from transforms.policy_tune import TunePolicy
from transforms.replay.calls import calls_of
from transforms.replay.memory_rows import MEMORY_SCHEMA, completed
from transforms.tuning.bench import World
from transforms.tuning.result import Tuning
from transforms.tuning.run import Wanted, tuned
from transforms.tuning.space import Space, space_of

POLICY = Policy(tune=TunePolicy(min_calls=30, resamples=200))
LIFE, RECENCY = "decay.half_life_days.conversation", "recall.weights.recency"
SPACE = space_of({LIFE: [7, 30], RECENCY: [0.2, 0.5]}, POLICY)


@pytest.fixture(scope="module")
def recalls() -> pl.DataFrame:
    return planted(TRUTH, 160)


def searched(recalls: pl.DataFrame, policy: Policy = POLICY, space: Space = SPACE, **limits: float) -> Tuning:
    memories = completed(pl.DataFrame(schema=MEMORY_SCHEMA), recalls)
    world = World(recalls, memories, Wishes(), recalls["recalled_at"].max())  # type: ignore[arg-type]
    labelled = recalls.with_columns(gain=pl.col("is_used").cast(pl.Float64))
    return tuned(calls_of(labelled), world, policy, Wanted("grid", space, 0, limits, "used", ("as told",)))[0]


def test_notes_and_trials_of_a_plain_search(recalls: pl.DataFrame) -> None:
    found = searched(recalls)
    assert found.keys[:2] == (LIFE, RECENCY)
    assert len(found.keys) == 6  # all weights, as one changes the others
    # The current policy is one of the grid, and so is each policy with a change of the best taken back.
    assert found.trials[LIFE].to_list() == [7.0, 7.0, 30.0, 30.0]
    assert found.trials[RECENCY].to_list() == [0.2, 0.5, 0.2, 0.5]
    assert (found.best.trial, found.best.changes[LIFE], found.best.changes[RECENCY]) == (3, 30.0, 0.5)
    assert found.best.train["ndcg"] - found.current.train["ndcg"] == pytest.approx(found.gain.train)
    assert found.best.test["ndcg"] - found.current.test["ndcg"] == pytest.approx(found.gain.mean)
    assert found.finalists["trial"][0] == 3
    assert 0 not in found.finalists["trial"]
    assert found.finalists["gain"][0] == pytest.approx(found.gain.mean)
    assert found.notes[0] == "as told"
    weighed = (found.weeks["best"] - found.weeks["current"]) * found.weeks["calls"]
    later = found.weeks["span"] == "test"
    assert weighed.filter(later).sum() / found.test.calls == pytest.approx(found.gain.mean)


def test_a_long_log_is_searched_on_a_part_of_it_and_judged_on_all_of_the_later_span() -> None:
    many = planted(TRUTH, 240)
    policy = POLICY.model_copy(update={"tune": POLICY.tune.model_copy(update={"search_calls": 100})})
    whole, part = searched(many), searched(many, policy)
    assert part.notes[1] == (
        f"searched on 100 of {whole.train.calls} earlier calls, evenly over their time (tune.search_calls)"
    )
    assert part.test == whole.test
    assert (part.best.changes, part.gain.mean) == (whole.best.changes, whole.gain.mean)
    assert part.current.train["ndcg"] != whole.current.train["ndcg"]


def test_the_search_sees_nothing_of_the_later_span(recalls: pl.DataFrame) -> None:
    found = searched(recalls)
    is_later = pl.col("recalled_at") >= found.test.from_at
    is_first = pl.col("rank") == 1
    other = recalls.with_columns(
        is_used=pl.when(is_later).then(is_first).otherwise("is_used"),
        is_returned=pl.when(is_later).then(pl.lit(value=True)).otherwise("is_returned"),
    )
    misled = searched(other)
    assert misled.trials.equals(found.trials)
    assert misled.best.changes == found.best.changes
    assert misled.sweep.equals(found.sweep)
    assert misled.heat.equals(found.heat)
    assert found.is_recommended
    assert not misled.is_recommended
    assert misled.gain.mean < 0 < found.gain.mean


def test_memories_that_the_policy_would_have_forgotten_are_pointed_out(recalls: pl.DataFrame) -> None:
    assert not any("forgotten by then" in warning for warning in searched(recalls).warnings)
    old = recalls.with_columns(pl.col("event_at", "last_accessed_at") - timedelta(days=85))
    [told] = [warning for warning in searched(old).warnings if "forgotten by then" in warning]
    assert "the log was made under another policy" in told


def test_what_was_recalled_is_no_gain_of_keeping_it() -> None:
    """The current policy serves best, but the log does not explain why its memories were still there."""
    old = planted({}, 160).with_columns(pl.col("event_at", "last_accessed_at") - timedelta(days=88))
    found = searched(old, space=space_of({"retention.medium_term_seconds": ["never"]}, POLICY))
    assert found.current.test["lost"] > 0.05
    assert found.gain.low is not None
    assert found.gain.low > 0
    assert not found.is_recommended
    assert "were recalled all the same. Without them it is +0.0000" in found.verdict


def test_kinds_that_are_not_known_do_not_stop_a_search(recalls: pl.DataFrame) -> None:
    assert searched(recalls.with_columns(kind=pl.lit("<script>"))).heat.is_empty()


def test_sessions_as_long_as_the_log_are_pointed_out(recalls: pl.DataFrame) -> None:
    endless = recalls.with_columns(session_id=pl.lit("always"))
    assert any("not quite unseen" in warning for warning in searched(endless).warnings)


def test_agents_with_weights_of_their_own_are_counted(recalls: pl.DataFrame) -> None:
    own: Mapping[str, Any] = {"recall": POLICY.recall.model_copy(update={"agents": {"bot": "two"}})}
    found = searched(recalls, POLICY.model_copy(update=own))
    assert f"{found.train.calls} earlier calls are of agents whose own weights" in found.notes[-1]


def test_a_limit_on_what_nothing_tells_is_refused(recalls: pl.DataFrame) -> None:
    with pytest.raises(UsageError, match="tokens of the current policy"):
        searched(recalls.with_columns(tokens=pl.lit(None, pl.Int32)), tokens=100.0)
    with pytest.raises(UsageError, match="index_bytes"):
        searched(recalls, index_bytes=1e9)
