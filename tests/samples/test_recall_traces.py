"""The recall traces: made by a seed, scored as recall scores, with the planted truth in them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from flows.tune_trace_file import read_recalls
from samples.recall_traces import PATH, TRUE_CHANGES, build
from transforms.policy import Policy
from transforms.replay.changes import changed
from transforms.scoring import score_columns


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return read_recalls(PATH).sort("recalled_at", "call_id", "rank")


def scores(call: pl.DataFrame, policy: Policy) -> np.ndarray:
    columns = {
        "relevance": call["relevance"].to_numpy(),
        "importance": call["memory_importance"].to_numpy(),
        "access_count": call["access_count"].cast(pl.Float64).to_numpy(),
        "seen_us": call["last_accessed_at"].to_physical().to_numpy(),
        **{name: call[name].to_list() for name in ("kind", "tier", "outcome")},
    }
    return score_columns(columns, policy=policy, as_of=call["recalled_at"][0])["score"]


def test_the_committed_file_is_small_and_what_the_seed_gives(rows: pl.DataFrame) -> None:
    assert PATH.stat().st_size <= 1_000_000
    made = build().sort("recalled_at", "call_id", "rank")
    numbers = [n for n, dtype in made.schema.items() if dtype == pl.Float64]
    assert made.drop(*numbers, "tenant_bucket").equals(rows.drop(*numbers, "tenant_bucket"))
    for name in numbers:
        apart = (made[name] - rows[name]).abs().max()
        assert apart is None or apart < 1e-6, name


def test_no_candidate_is_younger_than_its_call(rows: pl.DataFrame) -> None:
    assert rows.filter(pl.col("event_at") >= pl.col("recalled_at")).is_empty()
    assert rows.filter(pl.col("last_accessed_at") >= pl.col("recalled_at")).is_empty()
    assert rows.filter(pl.col("is_used") & ~pl.col("is_returned")).is_empty()


def test_every_score_is_that_of_the_default_policy(rows: pl.DataFrame) -> None:
    for call in rows.partition_by("call_id", maintain_order=True)[::4]:
        assert np.abs(scores(call, Policy()) - call["score"].to_numpy()).max() < 1e-6


def test_the_truth_puts_what_was_used_first_more_often(rows: pl.DataFrame) -> None:
    used = rows.filter(pl.col("is_used").fill_null(False).any().over("call_id"))
    truth = changed(Policy(), TRUE_CHANGES)
    first: dict[str, list[bool]] = {"default": [], "truth": []}
    for call in used.partition_by("call_id", maintain_order=True)[::2]:
        is_used = call["is_used"].fill_null(False).to_numpy()
        for name, policy in (("default", Policy()), ("truth", truth)):
            first[name].append(bool(is_used[scores(call, policy).argmax()]))
    assert np.mean(first["truth"]) > np.mean(first["default"]) + 0.05
