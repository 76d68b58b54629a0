"""Tune on recalls whose truth is planted: found where there is one, refused where there is none."""

from __future__ import annotations

import math
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.config import load_config
from lake import tables
from lake.index_record import load_manifest, readable_pointer
from lake.lake import init_lake, open_lake
from tests.flows.lakes import Command, files_below, row, write
from tests.flows.planted import TRUTH, planted, written
from transforms.errors import CheckError
from transforms.policy import Policy
from transforms.replay.changes import changed, differences
from transforms.schemas import RECALLS
from transforms.tuning.toml_text import toml_text

LIFE, RECENCY = "decay.half_life_days.conversation", "recall.weights.recency"
GRID = """
[decay.half_life_days]
conversation = {min = 1, max = 365, steps = 7, scale = "log"}
[recall.weights]
recency = {min = 0, max = 0.9, steps = 7}
"""
AT = ("--as-of", "2026-06-30T23:00:00Z")
HALFWAY = "2026-05-20T00:00:00+00:00"


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of traces, and a grid of two keys."""
    folder = tmp_path_factory.mktemp("worlds")
    written(folder / "truth.parquet", planted(TRUTH, 400))
    written(folder / "chance.parquet", planted(None, 400))
    written(folder / "current.parquet", planted({}, 400))
    (folder / "two.toml").write_text(GRID)
    return folder


def tune(command: Command, worlds: Path, world: str, out: Path, *more: object) -> dict[str, Any]:
    said = command("tune", "--traces", worlds / f"{world}.parquet", "--out", out, "--json", *more)
    assert said.code == 0, said
    return said.json


def told(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path / "parquet" / "trials.parquet")


def test_a_planted_truth_is_found_and_written_as_a_policy_file(
    worlds: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "out"
    found = tune(
        command, worlds, "truth", out, "--grid", worlds / "two.toml", "--search", "guided", "--trials", 60
    )
    assert found["recommended"]
    assert 0 < found["interval"][0] < found["gain"] < found["interval"][1]
    assert {"best", "current", "gain", "interval"} <= set(found)
    assert (found["clusters"], found["clustered_by"], found["labels"]) == (20, "user", "used")

    changes = tomllib.loads((out / "policy.toml").read_text("utf-8"))
    life, weight = changes["decay"]["half_life_days"]["conversation"], changes["recall"]["weights"]["recency"]
    assert abs(math.log(life / 30)) < 0.5 * abs(math.log(7 / 30))
    assert abs(weight - 0.5) < 0.5 * abs(0.2 - 0.5)
    assert set(changes) == {"decay", "recall"}
    assert set(changes["decay"]) == {"half_life_days"}
    assert sum(changes["recall"]["weights"].values()) == pytest.approx(1.0)

    policy = load_config(str(out / "policy.toml"), {}).policy
    assert differences(policy, changed(Policy(), _flat(changes))) == {}
    trials = told(out)
    best = trials.filter("is_best").row(0, named=True)
    assert (best["trial"], best[LIFE], best[RECENCY]) == (found["best"]["trial"], life, weight)
    assert trials.height == found["tried"] >= 61
    assert trials["quality"].max() - best["quality"] <= Policy().tune.tolerance


def _flat(tree: dict[str, Any]) -> dict[str, Any]:
    lives = {f"decay.half_life_days.{k}": v for k, v in tree["decay"]["half_life_days"].items()}
    return lives | {f"recall.weights.{k}": v for k, v in tree["recall"]["weights"].items()}


def test_the_usual_search_finds_a_gain_too(worlds: Path, tmp_path: Path, command: Command) -> None:
    found = tune(command, worlds, "truth", tmp_path / "out", "--trials", 80)
    assert found["recommended"]
    assert (found["search"], found["metric"]) == ("guided", "nDCG@10")
    knobs = pl.read_parquet(tmp_path / "out" / "parquet" / "knobs.parquet")
    assert knobs.filter(pl.col("key") == "decay.half_life_days.conversation")["range"].item() > 0.05


@pytest.mark.parametrize("world", ["chance", "current"])
def test_where_nothing_is_better_no_policy_is_recommended(
    world: str, worlds: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "policy.toml").write_text("of an earlier run")
    found = tune(command, worlds, world, out, "--grid", worlds / "two.toml", "--search", "random")
    assert not found["recommended"]
    assert not (out / "policy.toml").exists()
    assert (out / "tune.html").exists()
    assert found["verdict"].startswith(("Not recommended", "None of"))
    said = command(
        "tune", "--traces", worlds / f"{world}.parquet", "--out", out, "--grid", worlds / "two.toml"
    )
    assert (said.code, "no policy file" in said.out) == (0, True)


def test_the_same_recalls_give_the_same_bytes(worlds: Path, tmp_path: Path, command: Command) -> None:
    more = ("--grid", worlds / "two.toml", "--search", "guided", "--trials", 25)
    first = tune(command, worlds, "truth", tmp_path / "a", *more)
    shuffled = pl.read_parquet(worlds / "truth.parquet").sample(fraction=1.0, shuffle=True, seed=3)
    written(tmp_path / "truth.parquet", shuffled)
    second = tune(command, tmp_path, "truth", tmp_path / "b", *more)
    assert second == first
    names = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*") if p.is_file())
    assert {"policy.toml", "tune.html", "tune.json"} <= {str(name) for name in names}
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_later_recalls_change_nothing_as_of_an_earlier_instant(
    worlds: Path, tmp_path: Path, command: Command
) -> None:
    everything = pl.read_parquet(worlds / "truth.parquet")
    written(
        tmp_path / "cut.parquet", everything.filter(pl.col("recalled_at") <= datetime.fromisoformat(HALFWAY))
    )
    (tmp_path / "slowwave.toml").write_text("[tune]\nmin_calls = 40\n")
    more = ("--grid", worlds / "two.toml", "--as-of", HALFWAY, "--config", tmp_path / "slowwave.toml")
    whole = tune(command, worlds, "truth", tmp_path / "a", *more)
    cut = tune(command, tmp_path, "cut", tmp_path / "b", *more)
    assert whole == cut
    assert whole["spans"]["test"]["to_at"] <= HALFWAY
    assert told(tmp_path / "a").equals(told(tmp_path / "b"))


def test_trials_that_break_a_constraint_are_kept_and_never_best(
    worlds: Path, tmp_path: Path, command: Command
) -> None:
    grid = tmp_path / "k.toml"
    grid.write_text(f"{GRID}\n[recall]\ndefault_k = [4, 10]\n")
    found = tune(command, worlds, "truth", tmp_path / "out", "--grid", grid, "--max-tokens", 100)
    trials = told(tmp_path / "out")
    assert trials.height >= 99
    assert trials.filter(~pl.col("is_feasible"))["tokens"].min() > 100
    assert trials.filter("is_feasible")["recall.default_k"].unique().to_list() == [4.0]
    assert trials.filter("is_best")["tokens"].item() <= 100
    # Fewer rows cost quality: what stands below the fourth place is not given.
    by_k = trials.group_by(LIFE, RECENCY).agg(pl.col("quality").sort_by("recall.default_k"))
    both = by_k.filter(pl.col("quality").list.len() == 2)["quality"].to_list()
    assert len(both) > 40
    assert all(four <= ten for four, ten in both)
    assert sum(four < ten for four, ten in both) > 30
    assert trials.filter("is_pareto")["tokens"].max() <= 100
    assert any("does not keep the constraints itself" in warning for warning in found["warnings"])

    none = tune(command, worlds, "truth", tmp_path / "out", "--grid", grid, "--max-tokens", 1)
    assert none["verdict"] == "None of 99 policies keeps the constraints."
    assert not none["recommended"]
    assert not told(tmp_path / "out")["is_feasible"].any()


def test_the_policy_file_fits_into_the_owners_own(worlds: Path, tmp_path: Path, command: Command) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        "[recall]\nweights = {relevance = 0.6, importance = 0.4}\n"
        "[decay.half_life_days]\nconversation = 3\noutcome = 5\n"
    )
    tune(command, worlds, "truth", tmp_path / "out", "--grid", worlds / "two.toml", "--config", own)
    text = (tmp_path / "out" / "policy.toml").read_text("utf-8")
    assert "outcome" not in text  # it is as it was
    assert "nDCG@10 +" in text.splitlines()[2]
    before = load_config(str(own), {}).policy
    changes = _flat(tomllib.loads(text))
    own.write_text(toml_text({"decay.half_life_days.outcome": 5, **changes}))
    assert differences(load_config(str(own), {}).policy, changed(before, changes)) == {}


def test_a_lake_is_tuned_in_a_scope_and_with_the_size_of_its_index(
    worlds: Path, tmp_path: Path, command: Command
) -> None:
    lake = tmp_path / "lake"
    init_lake(str(lake), 2)
    write(tmp_path / "a.jsonl", [row(n) for n in range(6)])
    recalls = pl.read_parquet(worlds / "truth.parquet")
    tables.append(open_lake(str(lake)), RECALLS, recalls)
    before = files_below(lake)
    more = ("--grid", worlds / "two.toml", "--tenant", "acme", *AT)
    (tmp_path / "few.toml").write_text("[tune]\nmin_calls = 40\n")
    call = ("tune", "--lake", lake, "--config", tmp_path / "few.toml", "--out", tmp_path / "out", *more)
    found = command(*call, "--json").json
    assert files_below(lake) == before  # nothing is written into it
    assert sum(found["spans"][name]["calls"] for name in ("train", "test")) > 190  # of 200
    slices = pl.read_parquet(tmp_path / "out" / "parquet" / "slices.parquet")
    assert slices.filter(pl.col("by") == "tenant")["name"].to_list() == ["acme"]
    assert found["best"]["index_bytes"] is None
    refused = command(*call, "--max-index-bytes", 10)
    assert (refused.code, "no live index" in refused.err) == (2, True)

    assert command("--lake", lake, "nightly", tmp_path / "a.jsonl", *AT).code == 0
    found = command(*call, "--json", "--max-index-bytes", 10).json
    assert "keeps the constraints" in found["verdict"]
    index = open_lake(str(lake))
    pointer = readable_pointer(index)
    assert pointer is not None
    assert found["current"]["index_rows"] == load_manifest(index, pointer.generation).rows
    assert found["current"]["index_bytes"] > 600
    inside = command("tune", "--lake", lake, "--out", lake / "report", *more)
    assert (inside.code, "inside the lake" in inside.err) == (2, True)


def test_too_few_labelled_recalls_are_refused_with_what_is_missing(
    worlds: Path, tmp_path: Path, command: Command
) -> None:
    recalls = pl.read_parquet(worlds / "truth.parquet")
    written(tmp_path / "unlabelled.parquet", recalls.with_columns(is_used=pl.lit(None, pl.Boolean)))
    written(tmp_path / "few.parquet", recalls.filter(pl.col("call_id") < "call-0100"))
    for name, missing in (("unlabelled", "no call is labelled"), ("few", "70 labelled calls before")):
        said = command("tune", "--traces", tmp_path / f"{name}.parquet", "--out", tmp_path / "out", "--json")
        assert (said.code, said.error["code"]) == (CheckError.exit_code, "check")
        assert missing in said.error["message"]
        assert "slowwave used" in said.error["remedy"]
        assert not (tmp_path / "out").exists()


MISTAKES = {
    "grid without a file": ("--search grid", 2, "needs its values"),
    "trials of a grid": ("--grid TMP/two.toml --trials 5", 2, "a grid tries all"),
    "grid that is not there": ("--grid TMP/no.toml", 3, "No such file"),
    "grid that is no TOML": ("--grid TMP/bad.toml", 4, "is not TOML"),
    "grid of an unknown key": ("--grid TMP/key.toml", 4, "did you mean recall.closeness_power"),
    "size without a lake": ("--max-index-bytes 5", 2, "no live index"),
    "folder that is a file": ("--out TMP/two.toml", 2, "is no folder"),
    "traces that are not there": ("--traces TMP/no.parquet", 3, "no.parquet"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(name: str, worlds: Path, tmp_path: Path, command: Command) -> None:
    words, code, text = MISTAKES[name]
    (tmp_path / "two.toml").write_text(GRID)
    (tmp_path / "bad.toml").write_text("[")
    (tmp_path / "key.toml").write_text("recall.closenes_power = [1]")
    more = [word.replace("TMP", str(tmp_path)) for word in words.split()]
    said = command("tune", "--traces", worlds / "truth.parquet", "--out", tmp_path / "out", *more)
    assert (said.code, said.out) == (code, ""), said
    assert text in said.err
    assert said.err.count("\n") == 1
