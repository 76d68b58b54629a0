"""Sweeps, the heat map, weeks and slices, on tables small enough to count by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from transforms.policy import Policy
from transforms.policy_tune import TunePolicy
from transforms.replay.calls import HEAD, Calls
from transforms.replay.changes import changed
from transforms.tuning import sensitivity
from transforms.tuning.result import HEAT, KNOBS, SLICES, SWEEP, WEEKS
from transforms.tuning.slices import slices, weeks
from transforms.tuning.space import space_of
from transforms.tuning.verdict import Drawn

POLICY = changed(Policy(), {"recall.closeness_power": 5.0})
START = datetime(2026, 6, 1, tzinfo=UTC)  # a Monday


def test_a_sweep_moves_one_knob_through_its_values_and_the_held_one() -> None:
    told = {
        "recall.closeness_power": [2, 9],
        "decay.half_life_days.fact": [10, "never"],
        "decay.refresh": ["used", "served"],
    }
    moved = sensitivity.sweep_changes(space_of(told, POLICY), POLICY, 5)
    assert moved == [
        ("recall.closeness_power", 2),
        ("recall.closeness_power", 5.0),
        ("recall.closeness_power", 9),
        ("decay.half_life_days.fact", 10),
        ("decay.half_life_days.fact", None),
        ("decay.refresh", "served"),
        ("decay.refresh", "used"),
    ]
    sweep = sensitivity.sweep_of(POLICY, moved, [0.5, 0.6, 0.1, 0.60, 0.62, 0.6, 0.6])
    assert sweep.schema == pl.Schema(SWEEP)
    assert sweep["is_held"].to_list() == [False, True, False, False, True, True, False]
    assert sweep["value"].to_list() == [2.0, 5.0, 9.0, 10.0, None, None, None]
    knobs = sensitivity.knobs_of(sweep)
    assert knobs.schema == pl.Schema(KNOBS)
    assert knobs.select("key", "at_most", "held").rows() == [
        ("recall.closeness_power", "5", "5"),
        ("decay.half_life_days.fact", "never", "never"),
        ("decay.refresh", "served", "served"),
    ]
    assert knobs["range"].to_list() == pytest.approx([0.5, 0.02, 0.0])


def test_the_heat_map_is_every_half_life_with_every_weight() -> None:
    moved = sensitivity.heat_changes("conversation", 3)
    heat = sensitivity.heat_of("conversation", moved, [n / 100 for n in range(len(moved))])
    assert heat.schema == pl.Schema(HEAT)
    assert heat["told"].unique(maintain_order=True).to_list() == ["1", "19.1", "365", "never"]
    assert heat["recency_weight"].head(3).to_list() == [0.0, 0.4, 0.8]
    assert heat.height == 12
    for each in moved:
        changed(POLICY, each)


def test_the_commonest_kind_is_the_first_by_name_of_equals() -> None:
    assert (
        sensitivity.commonest_kind(pl.Series("kind", ["fact", "action", "fact", "action", "x", "x", "x"]))
        == "action"
    )
    assert sensitivity.commonest_kind(pl.Series("kind", [], dtype=pl.String)) == ""


def calls() -> Calls:
    """Six calls, two days apart, of two candidates each; the first of each was of use."""
    heads = pl.DataFrame(
        {
            "call_id": [f"c{n}" for n in range(6)],
            "tenant_id": ["acme", "acme", "acme", "acme", "bolt", "bolt"],
            "user_id": ["u0", "u1", "u0", "u1", "u2", "u2"],
            "agent_id": ["bot", "bot", None, "bot", None, None],
            "session_id": [None] * 6,
            "query": ["?"] * 6,
            "verb": ["search", "context"] * 3,
            "route": ["semantic"] * 5 + ["topic"],
            "weighting": ["five"] * 6,
            "policy_hash": ["x"] * 6,
            "seconds": [0.1] * 6,
            "budget_tokens": [None] * 6,
            "generation": ["g"] * 6,
            "recalled_at": [START + timedelta(days=2 * n) for n in range(6)],
        }
    ).with_columns(pl.col("recalled_at").cast(pl.Datetime("us", "UTC")))
    rows = pl.DataFrame(
        {
            "call_id": [f"c{n // 2}" for n in range(12)],
            "kind": ["fact", "outcome"] * 5 + ["summary", "fact"],
            "gain": [1.0, None] * 4 + [1.0, 0.5] + [0.0, 1.0],
        }
    )
    return Calls(heads.select(HEAD), rows, np.arange(0, 13, 2))


CURRENT = np.array([0.5, 0.5, 0.4, 0.4, 0.9, 0.7])
BEST = np.array([0.7, 0.5, 0.6, 0.4, 0.5, 0.7])


def test_quality_by_week_and_span() -> None:
    span = np.array([True, True, True, False, False, False])
    found = weeks(calls().heads, span, CURRENT, BEST)
    assert found.schema == WEEKS
    assert found.rows() == [
        (START, "train", 3, pytest.approx(1.4 / 3), pytest.approx(0.6)),
        (START, "test", 1, 0.4, 0.4),
        (START + timedelta(days=7), "test", 2, pytest.approx(0.8), pytest.approx(0.6)),
    ]


def test_slices_say_who_gains_and_who_loses() -> None:
    drawn = Drawn(np.array([0, 1, 0, 1, 2, 2]), "user")
    found = slices(calls(), CURRENT, BEST, drawn, TunePolicy(min_clusters=2))
    assert found.schema == pl.Schema(SLICES)
    told = {(row["by"], row["name"]): row for row in found.iter_rows(named=True)}
    assert [key for key in told if key[0] == "tenant"] == [("tenant", "acme"), ("tenant", "bolt")]
    acme, bolt = told["tenant", "acme"], told["tenant", "bolt"]
    assert (acme["calls"], acme["gain"]) == (4, pytest.approx(0.1))
    assert (acme["low"], acme["high"]) == (pytest.approx(0.0), pytest.approx(0.2))
    assert (bolt["gain"], bolt["low"], bolt["high"]) == (pytest.approx(-0.2), None, None)  # one user
    assert told["agent", "(none)"]["calls"] == 3
    assert told["verb", "context"]["calls"] == 3
    # The fifth call used a fact and an outcome, and is in both; the sixth used its second candidate.
    assert {name: row["calls"] for (by, name), row in told.items() if by == "kind"} == {
        "fact": 6,
        "outcome": 1,
    }
    for row in told.values():
        assert row["gain"] == pytest.approx(row["best"] - row["current"])
