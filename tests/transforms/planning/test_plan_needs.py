"""Scenarios: the planning figures by hand, files refused with every fault, and needs that follow the load."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.planning.basis import Basis, Figure, assumptions, policy_figures
from transforms.planning.compare import compared
from transforms.planning.graph import graph_needs, stated
from transforms.planning.lake_size import files_of, lake_of_size
from transforms.planning.needs import needs
from transforms.planning.scenarios import PLANNING, Scenario, built_in, parsed
from transforms.planning.sizes import FILES_SCHEMA, SAMPLED_SCHEMA, by_column
from transforms.policy import Policy

MEASURED = {"dimensions": 256.0, "indexed_ratio": 0.5, "measured_cores": 2.0, "text_growth": 1.0,
            "index_row_bytes": 500.0,
            "publish_rows_per_second": 1e4, "ingest_rows_per_second": 4e4}  # fmt: skip


def basis(policy: Policy | None = None) -> Basis:
    """A lake of 1,000 episodes of 100 bytes, with a vector of 1,000 bytes each and a ledger of runs."""
    files = pl.DataFrame(
        [("episodes", "a", 1_000, 100_000), ("vectors", "b", 1_000, 1_000_000), ("runs", "c", 3, 600)],
        schema=FILES_SCHEMA, orient="row",
    )  # fmt: skip
    seen = pl.DataFrame(
        [("episodes", "a", "content", 10**5), ("vectors", "b", "vector", 10**6), ("runs", "c", "step", 600)],
        schema=SAMPLED_SCHEMA, orient="row",
    )  # fmt: skip
    policy = policy or Policy()
    figures = policy_figures(policy) | {n: Figure(v, "", "measured") for n, v in MEASURED.items()}
    return Basis(policy, by_column(files, seen), files, {}, figures)


def figures_of(steps: pl.DataFrame) -> dict[tuple[str, str], float]:
    return {(part, name): value for part, name, value in steps.select("part", "name", "value").iter_rows()}


def planning() -> Scenario:
    return next(s for s in built_in(None, 1_536) if s.name == PLANNING)


def test_the_planning_figures_come_out_as_they_are_stated() -> None:
    found = figures_of(graph_needs(planning(), basis()))
    assert found["graph", "vectors"] == 300_000_000
    assert found["graph", "bare vectors"] == 300e6 * 1_536 * 4
    assert found["graph", "resident graph in TiB"] == pytest.approx(2.515, abs=1e-3)
    assert found["graph", "nodes"] == 2 * math.ceil(2.515 * 1_024 / 256) == 22
    told = figures_of(stated(planning(), basis()))
    assert told["stated", "resident graph in TiB"] == 2.7
    assert told["stated", "nodes"] == 22


def test_the_same_load_on_this_design_by_hand() -> None:
    found = figures_of(needs(planning(), basis()))
    assert found["load", "memories a day"] == 43_200_000  # 500 a second
    assert found["disk", "days until that many are held"] == pytest.approx(23.15, abs=0.01)
    assert found["disk", "lake: episodes"] == pytest.approx(1e9 * 100)
    assert found["disk", "lake: vectors"] == pytest.approx(1e9 * 1_000 * 6)  # six times the dimensions
    assert found["disk", "recall log: rows"] == pytest.approx(10_000 * 2 * 1_440 * 0.01 * 365 * 50)
    # 30,000 memories an agent lie in a table of their own, which holds every vector twice.
    each = 500 + 2 * 1_536 * 2 + 6
    assert found["disk", "index: one generation"] == pytest.approx(300e6 * each)
    assert found["disk", "index: kept generations"] == pytest.approx(300e6 * each * 3)
    assert found["recall", "searches a second"] == pytest.approx(333.33, abs=0.01)
    cores = 10_000 * 2 / 60 * 0.0297 * 6 / 0.6
    assert found["recall", "cores"] == pytest.approx(cores)
    assert found["recall", "memory"] == math.ceil(round(cores, 6)) * 632e6
    assert found["recall", "memory with replicas"] == 2 * math.ceil(round(cores, 6)) * 632e6
    spent = 43.2e6 / 40_000 + 43.2e6 / 9_800 + 43.2e6 / 2_200 + 1e9 / 69_000 + 300e6 / 10_000
    assert found["night", "night on 16 cores"] == pytest.approx(spent / (1 + 0.7 * 7))
    assert found["nodes", "nodes of readers"] == 2 * math.ceil(cores / 16)
    assert found["requests", "writing requests a month"] == 10_000 * 1_440 * 30
    costs = [value for (part, name), value in found.items() if part == "cost" and name != "cost"]
    assert found["cost", "cost"] == pytest.approx(sum(costs))
    assert found["cost", "cost of nodes"] == found["nodes", "nodes"] * 900


def small(**fields: Any) -> Scenario:
    plain = {
        "name": "s",
        "agents": 100,
        "writes_per_minute": 0.1,
        "recalls_per_minute": 0.5,
        "retention_days": 10.0,
    }
    return Scenario.model_validate(plain | fields)


def test_scopes_that_fit_are_held_in_memory() -> None:
    found = figures_of(needs(small(), basis()))
    held = 100 * 0.1 * 3 * 1_440 * 10
    assert found["disk", "memories held"] == held
    assert found["disk", "index: bytes of a memory"] == 500 + 512
    assert found["recall", "memory of one held scope"] == pytest.approx(held / 2 / 100 * 1_500)
    assert found["recall", "searches a second"] == pytest.approx(100 * 0.5 / 60 * 3)
    assert found["recall", "reader processes"] == 1
    more = figures_of(needs(small(concurrency=80), basis()))
    assert more["recall", "reader processes"] == 10


@given(
    st.sampled_from(["agents", "writes_per_minute", "retention_days", "replicas", "dimensions"]),
    st.integers(2, 50),
)
def test_more_of_anything_never_needs_less(key: str, times: int) -> None:
    plain = {
        "agents": 100,
        "writes_per_minute": 0.1,
        "retention_days": 10.0,
        "replicas": 1,
        "dimensions": 256,
    }
    one = figures_of(needs(small(**plain), basis()))
    value = plain[key] * times
    more = figures_of(needs(small(**{**plain, key: value}), basis()))
    for what in (
        ("disk", "object store"),
        ("recall", "memory with replicas"),
        ("nodes", "nodes"),
        ("cost", "cost"),
    ):
        assert more[what] >= one[what]


def test_codes_save_reads_and_take_disk() -> None:
    by_form = {q: figures_of(needs(planning().model_copy(update={"quantisation": q}), basis())) for q in
               ("float32", "float16", "int8", "pq")}  # fmt: skip
    cores = [by_form[q]["recall", "cores"] for q in ("float32", "float16", "int8", "pq")]
    assert cores == sorted(cores, reverse=True)
    disk = {q: found["disk", "index: one generation"] for q, found in by_form.items()}
    assert disk["pq"] < disk["int8"] < disk["float16"] < disk["float32"]


def test_the_lake_takes_as_many_rows_as_its_share() -> None:
    told = lake_of_size(basis(), 10_000, 16, 3, 1.0)
    rows = told.select("table", "rows").unique().sort("table").rows()
    assert rows == [("episodes", 10_000), ("runs", 3), ("vectors", 10_000)]
    slow = Basis(
        basis().policy,
        basis().columns,
        basis().files,
        {},
        {**basis().figures, "text_growth": Figure(0.5, "", "measured")},
    )
    vectors = lake_of_size(slow, 10_000, 16, 3, 1.0).filter(pl.col("table") == "vectors")["rows"][0]
    assert vectors == round(1_000 * 10**0.5)


@pytest.mark.parametrize(
    ("table", "rows", "files"),
    [
        ("episodes", 1e9, 1e9 / 250_000),
        ("episodes", 1e6, 64 * 4),
        ("facts", 1e6, 64),
        ("runs", 5, 1),
        ("facts", 9, 9),
    ],
)
def test_files_are_one_a_partition_or_as_many_as_rows_fill(table: str, rows: float, files: float) -> None:
    assert files_of(table, rows, 64, 3, 250_000) == files


def test_built_in_scenarios_follow_the_lake() -> None:
    now = small(name="as it is", memories=None)
    made = built_in(now, 768)
    assert [s.name for s in made][:3] == ["as it is", "10 x agents", "10 x agents, half the retention"]
    assert made[1].held == pytest.approx(10 * now.held)
    assert made[2].held == pytest.approx(5 * now.held)
    assert len({s.name for s in made}) == len(made) == 7
    assert next(s for s in made if s.name == PLANNING).dimensions == 768


def test_a_file_of_scenarios() -> None:
    entry = {
        "name": "next year",
        "agents": 50,
        "writes_per_minute": 1,
        "recalls_per_minute": 2.5,
        "quantisation": "pq",
    }
    (found,) = parsed({"scenario": [entry]}, "plan.toml")
    assert (found.agents, found.writes_per_minute, found.quantisation, found.replicas) == (50, 1.0, "pq", 0)
    assert found.records_per_day == 50 * 3 * 1_440


GOOD = {"name": "a", "agents": 1, "writes_per_minute": 1.0, "recalls_per_minute": 1.0}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "no scenario"),
        ({"scenario": []}, "no scenario"),
        ({"scenario": "x"}, "no scenario"),
        ({"scenarios": [GOOD]}, "has scenarios"),
        ({"scenario": [GOOD | {"agent": 3}]}, "scenario 1: agent"),
        ({"scenario": [GOOD | {"agents": 0}]}, "scenario 1: agents"),
        ({"scenario": [GOOD | {"quantisation": "int4"}]}, "scenario 1: quantisation"),
        ({"scenario": [GOOD, {"name": "b"}]}, "scenario 2: agents"),
        ({"scenario": [GOOD, GOOD]}, "a is there twice"),
        ({"scenario": [GOOD | {"recalls_per_minute": float("nan")}]}, "recalls_per_minute"),
        ({"scenario": [3]}, "scenario 1: entry"),
        ({"scenario": [GOOD | {"agents": 10**9, "writes_per_minute": 10**6}]}, "memories, more than 1e"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_faults(document: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        parsed(document, "plan.toml")
    assert "plan.toml" in caught.value.message
    assert caught.value.remedy


def test_scenarios_side_by_side_and_the_assumptions() -> None:
    steps = pl.concat([needs(planning(), basis()), graph_needs(planning(), basis()), needs(small(), basis())])
    told = compared(steps)
    assert told["scenario"].to_list() == [PLANNING, "s"]
    assert told["graph_nodes"].to_list() == [22, None]
    assert told.filter(pl.col("scenario") == PLANNING)["night_seconds"][0] > 0
    shown = assumptions(basis())
    assert set(shown["origin"]) == {"measured", "policy"}
    assert shown["origin"][0] == "measured"
    assert shown.filter(pl.col("name").str.ends_with("price"))["note"].str.contains("illustrative").all()
